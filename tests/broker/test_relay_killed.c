/*
 * A relay that is killed at random moments: every message is published at least once, always with
 * its own id and body, and whoever runs each id once sees each once.
 */
#include "support/trial_recorder.h"

#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 60000

static char folder[64];

static void set_up(void)
{
    strcpy(folder, "/tmp/acemq-relay-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void)
{
    char path[100];
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/lock.mdb", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

static const char *command_line(void)
{
    const char *program = getenv("ACEMQ_CLI");
    ck_assert_msg(program != NULL, "ACEMQ_CLI names the command line");
    return program;
}

static pid_t start_relay(const trial *t)
{
    char store[100];
    snprintf(store, sizeof store, "lmdb:%s", folder);
    const char *program = command_line();
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        execl(program, program, "relay", store, "--url", t->url, "--lease", "1s", "--every", "10ms",
              "--batch", "50", (char *)NULL);
        _exit(127);
    }
    return child;
}

static void kill_it(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFSIGNALED(status), "the relay had ended by itself: %d", status);
}

static acemq_outbox *open_outbox(MDB_env *env)
{
    acemq_outbox *outbox = NULL;
    trial_must(acemq_outbox_open_lmdb(env, NULL, &outbox, trial_error()));
    return outbox;
}

static MDB_env *open_environment(void)
{
    MDB_env *env = NULL;
    ck_assert_int_eq(mdb_env_create(&env), 0);
    ck_assert_int_eq(mdb_env_set_maxdbs(env, 8), 0);
    ck_assert_int_eq(mdb_env_set_mapsize(env, (size_t)1 << 30), 0);
    ck_assert_int_eq(mdb_env_open(env, folder, 0, 0600), 0);
    return env;
}

static void body_of(int number, char body[64])
{
    snprintf(body, 64, "the body of %d: %x", number, (unsigned)number * 2654435761U);
}

/* In the caller's transactions, each followed by one that is rolled back. */
static void write_messages(acemq_outbox *outbox, MDB_env *env, const char *queue, int count)
{
    for (int from = 0; from < count; from += 100) {
        MDB_txn *transaction = NULL;
        ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &transaction), 0);
        for (int i = from; i < from + 100 && i < count; i++) {
            char id[32];
            char body[64];
            snprintf(id, sizeof id, "m-%d", i);
            body_of(i, body);
            acemq_message *message = acemq_message_new(body, strlen(body));
            acemq_message_set_id(message, id);
            trial_must(acemq_outbox_enqueue_lmdb(outbox, transaction, "", queue, message, NULL,
                                                 trial_error()));
            acemq_message_free(message);
        }
        ck_assert_int_eq(mdb_txn_commit(transaction), 0);
        ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &transaction), 0);
        acemq_message *never = acemq_message_text("never");
        trial_must(
            acemq_outbox_enqueue_lmdb(outbox, transaction, "", queue, never, NULL, trial_error()));
        acemq_message_free(never);
        mdb_txn_abort(transaction);
    }
}

static uint64_t pending_of(acemq_outbox *outbox)
{
    acemq_outbox_counts counts = {.size = sizeof counts};
    trial_must(acemq_outbox_count(outbox, PATIENCE, &counts, trial_error()));
    return counts.pending;
}

/* The claim's key: the id. Sees what was published twice as well, which must be what it was the
 * first time. */
static int id_with_its_body(acemq_delivery *delivery, char *key, size_t size, void *user)
{
    const int *count = user;
    int number = -1;
    char body[64];
    const char *id = acemq_envelope_id(acemq_delivery_envelope(delivery));
    ck_assert_msg(sscanf(id, "m-%d", &number) == 1 && number >= 0 && number < *count,
                  "%s is no id of ours", id);
    body_of(number, body);
    acemq_bytes arrived = acemq_delivery_body(delivery);
    ck_assert_uint_eq(arrived.length, strlen(body));
    ck_assert_mem_eq(arrived.data, body, arrived.length);
    return snprintf(key, size, "%s", id);
}

/* Reads all there is and counts each id; anything that is not one of ours fails. With a store of
 * claims, what was published twice is handled once. Returns the duplicates that were seen. */
