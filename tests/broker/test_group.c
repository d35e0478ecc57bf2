/* Groups: their members at once, sharing what is delivered, in a number that changes. */
#include "broker/group_fixture.h"
#include "engine/consumer_state.h"

static void open_with_queue(consume_bench *bench, const char *name)
{
    bench_open(bench, name);
    declare_queue(bench, bench->queue, "quorum", 0);
}

/* ms that it took. */
static int64_t handle_100_in_ten(void)
{
    static tally self;
    consume_bench bench;
    memset(&self, 0, sizeof self);
    self.pause = 200;
    open_with_queue(&bench, "group10");
    put_numbers(&bench, bench.queue, 0, 100);
    ace_consumer_options options = group_options(bench.queue, &self, 10);
    int64_t start = now_ms();
    ace_group *group = open_group(bench.connection, &options);
    AWAIT(atomic_load(&self.calls) == 100);
    int64_t elapsed = now_ms() - start;
    ck_assert_int_ge(elapsed, 1900);
    ck_assert_int_eq(atomic_load(&self.most_running), 10);
    if (getenv("ACEMQ_TEST_LOG") != NULL) {
        fprintf(stderr, "ten handlers, 100 messages: %lld ms\n", (long long)elapsed);
    }
    AWAIT(group_counts(group).acknowledged == 100);
    MUST(ace_group_close(group, &error));
    ace_group_release(group);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    bench_close(&bench, NULL);
    return elapsed;
}

/* On a machine that is loaded it may take longer than it should, but not each time. */
START_TEST(ten_handlers_of_200_ms_in_a_group_of_ten_handle_100_messages_in_about_2_s)
{
    int64_t elapsed = 3000;
    for (int i = 0; i < 5 && elapsed >= 3000; i++) {
        elapsed = handle_100_in_ten();
    }
    ck_assert_msg(elapsed < 3000, "100 messages took %lld ms", (long long)elapsed);
}
END_TEST

