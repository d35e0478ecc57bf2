/* Claims in PostgreSQL: several machines, and consumers of the peers. Only the server's time
 * counts.
 *
 * Each statement is a transaction of its own, and may be repeated after a loss of the connection:
 * the token tells whether it was done the first time. */
#include "store/idempotency.h"
#include "store/postgres_connection.h"
#include "store/postgres_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENT_MAX 1024
#define ORPHANS_MOST  1024

/* A claim that may have landed after its caller left: to be released when the server answers. */
typedef struct orphan {
    struct orphan *next;
    char token[ACE_CLAIM_TOKEN_MAX + 1];
    char key[ACE_CLAIM_KEY_MAX + 1];
} orphan;

typedef struct postgres_claims {
    ace_idempotency store; /* its mutex guards the orphans */
    ace_postgres *postgres;
    char table[64];
    orphan *orphans;
    unsigned orphan_count;
} postgres_claims;

static postgres_claims *self_of(ace_idempotency *store)
{
    return (postgres_claims *)(void *)store;
}

typedef struct parameters {
    char key[ACE_CLAIM_KEY_MAX + 1];
    char lease[24];
    const char *values[3]; /* key, token, lease */
} parameters;

static void fill(parameters *filled, const ace_claim_call *call)
{
    memcpy(filled->key, call->key.data, call->key.length);
    filled->key[call->key.length] = '\0';
    (void)snprintf(filled->lease, sizeof filled->lease, "%lld", (long long)call->lease);
    filled->values[0] = filled->key;
    filled->values[1] = call->token;
    filled->values[2] = filled->lease;
}

/* The name was checked: it is the one thing that cannot be a parameter. */
static void name_table(const postgres_claims *self, const char *pattern,
                       char statement[STATEMENT_MAX])
{
    size_t length = 0;
    for (const char *at = pattern; *at != '\0' && length + 64 < STATEMENT_MAX; at++) {
        if (*at == '@') {
            size_t name = strlen(self->table);
            memcpy(statement + length, self->table, name);
            length += name;
        } else {
            statement[length++] = *at;
        }
    }
    statement[length] = '\0';
}

static ace_code run(postgres_claims *self, const char *pattern, const char *const *values,
                    int count, int64_t deadline, ace_postgres_answer *answer, ace_error **error)
{
    char statement[STATEMENT_MAX];
    name_table(self, pattern, statement);
    return ace_postgres_run(self->postgres, statement, values, count, true, deadline, answer,
                            error);
}

/* --- what landed late --- */

static const char release_statement[] =
    "UPDATE @ SET claimed_by = NULL, expires_at = now() "
    "WHERE message_id = $1 AND claimed_by = $2 AND state = 'CLAIMED'";

static void keep_orphan(postgres_claims *self, const parameters *filled)
{
    orphan *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return; /* its lease ends it */
    }
    memcpy(made->key, filled->key, sizeof made->key);
    memcpy(made->token, filled->values[1], strlen(filled->values[1]));
    ace_mutex_lock(&self->store.mutex);
    bool kept = self->orphan_count < ORPHANS_MOST;
    if (kept) {
        made->next = self->orphans;
        self->orphans = made;
        self->orphan_count++;
    }
    ace_mutex_unlock(&self->store.mutex);
    if (!kept) {
        free(made);
    }
}

static orphan *take_orphans(postgres_claims *self)
{
    ace_mutex_lock(&self->store.mutex);
    orphan *all = self->orphans;
    self->orphans = NULL;
    self->orphan_count = 0;
    ace_mutex_unlock(&self->store.mutex);
    return all;
}

/* The server answered just now. What does not work this time is left to the lease. */
static void release_orphans(postgres_claims *self, int64_t deadline)
{
    orphan *next;
    for (orphan *each = take_orphans(self); each != NULL; each = next) {
        next = each->next;
        const char *values[] = {each->key, each->token};
        (void)run(self, release_statement, values, 2, deadline, NULL, NULL);
        free(each);
    }
}

/* --- the four --- */

/* One that holds our own token is a claim of ours that was done before the connection was lost. */
static const char claim_statement[] =
    "INSERT INTO @ AS t (message_id, state, claimed_by, recorded_at, expires_at) "
    "VALUES ($1, 'CLAIMED', $2, now(), now() + $3::bigint * interval '1 millisecond') "
    "ON CONFLICT (message_id) DO UPDATE SET state = 'CLAIMED', claimed_by = EXCLUDED.claimed_by, "
    "recorded_at = EXCLUDED.recorded_at, expires_at = EXCLUDED.expires_at "
    "WHERE t.expires_at <= now() OR (t.claimed_by = EXCLUDED.claimed_by AND t.state = 'CLAIMED') "
    "RETURNING 1";