static uint64_t look(const trial *t, const char *queue, int *times, int count)
{
    acemq_idempotency *claims = NULL;
    trial_must(acemq_idempotency_open("memory:", NULL, &claims, trial_error()));
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.prefetch = 1000;
    options.idempotency = claims;
    options.claim_key = id_with_its_body;
    options.claim_key_user = &count;
    uint64_t published = trial_ready(t, queue);
    trial_must(acemq_consumer_open(t->mq, queue, &options, &consumer, trial_error()));
    int distinct = 0;
    while (distinct < count) {
        trial_must(acemq_consumer_next(consumer, PATIENCE, &delivery, trial_error()));
        const char *id = acemq_envelope_id(acemq_delivery_envelope(delivery));
        distinct += times[atoi(id + strlen("m-"))]++ == 0;
        trial_must(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, trial_error()));
        acemq_delivery_free(delivery);
    }
    acemq_consumer_counters counters = {.size = sizeof counters};
    int64_t end = trial_now() + PATIENCE;
    do { /* and duplicates behind the last, which come to nobody */
        trial_must_fail(ACEMQ_E_TIMEOUT,
                        acemq_consumer_next(consumer, 100, &delivery, trial_error()));
        trial_must(acemq_consumer_get_counters(consumer, &counters, trial_error()));
    } while (counters.acknowledged + counters.duplicates < published && trial_now() < end);
    trial_must(acemq_consumer_drain(consumer, PATIENCE, NULL, trial_error()));
    trial_must(acemq_consumer_get_counters(consumer, &counters, trial_error()));
    ck_assert_uint_eq(counters.acknowledged + counters.duplicates, published);
    acemq_consumer_free(consumer);
    acemq_idempotency_free(claims);
    return counters.duplicates;
}

static void await_progress(acemq_outbox *outbox, uint64_t before)
{
    int64_t end = trial_now() + PATIENCE;
    while (before > 0 && pending_of(outbox) == before && trial_now() < end) {
        trial_sleep(1);
    }
}

static void kill_and_count(int broker, int messages, int kills)
{
    trial t;
    trial_begin_listening(&t, broker);
    const char *queue = trial_queue(&t, "killed", ACEMQ_QUEUE_CLASSIC);
    MDB_env *env = open_environment();
    acemq_outbox *outbox = open_outbox(env);
    write_messages(outbox, env, queue, messages);
    ck_assert_uint_eq(pending_of(outbox), (uint64_t)messages);
    srandom((unsigned)time(NULL));
    int in_the_middle = 0;
    for (int i = 0; i < kills; i++) {
        uint64_t before = pending_of(outbox);
        pid_t relay = start_relay(&t);
        /* Half of them from before it has connected to well into its work, the others surely while
         * messages leave. */
        if (i % 2 == 0) {
            await_progress(outbox, before);
            trial_sleep(random() % 10);
        } else {
            trial_sleep(random() % 400);
        }
        kill_it(relay);
        uint64_t after = pending_of(outbox);
        in_the_middle += after > 0 && after < before;
    }
    pid_t relay = start_relay(&t);
    int64_t end = trial_now() + 2 * PATIENCE;
    while (pending_of(outbox) > 0 && trial_now() < end) {
        trial_sleep(50);
    }
    ck_assert_uint_eq(pending_of(outbox), 0);
    kill_it(relay);
    int *times = calloc((size_t)messages, sizeof *times);
    ck_assert_ptr_nonnull(times);
    uint64_t duplicates = look(&t, queue, times, messages);
    for (int i = 0; i < messages; i++) {
        ck_assert_int_eq(times[i], 1);
    }
    printf("%d messages, %d kills, %d of them while messages were leaving: each handled once, %llu "
           "duplicates seen\n",
           messages, kills, in_the_middle, (unsigned long long)duplicates);
    free(times);
    acemq_outbox_free(outbox);
    mdb_env_close(env);
    trial_end(&t);
}

START_TEST(a_killed_relay_loses_nothing_and_changes_nothing)
{
    kill_and_count(_i, 1000, 4);
}
END_TEST

START_TEST(fifty_kills_over_twenty_thousand_messages)
{
    kill_and_count(TRIAL_RABBITMQ, 20000, 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("relay killed");
    TCase *tcase = tcase_create("relay killed");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, a_killed_relay_loses_nothing_and_changes_nothing, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    if (trial_is_long()) {
        tcase_add_test(tcase, fifty_kills_over_twenty_thousand_messages);
    }
    suite_add_tcase(suite, tcase);
    return trial_run(suite);
}
