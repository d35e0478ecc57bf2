/* One durable commit a claim, by as few calls of LMDB as do it. */
#include "reference.h"

#include <lmdb.h>
#include <stdio.h>
#include <string.h>

static void check(int result, const char *what)
{
    if (result != 0) {
        bench_fail("%s: %s", what, mdb_strerror(result));
    }
}

static void claim(MDB_env *env, MDB_dbi database, long number)
{
    char text[48];
    unsigned char record[56] = {1, 1};
    MDB_txn *transaction;
    (void)snprintf(text, sizeof text, "0f8fad5b-d9cb-469f-a165-%012ld", number);
    MDB_val key = {strlen(text), text};
    MDB_val value = {sizeof record, record};
    check(mdb_txn_begin(env, NULL, 0, &transaction), "begin");
    check(mdb_put(transaction, database, &key, &value, MDB_NOOVERWRITE), "put");
    check(mdb_txn_commit(transaction), "commit");
}

void reference_claims(const bench_options *options)
{
    char folder[256];
    MDB_env *env;
    MDB_txn *transaction;
    MDB_dbi database;
    bench_make_folder(folder, sizeof folder);
    check(mdb_env_create(&env), "create");
    check(mdb_env_set_mapsize(env, (size_t)256 * 1024 * 1024), "map size");
    check(mdb_env_set_maxdbs(env, 2), "databases");
    check(mdb_env_open(env, folder, 0, 0600), "open");
    check(mdb_txn_begin(env, NULL, 0, &transaction), "begin");
    check(mdb_dbi_open(transaction, "claims", MDB_CREATE, &database), "database");
    check(mdb_txn_commit(transaction), "commit");
    bench_span span = bench_begin();
    for (long i = 0; i < options->count; i++) {
        claim(env, database, i);
    }
    double seconds = (double)(bench_now() - span.began) / 1e9;
    mdb_env_close(env);
    bench_remove_folder(folder);
    printf("{\"count\": %ld, \"seconds\": %.6f, \"commits\": %ld}\n", options->count, seconds,
           options->count);
}
