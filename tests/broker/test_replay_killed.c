/*
 * A process killed in the midst of a replay, at exactly the two places that matter. The child is
 * made before anything has threads; it talks to the broker through a proxy that kills it.
 */
#include "support/trial_proxy.h"
#include "support/trial_recorder.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE (20 * ACEMQ_SECOND)

typedef struct orders {
    char url[256], queue[ACEMQ_NAME_SIZE];
} orders;

typedef struct child {
    pid_t process;
    int orders; /* where it is told what to do */
} child;

static void replay_until_killed(const orders *told)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    if (acemq_connect(told->url, NULL, &mq, &error) == ACEMQ_OK) {
        acemq_replay(mq, told->queue, NULL, NULL, &error);
    }
    fprintf(stderr, "the child was not killed: %s\n", acemq_error_message(error));
    _exit(3);
}

static child start_child(void)
{
    int ends[2];
    orders told;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process == 0) {
        close(ends[1]);
        if (read(ends[0], &told, sizeof told) == (ssize_t)sizeof told) {
            replay_until_killed(&told);
        }
        _exit(2);
    }
    close(ends[0]);
    return (child){process, ends[1]};
}

static void tell_child(const child *one, const char *url, const char *queue)
{
    orders told;
    memset(&told, 0, sizeof told);
    snprintf(told.url, sizeof told.url, "%s", url);
    snprintf(told.queue, sizeof told.queue, "%s", queue);
    ck_assert_int_eq(write(one->orders, &told, sizeof told), (ssize_t)sizeof told);
    close(one->orders);
}

static void expect_killed(const child *one)
{
    int status = 0;
    ck_assert_int_eq(waitpid(one->process, &status, 0), one->process);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the child ended with %d",
                  status);
}

typedef struct trap {
    bool at_confirm; /* else at the publish */
    pid_t victim;
} trap;

/* What the broker sent as a confirm was published and is safe; the client never hears of it. */
static trial_pass kill_there(trial_frame *frame, void *user)
{
    const trap *self = user;
    bool confirm = !frame->from_client && frame->method == TRIAL_BASIC_ACK;
    bool publish = frame->from_client && frame->method == TRIAL_BASIC_PUBLISH;
    if (self->at_confirm ? !confirm : !publish) {
        return TRIAL_FORWARD;
    }
    kill(self->victim, SIGKILL);
    return TRIAL_CUT;
}

static void die_in_replay(int broker, bool at_confirm, uint64_t home, uint64_t dead_letters)
{
    trial self;
    trial_recorder seen;
    trial_sight left, moved;
    child one = start_child();
    trap set = {at_confirm, one.process};
    trial_begin_listening(&self, broker);
    const char *source = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, source, ".dlq");
    trial_record(&seen, self.mq, source, NULL, NULL, trial_reject, NULL);
    trial_publish_text(&self, source, "the-one");
    trial_wait_ready(&self, dead, 1, PATIENCE);
    trial_record_end(&seen);

    trial_proxy *proxy = trial_proxy_start(trial_port(&self), kill_there, &set);
    tell_child(&one, trial_proxy_url(proxy), source);
    expect_killed(&one);
    trial_wait_ready(&self, dead, dead_letters, PATIENCE);
    trial_wait_ready(&self, source, home, PATIENCE);
    trial_only(&self, dead, &left);
    ck_assert_str_eq(acemq_envelope_id(left.envelope), "the-one");
    trial_sight_free(&left);
    if (home > 0) {
        trial_only(&self, source, &moved);
        ck_assert_str_eq(acemq_envelope_id(moved.envelope), "the-one");
        ck_assert_int_eq(acemq_envelope_replay_count(moved.envelope), 1);
        trial_sight_has_body(&moved, "the-one", 7);
        trial_sight_free(&moved);
    }
    trial_proxy_stop(proxy);
    trial_end(&self);
}

START_TEST(killed_between_publish_and_ack_it_is_in_both_places_under_one_id)
{
    die_in_replay(_i, true, 1, 1);
}
END_TEST

START_TEST(killed_before_publish_it_is_still_a_dead_letter)
{
    die_in_replay(_i, false, 0, 1);
}
END_TEST

/* --- a connection that is lost instead --- */

#define BASIC_GET_OK 0x003c0047u

typedef struct cut {
    atomic_int got;
    int at;
} cut;

static trial_pass cut_there(trial_frame *frame, void *user)
{
    cut *self = user;
    bool counts = !frame->from_client && frame->method == BASIC_GET_OK;
    return counts && atomic_fetch_add(&self->got, 1) + 1 == self->at ? TRIAL_CUT : TRIAL_FORWARD;
}

/* Half are declined, and so are held when the connection goes. */
static int decline_odd(const acemq_delivery *delivery, void *user)
{
    (void)user;
    return atoi(acemq_envelope_id(acemq_delivery_envelope(delivery))) % 2 == 0;
}

START_TEST(a_connection_lost_in_the_midst_ends_the_pass_and_loses_nothing)
{
    enum { COUNT = 20 };
    trial self;
    trial_recorder seen;
    acemq_connection *mq = NULL;
    cut set = {.at = 12};
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    trial_begin_listening(&self, _i);
    const char *source = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, source, ".dlq");
    trial_record(&seen, self.mq, source, NULL, NULL, trial_reject, NULL);
    for (int i = 0; i < COUNT; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        trial_publish(&self, source, id, "x", 1);
    }
    trial_wait_ready(&self, dead, COUNT, PATIENCE);
    trial_record_end(&seen);
    trial_proxy *proxy = trial_proxy_start(trial_port(&self), cut_there, &set);
    trial_must(acemq_connect(trial_proxy_url(proxy), NULL, &mq, trial_error()));
    options.filter = decline_odd;
    trial_must_fail(ACEMQ_E_CONNECTION_LOST,
                    acemq_replay(mq, source, &options, &result, trial_error()));
    ck_assert_uint_le(result.replayed, COUNT / 2);
    trial_close(mq);
    trial_proxy_stop(proxy);
    /* What was on its way may be in both places; again, and each even one is home at least once. */
    int64_t deadline = trial_now() + PATIENCE;
    while (trial_ready(&self, source) + trial_ready(&self, dead) < COUNT) {
        ck_assert_int_lt(trial_now(), deadline);
        trial_sleep(20);
    }
    trial_must(acemq_replay(self.mq, source, &options, &result, trial_error()));
    trial_wait_ready(&self, dead, COUNT / 2, PATIENCE);
    trial_sight home[2 * COUNT];
    bool there[COUNT] = {false};
    size_t count = trial_browse(&self, source, home, 2 * COUNT);
    for (size_t i = 0; i < count; i++) {
        there[atoi(acemq_envelope_id(home[i].envelope))] = true;
        trial_sight_free(&home[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(there[i], i % 2 == 0);
    }
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay killed");
    TCase *cases = tcase_create("killed");
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, killed_between_publish_and_ack_it_is_in_both_places_under_one_id, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, killed_before_publish_it_is_still_a_dead_letter, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_connection_lost_in_the_midst_ends_the_pass_and_loses_nothing, 0,
                        TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
