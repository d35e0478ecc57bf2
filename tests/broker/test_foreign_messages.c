/*
 * Messages with what the broker or another program has put on them: another user's id, a content
 * encoding, copies to other queues, a history of dead-lettering, or no envelope at all.
 */
#include "support/broker_control.h"
#include "support/trial_foreign.h"
#include "support/trial_recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE (20 * ACEMQ_SECOND)

static void send_and_free(const trial *self, const char *queue, acemq_message *message)
{
    trial_must(acemq_publish(self->mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
}

/* --- properties --- */

/* Retried by a rung, dead-lettered, replayed: three deliveries and a dead letter. */
static void travel(trial *self, const char *queue, trial_recorder *seen, trial_sight *letter)
{
    const char *dead = trial_derived(self, queue, ".dlq");
    trial_wait_ready(self, dead, 1, PATIENCE);
    trial_only(self, dead, letter);
    trial_must(acemq_replay(self->mq, queue, NULL, NULL, trial_error()));
    trial_wait_seen(seen, 3, PATIENCE);
}

START_TEST(a_gzip_body_keeps_its_content_encoding)
{
    trial self;
    trial_recorder seen;
    trial_sight letter;
    int failures = 2;
    static const unsigned char zipped[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0};
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    acemq_message *message = acemq_message_verbatim(zipped, sizeof zipped, NULL);
    acemq_message_set_content_type(message, "application/json");
    acemq_message_set_property(message, ACEMQ_PROPERTY_CONTENT_ENCODING, "gzip");
    send_and_free(&self, queue, message);
    travel(&self, queue, &seen, &letter);
    for (size_t i = 0; i < 3; i++) {
        const trial_sight *sight = trial_sight_at(&seen, i);
        ck_assert_str_eq(sight->content_encoding, "gzip");
        ck_assert_str_eq(sight->content_type, "application/json");
        trial_sight_has_body(sight, zipped, sizeof zipped);
    }
    ck_assert_str_eq(letter.content_encoding, "gzip");
    trial_sight_free(&letter);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

START_TEST(a_timestamp_in_milliseconds_throws_nothing_and_stays)
{
    trial self;
    trial_recorder seen;
    trial_sight letter;
    int failures = 2;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms).giveUpAfter(1h)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    acemq_message *message = acemq_message_verbatim("late", 4, NULL);
    acemq_message_set_property(message, ACEMQ_PROPERTY_MESSAGE_ID, "milliseconds");
    acemq_message_set_property_number(message, ACEMQ_PROPERTY_TIMESTAMP, INT64_C(1700000000000));
    send_and_free(&self, queue, message);
    travel(&self, queue, &seen, &letter);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(trial_sight_at(&seen, i)->timestamp, INT64_C(1700000000000));
    }
    trial_sight_free(&letter);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

static void expect_user(const char *found, const char *expected)
{
    ck_assert_msg(strcmp(found, expected) == 0, "the user is \"%s\", expected \"%s\"", found,
                  expected);
}

/* The broker closes the channel over a user id that is not the publisher's, so no hop keeps it. */
START_TEST(a_message_of_another_user_is_retried_dead_lettered_and_replayed)
{
    trial self;
    trial_recorder seen;
    trial_sight letter;
    int failures = 2;
    char user[64] = "guest";
    trial_begin_listening(&self, _i);
    if (_i == TRIAL_RABBITMQ) {
        snprintf(user, sizeof user, "%s-user", self.prefix);
        free(broker_control_ctl("add_user", user, "secret", NULL));
        free(broker_control_ctl("set_permissions", user, ".*", ".*", ".*", NULL));
    }
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms)");
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_USER_ID_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG,
        .user_id = amqp_cstring_bytes(user),
        .message_id = amqp_cstring_bytes("theirs"),
    };
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    trial_foreign_publish(trial_port(&self), user, _i == TRIAL_RABBITMQ ? "secret" : "guest", queue,
                          &properties, "hello");
    travel(&self, queue, &seen, &letter);
    expect_user(trial_sight_at(&seen, 0)->user_id, user);
    expect_user(trial_sight_at(&seen, 1)->user_id, "");
    expect_user(trial_sight_at(&seen, 2)->user_id, "");
    expect_user(letter.user_id, "");
    ck_assert_str_eq(acemq_envelope_id(trial_sight_at(&seen, 2)->envelope), "theirs");
    ck_assert_uint_eq(trial_counters(&seen).hops_failed, 0);
    trial_sight_free(&letter);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    if (_i == TRIAL_RABBITMQ) {
        free(broker_control_ctl("delete_user", user, NULL));
    }
    trial_end(&self);
}
END_TEST

/* --- no envelope --- */

