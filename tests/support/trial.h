/*
 * An end-to-end trial through the public ABI: a client on one of the two brokers, and names that no
 * other trial uses. A test is written once and run for each broker, as a loop test from
 * TRIAL_MEMORY to TRIAL_BROKERS. What fails inside these functions fails the test.
 */
#ifndef ACEMQ_TESTS_TRIAL_H
#define ACEMQ_TESTS_TRIAL_H

#include <acemq/acemq.h>
#include <check.h>
#include <stdbool.h>

enum { TRIAL_MEMORY = 0, TRIAL_RABBITMQ = 1, TRIAL_BROKERS = 2 };

#define TRIAL_NAMES 64

typedef struct trial {
    int broker;
    acemq_connection *mq;
    char url[256];
    acemq_broker *listening; /* only after trial_begin_listening() */
    char prefix[48];         /* every name of this trial starts with it */
    char names[TRIAL_NAMES][ACEMQ_NAME_SIZE];
    size_t name_count;
} trial;

/* Connects. RabbitMQ is the one at ACEMQ_TEST_URL, and the test fails without it. */
void trial_begin(trial *self, int broker);
/* `options` NULL: defaults. */
void trial_begin_with(trial *self, int broker, const acemq_connect_options *options);
/* The memory broker listens on a port, so that proxies, child processes and foreign clients reach
 * it; RabbitMQ does so anyway. */
void trial_begin_listening(trial *self, int broker);
/* Closes. What it declared on RabbitMQ goes when trial_run() ends. */
void trial_end(trial *self);
/* A further client of the same broker; freed by the caller. */
acemq_connection *trial_connect(const trial *self, const acemq_connect_options *options);
int trial_port(const trial *self);
/* Of the user guest at that port: that of the RabbitMQ at ACEMQ_TEST_URL, if it listens there, else
 * the memory broker's. */
const char *trial_password(int port);
void trial_close(acemq_connection *mq);

/* A name that starts with the trial's prefix; kept until the trial ends. */
const char *trial_name(trial *self, const char *base);
/* `{queue}{suffix}`, such as ".dlq"; kept likewise. */
const char *trial_derived(trial *self, const char *queue, const char *suffix);
/* Declares a queue of that base name and returns its name. */
const char *trial_queue(trial *self, const char *base, acemq_queue_type type);
const char *trial_queue_with(trial *self, const char *base, acemq_queue_type type, int dead_letter,
                             const acemq_table *arguments);
void trial_exchange(trial *self, const char *exchange, const char *type);
void trial_bind(trial *self, const char *exchange, const char *queue, const char *routing_key);

/*
 * Calls: trial_must(acemq_publish(mq, queue, message, timeout, trial_error())). The failing
 * variant keeps the error for trial_last_error() until this thread's next call.
 */
acemq_error **trial_error(void);
const acemq_error *trial_last_error(void);
#define trial_must(call)            trial_judge((call), ACEMQ_OK, #call, __FILE__, __LINE__)
#define trial_must_fail(code, call) trial_judge((call), (code), #call, __FILE__, __LINE__)
void trial_judge(acemq_status status, acemq_status expected, const char *call, const char *file,
                 int line);
/* The last error's message holds `text`. */
void trial_error_says(const char *text);

/* Publishes bytes with this id, confirmed. */
void trial_publish(const trial *self, const char *queue, const char *id, const void *body,
                   size_t length);
void trial_publish_text(const trial *self, const char *queue, const char *id);

uint64_t trial_ready(const trial *self, const char *queue);
bool trial_queue_exists(const trial *self, const char *queue);
/* Until the queue holds exactly so many ready messages; fails the test after `timeout` ms. */
void trial_wait_ready(const trial *self, const char *queue, uint64_t count, int64_t timeout);

/* ms, monotonic. */
int64_t trial_now(void);
void trial_sleep(int64_t milliseconds);
acemq_policy *trial_policy(const char *text);

/* Whether ACEMQ_TEST_LONG asks for what takes longer. */
bool trial_is_long(void);
/* Runs the suite, then takes off RabbitMQ what its trials declared; what main() returns. */
int trial_run(Suite *suite);

#endif