START_TEST(no_member_waits_for_another_that_is_busy)
{
    static tally self;
    consume_bench bench;
    memset(&self, 0, sizeof self);
    open_with_queue(&bench, "sharing");
    put_numbers(&bench, bench.queue, 0, 100);
    atomic_store(&self.first, 1); /* number 0 takes as long as all others together */
    ace_consumer_options options = group_options(bench.queue, &self, 2);
    options.prefetch = 50;
    ace_group *group = open_group(bench.connection, &options);
    AWAIT(atomic_load(&self.calls) == 99);
    ck_assert_int_eq(atomic_load(&self.running), 1);
    ace_work work = {0};
    ace_consumer_list_work(ace_group_consumer(group), &work);
    ck_assert_uint_eq(work.count, 1);
    ck_assert_str_eq(work.items[0].queue, bench.queue);
    ck_assert_str_eq(work.items[0].id, "m0");
    ace_work_release(&work);
    atomic_store(&self.first, 0);
    AWAIT(group_counts(group).acknowledged == 100);
    ace_group_release(group);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(scaling_from_2_to_8_and_back_loses_and_duplicates_nothing)
{
    static tally self;
    consume_bench bench;
    const int count = 600;
    memset(&self, 0, sizeof self);
    self.pause = 3;
    atomic_store(&self.held, true);
    open_with_queue(&bench, "scale");
    ace_consumer_options options = group_options(bench.queue, &self, 2);
    options.prefetch = 5;
    ace_group *group = open_group(bench.connection, &options);
    put_numbers(&bench, bench.queue, 0, count / 3);
    AWAIT(atomic_load(&self.running) == 2);
    MUST(ace_group_scale(group, 8, &error));
    ck_assert_int_eq(ace_consumer_members(ace_group_consumer(group)), 8);
    AWAIT(atomic_load(&self.running) == 8);
    atomic_store(&self.held, false);
    put_numbers(&bench, bench.queue, count / 3, count / 3);
    ck_assert_int_eq(atomic_load(&self.most_running), 8);
    MUST(ace_group_scale(group, 2, &error));
    atomic_store(&self.most_running, 0); /* whoever was too many has gone */
    put_numbers(&bench, bench.queue, count / 3 * 2, count / 3);
    AWAIT(atomic_load(&self.calls) == count);
    ck_assert_int_le(atomic_load(&self.most_running), 2);
    AWAIT(group_counts(group).acknowledged == (uint64_t)count);
    for (int i = 0; i < count; i++) {
        ck_assert_msg(atomic_load(&self.seen[i]) == 1, "message %d was handled %d times", i,
                      atomic_load(&self.seen[i]));
    }
    ck_assert_int_eq(ace_group_scale(group, 0, NULL), ACE_LIMIT);
    ck_assert_int_eq(ace_group_scale(group, ACE_MEMBERS_MOST + 1, NULL), ACE_LIMIT);
    ck_assert_int_eq(ace_consumer_members(ace_group_consumer(group)), 2);
    ace_group_release(group);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(scaling_down_waits_for_the_members_removed_within_the_budget)
{
    static tally self;
    consume_bench bench;
    ace_group *group = NULL;
    memset(&self, 0, sizeof self);
    open_with_queue(&bench, "shrink");
    put_numbers(&bench, bench.queue, 0, 6);
    atomic_store(&self.held, true);
    ace_consumer_options options = group_options(bench.queue, &self, 3);
    MUST(ace_group_open(bench.connection, &options, 100, soon(), NULL, &group, &error));
    AWAIT(atomic_load(&self.running) == 3);
    ace_error *error = NULL;
    ck_assert_int_eq(ace_group_scale(group, 1, &error), ACE_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "still at work"));
    ace_error_free(error);
    ck_assert_int_eq(ace_consumer_members(ace_group_consumer(group)), 1);
    atomic_store(&self.held, false);
    AWAIT(group_counts(group).acknowledged == 6);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(atomic_load(&self.seen[i]), 1);
    }
    ace_group_release(group);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(prefetch_of_0_and_65536_is_refused_and_changes_while_consuming)
{
    static tally self;
    consume_bench bench;
    memset(&self, 0, sizeof self);
    open_with_queue(&bench, "prefetch");
    put_numbers(&bench, bench.queue, 0, 30);
    atomic_store(&self.held, true);
    ace_consumer_options options = group_options(bench.queue, &self, 2);
    options.prefetch = 2;
    ace_group *group = open_group(bench.connection, &options);
    ace_consumer *consumer = ace_group_consumer(group);
    AWAIT(counted(consumer).in_flight == 4);
    ck_assert_int_eq(ace_consumer_set_prefetch(consumer, 0, NULL), ACE_LIMIT);
    ck_assert_int_eq(ace_consumer_set_prefetch(consumer, 65536, NULL), ACE_LIMIT);
    ck_assert_int_eq(ace_consumer_prefetch(consumer), 2);
    MUST(ace_consumer_set_prefetch(consumer, 10, &error));
    AWAIT(counted(consumer).in_flight >= 20);
    MUST(ace_consumer_set_prefetch(consumer, 1, &error));
    AWAIT(ace_consumer_is_subscribed(consumer));
    atomic_store(&self.held, false);
    AWAIT(counted(consumer).acknowledged == 30);
    for (int i = 0; i < 30; i++) {
        ck_assert_int_eq(atomic_load(&self.seen[i]), 1);
    }
    atomic_store(&self.held, true);
    put_numbers(&bench, bench.queue, 30, 10);
    AWAIT(atomic_load(&self.running) == 2);
    nap(100);
    AWAIT(counted(consumer).in_flight == 2);
    atomic_store(&self.held, false);
    AWAIT(counted(consumer).acknowledged == 40);
    ace_group_release(group);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(paused_a_consumer_gives_back_what_it_has_not_begun_and_takes_nothing)
{
    static tally first;
    static tally second;
    consume_bench bench;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    open_with_queue(&bench, "pause");
    put_numbers(&bench, bench.queue, 0, 10);
    atomic_store(&first.held, true);
    ace_consumer_options options = group_options(bench.queue, &first, 0);
    ace_consumer *consumer = consume_with(&bench, &options);
    AWAIT(atomic_load(&first.running) == 1 && counted(consumer).in_flight == 10);
    ck_assert(!ace_consumer_is_paused(consumer));
    MUST(ace_consumer_pause(consumer, &error));
    MUST(ace_consumer_pause(consumer, &error));
    ck_assert(ace_consumer_is_paused(consumer));
    ck_assert(!ace_consumer_is_subscribed(consumer));
    AWAIT(counted(consumer).in_flight == 1);
    ace_consumer_options others = group_options(bench.queue, &second, 0);
    ace_consumer *other = consume_with(&bench, &others);
    AWAIT(counted(other).acknowledged == 9);
    ace_consumer_release(other);
    atomic_store(&first.held, false); /* what is in hand is finished, and nothing taken */
    AWAIT(counted(consumer).acknowledged == 1);
    put_numbers(&bench, bench.queue, 10, 5);
    AWAIT(count_of(&bench, bench.queue) == 5);
    MUST(ace_consumer_resume(consumer, &error));
    MUST(ace_consumer_resume(consumer, &error));
    AWAIT(counted(consumer).acknowledged == 6);
    ck_assert(ace_consumer_is_subscribed(consumer));
    for (int i = 0; i < 15; i++) {
        ck_assert_int_eq(atomic_load(&first.seen[i]) + atomic_load(&second.seen[i]), 1);
    }
    MUST(ace_consumer_pause(consumer, &error));
    MUST(ace_consumer_close(consumer, &error));
    ck_assert_int_eq(ace_consumer_pause(consumer, NULL), ACE_CLOSED);
    ck_assert_int_eq(ace_consumer_resume(consumer, NULL), ACE_CLOSED);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

/* --- pulling --- */

typedef struct group_puller {
    pthread_t thread;
    ace_group *group;
    tally *self;
    ace_code code; /* what ended it */
} group_puller;

static void *pull_all(void *user)
{
    group_puller *puller = user;
    ace_delivery *delivery = NULL;
    while ((puller->code = ace_consumer_next(ace_group_consumer(puller->group), soon(), NULL,
                                             &delivery, NULL)) == ACE_OK) {
        (void)count_call(delivery, puller->self);
        MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
        ace_delivery_free(delivery);
    }
    return NULL;
}

static unsigned pulling_in(const ace_group *group)
{
    ace_inbox *inbox = &ace_group_consumer(group)->inbox;
    ace_mutex_lock(&inbox->mutex);
    unsigned pulling = inbox->pulling;
    ace_mutex_unlock(&inbox->mutex);
    return pulling;
}

START_TEST(as_many_threads_pull_as_there_are_members)
{
    static tally self;
    consume_bench bench;
    group_puller pullers[3];
    ace_delivery *delivery = NULL;
    memset(&self, 0, sizeof self);
    open_with_queue(&bench, "pulls");
    ace_consumer_options options = group_options(bench.queue, NULL, 3);
    ace_group *group = open_group(bench.connection, &options);
    ck_assert_int_ge(ace_consumer_descriptor(ace_group_consumer(group)), 0);
    for (int i = 0; i < 3; i++) {
        pullers[i] = (group_puller){.group = group, .self = &self};
        ck_assert_int_eq(pthread_create(&pullers[i].thread, NULL, pull_all, &pullers[i]), 0);
    }
    AWAIT(pulling_in(group) == 3);
    ck_assert_int_eq(ace_consumer_next(ace_group_consumer(group), now_ms(), NULL, &delivery, NULL),
                     ACE_WRONG_THREAD);
    atomic_store(&self.held, true);
    put_numbers(&bench, bench.queue, 0, 9);
    AWAIT(atomic_load(&self.running) == 3);
    atomic_store(&self.held, false);
    AWAIT(group_counts(group).acknowledged == 9);
    AWAIT(pulling_in(group) == 3);
    MUST(ace_group_scale(group, 1, &error)); /* two of them are too many */
    ck_assert_uint_eq(pulling_in(group), 1);
    put_numbers(&bench, bench.queue, 9, 3);
    AWAIT(group_counts(group).acknowledged == 12);
    AWAIT(pulling_in(group) == 1);
    ace_consumer_wake(ace_group_consumer(group));
    for (int i = 0; i < 3; i++) {
        pthread_join(pullers[i].thread, NULL);
        ck_assert_int_eq(pullers[i].code, ACE_CANCELLED);
    }
    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(atomic_load(&self.seen[i]), 1);
    }
    ace_group_release(group);
    bench_close(&bench, NULL);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase,
                   ten_handlers_of_200_ms_in_a_group_of_ten_handle_100_messages_in_about_2_s);
    tcase_add_test(tcase, no_member_waits_for_another_that_is_busy);
    tcase_add_test(tcase, scaling_from_2_to_8_and_back_loses_and_duplicates_nothing);
    tcase_add_test(tcase, scaling_down_waits_for_the_members_removed_within_the_budget);
    tcase_add_test(tcase, prefetch_of_0_and_65536_is_refused_and_changes_while_consuming);
    tcase_add_test(tcase, paused_a_consumer_gives_back_what_it_has_not_begun_and_takes_nothing);
    tcase_add_test(tcase, as_many_threads_pull_as_there_are_members);
}

int main(void)
{
    return run_suite(suite_on_both("group", 60, add_tests));
}
