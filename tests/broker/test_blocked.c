/*
 * A RabbitMQ that is out of memory takes no publishes: they are refused in time, consuming goes on,
 * and all is well once the alarm is over. Only on RabbitMQ, which alone has alarms.
 */
#include "support/broker_control.h"
#include "support/trial_recorder.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

/* A hop that the alarm holds up is not published again, however long the broker's tool takes. */
static void begin(trial *self)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.publish_timeout = 10 * PATIENCE;
    trial_begin_with(self, TRIAL_RABBITMQ, &options);
}

static void raise_alarm(void)
{
    free(broker_control_ctl("set_vm_memory_high_watermark", "0", NULL));
}

/* Runs whatever became of the test, so that the next one finds no alarm. */
static void end_alarm(void)
{
    free(broker_control_ctl("set_vm_memory_high_watermark", "0.4", NULL));
}

static void wait_for_state(const trial *self, acemq_connection_state state)
{
    int64_t deadline = trial_now() + PATIENCE;
    while (acemq_connection_get_state(self->mq, NULL) != state) {
        ck_assert_msg(trial_now() < deadline, "the connection's state is %d, expected %d",
                      (int)acemq_connection_get_state(self->mq, NULL), (int)state);
        trial_sleep(20);
    }
}

static void publish_expecting(const trial *self, const char *queue, acemq_status expected)
{
    acemq_message *message = acemq_message_text("blocked");
    int64_t before = trial_now();
    acemq_status status = acemq_publish(self->mq, queue, message, 2000, trial_error());
    int64_t took = trial_now() - before;
    trial_judge(status, expected, "acemq_publish", __FILE__, __LINE__);
    ck_assert_msg(took >= 1990 && took < 15000, "it took %ld ms of 2000", (long)took);
    acemq_message_free(message);
}

/* RabbitMQ tells only a connection that has published: the first one is on its way already. */
/* A restart of this program would not end the broker's trouble. */
static void health_is_up_with_the_reason(const acemq_connection *mq)
{
    acemq_health health;
    char *json = NULL;
    trial_must(acemq_health_check(mq, &health, &json, trial_error()));
    ck_assert_msg(health == ACEMQ_HEALTH_UP, "%s", json);
    ck_assert_msg(strstr(json, "\"blocked\":\"") != NULL, "%s", json);
    acemq_free(json);
}

START_TEST(the_first_publish_is_unknown_and_the_next_are_refused)
{
    trial self;
    acemq_error *reason = NULL;
    begin(&self);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    raise_alarm();
    publish_expecting(&self, queue, ACEMQ_E_UNKNOWN_OUTCOME);
    wait_for_state(&self, ACEMQ_CONNECTION_BLOCKED);
    int64_t before = trial_now();
    acemq_connection_get_state(self.mq, &reason);
    health_is_up_with_the_reason(self.mq);
    ck_assert_int_lt(trial_now() - before, 5000);
    ck_assert_ptr_nonnull(reason);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(reason), "memory"));
    acemq_error_free(reason);
    publish_expecting(&self, queue, ACEMQ_E_REFUSED);
    trial_error_says("memory");
    publish_expecting(&self, queue, ACEMQ_E_REFUSED);
    trial_error_says("memory");
    end_alarm();
    wait_for_state(&self, ACEMQ_CONNECTION_OPEN);
    trial_publish_text(&self, queue, "after");
    /* The unknown one arrived after all, the refused ones were never sent. */
    trial_wait_ready(&self, queue, 2, PATIENCE);
    trial_end(&self);
}
END_TEST

/* Hops need to publish, so they wait; acknowledging does not. */
START_TEST(consuming_goes_on_and_hops_wait_for_the_end)
{
    trial self;
    trial_recorder accepting, failing;
    begin(&self);
    const char *good = trial_queue(&self, "good", ACEMQ_QUEUE_CLASSIC);
    const char *bad = trial_queue(&self, "bad", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, bad, ".dlq");
    for (int i = 0; i < 100; i++) {
        trial_publish_text(&self, good, "good");
    }
    trial_publish_text(&self, bad, "bad");
    raise_alarm();
    trial_record(&accepting, self.mq, good, NULL, NULL, trial_accept, NULL);
    trial_record(&failing, self.mq, bad, NULL, NULL, trial_fail, NULL);
    trial_wait_seen(&accepting, 100, PATIENCE);
    trial_wait_seen(&failing, 1, PATIENCE);
    trial_sleep(1000);
    trial_wait_acknowledged(&accepting, 100, PATIENCE);
    ck_assert_uint_eq(trial_ready(&self, good), 0);
    ck_assert_uint_eq(trial_ready(&self, dead), 0);
    end_alarm();
    trial_wait_ready(&self, dead, 1, PATIENCE);
    /* The message is there before its confirm has come back. */
    int64_t deadline = trial_now() + PATIENCE;
    while (trial_counters(&failing).dead_lettered == 0 && trial_now() < deadline) {
        trial_sleep(10);
    }
    ck_assert_uint_eq(trial_counters(&failing).dead_lettered, 1);
    ck_assert_uint_eq(trial_seen(&failing), 1);
    trial_record_end(&accepting);
    trial_record_end(&failing);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocked");
    TCase *cases = tcase_create("blocked");
    tcase_set_timeout(cases, 240);
    tcase_add_unchecked_fixture(cases, NULL, end_alarm);
    tcase_add_test(cases, the_first_publish_is_unknown_and_the_next_are_refused);
    tcase_add_test(cases, consuming_goes_on_and_hops_wait_for_the_end);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
