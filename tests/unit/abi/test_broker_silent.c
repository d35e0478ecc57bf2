/* What walks through queues, on a broker that has stopped answering: a proxy stands between. */
#include "client.h"

#include "support/trial_proxy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static acemq_broker *broker;
static trial_proxy *proxy;
static acemq_connection *mq;
static atomic_bool no_confirms;

static trial_pass judge(trial_frame *frame, void *user)
{
    (void)user;
    bool is_confirm = !frame->from_client && frame->method == TRIAL_BASIC_ACK;
    return is_confirm && atomic_load(&no_confirms) ? TRIAL_DROP : TRIAL_FORWARD;
}

static void begin(void)
{
    int port = 0;
    MUST(acemq_broker_start(&broker, &error));
    MUST(acemq_broker_listen(broker, "127.0.0.1", 0, &port, &error));
    proxy = trial_proxy_start(port, judge, NULL);
    atomic_store(&no_confirms, false);
    mq = connect_with(trial_proxy_url(proxy), NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_CLASSIC, 1);
}

static void end(void)
{
    acemq_connection_free(mq);
    trial_proxy_stop(proxy);
    acemq_broker_free(broker);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *fire_soon(void *cancel)
{
    sleep_ms(200);
    acemq_cancel_fire(cancel);
    return NULL;
}

/* More and fewer than a replay lets be under way at once. */
static const int counts[] = {300, 3};

START_TEST(a_replay_without_confirms_ends_when_it_is_cancelled)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    pthread_t firing;
    MUST(acemq_cancel_new(&options.cancel, &error));
    options.timeout = ACEMQ_FOREVER;
    for (int i = 0; i < counts[_i]; i++) {
        publish_text(mq, "q.dlq", "an id", "x");
    }
    atomic_store(&no_confirms, true);
    pthread_create(&firing, NULL, fire_soon, options.cancel);
    int64_t began = now_ms();
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_replay(mq, "q", &options, &result, &error));
    ck_assert_int_lt(now_ms() - began, 20000);
    ck_assert_uint_eq(result.replayed, 0);
    ck_assert_uint_eq(count_ready(mq, "q.dlq"), (uint64_t)counts[_i]);
    pthread_join(firing, NULL);
    acemq_cancel_free(options.cancel);
}
END_TEST

START_TEST(a_browser_is_freed_though_nobody_answers)
{
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    options.timeout = ACEMQ_FOREVER;
    publish_text(mq, "q", "an id", "x");
    MUST(acemq_browser_open(mq, "q", &options, &browser, &error));
    MUST(acemq_browser_next(browser, &delivery, &error));
    ck_assert_ptr_nonnull(delivery);
    trial_proxy_stall(proxy, true);
    int64_t began = now_ms();
    acemq_browser_free(browser);
    ck_assert_int_lt(now_ms() - began, 20000);
    trial_proxy_stall(proxy, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker silent");
    TCase *tcase = tcase_create("silent");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(tcase, a_replay_without_confirms_ends_when_it_is_cancelled, 0, 2);
    tcase_add_test(tcase, a_browser_is_freed_though_nobody_answers);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
