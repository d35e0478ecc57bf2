#include "ours.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT ACEMQ_MINUTE

typedef struct claiming {
    acemq_idempotency *store;
    atomic_long *left;
} claiming;

static void *claim(void *argument)
{
    const claiming *self = argument;
    acemq_error *error = NULL;
    for (;;) {
        long number = atomic_fetch_sub(self->left, 1);
        if (number <= 0) {
            return NULL;
        }
        char key[48];
        char token[ACEMQ_TOKEN_SIZE];
        acemq_claim_answer answer;
        (void)snprintf(key, sizeof key, "0f8fad5b-d9cb-469f-a165-%012ld", number);
        ours_check(acemq_idempotency_claim(self->store, key, 5 * ACEMQ_MINUTE, TIMEOUT, token,
                                           &answer, &error),
                   &error);
        if (answer != ACEMQ_CLAIMED) {
            bench_fail("a key that nobody had was not claimed");
        }
    }
}

static long transactions(const char *folder)
{
    MDB_env *env;
    MDB_envinfo info;
    if (mdb_env_create(&env) != 0 || mdb_env_open(env, folder, MDB_RDONLY, 0) != 0 ||
        mdb_env_info(env, &info) != 0) {
        bench_fail("the store cannot be looked at");
    }
    mdb_env_close(env);
    return (long)info.me_last_txnid;
}

static acemq_idempotency *open_store(const char *folder)
{
    char where[512];
    acemq_idempotency *store = NULL;
    acemq_error *error = NULL;
    (void)snprintf(where, sizeof where, "lmdb:%s", folder);
    ours_check(acemq_idempotency_open(where, NULL, &store, &error), &error);
    return store;
}

void ours_claims(const bench_options *options)
{
    char folder[256];
    bench_make_folder(folder, sizeof folder);
    acemq_idempotency_free(open_store(folder));
    long before = transactions(folder);
    acemq_idempotency *store = open_store(folder);
    atomic_long left;
    atomic_init(&left, options->count);
    claiming shared = {store, &left};
    pthread_t *threads = calloc((size_t)options->threads, sizeof *threads);
    bench_span span = bench_begin();
    for (long i = 0; threads != NULL && i < options->threads; i++) {
        if (pthread_create(&threads[i], NULL, claim, &shared) != 0) {
            bench_fail("no thread");
        }
    }
    for (long i = 0; threads != NULL && i < options->threads; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    double seconds = (double)(bench_now() - span.began) / 1e9;
    acemq_idempotency_free(store);
    long commits = transactions(folder) - before;
    free(threads);
    bench_remove_folder(folder);
    printf("{\"count\": %ld, \"seconds\": %.6f, \"commits\": %ld}\n", options->count, seconds,
           commits);
}
