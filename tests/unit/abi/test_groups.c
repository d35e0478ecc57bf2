/* Groups through the public headers: what they refuse, push and pull, and their end. */
#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

_Static_assert(offsetof(acemq_group_options, members) + sizeof(int64_t) ==
                   sizeof(acemq_group_options),
               "no padding");

typedef struct crew {
    acemq_group *group;
    atomic_int running;
    atomic_int calls;
    atomic_int destroyed;
    atomic_bool held;
} crew;

static acemq_outcome work(acemq_delivery *delivery, void *user)
{
    crew *self = user;
    (void)delivery;
    atomic_fetch_add(&self->running, 1);
    while (atomic_load(&self->held)) {
        sleep_ms(2);
    }
    atomic_fetch_sub(&self->running, 1);
    atomic_fetch_add(&self->calls, 1);
    return ACEMQ_ACCEPTED;
}

static void destroyed(void *user)
{
    crew *self = user;
    atomic_fetch_add(&self->destroyed, 1);
}

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        for (int await_i = 0; await_i < 4000 && !(condition); await_i++) {                         \
            sleep_ms(5);                                                                           \
        }                                                                                          \
        ck_assert_msg((condition), "never came true: %s", #condition);                             \
    } while (0)

static acemq_connection *begin(const char *url)
{
    acemq_connection *mq = connect_with(url, NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_QUORUM, 0);
    return mq;
}

static uint64_t acknowledged_by(const acemq_group *group)
{
    acemq_consumer_counters counters = {.size = sizeof counters};
    MUST(acemq_group_get_counters(group, &counters, &error));
    return counters.acknowledged;
}

