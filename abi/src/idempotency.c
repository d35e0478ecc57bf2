#include "acemq/idempotency.h"

#include "arguments.h"
#include "engine/waiter.h"
#include "store/idempotency.h"
#include "store/postgres_schema.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_RELEASE ACE_SIZE_UP_TO(acemq_idempotency_options, durability)

_Static_assert((int)ACEMQ_CLAIMED == (int)ACE_CLAIMED, "a claim's answers are the engine's");
_Static_assert((int)ACEMQ_CLAIM_DUPLICATE == (int)ACE_CLAIM_DUPLICATE,
               "a claim's answers are the engine's");
_Static_assert((int)ACEMQ_CLAIM_IN_PROGRESS == (int)ACE_CLAIM_IN_PROGRESS,
               "a claim's answers are the engine's");
_Static_assert((int)ACEMQ_NOSYNC == (int)ACE_LMDB_NOSYNC, "durabilities are the store's");
_Static_assert(ACEMQ_TOKEN_SIZE == ACE_CLAIM_TOKEN_MAX + 1, "a token has one size");

static const acemq_idempotency_options defaults = ACEMQ_IDEMPOTENCY_OPTIONS_INIT;

acemq_status acemq_idempotency_options_init(acemq_idempotency_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code check_options(const acemq_idempotency_options *options, ace_error **error)
{
    const struct {
        int64_t value;
        int64_t least;
        int64_t most;
        const char *name;
    } numbers[] = {
        {options->retention, 1, ACE_CLAIM_LEASE_MAX, "retention"},
        {options->timeout, 1, INT64_MAX, "timeout"},
        {options->entries, 1, INT32_MAX, "entries"},
        {options->map_limit, (int64_t)ACE_LMDB_MAP_LEAST, INT64_MAX, "map_limit"},
        {options->statement_timeout, 1, INT32_MAX, "statement_timeout"},
        {options->connections, 1, ACE_POSTGRES_CONNECTIONS_MAX, "connections"},
        {options->durability, ACEMQ_DURABLE, ACEMQ_NOSYNC, "durability"},
    };
    ace_code code = ace_argument_optional_text(options->name, "name", error);
    for (size_t i = 0; code == ACE_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        code = ace_argument_range(numbers[i].value, numbers[i].least, numbers[i].most,
                                  numbers[i].name, error);
    }
    return code;
}

acemq_status acemq_idempotency_open(const char *where, const acemq_idempotency_options *options,
                                    acemq_idempotency **store, acemq_error **error)
{
    acemq_idempotency_options read = defaults;
    ace_code code = ace_argument_text(where, "where", error);
    if (code == ACE_OK && options != NULL) {
        code = ace_options_read(options, sizeof defaults, FIRST_RELEASE, &read, "options", error);
    }
    if (code == ACE_OK) {
        code = check_options(&read, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(store, "store", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_idempotency_options given = {
        .name = read.name,
        .retention = read.retention,
        .timeout = read.timeout,
        .entries = (uint64_t)read.entries,
        .map_limit = (uint64_t)read.map_limit,
        .durability = (ace_lmdb_durability)read.durability,
        .connections = (unsigned)read.connections,
        .statement_timeout = read.statement_timeout,
    };
    return (acemq_status)ace_idempotency_open(where, &given, ace_deadline_after(read.timeout),
                                              store, error);
}

void acemq_idempotency_free(acemq_idempotency *store)
{
    ace_idempotency_release(store);
}

/* The first member of every store is its handle. */
static ace_code check(const acemq_idempotency *store, int64_t timeout, ace_error **error)
{
    ace_code code = ace_handle_check((const ace_handle *)(const void *)store, ACE_IDEMPOTENCY_MAGIC,
                                     "store", error);
    return code == ACE_OK ? ace_argument_timeout(timeout, error) : code;
}

static ace_code check_entry(const acemq_idempotency *store, const char *key, const char *token,
                            int64_t timeout, ace_error **error)
{
    ace_code code = check(store, timeout, error);
    if (code == ACE_OK) {
        code = ace_argument_present(key, "key", error);
    }
    return code == ACE_OK ? ace_argument_present(token, "token", error) : code;
}

acemq_status acemq_idempotency_claim(acemq_idempotency *store, const char *key, int64_t lease,
                                     int64_t timeout, char token[ACEMQ_TOKEN_SIZE],
                                     acemq_claim_answer *answer, acemq_error **error)
{
    ace_code code = check_entry(store, key, token, timeout, error);
    if (code == ACE_OK) {
        code = ace_argument_present(answer, "answer", error);
    }
    ace_claim_answer answered = ACE_CLAIM_IN_PROGRESS;
    if (code == ACE_OK) {
        char made[ACE_CLAIM_TOKEN_MAX + 1];
        code = ace_idempotency_claim(store, ace_bytes_of(key), lease, ace_deadline_after(timeout),
                                     made, &answered, error);
        if (code == ACE_OK && answered == ACE_CLAIMED) {
            memcpy(token, made, strlen(made) + 1);
        }
    }
    if (code == ACE_OK) {
        *answer = (acemq_claim_answer)answered;
    }
    return (acemq_status)code;
}

acemq_status acemq_idempotency_confirm(acemq_idempotency *store, const char *key, const char *token,
                                       int64_t timeout, acemq_error **error)
{
    ace_code code = check_entry(store, key, token, timeout, error);
    if (code == ACE_OK) {
        code = ace_idempotency_confirm(store, ace_bytes_of(key), token, ace_deadline_after(timeout),
                                       error);
    }
    return (acemq_status)code;
}

acemq_status acemq_idempotency_release(acemq_idempotency *store, const char *key, const char *token,
                                       int64_t timeout, acemq_error **error)
{
    ace_code code = check_entry(store, key, token, timeout, error);
    if (code == ACE_OK) {
        code = ace_idempotency_unclaim(store, ace_bytes_of(key), token, ace_deadline_after(timeout),
                                       error);
    }
    return (acemq_status)code;
}

acemq_status acemq_idempotency_renew(acemq_idempotency *store, const char *key, const char *token,
                                     int64_t lease, int64_t timeout, acemq_error **error)
{
    ace_code code = check_entry(store, key, token, timeout, error);
    if (code == ACE_OK) {
        code = ace_idempotency_renew(store, ace_bytes_of(key), token, lease,
                                     ace_deadline_after(timeout), error);
    }
    return (acemq_status)code;
}

acemq_status acemq_idempotency_purge_expired(acemq_idempotency *store, int64_t timeout,
                                             uint64_t *purged, acemq_error **error)
{
    uint64_t count = 0;
    ace_code code = check(store, timeout, error);
    if (code == ACE_OK) {
        code = ace_idempotency_purge(store, ace_deadline_after(timeout), &count, error);
    }
    if (code == ACE_OK && purged != NULL) {
        *purged = count;
    }
    return (acemq_status)code;
}

acemq_status acemq_idempotency_size(acemq_idempotency *store, int64_t timeout, uint64_t *size,
                                    acemq_error **error)
{
    ace_code code = check(store, timeout, error);
    if (code == ACE_OK) {
        code = ace_argument_present(size, "size", error);
    }
    if (code == ACE_OK) {
        code = ace_idempotency_size(store, ace_deadline_after(timeout), size, error);
    }
    return (acemq_status)code;
}

/* --- listing --- */

typedef struct listed {
    acemq_claim_view view;
    size_t key; /* where the texts are, as long as their place still moves */
    size_t token;
} listed;

struct acemq_claims {
    ace_buffer entries; /* listed */
    ace_buffer texts;
    size_t most;
    bool failed; /* memory is gone */
};

static size_t count_of(const acemq_claims *list)
{
    return list->entries.length / sizeof(listed);
}

static bool collect(const ace_claim_entry *entry, void *user)
{
    acemq_claims *list = user;
    listed made = {
        .view = {.recorded_at = entry->recorded_at,
                 .expires_at = entry->expires_at,
                 .confirmed = entry->state == ACE_ENTRY_CONFIRMED},
        .key = list->texts.length,
        .token = list->texts.length + entry->key.length + 1,
    };
    list->failed = !ace_buffer_append(&list->texts, entry->key.data, entry->key.length) ||
                   !ace_buffer_append(&list->texts, "", 1) ||
                   !ace_buffer_append(&list->texts, entry->token, strlen(entry->token) + 1) ||
                   !ace_buffer_append(&list->entries, &made, sizeof made);
    return !list->failed && count_of(list) < list->most;
}

acemq_status acemq_idempotency_list(acemq_idempotency *store, const char *after, int64_t most,
                                    int64_t timeout, acemq_claims **list, acemq_error **error)
{
    ace_code code = check(store, timeout, error);
    if (code == ACE_OK) {
        code = ace_argument_range(most, 1, INT32_MAX, "most", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(list, "list", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_claims *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    made->most = (size_t)most;
    code = ace_idempotency_list(store, ace_bytes_of(after == NULL ? "" : after),
                                ace_deadline_after(timeout), collect, made, error);
    if (code == ACE_OK && made->failed) {
        code = ace_fail_memory(error);
    }
    if (code != ACE_OK) {
        acemq_claims_free(made);
        return (acemq_status)code;
    }
    *list = made;
    return ACEMQ_OK;
}

size_t acemq_claims_count(const acemq_claims *list)
{
    return list == NULL ? 0 : count_of(list);
}

acemq_status acemq_claims_get(const acemq_claims *list, size_t index, acemq_claim_view *entry,
                              acemq_error **error)
{
    ace_code code = ace_argument_present(list, "list", error);
    if (code == ACE_OK) {
        code = ace_argument_present(entry, "entry", error);
    }
    if (code == ACE_OK && index >= count_of(list)) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "index is %zu, there are %zu entries", index,
                        count_of(list));
    }
    if (code == ACE_OK) {
        const listed *found = (const listed *)(const void *)list->entries.data + index;
        *entry = found->view;
        entry->key = (const char *)list->texts.data + found->key;
        entry->token = (const char *)list->texts.data + found->token;
    }
    return (acemq_status)code;
}

void acemq_claims_free(acemq_claims *list)
{
    if (list != NULL) {
        ace_buffer_free(&list->entries);
        ace_buffer_free(&list->texts);
        free(list);
    }
}

acemq_status acemq_schema_postgres(const char *idempotency, const char *outbox, char **text,
                                   acemq_error **error)
{
    ace_code code = ace_argument_present(text, "text", error);
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_buffer written = ACE_BUFFER_INIT;
    code = ace_postgres_schema_append(&written, &ace_postgres_idempotency,
                                      idempotency == NULL ? ACE_IDEMPOTENCY_TABLE : idempotency,
                                      error);
    if (code == ACE_OK) {
        code = ace_postgres_schema_append(&written, &ace_postgres_outbox,
                                          outbox == NULL ? ACE_OUTBOX_TABLE : outbox, error);
    }
    char *taken = code == ACE_OK ? ace_buffer_take_text(&written) : NULL;
    ace_buffer_free(&written);
    if (code == ACE_OK && taken == NULL) {
        code = ace_fail_memory(error);
    }
    if (code == ACE_OK) {
        *text = taken;
    }
    return (acemq_status)code;
}
