/*
 * Bodies of every awkward size arrive whole, also after a rung, the dead letters and a replay.
 */
#include "support/trial_recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE       (30 * ACEMQ_SECOND)
#define BODIES_MAX     16
#define FRAME_OVERHEAD 8

typedef struct body {
    char id[32];
    unsigned char *bytes;
    size_t length;
} body;

typedef struct bodies {
    body list[BODIES_MAX];
    size_t count;
} bodies;

static void add(bodies *all, size_t length)
{
    ck_assert_uint_lt(all->count, BODIES_MAX);
    body *added = &all->list[all->count];
    uint32_t state = (uint32_t)length + 1;
    snprintf(added->id, sizeof added->id, "body-%zu-of-%zu", all->count, length);
    added->bytes = malloc(length + 1);
    ck_assert_ptr_nonnull(added->bytes);
    added->length = length;
    for (size_t i = 0; i < length; i++) {
        state = state * 1664525 + 1013904223;
        added->bytes[i] = (unsigned char)(state >> 24);
    }
    all->count++;
}

static void add_around(bodies *all, size_t frame_max, size_t frames)
{
    size_t whole = frames * (frame_max - FRAME_OVERHEAD);
    add(all, whole - 1);
    add(all, whole);
    add(all, whole + 1);
}

static void free_bodies(bodies *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].bytes);
    }
}

static void send_all(const trial *self, const char *source, const bodies *all)
{
    for (size_t i = 0; i < all->count; i++) {
        trial_publish(self, source, all->list[i].id, all->list[i].bytes, all->list[i].length);
    }
}

/* Each body's `call`-th delivery, from 0, is whole and says `attempt`. */
static void expect_all(trial_recorder *seen, const bodies *all, size_t call, int32_t attempt)
{
    for (size_t i = 0; i < all->count; i++) {
        const trial_sight *sight = trial_sight_for(seen, all->list[i].id, call);
        ck_assert_msg(sight != NULL, "%s was not delivered %zu times", all->list[i].id, call + 1);
        trial_sight_has_body(sight, all->list[i].bytes, all->list[i].length);
        ck_assert_int_eq(acemq_envelope_attempt(sight->envelope), attempt);
    }
}

static void expect_dead_letters(const trial *self, const char *dead, const bodies *all)
{
    trial_sight letters[BODIES_MAX];
    size_t count = trial_browse(self, dead, letters, BODIES_MAX);
    ck_assert_uint_eq(count, all->count);
    for (size_t i = 0; i < count; i++) {
        const char *id = acemq_envelope_id(letters[i].envelope);
        size_t n = 0;
        while (n < all->count && strcmp(all->list[n].id, id) != 0) {
            n++;
        }
        ck_assert_msg(n < all->count, "an unknown message %s", id);
        trial_sight_has_body(&letters[i], all->list[n].bytes, all->list[n].length);
        trial_sight_free(&letters[i]);
    }
}

/* Through a rung, to the dead letters, and home. */
static void travel(trial *self, acemq_queue_type type, const bodies *all)
{
    trial_recorder seen;
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms)");
    const char *source = trial_queue(self, "bodies", type);
    const char *dead = trial_derived(self, source, ".dlq");
    int failures = (int)all->count * 2;
    acemq_replay_result result = {.size = sizeof result};
    trial_record(&seen, self->mq, source, policy, NULL, trial_fail_at_first, &failures);
    send_all(self, source, all);
    trial_wait_ready(self, dead, all->count, PATIENCE);
    expect_all(&seen, all, 0, 1);
    expect_all(&seen, all, 1, 2);
    expect_dead_letters(self, dead, all);
    trial_must(acemq_replay(self->mq, source, NULL, &result, trial_error()));
    ck_assert_uint_eq(result.replayed, all->count);
    trial_wait_seen(&seen, all->count * 3, PATIENCE);
    expect_all(&seen, all, 2, 1);
    trial_record_end(&seen);
    ck_assert_uint_eq(trial_ready(self, source), 0);
    ck_assert_uint_eq(trial_ready(self, dead), 0);
    acemq_policy_free(policy);
}

START_TEST(an_empty_body_is_carried_through)
{
    trial self;
    bodies all = {.count = 0};
    trial_begin(&self, _i);
    add(&all, 0);
    travel(&self, ACEMQ_QUEUE_QUORUM, &all);
    free_bodies(&all);
    trial_end(&self);
}
END_TEST

START_TEST(bodies_around_the_smallest_frames_arrive_whole)
{
    trial self;
    bodies all = {.count = 0};
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.frame_max = 4096;
    trial_begin_with(&self, _i, &options);
    for (size_t frames = 1; frames <= 3; frames++) {
        add_around(&all, 4096, frames);
    }
    travel(&self, ACEMQ_QUEUE_CLASSIC, &all);
    free_bodies(&all);
    trial_end(&self);
}
END_TEST

START_TEST(bodies_around_the_usual_frames_and_of_8_mib_arrive_whole)
{
    trial self;
    bodies all = {.count = 0};
    trial_begin(&self, _i);
    for (size_t frames = 1; frames <= 2; frames++) {
        add_around(&all, 131072, frames);
    }
    add(&all, (size_t)8 << 20);
    travel(&self, ACEMQ_QUEUE_CLASSIC, &all);
    free_bodies(&all);
    trial_end(&self);
}
END_TEST

/* The window of bytes holds less than one of these: they come one by one, and none is stuck. */
START_TEST(bodies_larger_than_the_byte_window_are_consumed)
{
    trial self;
    trial_recorder seen;
    bodies all = {.count = 0};
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.prefetch_bytes = 100000;
    trial_begin(&self, _i);
    const char *source = trial_queue(&self, "bodies", ACEMQ_QUEUE_CLASSIC);
    for (int i = 0; i < 10; i++) {
        add(&all, 150000);
    }
    send_all(&self, source, &all);
    trial_record(&seen, self.mq, source, NULL, &options, trial_accept, NULL);
    trial_wait_seen(&seen, all.count, PATIENCE);
    expect_all(&seen, &all, 0, 1);
    trial_record_end(&seen);
    ck_assert_uint_eq(trial_ready(&self, source), 0);
    free_bodies(&all);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bodies");
    TCase *cases = tcase_create("bodies");
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, an_empty_body_is_carried_through, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, bodies_around_the_smallest_frames_arrive_whole, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, bodies_around_the_usual_frames_and_of_8_mib_arrive_whole, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, bodies_larger_than_the_byte_window_are_consumed, 0, TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
