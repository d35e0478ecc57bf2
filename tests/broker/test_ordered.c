/* Ordered consuming: what is in one partition is handled one after the other, whatever fails. */
#include "broker/group_fixture.h"
#include "contract/partition.h"
#include "engine/ordered.h"
#include "engine/ordered_state.h"

#define KEYS 5

/* Bodies are "KEY:NUMBER"; numbers of one key are to come in order, from 0. */
typedef struct order_log {
    pthread_mutex_t mutex;
    int next[KEYS];      /* the number expected */
    int running[KEYS];   /* calls that have begun and not ended */
    atomic_int disorder; /* messages that came before their turn, or beside one of their key */
    atomic_int repeats;  /* that came again after they were accepted */
    atomic_int handled;  /* accepted */
    atomic_int calls;    /* of the handler */
    atomic_int failing;  /* calls for the message below that still fail */
    char failed[16];     /* its body */
    ace_outcome how;     /* it fails */
    atomic_int attempt;  /* its envelope's, at the last call */
    int64_t pause;       /* of each call */
    atomic_int destroyed;
} order_log;

static void log_init(order_log *log)
{
    memset(log, 0, sizeof *log);
    pthread_mutex_init(&log->mutex, NULL);
    log->how = ACE_FAILED;
}

static ace_outcome judge_in_order(order_log *log, ace_delivery *delivery)
{
    char body[16];
    ace_bytes bytes = ace_delivery_body(delivery);
    snprintf(body, sizeof body, "%.*s", (int)bytes.length, (const char *)bytes.data);
    int key = atoi(body);
    int number = atoi(strchr(body, ':') + 1);
    ace_outcome outcome = ACE_ACCEPTED;
    pthread_mutex_lock(&log->mutex);
    log->calls++;
    if (number > log->next[key]) {
        log->disorder++;
    }
    if (number < log->next[key]) {
        log->repeats++;
    }
    if (log->failing > 0 && strcmp(body, log->failed) == 0) {
        log->failing--;
        log->attempt = ace_delivery_envelope(delivery)->attempt;
        outcome = log->how;
    }
    if (outcome == ACE_ACCEPTED && number == log->next[key]) {
        log->next[key]++;
        log->handled++;
    }
    pthread_mutex_unlock(&log->mutex);
    return outcome;
}

/* From the beginning of a call to its end no other may have its key. */
static void note_key(order_log *log, const ace_delivery *delivery, int change)
{
    int key = *ace_delivery_body(delivery).data - '0';
    pthread_mutex_lock(&log->mutex);
    log->disorder += change > 0 && log->running[key] > 0;
    log->running[key] += change;
    pthread_mutex_unlock(&log->mutex);
}

static ace_outcome handle_in_order(ace_delivery *delivery, void *user)
{
    order_log *log = user;
    note_key(log, delivery, 1);
    if (log->pause > 0) {
        nap(log->pause);
    }
    ace_outcome outcome = judge_in_order(log, delivery);
    note_key(log, delivery, -1);
    if (outcome != ACE_ACCEPTED) {
        ace_delivery_set_reason(delivery, "not today");
    }
    return outcome;
}

static void note_destruction(void *user)
{
    order_log *log = user;
    atomic_fetch_add(&log->destroyed, 1);
}

/* --- its queues --- */

static const char *partition_queue(const consume_bench *bench, int partition, const char *suffix)
{
    char end[40];
    snprintf(end, sizeof end, ".%d%s", partition, suffix);
    return named(bench, end);
}

static void declare_partitions(consume_bench *bench, int count)
{
    for (int p = 0; p < count; p++) {
        ace_table arguments = ACE_TABLE_INIT;
        MUST(ace_table_set_text(&arguments, "x-queue-type", "quorum", &error));
        MUST(ace_table_set_bool(&arguments, "x-single-active-consumer", true, &error));
        amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes(partition_queue(bench, p, "")),
                                        .durable = 1,
                                        .arguments = arguments.table};
        MUST(ace_session_call(bench->session, AMQP_QUEUE_DECLARE_METHOD, &declare, NULL, soon(),
                              NULL, &error));
        ace_table_release(&arguments);
    }
}

