/* What fails below a consumer with claims: an error each time, never a duplicate, never done. */
#include "broker/consuming.h"
#include "engine/consumer_state.h"
#include "store/idempotency.h"
#include "support/folder.h"
#include "support/postgres.h"
#include "support/store_trial.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

typedef struct scene {
    store_trial trial;
    consume_bench bench;
    recorder record;
    ace_consumer_options options;
    ace_consumer *consumer;
} scene;

static void begin(scene *self, const char *name, ace_idempotency *store)
{
    memset(&self->record, 0, sizeof self->record);
    use_memory();
    bench_open(&self->bench, name);
    declare_queue(&self->bench, self->bench.queue, "quorum", 0);
    self->options = options_of(&self->bench, &self->record, NULL);
    self->options.claims.store = store;
}

static void start(scene *self)
{
    self->consumer = consume_with(&self->bench, &self->options);
}

static void end(scene *self)
{
    ace_consumer_release(self->consumer);
    bench_close(&self->bench, NULL);
}

/* It waits, nothing counts it as anything, and at the end it lies in its queue as it came. */
static void expect_that_it_stays(scene *self, const char *id)
{
    AWAIT(counted(self->consumer).store_failures >= 1);
    ace_consumer_counters counters = counted(self->consumer);
    ck_assert_uint_eq(counters.duplicates + counters.acknowledged + counters.rejected, 0);
    ck_assert_int_eq(atomic_load(&self->record.calls), 0);
    ace_consumer_release(self->consumer);
    self->consumer = NULL;
    ace_delivery *back = take_from(&self->bench, self->bench.queue);
    assert_text(ace_delivery_envelope(back)->id, id);
    ck_assert_int_eq(ace_delivery_envelope(back)->attempt, 1);
    ace_delivery_free(back);
    end(self);
}

static ace_code claim_one(ace_idempotency *store, const char *key, ace_error **error)
{
    ace_claim_answer answer;
    char token[ACE_CLAIM_TOKEN_MAX + 1];
    return ace_idempotency_claim(store, ace_bytes_of(key), 60000, soon(), token, &answer, error);
}

static char failing_key[256]; /* the one that fill() could not claim */

/* Until it fails; the code with which. */
static ace_code fill(ace_idempotency *store)
{
    ace_code code = ACE_OK;
    for (int i = 0; code == ACE_OK && i < 100000; i++) {
        (void)snprintf(failing_key, sizeof failing_key, "%0240d", i);
        code = claim_one(store, failing_key, NULL);
    }
    return code;
}

static ace_idempotency *open_lmdb(const char *folder, uint64_t limit)
{
    char where[512];
    ace_idempotency *store = NULL;
    ace_idempotency_options options = {.map_limit = limit};
    (void)snprintf(where, sizeof where, "lmdb:%s", folder);
    MUST(ace_idempotency_open(where, &options, soon(), &store, &error));
    return store;
}

START_TEST(a_full_map_that_cannot_grow)
{
    scene self;
    ace_idempotency *store = open_lmdb(folder_make(), 128 * 1024);
    ck_assert_int_eq(fill(store), ACE_STORE_FULL);
    uint64_t count;
    MUST(ace_idempotency_size(store, soon(), &count, &error));
    ck_assert_uint_gt(count, 50);
    begin(&self, "full", store);
    start(&self);
    put_with_id(&self.bench, failing_key, "x");
    expect_that_it_stays(&self, failing_key);
    ace_idempotency_release(store);
}
END_TEST

START_TEST(a_full_store_in_memory_forgets_nobody)
{
    ace_idempotency *store = NULL;
    ace_idempotency_options options = {.entries = 100, .clock = ace_clock_manual(0, 1000000)};
    MUST(ace_idempotency_open("memory:", &options, soon(), &store, &error));
    ck_assert_int_eq(fill(store), ACE_STORE_FULL);
    uint64_t count;
    MUST(ace_idempotency_size(store, soon(), &count, &error));
    ck_assert_uint_eq(count, 100);
    ck_assert_int_eq(claim_one(store, "one more", NULL), ACE_STORE_FULL);
    ace_clock_advance(options.clock, 60000);
    ck_assert_int_eq(claim_one(store, "one more", NULL), ACE_OK);
    MUST(ace_idempotency_size(store, soon(), &count, &error));
    ck_assert_uint_eq(count, 1); /* the others had expired */
    ace_idempotency_release(store);
    ace_clock_free(options.clock);
}
END_TEST

