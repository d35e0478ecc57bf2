#include "support/postgres.h"

#include "base/clock.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *postgres_url(void)
{
    const char *url = getenv("ACEMQ_TEST_POSTGRES");
    ck_assert_msg(url != NULL && url[0] != '\0',
                  "ACEMQ_TEST_POSTGRES names no server; packaging/postgres starts one");
    return url;
}

static void run(const char *statement, ace_postgres_answer *answer)
{
    ace_postgres_options options = {.url = postgres_url(), .connections = 1};
    ace_postgres *postgres = NULL;
    ace_error *error = NULL;
    int64_t deadline = ace_clock_monotonic(ace_clock_system()) + 30000;
    ck_assert_msg(ace_postgres_open(&options, deadline, &postgres, &error) == ACE_OK, "%s",
                  ace_error_message(error));
    ck_assert_msg(ace_postgres_run(postgres, statement, NULL, 0, false, deadline, answer, &error) ==
                      ACE_OK,
                  "%s: %s", statement, ace_error_message(error));
    ace_postgres_close(postgres);
}

void postgres_must(const char *statement)
{
    run(statement, NULL);
}

int64_t postgres_number(const char *query)
{
    ace_postgres_answer answer = {0};
    run(query, &answer);
    ck_assert_int_eq(answer.rows, 1);
    int64_t number = ace_postgres_number(&answer, 0, 0);
    ace_postgres_answer_free(&answer);
    return number;
}

void postgres_drop_sessions(void)
{
    (void)postgres_number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid "
                          "<> pg_backend_pid() AND backend_type = 'client backend'");
}

#define TABLES 64

static char tables[TABLES][64];
static size_t table_count;
static pid_t owner;

static void drop_tables(void)
{
    for (size_t i = 0; i < table_count && owner == getpid(); i++) {
        char statement[128];
        (void)snprintf(statement, sizeof statement, "DROP TABLE IF EXISTS %.63s", tables[i]);
        postgres_must(statement);
    }
}

const char *postgres_table(void)
{
    if (owner != getpid()) {
        owner = getpid();
        table_count = 0;
        ck_assert_int_eq(atexit(drop_tables), 0);
    }
    ck_assert_uint_lt(table_count, TABLES);
    char *name = tables[table_count++];
    (void)snprintf(name, sizeof tables[0], "t_%ld_%zu_%llx", (long)getpid(), table_count,
                   (unsigned long long)ace_clock_wall(ace_clock_system()));
    return name;
}

void postgres_control(const char *command)
{
    const char *control = getenv("ACEMQ_TEST_POSTGRES_CONTROL");
    ck_assert_msg(control != NULL, "ACEMQ_TEST_POSTGRES_CONTROL is not set");
    char line[600];
    (void)snprintf(line, sizeof line, "'%s' %s", control, command);
    ck_assert_int_eq(system(line), 0); /* NOLINT(cert-env33-c): a script of ours */
}