static void open_bench(consume_bench *bench, const char *name, int partitions)
{
    bench_open(bench, name);
    declare_partitions(bench, partitions);
}

static void close_bench(consume_bench *bench, int partitions)
{
    for (int p = 0; p < partitions; p++) {
        delete_queue(bench, partition_queue(bench, p, ""));
        delete_queue(bench, partition_queue(bench, p, ".dlq"));
        delete_queue(bench, partition_queue(bench, p, ".parked"));
    }
    declare_queue(bench, bench->queue, "classic", 0);
    bench_close(bench, NULL);
}

static int partition_of(int key, int partitions)
{
    char text[16];
    snprintf(text, sizeof text, "key-%d", key);
    return (int)ace_partition_of(ace_bytes_of(text), (uint32_t)partitions, ACE_PARTITION_UNSIGNED);
}

static void put_keyed(consume_bench *bench, int partitions, int key, int number)
{
    char id[32];
    char body[16];
    ace_head head;
    snprintf(id, sizeof id, "k%d-%d", key, number);
    snprintf(body, sizeof body, "%d:%d", key, number);
    head_with_id(&head, id);
    put_raw(bench, partition_queue(bench, partition_of(key, partitions), ""), body, strlen(body),
            &head);
    ace_head_release(&head);
}

static void put_rounds(consume_bench *bench, int partitions, int from, int rounds)
{
    for (int number = from; number < from + rounds; number++) {
        for (int key = 0; key < KEYS; key++) {
            put_keyed(bench, partitions, key, number);
        }
    }
}

static ace_ordered_options ordered_options(const consume_bench *bench, order_log *log,
                                           const ace_policy *policy, int partitions,
                                           ace_order_failure failure)
{
    ace_ordered_options options = {.partitions = partitions, .failure = failure};
    ace_consumer_options_init(&options.consumer);
    options.consumer.queue = bench->queue;
    options.consumer.retry = policy;
    if (log != NULL) {
        options.consumer.handler = handle_in_order;
        options.consumer.user = log;
        options.consumer.destructor = note_destruction;
    }
    return options;
}

static ace_ordered *open_ordered(ace_connection *connection, const ace_ordered_options *options)
{
    ace_ordered *ordered = NULL;
    MUST(ace_ordered_open(connection, options, soon(), NULL, &ordered, &error));
    return ordered;
}

static ace_consumer_counters ordered_counts(const ace_ordered *ordered)
{
    ace_consumer_counters sum;
    ace_ordered_count(ordered, &sum);
    return sum;
}

/* --- tests --- */

START_TEST(each_key_is_handled_in_its_order)
{
    static order_log log;
    consume_bench bench;
    log_init(&log);
    open_bench(&bench, "inorder", 4);
    ace_ordered_options options = ordered_options(&bench, &log, NULL, 4, ACE_ORDER_STOP);
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    put_rounds(&bench, 4, 0, 30);
    AWAIT(atomic_load(&log.handled) == 30 * KEYS);
    ck_assert_int_eq(log.disorder, 0);
    ck_assert_int_eq(log.repeats, 0);
    AWAIT(ordered_counts(ordered).acknowledged == 30 * KEYS);
    MUST(ace_ordered_drain(ordered, soon(), NULL, &error));
    MUST(ace_ordered_close(ordered, &error));
    ck_assert_int_eq(ace_ordered_close(ordered, NULL), ACE_CLOSED);
    ace_ordered_release(ordered);
    AWAIT(atomic_load(&log.destroyed) == 1);
    close_bench(&bench, 4);
}
END_TEST

