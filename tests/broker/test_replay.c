/*
 * Dead letters and parked messages brought home: what is moved, what stays, and in which order.
 */
#include "support/trial_recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

/* --- a queue with dead letters --- */

typedef struct stage {
    trial self;
    const char *source, *dead, *parked;
} stage;

static void set_up(stage *scene, int broker)
{
    trial_begin(&scene->self, broker);
    scene->source = trial_queue(&scene->self, "orders", ACEMQ_QUEUE_CLASSIC);
    scene->dead = trial_derived(&scene->self, scene->source, ".dlq");
    scene->parked = trial_derived(&scene->self, scene->source, ".parked");
}

static void send_numbered(const stage *scene, int count)
{
    for (int i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof id, "order-%02d", i);
        acemq_message *message = acemq_message_text(id);
        acemq_message_set_id(message, id);
        acemq_message_set_type(message, i % 2 == 0 ? "order.placed" : "order.paid");
        trial_must(acemq_publish(scene->self.mq, scene->source, message, PATIENCE, trial_error()));
        acemq_message_free(message);
    }
}

/* Sends so many and lets a consumer answer each with `verdict`, one attempt each. */
static void fill(const stage *scene, int count, trial_verdict *verdict, const char *where)
{
    trial_recorder seen;
    trial_record(&seen, scene->self.mq, scene->source, NULL, NULL, verdict, NULL);
    send_numbered(scene, count);
    trial_wait_ready(&scene->self, where, (uint64_t)count, PATIENCE);
    trial_record_end(&seen);
}

static acemq_replay_result replay(const stage *scene, const acemq_replay_options *options)
{
    acemq_replay_result result = {.size = sizeof result};
    trial_must(acemq_replay(scene->self.mq, scene->source, options, &result, trial_error()));
    return result;
}

static void expect_result(acemq_replay_result result, uint64_t replayed, uint64_t declined,
                          uint64_t left)
{
    ck_assert_uint_eq(result.replayed, replayed);
    ck_assert_uint_eq(result.declined, declined);
    ck_assert_uint_eq(result.left, left);
}

/* The queue holds exactly the orders of these numbers, -1 last, in this order. */
static void expect_orders(const stage *scene, const char *queue, const int *numbers)
{
    trial_sight sights[64];
    size_t count = trial_browse(&scene->self, queue, sights, 64);
    size_t expected = 0;
    while (numbers[expected] >= 0) {
        char id[32];
        snprintf(id, sizeof id, "order-%02d", numbers[expected]);
        ck_assert_msg(expected < count, "%s lacks %s", queue, id);
        ck_assert_str_eq(acemq_envelope_id(sights[expected].envelope), id);
        trial_sight_has_body(&sights[expected], id, strlen(id));
        expected++;
    }
    ck_assert_uint_eq(count, expected);
    for (size_t i = 0; i < count; i++) {
        trial_sight_free(&sights[i]);
    }
}

static uint64_t pending(const stage *scene, acemq_failure_queue source)
{
    uint64_t count = 99;
    trial_must(acemq_replay_pending(scene->self.mq, scene->source, source, PATIENCE, &count,
                                    trial_error()));
    return count;
}

/* --- which ones --- */

static int is_placed(const acemq_delivery *delivery, void *user)
{
    int *asked = user;
    *asked += 1;
    return strcmp(acemq_envelope_type(acemq_delivery_envelope(delivery)), "order.placed") == 0;
}

START_TEST(declined_messages_stay_in_their_order_and_hide_none)
{
    stage scene;
    int asked = 0;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    fill(&scene, 10, trial_reject, scene.dead);
    options.filter = is_placed;
    options.filter_user = &asked;
    expect_result(replay(&scene, &options), 5, 5, 5);
    ck_assert_int_eq(asked, 10);
    expect_orders(&scene, scene.source, (int[]){0, 2, 4, 6, 8, -1});
    expect_orders(&scene, scene.dead, (int[]){1, 3, 5, 7, 9, -1});
    ck_assert_uint_eq(pending(&scene, ACEMQ_DEAD_LETTERS), 5);
    trial_end(&scene.self);
}
END_TEST

