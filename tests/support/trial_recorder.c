#include "support/trial_recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

static void copy_property(char text[256], const acemq_delivery *delivery, acemq_property property)
{
    const char *value = acemq_delivery_property(delivery, property);
    snprintf(text, 256, "%s", value == NULL ? "" : value);
}

void trial_sight_of(trial_sight *sight, const acemq_delivery *delivery)
{
    acemq_bytes body = acemq_delivery_body(delivery);
    const acemq_table *all = acemq_delivery_all_headers(delivery);
    memset(sight, 0, sizeof *sight);
    sight->at = trial_now();
    sight->redelivered = acemq_delivery_redelivered(delivery);
    snprintf(sight->routing_key, sizeof sight->routing_key, "%s",
             acemq_delivery_routing_key(delivery));
    copy_property(sight->content_type, delivery, ACEMQ_PROPERTY_CONTENT_TYPE);
    copy_property(sight->content_encoding, delivery, ACEMQ_PROPERTY_CONTENT_ENCODING);
    copy_property(sight->user_id, delivery, ACEMQ_PROPERTY_USER_ID);
    copy_property(sight->message_id, delivery, ACEMQ_PROPERTY_MESSAGE_ID);
    if (!acemq_delivery_property_number(delivery, ACEMQ_PROPERTY_TIMESTAMP, &sight->timestamp)) {
        sight->timestamp = -1;
    }
    trial_must(acemq_table_copy(all, &sight->headers, trial_error()));
    trial_must(
        acemq_table_copy(acemq_delivery_headers(delivery), &sight->application, trial_error()));
    trial_must(acemq_envelope_read(all, sight->routing_key,
                                   acemq_delivery_property(delivery, ACEMQ_PROPERTY_MESSAGE_ID),
                                   &sight->envelope, trial_error()));
    sight->body = malloc(body.length + 1);
    ck_assert_ptr_nonnull(sight->body);
    if (body.length > 0) {
        memcpy(sight->body, body.data, body.length);
    }
    sight->length = body.length;
}

void trial_sight_free(trial_sight *sight)
{
    acemq_envelope_free(sight->envelope);
    acemq_table_free(sight->headers);
    acemq_table_free(sight->application);
    free(sight->body);
}

void trial_sight_has_body(const trial_sight *sight, const void *body, size_t length)
{
    ck_assert_uint_eq(sight->length, length);
    if (length > 0) {
        ck_assert_msg(memcmp(sight->body, body, length) == 0, "the body of %s changed",
                      acemq_envelope_id(sight->envelope));
    }
}

acemq_outcome trial_accept(const trial_sight *sight, void *user)
{
    (void)sight, (void)user;
    return ACEMQ_ACCEPTED;
}

acemq_outcome trial_fail(const trial_sight *sight, void *user)
{
    (void)sight, (void)user;
    return ACEMQ_FAILED;
}

acemq_outcome trial_reject(const trial_sight *sight, void *user)
{
    (void)sight, (void)user;
    return ACEMQ_REJECTED;
}

acemq_outcome trial_park(const trial_sight *sight, void *user)
{
    (void)sight, (void)user;
    return ACEMQ_PARKED;
}

acemq_outcome trial_fail_at_first(const trial_sight *sight, void *user)
{
    int *left = user;
    (void)sight;
    if (*left == 0) {
        return ACEMQ_ACCEPTED;
    }
    *left -= 1;
    return ACEMQ_FAILED;
}

static acemq_outcome write_down(acemq_delivery *delivery, void *user)
{
    trial_recorder *self = user;
    trial_sight sight;
    trial_sight_of(&sight, delivery);
    pthread_mutex_lock(&self->mutex);
    acemq_outcome outcome = self->verdict(&sight, self->user);
    if (self->count == self->room) {
        self->room = self->room == 0 ? 64 : self->room * 2;
        self->sights = realloc(self->sights, self->room * sizeof *self->sights);
        ck_assert_ptr_nonnull(self->sights);
    }
    self->sights[self->count++] = sight;
    pthread_cond_broadcast(&self->changed);
    const char *reason = self->reason;
    pthread_mutex_unlock(&self->mutex);
    if (reason != NULL) {
        acemq_delivery_set_reason(delivery, reason);
    }
    trial_error();
    return outcome;
}

void trial_record(trial_recorder *self, acemq_connection *mq, const char *queue,
                  const acemq_policy *policy, const acemq_consumer_options *options,
                  trial_verdict *verdict, void *user)
{
    trial_record_saying(self, mq, queue, policy, options, verdict, user, NULL);
}

void trial_record_saying(trial_recorder *self, acemq_connection *mq, const char *queue,
                         const acemq_policy *policy, const acemq_consumer_options *options,
                         trial_verdict *verdict, void *user, const char *reason)
{
    acemq_consumer_options chosen = ACEMQ_CONSUMER_OPTIONS_INIT;
    pthread_condattr_t monotonic;
    if (options != NULL) {
        chosen = *options;
    }
    if (policy != NULL) {
        chosen.retry = policy;
    }
    memset(self, 0, sizeof *self);
    self->verdict = verdict;
    self->user = user;
    self->reason = reason;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    trial_must(
        acemq_consume(mq, queue, &chosen, write_down, self, NULL, &self->consumer, trial_error()));
}