START_TEST(stop_halts_the_partition_keeps_the_message_and_resumes_at_it)
{
    static order_log log;
    consume_bench bench;
    ace_error *why = NULL;
    ace_policy policy = ace_policy_fixed(3, 20);
    log_init(&log);
    open_bench(&bench, "stop", 2);
    snprintf(log.failed, sizeof log.failed, "0:1");
    log.failing = 3;
    int halted = partition_of(0, 2);
    ace_ordered_options options = ordered_options(&bench, &log, &policy, 2, ACE_ORDER_STOP);
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    for (int number = 0; number < 4; number++) {
        put_keyed(&bench, 2, 0, number);
    }
    AWAIT(ace_ordered_is_halted(ordered, halted, NULL));
    ck_assert(ace_ordered_is_halted(ordered, halted, &why));
    ck_assert_ptr_nonnull(strstr(ace_error_message(why), "k0-1 after 3 attempts: not today"));
    ace_error_free(why);
    ck_assert(!ace_ordered_is_halted(ordered, 1 - halted, NULL));
    AWAIT(count_of(&bench, partition_queue(&bench, halted, "")) == 3); /* 1, 2 and 3 */
    ck_assert_int_eq(atomic_load(&log.calls), 4);
    ck_assert_int_eq(atomic_load(&log.handled), 1);
    ck_assert_int_eq(log.attempt, 1); /* what is counted here stays here */
    MUST(ace_ordered_resume(ordered, halted, &error));
    ck_assert(!ace_ordered_is_halted(ordered, halted, NULL));
    AWAIT(atomic_load(&log.handled) == 4);
    ck_assert_int_eq(log.disorder, 0);
    ck_assert_int_eq(log.repeats, 0);
    ck_assert_int_eq(ace_ordered_resume(ordered, 2, NULL), ACE_INVALID_ARGUMENT);
    ace_ordered_release(ordered);
    close_bench(&bench, 2);
}
END_TEST

START_TEST(skip_sends_to_the_dead_letters_and_records_the_gap)
{
    static order_log log;
    consume_bench bench;
    ace_gaps gaps;
    ace_policy policy = ace_policy_fixed(2, 20);
    log_init(&log);
    open_bench(&bench, "skip", 1);
    snprintf(log.failed, sizeof log.failed, "0:0");
    log.failing = 1000;
    ace_ordered_options options = ordered_options(&bench, &log, &policy, 1, ACE_ORDER_SKIP);
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    put_keyed(&bench, 1, 0, 0);
    put_keyed(&bench, 1, 1, 0);
    ace_delivery *dead = take_from(&bench, partition_queue(&bench, 0, ".dlq"));
    assert_text(ace_delivery_envelope(dead)->id, "k0-0");
    assert_text(ace_delivery_envelope(dead)->error, "exhausted 2 attempts: not today");
    ck_assert_int_eq(ace_delivery_envelope(dead)->attempt, 1);
    ace_delivery_free(dead);
    AWAIT(atomic_load(&log.handled) == 1);
    ck_assert_int_eq(atomic_load(&log.calls), 3);
    MUST(ace_ordered_gaps(ordered, &gaps, &error));
    ck_assert_uint_eq(gaps.count, 1);
    ck_assert_uint_eq(gaps.all, 1);
    ck_assert_int_eq(gaps.items[0].partition, 0);
    ck_assert_str_eq(gaps.items[0].id, "k0-0");
    ck_assert_str_eq(gaps.items[0].reason, "not today");
    ck_assert(!gaps.items[0].parked);
    ace_gaps_release(&gaps);
    AWAIT(ordered_counts(ordered).dead_lettered == 1);
    ace_ordered_release(ordered);
    close_bench(&bench, 1);
}
END_TEST

START_TEST(retry_in_place_never_ends_and_lets_nobody_pass)
{
    static order_log log;
    consume_bench bench;
    ace_policy policy = ace_policy_fixed(2, 10);
    log_init(&log);
    open_bench(&bench, "inplace", 1);
    snprintf(log.failed, sizeof log.failed, "0:0");
    log.failing = 12;
    log.how = ACE_REJECTED;
    ace_ordered_options options =
        ordered_options(&bench, &log, &policy, 1, ACE_ORDER_RETRY_IN_PLACE);
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    put_keyed(&bench, 1, 0, 0);
    put_keyed(&bench, 1, 0, 1);
    AWAIT(atomic_load(&log.handled) == 2);
    ck_assert_int_eq(log.calls, 14);
    ck_assert_int_eq(log.disorder, 0);
    ck_assert_int_eq(log.attempt, 1);
    AWAIT(ordered_counts(ordered).acknowledged == 2);
    ace_ordered_release(ordered);
    close_bench(&bench, 1);
}
END_TEST