START_TEST(one_is_taken_by_its_id)
{
    stage scene;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    fill(&scene, 6, trial_reject, scene.dead);
    options.id = "order-04";
    acemq_replay_result result = replay(&scene, &options);
    ck_assert_uint_eq(result.replayed, 1);
    ck_assert_uint_eq(result.left, 5);
    expect_orders(&scene, scene.source, (int[]){4, -1});
    expect_orders(&scene, scene.dead, (int[]){0, 1, 2, 3, 5, -1});
    options.id = "order-77";
    result = replay(&scene, &options);
    ck_assert_uint_eq(result.replayed, 0);
    ck_assert_uint_eq(result.left, 5);
    expect_orders(&scene, scene.dead, (int[]){0, 1, 2, 3, 5, -1});
    trial_end(&scene.self);
}
END_TEST

START_TEST(max_bounds_what_is_moved)
{
    stage scene;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    fill(&scene, 6, trial_reject, scene.dead);
    options.max = 0;
    expect_result(replay(&scene, &options), 0, 0, 6);
    options.max = 2;
    expect_result(replay(&scene, &options), 2, 0, 4);
    expect_orders(&scene, scene.source, (int[]){0, 1, -1});
    expect_orders(&scene, scene.dead, (int[]){2, 3, 4, 5, -1});
    options.max = 100;
    expect_result(replay(&scene, &options), 4, 0, 0);
    ck_assert_uint_eq(pending(&scene, ACEMQ_DEAD_LETTERS), 0);
    trial_end(&scene.self);
}
END_TEST

/* Max counts what is moved: declined ones in between do not use it up. */
START_TEST(max_and_filter_together)
{
    stage scene;
    int asked = 0;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    fill(&scene, 8, trial_reject, scene.dead);
    options.filter = is_placed;
    options.filter_user = &asked;
    options.max = 2;
    acemq_replay_result result = replay(&scene, &options);
    ck_assert_uint_eq(result.replayed, 2);
    ck_assert_uint_eq(result.left, 6);
    expect_orders(&scene, scene.source, (int[]){0, 2, -1});
    expect_orders(&scene, scene.dead, (int[]){1, 3, 4, 5, 6, 7, -1});
    trial_end(&scene.self);
}
END_TEST

START_TEST(a_dry_run_counts_and_moves_nothing)
{
    stage scene;
    int asked = 0;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    fill(&scene, 6, trial_reject, scene.dead);
    options.dry_run = 1;
    expect_result(replay(&scene, &options), 6, 0, 6);
    options.filter = is_placed;
    options.filter_user = &asked;
    expect_result(replay(&scene, &options), 3, 3, 6);
    expect_orders(&scene, scene.dead, (int[]){0, 1, 2, 3, 4, 5, -1});
    ck_assert_uint_eq(trial_ready(&scene.self, scene.source), 0);
    trial_end(&scene.self);
}
END_TEST

typedef struct told {
    uint64_t calls, replayed, declined, total;
} told;

static void tell(uint64_t replayed, uint64_t declined, uint64_t total, void *user)
{
    told *self = user;
    ck_assert_uint_eq(replayed + declined, self->replayed + self->declined + 1);
    *self = (told){self->calls + 1, replayed, declined, total};
}

START_TEST(progress_is_told_after_each_message)
{
    stage scene;
    told seen = {0, 0, 0, 0};
    int asked = 0;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    fill(&scene, 7, trial_reject, scene.dead);
    options.progress = tell;
    options.progress_user = &seen;
    options.filter = is_placed;
    options.filter_user = &asked;
    expect_result(replay(&scene, &options), 4, 3, 3);
    ck_assert_uint_eq(seen.calls, 7);
    ck_assert_uint_eq(seen.replayed, 4);
    ck_assert_uint_eq(seen.declined, 3);
    ck_assert_uint_eq(seen.total, 7);
    trial_end(&scene.self);
}
END_TEST

/* --- what they look like afterwards --- */