static ace_code try_claim(postgres_claims *self, const parameters *filled, int64_t deadline,
                          bool *claimed, ace_error **error)
{
    ace_postgres_answer answer = {0};
    ace_code code = run(self, claim_statement, filled->values, 3, deadline, &answer, error);
    *claimed = code == ACE_OK && answer.rows > 0;
    ace_postgres_answer_free(&answer);
    if (code == ACE_TIMEOUT || code == ACE_CONNECTION_LOST) {
        keep_orphan(self, filled);
    }
    return code;
}

/* `known` false: the entry that was in the way is gone, or expired just now. */
static ace_code look(postgres_claims *self, const parameters *filled, int64_t deadline, bool *known,
                     ace_claim_answer *answer, ace_error **error)
{
    ace_postgres_answer found = {0};
    ace_code code = run(self, "SELECT state FROM @ WHERE message_id = $1 AND expires_at > now()",
                        filled->values, 1, deadline, &found, error);
    *known = code == ACE_OK && found.rows > 0;
    if (*known) {
        const char *state = ace_postgres_value(&found, 0, 0);
        if (strcmp(state, "CONFIRMED") == 0) {
            *answer = ACE_CLAIM_DUPLICATE;
        } else if (strcmp(state, "CLAIMED") == 0) {
            *answer = ACE_CLAIM_IN_PROGRESS;
        } else {
            code = ace_fail(error, ACE_STORE,
                            "table %s: an entry's state is neither CLAIMED nor "
                            "CONFIRMED",
                            self->table);
        }
    }
    ace_postgres_answer_free(&found);
    return code;
}

static ace_code claim(ace_idempotency *store, const ace_claim_call *call, ace_claim_answer *answer,
                      ace_error **error)
{
    postgres_claims *self = self_of(store);
    parameters filled;
    fill(&filled, call);
    for (;;) {
        bool claimed;
        ace_code code = try_claim(self, &filled, call->deadline, &claimed, error);
        if (code != ACE_OK) {
            return code;
        }
        release_orphans(self, call->deadline);
        if (claimed) {
            *answer = ACE_CLAIMED;
            return ACE_OK;
        }
        bool known;
        code = look(self, &filled, call->deadline, &known, answer, error);
        if (code != ACE_OK || known) {
            return code;
        }
    }
}

static ace_code change(ace_idempotency *store, const char *pattern, int count,
                       const ace_claim_call *call, ace_error **error)
{
    postgres_claims *self = self_of(store);
    parameters filled;
    fill(&filled, call);
    ace_postgres_answer answer = {0};
    ace_code code = run(self, pattern, filled.values, count, call->deadline, &answer, error);
    bool stood = answer.affected > 0;
    ace_postgres_answer_free(&answer);
    return code == ACE_OK && !stood ? ace_claim_fenced(error) : code;
}

/* Confirming again leaves the times as they are. */
static ace_code confirm(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change(
        store,
        "UPDATE @ SET recorded_at = CASE state WHEN 'CLAIMED' THEN now() ELSE recorded_at "
        "END, expires_at = CASE state WHEN 'CLAIMED' THEN now() + $3::bigint * interval "
        "'1 millisecond' ELSE expires_at END, state = 'CONFIRMED' "
        "WHERE message_id = $1 AND claimed_by = $2",
        3, call, error);
}

static ace_code release(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change(store, release_statement, 2, call, error);
}

static ace_code renew(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change(store,
                  "UPDATE @ SET expires_at = now() + $3::bigint * interval '1 millisecond' "
                  "WHERE message_id = $1 AND claimed_by = $2 AND state = 'CLAIMED'",
                  3, call, error);
}

/* --- all of them --- */

static ace_code purge(ace_idempotency *store, int64_t deadline, uint64_t *purged, ace_error **error)
{
    ace_postgres_answer answer = {0};
    ace_code code = run(self_of(store), "DELETE FROM @ WHERE expires_at <= now()", NULL, 0,
                        deadline, &answer, error);
    if (code == ACE_OK) {
        *purged = (uint64_t)answer.affected;
    }
    ace_postgres_answer_free(&answer);
    return code;
}

