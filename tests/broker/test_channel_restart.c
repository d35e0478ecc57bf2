/*
 * RabbitMQ closes a consumer's channel over a delivery that stays unacknowledged for too long. The
 * limit is set for the whole broker, so nothing else runs beside this.
 */
#include "support/broker_control.h"
#include "support/trial_recorder.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (30 * ACEMQ_SECOND)

/* The limit in ms, of channels that are opened from now on, and how often each looks at it. */
static void limit_acknowledgements(const char *limit, const char *look)
{
    char text[200];
    snprintf(text, sizeof text,
             "application:set_env(rabbit, consumer_timeout, %s), "
             "application:set_env(rabbit, channel_tick_interval, %s).",
             limit, look);
    free(broker_control_ctl("eval", text, NULL));
}

static void restore_limits(void)
{
    limit_acknowledgements("1800000", "60000");
}

typedef struct causes {
    atomic_int told; /* lines of the log that name the cause */
} causes;

static void count_cause(acemq_log_level level, const char *line, void *user)
{
    causes *seen = user;
    (void)level;
    if (strstr(line, "consumer of") != NULL && strstr(line, "timed out") != NULL) {
        atomic_fetch_add(&seen->told, 1);
    }
}

typedef struct slow {
    atomic_int calls;
    atomic_bool over; /* the first call may end */
} slow;

static acemq_outcome be_slow_once(const trial_sight *sight, void *user)
{
    slow *how = user;
    (void)sight;
    if (atomic_fetch_add(&how->calls, 1) == 0) {
        while (!atomic_load(&how->over)) {
            trial_sleep(10);
        }
    }
    return ACEMQ_ACCEPTED;
}

static void await_calls(slow *how, int calls)
{
    int64_t deadline = trial_now() + PATIENCE;
    while (atomic_load(&how->calls) < calls) {
        ck_assert_msg(trial_now() < deadline, "%d calls", atomic_load(&how->calls));
        trial_sleep(10);
    }
}

START_TEST(a_channel_closed_over_a_late_acknowledgement_is_opened_again_and_the_cause_told_once)
{
    trial self;
    trial_recorder seen;
    causes told = {0};
    slow how = {0};
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.log_callback = count_cause;
    options.log_user = &told;
    trial_begin_with(&self, TRIAL_RABBITMQ, &options);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    limit_acknowledgements("3000", "500");
    trial_record(&seen, self.mq, queue, NULL, NULL, be_slow_once, &how);
    trial_publish_text(&self, queue, "slow");
    await_calls(&how, 1);
    int64_t deadline = trial_now() + PATIENCE;
    while (atomic_load(&told.told) == 0) {
        ck_assert_msg(trial_now() < deadline, "the broker did not close the channel");
        trial_sleep(10);
    }
    atomic_store(&how.over, true);
    await_calls(&how, 2); /* it was delivered again, and what the first said came too late */
    trial_publish_text(&self, queue, "quick");
    trial_wait_text(&seen, "quick", PATIENCE);
    trial_wait_ready(&self, queue, 0, PATIENCE);
    ck_assert_int_eq(atomic_load(&told.told), 1);
    ck_assert_int_eq(acemq_consumer_subscribed(seen.consumer), 1);
    ck_assert_int_eq(acemq_connection_get_state(self.mq, NULL), ACEMQ_CONNECTION_OPEN);
    trial_wait_acknowledged(&seen, 2, PATIENCE);
    trial_record_end(&seen); /* nothing is in flight */
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("channel restart");
    TCase *cases = tcase_create("channel restart");
    tcase_set_timeout(cases, 240);
    tcase_add_unchecked_fixture(cases, NULL, restore_limits);
    tcase_add_test(
        cases,
        a_channel_closed_over_a_late_acknowledgement_is_opened_again_and_the_cause_told_once);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