static void look_home(const stage *scene, int32_t attempt, const char *error, int32_t count,
                      const char *from)
{
    trial_sight home;
    trial_only(&scene->self, scene->source, &home);
    ck_assert_int_eq(acemq_envelope_attempt(home.envelope), attempt);
    if (error == NULL) {
        ck_assert_ptr_null(acemq_envelope_error(home.envelope));
    } else {
        ck_assert_str_eq(acemq_envelope_error(home.envelope), error);
    }
    ck_assert_int_eq(acemq_envelope_replay_count(home.envelope), count);
    ck_assert_str_eq(acemq_envelope_replayed_from(home.envelope), from);
    ck_assert_int_eq(acemq_envelope_replayed_at(home.envelope, &(int64_t){0}), 1);
    trial_sight_free(&home);
}

static void exhaust(const stage *scene)
{
    trial_recorder seen;
    acemq_policy *policy = trial_policy("fixed(3, 10ms)");
    trial_record_saying(&seen, scene->self.mq, scene->source, policy, NULL, trial_fail, NULL,
                        "no stock");
    trial_wait_ready(&scene->self, scene->dead, 1, PATIENCE);
    ck_assert_uint_eq(trial_seen(&seen), 3);
    trial_record_end(&seen);
    acemq_policy_free(policy);
}

START_TEST(attempts_start_anew_and_are_kept_when_asked)
{
    stage scene;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    send_numbered(&scene, 1);
    exhaust(&scene);
    options.keep_attempts = 1;
    expect_result(replay(&scene, &options), 1, 0, 0);
    look_home(&scene, 3, "exhausted 3 attempts: no stock", 1, scene.dead);

    trial_recorder seen;
    trial_record(&seen, scene.self.mq, scene.source, NULL, NULL, trial_reject, NULL);
    trial_wait_ready(&scene.self, scene.dead, 1, PATIENCE);
    trial_record_end(&seen);
    expect_result(replay(&scene, NULL), 1, 0, 0);
    look_home(&scene, 1, NULL, 2, scene.dead);
    trial_end(&scene.self);
}
END_TEST

START_TEST(parked_messages_are_brought_home_from_the_parking_lot)
{
    stage scene;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    set_up(&scene, _i);
    fill(&scene, 1, trial_park, scene.parked);
    ck_assert_uint_eq(pending(&scene, ACEMQ_DEAD_LETTERS), 0);
    ck_assert_uint_eq(pending(&scene, ACEMQ_PARKED_LETTERS), 1);
    expect_result(replay(&scene, NULL), 0, 0, 0);
    options.source = ACEMQ_PARKED_LETTERS;
    expect_result(replay(&scene, &options), 1, 0, 0);
    look_home(&scene, 1, NULL, 1, scene.parked);
    trial_end(&scene.self);
}
END_TEST

/* A message from a program that never heard of us, straight into the dead letters. */
START_TEST(a_foreign_message_gains_no_envelope_by_a_replay)
{
    stage scene;
    trial_sight home;
    set_up(&scene, _i);
    fill(&scene, 0, trial_accept, scene.dead);
    acemq_table *headers = acemq_table_new();
    trial_must(acemq_table_set_integer(headers, "count", ACEMQ_KIND_INT16, 7, trial_error()));
    trial_must(acemq_table_set_integer(headers, "x-acemq-replay-count", ACEMQ_KIND_INT32, 4,
                                       trial_error()));
    acemq_message *message = acemq_message_verbatim("foreign", 7, headers);
    trial_must(acemq_publish(scene.self.mq, scene.dead, message, PATIENCE, trial_error()));
    acemq_message_free(message);
    acemq_table_free(headers);
    expect_result(replay(&scene, NULL), 1, 0, 0);
    trial_only(&scene.self, scene.source, &home);
    const char *absent[] = {"x-acemq-id",      "x-acemq-type",        "x-acemq-correlation",
                            "x-acemq-version", "x-acemq-origin",      "x-acemq-first-seen",
                            "x-acemq-error",   "x-acemq-replay-count"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        ck_assert_msg(acemq_table_get(home.headers, absent[i]) == NULL, "%s appeared", absent[i]);
    }
    const acemq_value *count = acemq_table_get(home.headers, "count");
    ck_assert_int_eq(acemq_value_kind(count), ACEMQ_KIND_INT16);
    ck_assert_int_eq(acemq_envelope_replay_count(home.envelope), 5);
    ck_assert_str_eq(home.message_id, "");
    trial_sight_has_body(&home, "foreign", 7);
    trial_sight_free(&home);
    trial_end(&scene.self);
}
END_TEST

