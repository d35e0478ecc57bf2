#include "support/store_trial.h"

#include "store/postgres_schema.h"
#include "support/folder.h"
#include "support/postgres.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START INT64_C(1700000000000)

int64_t store_deadline(void)
{
    return ace_clock_monotonic(ace_clock_system()) + 60000;
}

static void make_table(const char *name)
{
    ace_buffer text = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_postgres_schema_append(&text, &ace_postgres_idempotency, name, NULL),
                     ACE_OK);
    char *statement = ace_buffer_take_text(&text);
    ck_assert_ptr_nonnull(statement);
    for (char *each = statement, *end; (end = strstr(each, ";\n")) != NULL; each = end + 2) {
        *end = '\0';
        postgres_must(each);
    }
    free(statement);
}

static ace_idempotency *open_with(const store_trial *self, ace_clock *clock)
{
    ace_idempotency_options options = {.name = self->name, .clock = clock, .connections = 2};
    ace_idempotency *store = NULL;
    ace_error *error = NULL;
    ck_assert_msg(ace_idempotency_open(self->where, &options, store_deadline(), &store, &error) ==
                      ACE_OK,
                  "%s", ace_error_message(error));
    return store;
}

static void choose_place(store_trial *self, int kind)
{
    *self = (store_trial){.kind = kind, .where = "memory:"};
    if (kind == STORE_LMDB) {
        static char where[512];
        (void)snprintf(where, sizeof where, "lmdb:%s", folder_make());
        self->where = where;
    } else if (kind == STORE_POSTGRES) {
        self->where = postgres_url();
        self->name = postgres_table();
        make_table(self->name);
    }
}

void store_trial_begin(store_trial *self, int kind)
{
    choose_place(self, kind);
    self->clock = ace_clock_manual(0, START);
    ck_assert_ptr_nonnull(self->clock);
    self->store = open_with(self, self->clock);
}

void store_trial_begin_shared(store_trial *self, int kind)
{
    choose_place(self, kind);
    self->store = open_with(self, NULL);
}

ace_idempotency *store_trial_open(const store_trial *self)
{
    return open_with(self, NULL);
}

void store_trial_end(store_trial *self)
{
    ace_idempotency_release(self->store);
    ace_clock_free(self->clock);
    if (self->kind == STORE_POSTGRES) {
        char statement[128];
        (void)snprintf(statement, sizeof statement, "DROP TABLE %.63s", self->name);
        postgres_must(statement);
    }
}

void store_trial_pass(const store_trial *self, int64_t milliseconds)
{
    ace_clock_advance(self->clock, milliseconds);
    if (self->kind == STORE_POSTGRES) {
        char statement[256];
        (void)snprintf(statement, sizeof statement,
                       "UPDATE %.63s SET recorded_at = recorded_at - %lld * interval '1 "
                       "millisecond', expires_at = expires_at - %lld * interval '1 millisecond'",
                       self->name, (long long)milliseconds, (long long)milliseconds);
        postgres_must(statement);
    }
}
