/*
 * What was seen of a message, and a handler that writes down what it sees.
 */
#ifndef ACEMQ_TESTS_TRIAL_RECORDER_H
#define ACEMQ_TESTS_TRIAL_RECORDER_H

#include "support/trial.h"

#include <pthread.h>

typedef struct trial_sight {
    acemq_envelope *envelope;
    acemq_table *headers; /* all of them, as they arrived */
    acemq_table *application;
    unsigned char *body;
    size_t length;
    int redelivered;
    char content_type[256], content_encoding[256], user_id[256], message_id[256], routing_key[256];
    int64_t timestamp; /* -1: none */
    int64_t at;        /* trial_now() */
} trial_sight;

void trial_sight_of(trial_sight *sight, const acemq_delivery *delivery);
void trial_sight_free(trial_sight *sight);
/* The body is `length` bytes of `body`. */
void trial_sight_has_body(const trial_sight *sight, const void *body, size_t length);

/* What a handler answers. */
typedef acemq_outcome trial_verdict(const trial_sight *sight, void *user);
acemq_outcome trial_accept(const trial_sight *sight, void *user);
acemq_outcome trial_fail(const trial_sight *sight, void *user);
acemq_outcome trial_reject(const trial_sight *sight, void *user);
acemq_outcome trial_park(const trial_sight *sight, void *user);
/* Fails the first *(int *)user calls and accepts those after. */
acemq_outcome trial_fail_at_first(const trial_sight *sight, void *user);

typedef struct trial_recorder {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    trial_verdict *verdict;
    void *user;
    const char *reason;
    trial_sight *sights;
    size_t count, room;
    acemq_consumer *consumer;
} trial_recorder;

/* Consumes `queue` by push and records. `policy` is copied; `options` NULL: defaults. */
void trial_record(trial_recorder *self, acemq_connection *mq, const char *queue,
                  const acemq_policy *policy, const acemq_consumer_options *options,
                  trial_verdict *verdict, void *user);
/* The same, giving a reason with every outcome; borrowed. */
void trial_record_saying(trial_recorder *self, acemq_connection *mq, const char *queue,
                         const acemq_policy *policy, const acemq_consumer_options *options,
                         trial_verdict *verdict, void *user, const char *reason);
void trial_record_verdict(trial_recorder *self, trial_verdict *verdict, void *user);
/* Until so many calls were seen; fails the test after `timeout` ms. */
void trial_wait_seen(trial_recorder *self, size_t count, int64_t timeout);
/* Until this body was seen, however often others were: a lost line brings some of them twice. */
void trial_wait_text(trial_recorder *self, const char *text, int64_t timeout);
size_t trial_seen(trial_recorder *self);
/* The call at `index`, from 0; valid until the recorder ends. Only once no more calls come. */
const trial_sight *trial_sight_at(trial_recorder *self, size_t index);
/* The n-th call, from 0, that had this id; NULL when there is none. */
const trial_sight *trial_sight_for(trial_recorder *self, const char *id, size_t n);
acemq_consumer_counters trial_counters(const trial_recorder *self);
/* Until so many are acknowledged, which is a while after their handler has returned. */
void trial_wait_acknowledged(const trial_recorder *self, uint64_t count, int64_t timeout);
/* Closes the consumer, waits for its handler, and frees what was seen. */
void trial_record_end(trial_recorder *self);

/* The messages of a queue as they lie there, put back afterwards. Each is freed by the caller. */
size_t trial_browse(const trial *self, const char *queue, trial_sight *sights, size_t room);
/* Of the messages with the ids 0 to `count` - 1, how many are not in the queue. It holds no others,
 * each at this attempt; some may be there up to four times. `held`: how many it holds. */
size_t trial_missing(const trial *self, const char *queue, size_t count, int attempt, size_t *held);
/* The only message of a queue. */
void trial_only(const trial *self, const char *queue, trial_sight *sight);

#endif