START_TEST(what_does_not_decode_is_parked_and_a_gap)
{
    static order_log log;
    consume_bench bench;
    ace_gaps gaps;
    log_init(&log);
    open_bench(&bench, "gap", 1);
    ace_ordered_options options = ordered_options(&bench, &log, NULL, 1, ACE_ORDER_STOP);
    options.consumer.codec = ace_codec_find("json");
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    put_raw(&bench, partition_queue(&bench, 0, ""), "{", 1, NULL);
    ace_delivery *parked = take_from(&bench, partition_queue(&bench, 0, ".parked"));
    assert_text(ace_delivery_body(parked), "{");
    ace_delivery_free(parked);
    AWAIT(ordered_counts(ordered).parked == 1);
    MUST(ace_ordered_gaps(ordered, &gaps, &error));
    ck_assert_uint_eq(gaps.count, 1);
    ck_assert(gaps.items[0].parked);
    ace_gaps_release(&gaps);
    ck_assert_int_eq(log.calls, 0);
    ck_assert(!ace_ordered_is_halted(ordered, 0, NULL));
    ace_ordered_release(ordered);
    close_bench(&bench, 1);
}
END_TEST

START_TEST(the_order_of_each_key_holds_while_consumers_join_and_leave)
{
    static order_log log;
    consume_bench bench;
    const int rounds = 60;
    log_init(&log);
    log.pause = 2;
    open_bench(&bench, "members", 2);
    ace_ordered_options options = ordered_options(&bench, &log, NULL, 2, ACE_ORDER_STOP);
    ace_ordered *first = open_ordered(bench.connection, &options);
    put_rounds(&bench, 2, 0, rounds / 2);
    ace_connection *other = connect_again();
    ace_ordered *second = open_ordered(other, &options);
    AWAIT(atomic_load(&log.handled) >= KEYS);
    MUST(ace_ordered_close(first, &error)); /* with a message in hand, and one sent behind it */
    ace_ordered_release(first);
    put_rounds(&bench, 2, rounds / 2, rounds / 2);
    int before = atomic_load(&log.handled);
    AWAIT(atomic_load(&log.handled) > before + KEYS || log.handled == rounds * KEYS);
    first = open_ordered(bench.connection, &options);
    MUST(ace_ordered_pause(second, &error));
    ck_assert(ace_ordered_is_paused(second));
    before = atomic_load(&log.handled);
    AWAIT(atomic_load(&log.handled) > before + KEYS || log.handled == rounds * KEYS);
    MUST(ace_ordered_resume(second, -1, &error));
    MUST(ace_ordered_drain(first, soon(), NULL, &error));
    ace_ordered_release(first);
    AWAIT(atomic_load(&log.handled) == rounds * KEYS);
    ck_assert_int_eq(log.disorder, 0);
    ck_assert_int_eq(log.repeats, 0);
    MUST(ace_ordered_drain(second, soon(), NULL, &error));
    ace_ordered_release(second);
    MUST(ace_connection_close(other, 5000, &error));
    ace_connection_release(other);
    close_bench(&bench, 2);
}
END_TEST

START_TEST(closing_during_a_wait_leaves_the_message_first_in_its_queue)
{
    static order_log log;
    consume_bench bench;
    ace_policy policy = ace_policy_fixed(5, 60000);
    log_init(&log);
    open_bench(&bench, "waiting", 1);
    snprintf(log.failed, sizeof log.failed, "0:0");
    log.failing = 1;
    ace_ordered_options options = ordered_options(&bench, &log, &policy, 1, ACE_ORDER_STOP);
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    put_keyed(&bench, 1, 0, 0);
    put_keyed(&bench, 1, 0, 1);
    AWAIT(atomic_load(&log.calls) == 1);
    MUST(ace_ordered_drain(ordered, soon(), NULL, &error));
    ace_ordered_release(ordered);
    AWAIT(count_of(&bench, partition_queue(&bench, 0, "")) == 2);
    ordered = open_ordered(bench.connection, &options);
    AWAIT(atomic_load(&log.handled) == 2);
    ck_assert_int_eq(log.disorder, 0);
    ace_ordered_release(ordered);
    close_bench(&bench, 1);
}
END_TEST