START_TEST(a_message_without_an_envelope_gains_one_at_its_first_hop)
{
    trial self;
    trial_recorder seen;
    int failures = 1;
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    trial_foreign_publish(trial_port(&self), "guest", trial_password(trial_port(&self)), queue,
                          NULL, "hello");
    trial_wait_seen(&seen, 2, PATIENCE);
    const trial_sight *first = trial_sight_at(&seen, 0);
    const trial_sight *second = trial_sight_at(&seen, 1);
    ck_assert_uint_eq(acemq_table_count(first->headers), 0);
    ck_assert_int_eq(acemq_envelope_id_is_made_up(first->envelope), 1);
    ck_assert_str_eq(acemq_envelope_type(first->envelope), queue);
    ck_assert_int_eq(acemq_envelope_id_is_made_up(second->envelope), 0);
    const char *id = acemq_envelope_id(second->envelope);
    ck_assert_uint_eq(strlen(id), ACEMQ_ID_SIZE - 1);
    ck_assert_str_eq(second->message_id, id);
    ck_assert_str_eq(acemq_envelope_correlation(second->envelope), id);
    ck_assert_str_eq(acemq_envelope_type(second->envelope), queue);
    ck_assert_int_eq(acemq_envelope_attempt(second->envelope), 2);
    ck_assert_int_gt(acemq_envelope_first_seen(second->envelope), 0);
    ck_assert_ptr_null(acemq_envelope_origin(second->envelope));
    ck_assert_str_eq(second->content_type, "");
    trial_sight_has_body(second, "hello", 5);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

/* --- CC --- */

static acemq_message *with_copies(const char *queue)
{
    acemq_table *headers = acemq_table_new();
    acemq_array *queues = acemq_array_new();
    const char *const names[] = {"CC", "BCC"};
    trial_must(acemq_table_set_string(headers, "CC", queue, trial_error()));
    trial_must(acemq_array_append(queues, acemq_table_get(headers, "CC"), trial_error()));
    for (size_t i = 0; i < 2; i++) {
        trial_must(acemq_table_set_array(headers, names[i], queues, trial_error()));
    }
    acemq_message *message = acemq_message_verbatim("copied", 6, headers);
    acemq_message_set_property(message, ACEMQ_PROPERTY_MESSAGE_ID, "copied");
    acemq_array_free(queues);
    acemq_table_free(headers);
    return message;
}

START_TEST(a_hop_and_a_replay_send_no_second_copy)
{
    trial self;
    trial_recorder seen;
    trial_sight letter;
    int failures = 2;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *other = trial_queue(&self, "other", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    send_and_free(&self, queue, with_copies(other));
    trial_wait_ready(&self, other, 1, PATIENCE);
    travel(&self, queue, &seen, &letter);
    ck_assert_ptr_null(acemq_table_get(letter.headers, "CC"));
    ck_assert_ptr_null(acemq_table_get(letter.headers, "BCC"));
    trial_sight_free(&letter);
    trial_sleep(200);
    ck_assert_uint_eq(trial_ready(&self, other), 1);
    ck_assert_uint_eq(trial_seen(&seen), 3);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

/* A replay straight from a dead letter that still has CC, as a peer may have left it there. */
START_TEST(a_replay_of_a_dead_letter_with_cc_sends_no_second_copy)
{
    trial self;
    trial_recorder seen;
    trial_sight home;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *other = trial_queue(&self, "other", ACEMQ_QUEUE_CLASSIC);
    trial_record(&seen, self.mq, queue, NULL, NULL, trial_accept, NULL);
    trial_record_end(&seen);
    send_and_free(&self, trial_derived(&self, queue, ".dlq"), with_copies(other));
    trial_wait_ready(&self, other, 1, PATIENCE);
    trial_must(acemq_replay(self.mq, queue, NULL, NULL, trial_error()));
    trial_only(&self, queue, &home);
    ck_assert_ptr_null(acemq_table_get(home.headers, "CC"));
    trial_sight_free(&home);
    ck_assert_uint_eq(trial_ready(&self, other), 1);
    trial_end(&self);
}
END_TEST

START_TEST(with_its_dead_letter_queue_gone_a_message_with_cc_is_not_taken_for_routed)
{
    trial self;
    trial_recorder seen;
    trial_sight letter;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *other = trial_queue(&self, "other", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, queue, ".dlq");
    trial_record(&seen, self.mq, queue, NULL, NULL, trial_reject, NULL);
    trial_must(acemq_queue_delete(self.mq, dead, PATIENCE, NULL, trial_error()));
    send_and_free(&self, queue, with_copies(other));
    int64_t deadline = trial_now() + PATIENCE;
    while (!trial_queue_exists(&self, dead)) {
        ck_assert_msg(trial_now() < deadline, "the dead-letter queue was not declared again");
        trial_sleep(50);
    }
    trial_wait_ready(&self, dead, 1, PATIENCE);
    trial_only(&self, dead, &letter);
    ck_assert_str_eq(acemq_envelope_id(letter.envelope), "copied");
    trial_sight_free(&letter);
    ck_assert_uint_eq(trial_ready(&self, other), 1);
    ck_assert_uint_eq(trial_seen(&seen), 1);
    ck_assert_uint_ge(trial_counters(&seen).hops_failed, 1);
    trial_record_end(&seen);
    trial_end(&self);
}
END_TEST

/* --- x-death --- */

static void declare_set_of(const trial *self, const char *queue)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_consumer(topology, queue, NULL);
    trial_must(acemq_topology_apply(self->mq, topology, PATIENCE, &plan, trial_error()));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

/* As another program does who moves a dead letter home with all its headers. */
static void move_by_hand(const trial *self, const char *queue, const trial_sight *letter)
{
    acemq_message *message = acemq_message_verbatim(letter->body, letter->length, letter->headers);
    send_and_free(self, queue, message);
}

/* A dead letter that has expired in its source. */
static void expire_one(const trial *self, const char *queue, const char *dead, trial_sight *letter)
{
    declare_set_of(self, queue);
    acemq_message *message = acemq_message_text("expired");
    acemq_message_set_id(message, "expired");
    acemq_message_set_expiration(message, 100);
    send_and_free(self, queue, message);
    trial_wait_ready(self, dead, 1, PATIENCE);
    trial_only(self, dead, letter);
    ck_assert_ptr_nonnull(acemq_table_get(letter->headers, "x-death"));
}

static void expired_and_failing(int broker, acemq_queue_type type, bool by_hand)
{
    trial self;
    trial_recorder seen;
    trial_sight letter;
    int failures = 2;
    trial_begin(&self, broker);
    const char *queue = trial_queue_with(&self, "orders", type, 1, NULL);
    const char *dead = trial_derived(&self, queue, ".dlq");
    expire_one(&self, queue, dead, &letter);
    if (by_hand) {
        move_by_hand(&self, queue, &letter);
    } else {
        trial_must(acemq_replay(self.mq, queue, NULL, NULL, trial_error()));
    }
    trial_sight_free(&letter);

    acemq_policy *policy = trial_policy("fixed(3, 200ms).threshold(200ms)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    trial_wait_seen(&seen, 3, PATIENCE);
    for (int32_t i = 0; i < 3; i++) {
        const trial_sight *sight = trial_sight_at(&seen, (size_t)i);
        ck_assert_str_eq(acemq_envelope_id(sight->envelope), "expired");
        ck_assert_int_eq(acemq_envelope_attempt(sight->envelope), i + 1);
    }
    const acemq_table *home = trial_sight_at(&seen, 0)->headers;
    ck_assert_int_eq(acemq_table_get(home, "x-death") != NULL, by_hand);
    ck_assert_int_eq(acemq_table_get(home, "x-first-death-queue") != NULL, by_hand);
    trial_record_end(&seen);
    ck_assert_uint_eq(trial_ready(&self, queue), 0);
    ck_assert_uint_eq(trial_ready(&self, dead), by_hand ? 1 : 0);
    acemq_policy_free(policy);
    trial_end(&self);
}

START_TEST(expired_replayed_and_failing_into_a_rung_it_comes_back_classic)
{
    expired_and_failing(_i, ACEMQ_QUEUE_CLASSIC, false);
}
END_TEST

START_TEST(expired_replayed_and_failing_into_a_rung_it_comes_back_quorum)
{
    expired_and_failing(_i, ACEMQ_QUEUE_QUORUM, false);
}
END_TEST

START_TEST(expired_moved_home_by_hand_and_failing_into_a_rung_it_comes_back_classic)
{
    expired_and_failing(_i, ACEMQ_QUEUE_CLASSIC, true);
}
END_TEST

START_TEST(expired_moved_home_by_hand_and_failing_into_a_rung_it_comes_back_quorum)
{
    expired_and_failing(_i, ACEMQ_QUEUE_QUORUM, true);
}
END_TEST

/* The broker counts each round in x-death, which does not make it a cycle. */
START_TEST(the_same_rung_is_passed_many_times)
{
    trial self;
    trial_recorder seen;
    int failures = 11;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_QUORUM);
    acemq_policy *policy = trial_policy("fixed(12, 100ms).threshold(100ms)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    trial_publish_text(&self, queue, "round and round");
    trial_wait_seen(&seen, 12, PATIENCE);
    for (size_t i = 0; i < 12; i++) {
        ck_assert_int_eq(acemq_envelope_attempt(trial_sight_at(&seen, i)->envelope),
                         (int32_t)i + 1);
    }
    trial_record_end(&seen);
    ck_assert_uint_eq(trial_ready(&self, queue), 0);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("foreign messages");
    TCase *cases = tcase_create("messages");
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, a_gzip_body_keeps_its_content_encoding, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_timestamp_in_milliseconds_throws_nothing_and_stays, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_message_of_another_user_is_retried_dead_lettered_and_replayed, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_message_without_an_envelope_gains_one_at_its_first_hop, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_hop_and_a_replay_send_no_second_copy, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_replay_of_a_dead_letter_with_cc_sends_no_second_copy, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases,
                        with_its_dead_letter_queue_gone_a_message_with_cc_is_not_taken_for_routed,
                        0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, expired_replayed_and_failing_into_a_rung_it_comes_back_classic, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, expired_replayed_and_failing_into_a_rung_it_comes_back_quorum, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases,
                        expired_moved_home_by_hand_and_failing_into_a_rung_it_comes_back_classic, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases,
                        expired_moved_home_by_hand_and_failing_into_a_rung_it_comes_back_quorum, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, the_same_rung_is_passed_many_times, 0, TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
