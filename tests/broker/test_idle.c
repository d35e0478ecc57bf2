/* What stands still costs little: waits in the consumer no thread and two KiB each, consumers
 * without messages no thread and no processor time. On RabbitMQ, whose part is not in this process.
 */
#include "support/trial.h"

#include <dirent.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAITS       10000
#define BATCH       1000
#define BODY        256
#define MOST_MEMORY 2048 /* bytes a wait, its body left out */
#define CONSUMERS   1000
#define PATIENCE    120000 /* ms */
#define WATCHED     1000   /* ms */
#define TO_REST     10000  /* ms */

static long threads(void)
{
    long count = 0;
    const struct dirent *entry;
    DIR *folder = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(folder);
    while ((entry = readdir(folder)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

/* Handler threads and those that connect end by themselves. */
static void wait_for_threads(long most)
{
    int64_t end = trial_now() + PATIENCE;
    while (threads() > most) {
        ck_assert_msg(trial_now() < end, "%ld threads are left, %ld at most were expected",
                      threads(), most);
        trial_sleep(50);
    }
}

/* What malloc has given out. A sanitizer's own says nothing here. */
static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static double processor_seconds(void)
{
    struct timespec now;
    ck_assert_int_eq(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double used_while_watched(void)
{
    double before = processor_seconds();
    trial_sleep(WATCHED);
    return processor_seconds() - before;
}

/* No more than a twentieth of a processor, which is hundreds of times what is expected. What was
 * begun before may still have to be ended; what never rests is never at rest. */
static void expect_rest(void)
{
    int64_t end = trial_now() + TO_REST;
    double used = used_while_watched();
    while (used >= WATCHED / 2e4 && trial_now() < end) {
        used = used_while_watched();
    }
    ck_assert_msg(used < WATCHED / 2e4, "%.3f s of processor time in %d ms", used, WATCHED);
}

static void fill(const trial *self, const char *queue)
{
    static char body[BODY];
    acemq_message *messages[BATCH];
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    acemq_publisher *publisher = NULL;
    acemq_connection *mq = trial_connect(self, NULL);
    options.routing_key = queue;
    trial_must(acemq_publisher_new(mq, &options, &publisher, trial_error()));
    memset(body, 'b', sizeof body);
    for (int i = 0; i < BATCH; i++) {
        messages[i] = acemq_message_new(body, sizeof body);
        acemq_message_set_type(messages[i], "order.placed");
    }
    for (int sent = 0; sent < WAITS; sent += BATCH) {
        trial_must(acemq_publisher_send_batch(publisher, NULL,
                                              (const acemq_message *const *)messages, BATCH,
                                              PATIENCE, NULL, NULL, trial_error()));
    }
    for (int i = 0; i < BATCH; i++) {
        acemq_message_free(messages[i]);
    }
    acemq_publisher_free(publisher);
    trial_close(mq);
}

/* A receiver that looks at all there is, as a binding does. */
static void look_at(acemq_delivery *delivery)
{
    acemq_bytes map;
    ck_assert_ptr_nonnull(acemq_delivery_envelope(delivery));
    ck_assert_ptr_nonnull(acemq_delivery_headers(delivery));
    ck_assert_ptr_nonnull(acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE));
    trial_must(acemq_delivery_pack(delivery, &map, trial_error()));
}

static acemq_outcome look_and_fail(acemq_delivery *delivery, void *user)
{
    (void)user;
    look_at(delivery);
    return ACEMQ_FAILED;
}

static uint64_t waiting(const acemq_consumer *consumer)
{
    acemq_consumer_counters counters = {.size = sizeof counters};
    trial_must(acemq_consumer_get_counters(consumer, &counters, trial_error()));
    return counters.waiting;
}

static void pull_all(acemq_consumer *consumer)
{
    for (int i = 0; i < WAITS; i++) {
        acemq_delivery *delivery = NULL;
        trial_must(acemq_consumer_next(consumer, PATIENCE, &delivery, trial_error()));
        look_at(delivery);
        trial_must(acemq_delivery_settle(delivery, ACEMQ_FAILED, NULL, trial_error()));
        acemq_delivery_free(delivery);
    }
}

static void wait_for_waits(const acemq_consumer *consumer)
{
    int64_t end = trial_now() + PATIENCE;
    while (waiting(consumer) < WAITS) {
        ck_assert_msg(trial_now() < end, "only %llu wait", (unsigned long long)waiting(consumer));
        trial_sleep(10);
    }
}

/* Pushed, and pulled. */
START_TEST(ten_thousand_waits_cost_no_thread_and_two_kib_each_beyond_their_bodies)
{
    trial self;
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *queue = trial_queue(&self, "waits", ACEMQ_QUEUE_CLASSIC);
    fill(&self, queue);
    acemq_policy *policy = acemq_policy_fixed(3, ACEMQ_HOUR);
    acemq_policy_threshold(policy, 0); /* no wait is the broker's */
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.retry = policy;
    options.prefetch = WAITS;
    options.prefetch_bytes = 0;
    acemq_consumer *consumer = NULL;
    long threads_before = threads();
    size_t memory_before = in_use();
    if (_i == 0) {
        trial_must(acemq_consume(self.mq, queue, &options, look_and_fail, NULL, NULL, &consumer,
                                 trial_error()));
    } else {
        trial_must(acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
        pull_all(consumer);
    }
    wait_for_waits(consumer);
    double each = ((double)in_use() - (double)memory_before) / WAITS - BODY;
    ck_assert_msg(each <= MOST_MEMORY, "%.0f bytes a wait", each);
    wait_for_threads(threads_before);
    expect_rest();
    trial_must(acemq_consumer_close(consumer, trial_error()));
    acemq_consumer_free(consumer);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

static acemq_outcome never_called(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    ck_abort_msg("there is no message");
}

START_TEST(a_thousand_idle_consumers_cost_no_thread_and_no_processor_time)
{
    static acemq_consumer *consumers[CONSUMERS];
    trial self;
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *queue = trial_queue(&self, "idle", ACEMQ_QUEUE_CLASSIC);
    long before = threads();
    for (int i = 0; i < CONSUMERS; i++) {
        trial_must(acemq_consume(self.mq, queue, NULL, never_called, NULL, NULL, &consumers[i],
                                 trial_error()));
    }
    wait_for_threads(before);
    expect_rest();
    trial_end(&self);
    for (int i = 0; i < CONSUMERS; i++) {
        acemq_consumer_free(consumers[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("idle");
    TCase *tests = tcase_create("idle");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(
        tests, ten_thousand_waits_cost_no_thread_and_two_kib_each_beyond_their_bodies, 0, 2);
    tcase_add_test(tests, a_thousand_idle_consumers_cost_no_thread_and_no_processor_time);
    suite_add_tcase(suite, tests);
    return trial_run(suite);
}
