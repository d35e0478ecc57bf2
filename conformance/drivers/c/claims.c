/* Stores of claims, by name. */
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

static struct store {
    char *where;
    acemq_idempotency *claims;
} stores[64];

enum { most_stores = sizeof stores / sizeof stores[0] };

/* `memory:NAME` is a store of the driver's own. */
static acemq_idempotency *open_store(driver_request *request, struct store *store,
                                     const char *where)
{
    acemq_error *error = NULL;
    const char *path = strncmp(where, "memory:", 7) == 0 ? "memory:" : where;
    if (acemq_idempotency_open(path, NULL, &store->claims, &error) != ACEMQ_OK) {
        failed(request, error);
        return NULL;
    }
    store->where = strdup(where);
    return store->claims;
}

acemq_idempotency *claims_of(driver_request *request, const char *where)
{
    for (size_t index = 0; where && index < most_stores; index++) {
        if (!stores[index].where) {
            return open_store(request, &stores[index], where);
        }
        if (strcmp(stores[index].where, where) == 0) {
            return stores[index].claims;
        }
    }
    refuse(request, "invalid_argument", "store is missing, or one too many");
    return NULL;
}

void claims_end(void)
{
    for (size_t index = 0; index < most_stores; index++) {
        acemq_idempotency_free(stores[index].claims);
        free(stores[index].where);
        stores[index] = (struct store){0};
    }
}

static json_t *claim_verb(driver_request *request)
{
    static const char *const answers[] = {"", "claimed", "duplicate", "in_progress"};
    acemq_idempotency *claims = claims_of(request, text_of(request, "store"));
    char token[ACEMQ_TOKEN_SIZE] = "";
    acemq_claim_answer answer = ACEMQ_CLAIMED;
    acemq_error *error = NULL;
    if (!claims) {
        return NULL;
    }
    return acemq_idempotency_claim(claims, text_of(request, "key"),
                                   number_of(request, "lease", 5 * ACEMQ_MINUTE), 10 * ACEMQ_SECOND,
                                   token, &answer, &error) == ACEMQ_OK
               ? json_pack("{s:s,s:s}", "answer", answers[answer], "token", token)
               : failed(request, error);
}

static json_t *confirm_verb(driver_request *request)
{
    acemq_idempotency *claims = claims_of(request, text_of(request, "store"));
    acemq_error *error = NULL;
    return !claims ? NULL
           : acemq_idempotency_confirm(claims, text_of(request, "key"), text_of(request, "token"),
                                       10 * ACEMQ_SECOND, &error) == ACEMQ_OK
               ? json_object()
               : failed(request, error);
}

static json_t *release_verb(driver_request *request)
{
    acemq_idempotency *claims = claims_of(request, text_of(request, "store"));
    acemq_error *error = NULL;
    return !claims ? NULL
           : acemq_idempotency_release(claims, text_of(request, "key"), text_of(request, "token"),
                                       10 * ACEMQ_SECOND, &error) == ACEMQ_OK
               ? json_object()
               : failed(request, error);
}

static json_t *renew_verb(driver_request *request)
{
    acemq_idempotency *claims = claims_of(request, text_of(request, "store"));
    acemq_error *error = NULL;
    return !claims ? NULL
           : acemq_idempotency_renew(claims, text_of(request, "key"), text_of(request, "token"),
                                     number_of(request, "lease", 5 * ACEMQ_MINUTE),
                                     10 * ACEMQ_SECOND, &error) == ACEMQ_OK
               ? json_object()
               : failed(request, error);
}

const driver_verb claim_verbs[] = {
    {"claim", claim_verb, " store key lease "},
    {"claim.confirm", confirm_verb, " store key token "},
    {"claim.release", release_verb, " store key token "},
    {"claim.renew", renew_verb, " store key token lease "},
    {0},
};