void trial_record_verdict(trial_recorder *self, trial_verdict *verdict, void *user)
{
    pthread_mutex_lock(&self->mutex);
    self->verdict = verdict;
    self->user = user;
    pthread_mutex_unlock(&self->mutex);
}

void trial_wait_seen(trial_recorder *self, size_t count, int64_t timeout)
{
    int64_t deadline = trial_now() + timeout;
    struct timespec until = {deadline / 1000, deadline % 1000 * 1000000};
    int late = 0;
    pthread_mutex_lock(&self->mutex);
    while (self->count < count && late == 0) {
        late = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    }
    size_t seen = self->count;
    pthread_mutex_unlock(&self->mutex);
    ck_assert_msg(seen >= count, "the handler ran %zu times in %ld ms, expected %zu", seen,
                  (long)timeout, count);
}

static bool saw_text(const trial_recorder *self, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < self->count; i++) {
        const trial_sight *sight = &self->sights[i];
        if (sight->length == length && memcmp(sight->body, text, length) == 0) {
            return true;
        }
    }
    return false;
}

void trial_wait_text(trial_recorder *self, const char *text, int64_t timeout)
{
    int64_t deadline = trial_now() + timeout;
    struct timespec until = {deadline / 1000, deadline % 1000 * 1000000};
    int late = 0;
    pthread_mutex_lock(&self->mutex);
    while (!saw_text(self, text) && late == 0) {
        late = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    }
    bool seen = saw_text(self, text);
    pthread_mutex_unlock(&self->mutex);
    ck_assert_msg(seen, "'%s' was not seen in %ld ms", text, (long)timeout);
}

size_t trial_seen(trial_recorder *self)
{
    pthread_mutex_lock(&self->mutex);
    size_t seen = self->count;
    pthread_mutex_unlock(&self->mutex);
    return seen;
}

const trial_sight *trial_sight_at(trial_recorder *self, size_t index)
{
    ck_assert_uint_lt(index, trial_seen(self));
    return &self->sights[index];
}

const trial_sight *trial_sight_for(trial_recorder *self, const char *id, size_t n)
{
    const trial_sight *found = NULL;
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->count && found == NULL; i++) {
        if (strcmp(acemq_envelope_id(self->sights[i].envelope), id) == 0 && n-- == 0) {
            found = &self->sights[i];
        }
    }
    pthread_mutex_unlock(&self->mutex);
    return found;
}

acemq_consumer_counters trial_counters(const trial_recorder *self)
{
    acemq_consumer_counters counters = {.size = sizeof counters};
    trial_must(acemq_consumer_get_counters(self->consumer, &counters, trial_error()));
    return counters;
}

void trial_wait_acknowledged(const trial_recorder *self, uint64_t count, int64_t timeout)
{
    int64_t deadline = trial_now() + timeout;
    uint64_t seen;
    while ((seen = trial_counters(self).acknowledged) != count) {
        ck_assert_msg(trial_now() < deadline, "%lu are acknowledged after %ld ms, expected %lu",
                      (unsigned long)seen, (long)timeout, (unsigned long)count);
        trial_sleep(5);
    }
}

void trial_record_end(trial_recorder *self)
{
    int finished = 0;
    trial_must(acemq_consumer_drain(self->consumer, PATIENCE, &finished, trial_error()));
    ck_assert_int_eq(finished, 1);
    trial_must(acemq_consumer_close(self->consumer, trial_error()));
    acemq_consumer_free(self->consumer);
    for (size_t i = 0; i < self->count; i++) {
        trial_sight_free(&self->sights[i]);
    }
    free(self->sights);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->changed);
}

size_t trial_browse(const trial *self, const char *queue, trial_sight *sights, size_t room)
{
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    acemq_browser *browser = NULL;
    size_t count = 0;
    options.force = 1;
    trial_must(acemq_browser_open(self->mq, queue, &options, &browser, trial_error()));
    for (;;) {
        const acemq_delivery *delivery = NULL;
        trial_must(acemq_browser_next(browser, &delivery, trial_error()));
        if (delivery == NULL) {
            break;
        }
        ck_assert_msg(count < room, "%s holds more than %zu messages", queue, room);
        trial_sight_of(&sights[count++], delivery);
    }
    acemq_browser_free(browser);
    return count;
}

size_t trial_missing(const trial *self, const char *queue, size_t count, int attempt, size_t *held)
{
    trial_sight *sights = calloc(4 * count, sizeof *sights);
    bool *found = calloc(count, sizeof *found);
    size_t missing = count;
    ck_assert_ptr_nonnull(sights);
    ck_assert_ptr_nonnull(found);
    *held = trial_browse(self, queue, sights, 4 * count);
    for (size_t i = 0; i < *held; i++) {
        size_t number = strtoul(acemq_envelope_id(sights[i].envelope), NULL, 10);
        ck_assert_uint_lt(number, count);
        ck_assert_int_eq(acemq_envelope_attempt(sights[i].envelope), attempt);
        missing -= found[number] ? 0 : 1;
        found[number] = true;
        trial_sight_free(&sights[i]);
    }
    free(found);
    free(sights);
    return missing;
}

void trial_only(const trial *self, const char *queue, trial_sight *sight)
{
    size_t count = trial_browse(self, queue, sight, 1);
    ck_assert_msg(count == 1, "%s is empty", queue);
}