START_TEST(a_disk_without_room)
{
    scene self;
    const char *folder = folder_make();
    ace_idempotency *store = open_lmdb(folder, 0);
    ck_assert_int_eq(claim_one(store, "before", NULL), ACE_OK);
    struct stat data;
    ck_assert_int_eq(stat(folder_path(folder, "data.mdb"), &data), 0);
    struct rlimit limit = {(rlim_t)data.st_size + 8192, RLIM_INFINITY};
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ace_code code = fill(store); /* LMDB tells of a short write as an input/output error */
    ck_assert(code == ACE_STORE_FULL || code == ACE_SYSTEM);
    begin(&self, "disk", store);
    start(&self);
    put_with_id(&self.bench, failing_key, "x");
    expect_that_it_stays(&self, failing_key);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(claim_one(store, "after", NULL), ACE_OK);
    ace_idempotency_release(store);
}
END_TEST

START_TEST(a_read_only_folder)
{
    const char *folder = folder_make();
    ck_assert_int_eq(chmod(folder, 0555), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char where[512];
        ace_idempotency *store = NULL;
        ace_error *error = NULL;
        (void)snprintf(where, sizeof where, "lmdb:%s", folder);
        bool good = geteuid() != 0 || setuid(65534) == 0; /* permissions do not bind root */
        good = good && ace_idempotency_open(where, NULL, soon(), &store, &error) == ACE_SYSTEM &&
               strstr(ace_error_message(error), folder) != NULL;
        _exit(good ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_server_that_is_gone)
{
    scene self;
    store_trial_begin_shared(&self.trial, STORE_POSTGRES);
    self.trial.store->timeout = 500;
    begin(&self, "gone", self.trial.store);
    start(&self);
    postgres_control("stop");
    put_with_id(&self.bench, "a", "x");
    expect_that_it_stays(&self, "a");
    postgres_control("start");
    ck_assert_int_eq(claim_one(self.trial.store, "a", NULL), ACE_OK);
    store_trial_end(&self.trial);
}
END_TEST

static ace_outcome drop_and_accept(ace_delivery *delivery, void *user)
{
    (void)delivery;
    postgres_drop_sessions();
    atomic_fetch_add(&((scene *)user)->record.calls, 1);
    return ACE_ACCEPTED;
}

START_TEST(a_connection_dropped_in_the_middle_is_made_again_and_the_claim_confirmed)
{
    scene self;
    store_trial_begin_shared(&self.trial, STORE_POSTGRES);
    begin(&self, "dropped", self.trial.store);
    self.options.handler = drop_and_accept;
    self.options.user = &self;
    self.options.destructor = NULL;
    start(&self);
    put_with_id(&self.bench, "a", "x");
    put_with_id(&self.bench, "b", "x");
    AWAIT(counted(self.consumer).acknowledged == 2);
    put_with_id(&self.bench, "a", "x");
    AWAIT(counted(self.consumer).duplicates == 1);
    ck_assert_int_eq(atomic_load(&self.record.calls), 2);
    ck_assert_uint_eq(counted(self.consumer).unconfirmed + counted(self.consumer).fenced, 0);
    end(&self);
    store_trial_end(&self.trial);
}
END_TEST

START_TEST(a_table_that_goes_away)
{
    scene self;
    store_trial_begin_shared(&self.trial, STORE_POSTGRES);
    begin(&self, "table", self.trial.store);
    start(&self);
    char statement[256];
    (void)snprintf(statement, sizeof statement, "ALTER TABLE %.60s RENAME TO %.60s_x",
                   self.trial.name, self.trial.name);
    postgres_must(statement);
    put_with_id(&self.bench, "a", "x");
    expect_that_it_stays(&self, "a");
    (void)snprintf(statement, sizeof statement, "ALTER TABLE %.60s_x RENAME TO %.60s",
                   self.trial.name, self.trial.name);
    postgres_must(statement);
    store_trial_end(&self.trial);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stores that fail");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 240);
    tcase_add_test(all, a_full_map_that_cannot_grow);
    tcase_add_test(all, a_full_store_in_memory_forgets_nobody);
    tcase_add_test(all, a_disk_without_room);
    tcase_add_test(all, a_read_only_folder);
    tcase_add_test(all, a_server_that_is_gone);
    tcase_add_test(all, a_connection_dropped_in_the_middle_is_made_again_and_the_claim_confirmed);
    tcase_add_test(all, a_table_that_goes_away);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