static ace_code size(ace_idempotency *store, int64_t deadline, uint64_t *count, ace_error **error)
{
    ace_postgres_answer answer = {0};
    ace_code code =
        run(self_of(store), "SELECT count(*) FROM @", NULL, 0, deadline, &answer, error);
    if (code == ACE_OK) {
        *count = (uint64_t)ace_postgres_number(&answer, 0, 0);
    }
    ace_postgres_answer_free(&answer);
    return code;
}

/* A peer may have written any state and any owner; what does not read is left out. */
static bool read_row(const ace_postgres_answer *answer, int row, ace_claim_entry *entry)
{
    const char *key = ace_postgres_value(answer, row, 0);
    const char *state = ace_postgres_value(answer, row, 1);
    const char *token = ace_postgres_value(answer, row, 2);
    if (strcmp(state, "CLAIMED") != 0 && strcmp(state, "CONFIRMED") != 0) {
        return false;
    }
    *entry = (ace_claim_entry){
        .key = ace_bytes_of(key),
        .state = strcmp(state, "CLAIMED") == 0 ? ACE_ENTRY_CLAIMED : ACE_ENTRY_CONFIRMED,
        .recorded_at = ace_postgres_number(answer, row, 3),
        .expires_at = ace_postgres_number(answer, row, 4),
    };
    if (token != NULL) {
        (void)snprintf(entry->token, sizeof entry->token, "%s", token);
    }
    return true;
}

static ace_code load_page(postgres_claims *self, const char *after, int64_t deadline,
                          ace_postgres_answer *answer, ace_error **error)
{
    const char *values[] = {after};
    return run(self,
               "SELECT message_id, state, claimed_by, trunc(extract(epoch FROM recorded_at) * "
               "1000)::bigint, trunc(extract(epoch FROM expires_at) * 1000)::bigint FROM @ "
               "WHERE message_id COLLATE \"C\" > $1 ORDER BY message_id COLLATE \"C\" LIMIT 500",
               values, 1, deadline, answer, error);
}

static ace_code list(ace_idempotency *store, ace_bytes after, int64_t deadline,
                     ace_claim_visitor *visitor, void *user, ace_error **error)
{
    char *start = ace_bytes_to_text(after);
    if (start == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ACE_OK;
    bool goes_on = true;
    while (goes_on) {
        ace_postgres_answer answer = {0};
        code = load_page(self_of(store), start, deadline, &answer, error);
        goes_on = code == ACE_OK && answer.rows > 0;
        for (int row = 0; goes_on && row < answer.rows; row++) {
            ace_claim_entry entry;
            goes_on = !read_row(&answer, row, &entry) || visitor(&entry, user);
        }
        if (goes_on) {
            free(start);
            start = strdup(ace_postgres_value(&answer, answer.rows - 1, 0));
            goes_on = start != NULL;
            code = start == NULL ? ace_fail_memory(error) : ACE_OK;
        }
        ace_postgres_answer_free(&answer);
    }
    free(start);
    return code;
}

static void destroy(ace_idempotency *store)
{
    postgres_claims *self = self_of(store);
    ace_postgres_close(self->postgres);
    orphan *next;
    for (orphan *each = self->orphans; each != NULL; each = next) {
        next = each->next;
        free(each);
    }
    ace_idempotency_uninit(store);
    free(self);
}

static const ace_idempotency_methods methods = {
    .claim = claim,
    .confirm = confirm,
    .release = release,
    .renew = renew,
    .purge = purge,
    .size = size,
    .list = list,
    .destroy = destroy,
};

ace_code ace_claims_open_postgres(const char *url, const ace_idempotency_options *options,
                                  int64_t deadline, ace_idempotency **store, ace_error **error)
{
    postgres_claims *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_idempotency_init(&made->store, &methods, options, error);
    if (code != ACE_OK) {
        free(made);
        return code;
    }
    (void)snprintf(made->table, sizeof made->table, "%s", options->name);
    ace_postgres_options given = {.url = url,
                                  .connections = options->connections,
                                  .statement_timeout = options->statement_timeout};
    code = ace_postgres_open(&given, deadline, &made->postgres, error);
    if (code == ACE_OK) {
        code = ace_postgres_schema_check(made->postgres, &ace_postgres_idempotency, options->name,
                                         deadline, error);
    }
    if (code != ACE_OK) {
        destroy(&made->store);
        return code;
    }
    *store = &made->store;
    return ACE_OK;
}