START_TEST(groups_refuse_what_they_cannot_do)
{
    acemq_connection *mq = begin("memory://group-arguments");
    acemq_group *group = NULL;
    acemq_delivery *delivery = NULL;
    acemq_group_options options;
    ck_assert_int_eq(acemq_group_options_init(&options, sizeof options), ACEMQ_OK);
    ck_assert_int_eq(acemq_group_options_init(NULL, sizeof options), ACEMQ_E_INVALID_ARGUMENT);
    acemq_group_options macro = ACEMQ_GROUP_OPTIONS_INIT;
    ck_assert_mem_eq(&options, &macro, sizeof options);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_group_consume(mq, "q", NULL, NULL, NULL, NULL, &group, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_open(NULL, "q", NULL, &group, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_open(mq, NULL, NULL, &group, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_open(mq, "q", NULL, NULL, &error));
    MUST_FAIL(ACEMQ_E_NOT_FOUND, acemq_group_open(mq, "missing", NULL, &group, &error));
    options.members = 0;
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_group_open(mq, "q", &options, &group, &error));
    options.members = 1001;
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_group_open(mq, "q", &options, &group, &error));
    options.members = 1;
    options.drain_budget = -1;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_open(mq, "q", &options, &group, &error));
    MUST(acemq_group_open(mq, "q", NULL, &group, &error));
    ck_assert_int_eq(acemq_group_members(group), 2);
    ck_assert_int_eq(acemq_group_prefetch(group), 50);
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_group_scale(group, 0, &error));
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_group_set_prefetch(group, 65536, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_next(group, -1, &delivery, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_next(group, 0, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_get_work(group, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_get_counters(group, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_group_drain(group, -1, NULL, NULL, &error));
    MUST(acemq_group_close(group, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_group_close(group, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_group_scale(group, 2, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_group_pause(group, &error));
    acemq_group_free(group);
    acemq_group_free(NULL);
    acemq_group_wake(NULL);
    ck_assert_int_eq(acemq_group_fd(NULL), -1);
    ck_assert_int_eq(acemq_group_members(NULL), 0);
    ck_assert_int_eq(acemq_group_prefetch(NULL), 0);
    ck_assert_int_eq(acemq_group_paused(NULL), 0);
    ck_assert_int_eq(acemq_group_subscribed(NULL), 0);
    ck_assert_uint_eq(acemq_work_count(NULL), 0);
    ck_assert_str_eq(acemq_work_id(NULL, 0), "");
    acemq_work_free(NULL);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(a_group_handles_at_once_changes_in_number_and_ends_by_name)
{
    static crew self;
    acemq_connection *mq = begin("memory://group-push");
    acemq_group_options options = ACEMQ_GROUP_OPTIONS_INIT;
    acemq_consumer_options each = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_work *work_now = NULL;
    int finished = -1;
    memset(&self, 0, sizeof self);
    atomic_store(&self.held, true);
    each.prefetch = 3;
    options.consumer = &each;
    MUST(acemq_group_consume(mq, "q", &options, work, &self, destroyed, &self.group, &error));
    for (int i = 0; i < 8; i++) {
        char id[8];
        snprintf(id, sizeof id, "m%d", i);
        publish_text(mq, "q", id, "x");
    }
    AWAIT(atomic_load(&self.running) == 2);
    MUST(acemq_group_scale(self.group, 5, &error));
    AWAIT(atomic_load(&self.running) == 5);
    MUST(acemq_group_get_work(self.group, &work_now, &error));
    ck_assert_uint_eq(acemq_work_count(work_now), 5);
    ck_assert_str_eq(acemq_work_queue(work_now, 4), "q");
    ck_assert_int_eq(acemq_work_id(work_now, 0)[0], 'm');
    ck_assert_int_ge(acemq_work_running(work_now, 0), 0);
    ck_assert_str_eq(acemq_work_queue(work_now, 5), "");
    acemq_work_free(work_now);
    work_now = NULL;
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_group_drain(self.group, 50, &finished, &work_now, &error));
    ck_assert_int_eq(finished, 0);
    ck_assert_uint_eq(acemq_work_count(work_now), 5);
    acemq_work_free(work_now);
    atomic_store(&self.held, false);
    MUST(acemq_group_drain(self.group, 10000, &finished, &work_now, &error));
    ck_assert_int_eq(finished, 1);
    ck_assert_ptr_null(work_now);
    ck_assert_uint_eq(acknowledged_by(self.group), 5);
    await_ready(mq, "q", 3);
    AWAIT(atomic_load(&self.destroyed) == 1);
    acemq_group_free(self.group);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(groups_and_consumers_pause_and_take_another_prefetch)
{
    acemq_connection *mq = begin("memory://group-pause");
    acemq_group *group = NULL;
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    acemq_work *in_hand = NULL;
    MUST(acemq_group_open(mq, "q", NULL, &group, &error));
    MUST(acemq_group_pause(group, &error));
    ck_assert_int_eq(acemq_group_paused(group), 1);
    ck_assert_int_eq(acemq_group_subscribed(group), 0);
    publish_text(mq, "q", "a", "A");
    publish_text(mq, "q", "b", "B");
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_group_next(group, 50, &delivery, &error));
    MUST(acemq_group_resume(group, &error));
    ck_assert_int_eq(acemq_group_paused(group), 0);
    MUST(acemq_group_set_prefetch(group, 1, &error));
    ck_assert_int_eq(acemq_group_prefetch(group), 1);
    MUST(acemq_group_next(group, 5000, &delivery, &error));
    /* What crosses the pause is put back, and a quorum queue puts that at its end. */
    const char *id = acemq_envelope_id(acemq_delivery_envelope(delivery));
    const char *second = strcmp(id, "a") == 0 ? "b" : "a";
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    acemq_group_wake(group);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_group_next(group, 5000, &delivery, &error));
    acemq_group_free(group);
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    MUST(acemq_consumer_get_work(consumer, &in_hand, &error));
    ck_assert_uint_eq(acemq_work_count(in_hand), 1);
    ck_assert_str_eq(acemq_work_id(in_hand, 0), second);
    acemq_work_free(in_hand);
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    MUST(acemq_consumer_get_work(consumer, &in_hand, &error));
    ck_assert_uint_eq(acemq_work_count(in_hand), 0);
    acemq_work_free(in_hand);
    MUST(acemq_consumer_pause(consumer, &error));
    ck_assert_int_eq(acemq_consumer_paused(consumer), 1);
    MUST(acemq_consumer_resume(consumer, &error));
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_consumer_set_prefetch(consumer, 0, &error));
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_consumer_set_prefetch(consumer, 65536, &error));
    MUST(acemq_consumer_set_prefetch(consumer, 65535, &error));
    ck_assert_int_eq(acemq_consumer_prefetch(consumer), 65535);
    MUST(acemq_connection_pause_publishing(mq, &error));
    ck_assert_int_eq(acemq_connection_publishing_paused(mq), 1);
    MUST(acemq_connection_resume_publishing(mq, &error));
    ck_assert_int_eq(acemq_connection_publishing_paused(mq), 0);
    acemq_consumer_free(consumer);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(closing_a_client_names_what_its_group_left)
{
    static crew self;
    acemq_connection *mq = begin("memory://group-left");
    acemq_connection *other = connect_with("memory://group-left", NULL);
    acemq_work *left = NULL;
    memset(&self, 0, sizeof self);
    atomic_store(&self.held, true);
    publish_text(mq, "q", "slow", "x");
    MUST(acemq_group_consume(mq, "q", NULL, work, &self, destroyed, &self.group, &error));
    AWAIT(atomic_load(&self.running) == 1);
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_connection_close_naming(mq, 50, &left, &error));
    ck_assert_uint_eq(acemq_work_count(left), 1);
    ck_assert_str_eq(acemq_work_id(left, 0), "slow");
    acemq_work_free(left);
    await_ready(other, "q", 1);
    atomic_store(&self.held, false);
    AWAIT(atomic_load(&self.destroyed) == 1);
    ck_assert_uint_eq(acknowledged_by(self.group), 0);
    acemq_group_free(self.group);
    acemq_connection_free(mq);
    acemq_connection_free(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi groups");
    TCase *tcase = tcase_create("groups");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, groups_refuse_what_they_cannot_do);
    tcase_add_test(tcase, a_group_handles_at_once_changes_in_number_and_ends_by_name);
    tcase_add_test(tcase, groups_and_consumers_pause_and_take_another_prefetch);
    tcase_add_test(tcase, closing_a_client_names_what_its_group_left);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