START_TEST(pulled_messages_come_in_order_and_again_after_a_failure)
{
    static order_log log;
    consume_bench bench;
    ace_delivery *delivery = NULL;
    ace_policy policy = ace_policy_fixed(3, 20);
    log_init(&log);
    open_bench(&bench, "pulled", 1);
    ace_ordered_options options = ordered_options(&bench, NULL, &policy, 1, ACE_ORDER_STOP);
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    put_keyed(&bench, 1, 0, 0);
    put_keyed(&bench, 1, 0, 1);
    MUST(ace_ordered_next(ordered, soon(), NULL, &delivery, &error));
    assert_text(ace_delivery_body(delivery), "0:0");
    ace_delivery *other = NULL;
    ck_assert_int_eq(ace_ordered_next(ordered, now_ms() + 50, NULL, &other, NULL), ACE_TIMEOUT);
    MUST(ace_delivery_settle(delivery, ACE_FAILED, "not yet", &error));
    MUST(ace_ordered_next(ordered, soon(), NULL, &other, &error));
    assert_text(ace_delivery_body(other), "0:0");
    assert_text(ace_delivery_body(delivery), "0:0"); /* still there for its reader */
    ck_assert_int_eq(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, NULL), ACE_SETTLED);
    ace_delivery_free(delivery);
    ace_delivery_free(other); /* not settled: put back to its place */
    MUST(ace_ordered_next(ordered, soon(), NULL, &delivery, &error));
    assert_text(ace_delivery_body(delivery), "0:0");
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
    MUST(ace_ordered_next(ordered, soon(), NULL, &delivery, &error));
    assert_text(ace_delivery_body(delivery), "0:1");
    ace_ordered_wake(ordered);
    ck_assert_int_eq(ace_ordered_next(ordered, soon(), NULL, &other, NULL), ACE_CANCELLED);
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
    AWAIT(ordered_counts(ordered).acknowledged == 2);
    put_keyed(&bench, 1, 0, 2);
    AWAIT(ordered_counts(ordered).in_flight == 1);
    MUST(ace_ordered_close(ordered, &error)); /* with one that nobody pulled */
    ck_assert_int_eq(ace_ordered_next(ordered, soon(), NULL, &other, NULL), ACE_CLOSED);
    AWAIT(count_of(&bench, partition_queue(&bench, 0, "")) == 1);
    ace_ordered_release(ordered);
    close_bench(&bench, 1);
}
END_TEST

static void cut_now(void *user)
{
    ace_error *error = NULL;
    (void)ace_fail(&error, ACE_CONNECTION_LOST, "cut by the test");
    ace_link_fail(user, error);
}

/* On which opening of its channel the only message that is offered came; 0: none is, or several. */
static uint64_t opening_of_offered(ace_ordered *ordered)
{
    ace_mutex_lock(&ordered->handouts.mutex);
    uint64_t opening = 0;
    if (ordered->handouts.ready.count == 1) {
        ace_link_node *node = ace_list_first(&ordered->handouts.ready);
        opening = ACE_RECORD(node, ace_delivery, queue)->opening;
    }
    ace_mutex_unlock(&ordered->handouts.mutex);
    return opening;
}