/* --- what is missing or refused --- */

START_TEST(no_failure_queue_is_nothing_pending_and_no_source_is_an_error)
{
    stage scene;
    acemq_replay_result result = {.size = sizeof result};
    uint64_t count = 0;
    set_up(&scene, _i);
    ck_assert_uint_eq(pending(&scene, ACEMQ_DEAD_LETTERS), 0);
    ck_assert_uint_eq(pending(&scene, ACEMQ_PARKED_LETTERS), 0);
    expect_result(replay(&scene, NULL), 0, 0, 0);
    const char *missing = trial_name(&scene.self, "missing");
    trial_must_fail(ACEMQ_E_NOT_FOUND,
                    acemq_replay_pending(scene.self.mq, missing, ACEMQ_DEAD_LETTERS, PATIENCE,
                                         &count, trial_error()));
    trial_error_says(missing);
    trial_must_fail(ACEMQ_E_NOT_FOUND,
                    acemq_replay(scene.self.mq, missing, NULL, &result, trial_error()));
    trial_error_says(missing);
    trial_end(&scene.self);
}
END_TEST

START_TEST(a_failure_queue_is_not_a_destination)
{
    stage scene;
    set_up(&scene, _i);
    fill(&scene, 2, trial_reject, scene.dead);
    trial_must_fail(ACEMQ_E_INVALID_ARGUMENT,
                    acemq_replay(scene.self.mq, scene.dead, NULL, NULL, trial_error()));
    trial_error_says(scene.source);
    trial_must_fail(ACEMQ_E_INVALID_ARGUMENT,
                    acemq_replay(scene.self.mq, scene.parked, NULL, NULL, trial_error()));
    ck_assert_uint_eq(trial_ready(&scene.self, scene.dead), 2);
    trial_end(&scene.self);
}
END_TEST

static void delete_source(uint64_t replayed, uint64_t declined, uint64_t total, void *user)
{
    const stage *scene = user;
    (void)declined, (void)total;
    if (replayed == 2) {
        trial_must(
            acemq_queue_delete(scene->self.mq, scene->source, PATIENCE, NULL, trial_error()));
    }
}

/* What cannot go home stays, and how far it got is told. */
START_TEST(a_source_that_goes_away_stops_the_pass_and_loses_nothing)
{
    enum { FAR_MORE_THAN_A_WINDOW = 1000 };
    stage scene;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    acemq_error *error = NULL;
    set_up(&scene, _i);
    fill(&scene, FAR_MORE_THAN_A_WINDOW, trial_reject, scene.dead);
    options.progress = delete_source;
    options.progress_user = &scene;
    acemq_status status = acemq_replay(scene.self.mq, scene.source, &options, &result, &error);
    ck_assert_int_eq(status, ACEMQ_E_UNROUTABLE);
    acemq_error_free(error);
    ck_assert_uint_ge(result.replayed, 2);
    ck_assert_uint_lt(result.replayed, FAR_MORE_THAN_A_WINDOW);
    trial_wait_ready(&scene.self, scene.dead, FAR_MORE_THAN_A_WINDOW - result.replayed, PATIENCE);
    trial_end(&scene.self);
}
END_TEST

/* --- where they go --- */