/* While nobody pulls, connections come and go: what was on them is offered no more. */
START_TEST(what_nobody_pulled_goes_with_its_channel)
{
    consume_bench bench;
    ace_policy policy = ace_policy_fixed(2, 10);
    open_bench(&bench, "offered", 1);
    ace_ordered_options options = ordered_options(&bench, NULL, &policy, 1, ACE_ORDER_STOP);
    options.consumer.handler = NULL;
    options.consumer.destructor = NULL;
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    ace_link *link = bench.connection->consuming;
    put_keyed(&bench, 1, 0, 0);
    uint64_t opening = 0;
    for (int i = 0; i < 3; i++) {
        /* The delivery of the channel that was lost may still be offered when the next one is
         * there. */
        AWAIT(opening_of_offered(ordered) > opening);
        opening = opening_of_offered(ordered);
        ck_assert(ace_loop_call(ace_link_loop(link), cut_now, link));
    }
    AWAIT(opening_of_offered(ordered) > opening);
    ck_assert_uint_ge(ordered_counts(ordered).delivered, 4);
    ace_delivery *pulled = NULL;
    MUST(ace_ordered_next(ordered, soon(), NULL, &pulled, &error));
    MUST(ace_delivery_settle(pulled, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(pulled);
    AWAIT(ordered_counts(ordered).acknowledged == 1);
    ace_ordered_release(ordered);
    close_bench(&bench, 1);
}
END_TEST

typedef struct cutting {
    ace_link *link;
    atomic_int calls;
} cutting;

static ace_outcome fail_and_cut_the_first(ace_delivery *delivery, void *user)
{
    cutting *self = user;
    (void)delivery;
    if (atomic_fetch_add(&self->calls, 1) == 0) {
        (void)ace_loop_call(ace_link_loop(self->link), cut_now, self->link);
    }
    return ACE_FAILED;
}

START_TEST(a_message_that_comes_again_on_its_way_to_the_dead_letters_is_one_gap)
{
    consume_bench bench;
    ace_gaps gaps;
    open_bench(&bench, "onegap", 1);
    cutting self = {.link = bench.connection->consuming};
    ace_ordered_options options = ordered_options(&bench, NULL, NULL, 1, ACE_ORDER_SKIP);
    options.consumer.handler = fail_and_cut_the_first;
    options.consumer.user = &self;
    ace_ordered *ordered = open_ordered(bench.connection, &options);
    put_keyed(&bench, 1, 0, 0);
    AWAIT(ordered_counts(ordered).dead_lettered == 1);
    ck_assert_int_eq(atomic_load(&self.calls), 2);
    MUST(ace_ordered_gaps(ordered, &gaps, &error));
    ck_assert_uint_eq(gaps.all, 1);
    ck_assert_str_eq(gaps.items[0].id, "k0-0");
    ace_gaps_release(&gaps);
    MUST(ace_ordered_drain(ordered, soon(), NULL, &error));
    ace_ordered_release(ordered);
    close_bench(&bench, 1);
}
END_TEST

START_TEST(without_all_its_queues_it_does_not_open_and_handles_nothing)
{
    static order_log log;
    consume_bench bench;
    ace_ordered *ordered = NULL;
    log_init(&log);
    open_bench(&bench, "missing", 2);
    put_rounds(&bench, 2, 0, 1);
    ace_ordered_options options = ordered_options(&bench, &log, NULL, 3, ACE_ORDER_STOP);
    ck_assert_int_eq(ace_ordered_open(bench.connection, &options, soon(), NULL, &ordered, NULL),
                     ACE_NOT_FOUND);
    options.partitions = 0;
    ck_assert_int_eq(ace_ordered_open(bench.connection, &options, soon(), NULL, &ordered, NULL),
                     ACE_LIMIT);
    options.partitions = 2;
    ordered = open_ordered(bench.connection, &options); /* what was sent is there again */
    AWAIT(atomic_load(&log.handled) == KEYS);
    ck_assert_int_eq(log.calls, KEYS);
    ace_ordered_release(ordered);
    AWAIT(atomic_load(&log.destroyed) == 1);
    close_bench(&bench, 2);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, each_key_is_handled_in_its_order);
    tcase_add_test(tcase, stop_halts_the_partition_keeps_the_message_and_resumes_at_it);
    tcase_add_test(tcase, skip_sends_to_the_dead_letters_and_records_the_gap);
    tcase_add_test(tcase, retry_in_place_never_ends_and_lets_nobody_pass);
    tcase_add_test(tcase, what_does_not_decode_is_parked_and_a_gap);
    tcase_add_test(tcase, the_order_of_each_key_holds_while_consumers_join_and_leave);
    tcase_add_test(tcase, closing_during_a_wait_leaves_the_message_first_in_its_queue);
    tcase_add_test(tcase, pulled_messages_come_in_order_and_again_after_a_failure);
    tcase_add_test(tcase, what_nobody_pulled_goes_with_its_channel);
    tcase_add_test(tcase, a_message_that_comes_again_on_its_way_to_the_dead_letters_is_one_gap);
    tcase_add_test(tcase, without_all_its_queues_it_does_not_open_and_handles_nothing);
}

int main(void)
{
    return run_suite(suite_on_both("ordered", 60, add_tests));
}