START_TEST(a_replay_reaches_the_queue_and_not_the_exchange_that_fed_it)
{
    trial self;
    trial_recorder first, second;
    int failures = 1;
    trial_begin(&self, _i);
    const char *exchange = trial_name(&self, "events");
    const char *a = trial_queue(&self, "a", ACEMQ_QUEUE_CLASSIC);
    const char *b = trial_queue(&self, "b", ACEMQ_QUEUE_CLASSIC);
    trial_exchange(&self, exchange, "topic");
    trial_bind(&self, exchange, a, "order.#");
    trial_bind(&self, exchange, b, "order.#");
    trial_record(&first, self.mq, a, NULL, NULL, trial_accept, NULL);
    trial_record(&second, self.mq, b, NULL, NULL, trial_fail_at_first, &failures);
    acemq_message *message = acemq_message_text("both");
    trial_must(
        acemq_publish_to(self.mq, exchange, "order.placed", message, PATIENCE, trial_error()));
    acemq_message_free(message);
    trial_wait_seen(&first, 1, PATIENCE);
    trial_wait_ready(&self, trial_derived(&self, b, ".dlq"), 1, PATIENCE);
    trial_must(acemq_replay(self.mq, b, NULL, NULL, trial_error()));
    trial_wait_seen(&second, 2, PATIENCE);
    trial_sleep(300);
    ck_assert_uint_eq(trial_seen(&first), 1);
    ck_assert_uint_eq(trial_seen(&second), 2);
    trial_record_end(&first);
    trial_record_end(&second);
    trial_end(&self);
}
END_TEST

/* --- many --- */

static void send_batch(const stage *scene, int count)
{
    acemq_publisher *publisher = NULL;
    acemq_message **messages = calloc((size_t)count, sizeof(acemq_message *));
    ck_assert_ptr_nonnull(messages);
    for (int i = 0; i < count; i++) {
        messages[i] = acemq_message_text("again and again");
    }
    trial_must(acemq_publisher_new(scene->self.mq, NULL, &publisher, trial_error()));
    trial_must(acemq_publisher_send_batch(publisher, scene->source,
                                          (const acemq_message *const *)messages, (size_t)count,
                                          PATIENCE, NULL, NULL, trial_error()));
    for (int i = 0; i < count; i++) {
        acemq_message_free(messages[i]);
    }
    free(messages);
    acemq_publisher_free(publisher);
}

START_TEST(a_message_that_fails_again_is_not_moved_twice_in_one_pass)
{
    enum { COUNT = 5000 };
    stage scene;
    trial_recorder seen;
    set_up(&scene, _i);
    trial_record(&seen, scene.self.mq, scene.source, NULL, NULL, trial_fail, NULL);
    send_batch(&scene, COUNT);
    trial_wait_ready(&scene.self, scene.dead, COUNT, PATIENCE);
    acemq_replay_result result = replay(&scene, NULL);
    ck_assert_uint_eq(result.replayed, COUNT);
    trial_wait_seen(&seen, (size_t)2 * COUNT, PATIENCE);
    trial_wait_ready(&scene.self, scene.dead, COUNT, PATIENCE);
    ck_assert_uint_eq(trial_seen(&seen), (size_t)2 * COUNT);
    for (size_t i = COUNT; i < (size_t)2 * COUNT; i++) {
        ck_assert_int_eq(acemq_envelope_replay_count(trial_sight_at(&seen, i)->envelope), 1);
    }
    trial_record_end(&seen);
    trial_end(&scene.self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay");
    TCase *cases = tcase_create("replay");
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, declined_messages_stay_in_their_order_and_hide_none, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, one_is_taken_by_its_id, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, max_bounds_what_is_moved, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, max_and_filter_together, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_dry_run_counts_and_moves_nothing, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, progress_is_told_after_each_message, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, attempts_start_anew_and_are_kept_when_asked, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, parked_messages_are_brought_home_from_the_parking_lot, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_foreign_message_gains_no_envelope_by_a_replay, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, no_failure_queue_is_nothing_pending_and_no_source_is_an_error, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_failure_queue_is_not_a_destination, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_source_that_goes_away_stops_the_pass_and_loses_nothing, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_replay_reaches_the_queue_and_not_the_exchange_that_fed_it, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_message_that_fails_again_is_not_moved_twice_in_one_pass, 0,
                        TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
