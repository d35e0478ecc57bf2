#include "support/trial.h"

#include "support/broker_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE (20 * ACEMQ_SECOND)

static _Thread_local acemq_error *last_error;

acemq_error **trial_error(void)
{
    acemq_error_free(last_error);
    last_error = NULL;
    return &last_error;
}

const acemq_error *trial_last_error(void)
{
    return last_error;
}

void trial_judge(acemq_status status, acemq_status expected, const char *call, const char *file,
                 int line)
{
    if (status == expected) {
        if (status != ACEMQ_OK) {
            ck_assert_msg(last_error != NULL, "%s:%d: %s: no error object", file, line, call);
            ck_assert_int_eq(acemq_error_code(last_error), status);
        }
        return;
    }
    ck_abort_msg("%s:%d: %s\n  answered %s (%s), expected %s", file, line, call,
                 acemq_status_name(status),
                 last_error == NULL ? "no error" : acemq_error_message(last_error),
                 acemq_status_name(expected));
}

void trial_error_says(const char *text)
{
    ck_assert_ptr_nonnull(last_error);
    ck_assert_msg(strstr(acemq_error_message(last_error), text) != NULL, "\"%s\" lacks \"%s\"",
                  acemq_error_message(last_error), text);
}

int64_t trial_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void trial_sleep(int64_t milliseconds)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&rest, NULL);
}

bool trial_is_long(void)
{
    const char *asked = getenv("ACEMQ_TEST_LONG");
    return asked != NULL && asked[0] != '\0';
}

/* The program's own id, also in the children that run its tests: one clean-up serves them all. */
static int program_id;

static void clean_up(void)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "trial-%d-", program_id);
    broker_control_delete(prefix);
}

int trial_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    program_id = (int)getpid();
    srunner_run_all(runner, CK_NORMAL);
    clean_up();
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

acemq_policy *trial_policy(const char *text)
{
    acemq_policy *policy = NULL;
    trial_must(acemq_policy_parse(text, &policy, trial_error()));
    return policy;
}

static void choose_prefix(trial *self, int broker)
{
    struct timespec now;
    memset(self, 0, sizeof *self);
    self->broker = broker;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(self->prefix, sizeof self->prefix, "trial-%d-%lx", program_id,
             (unsigned long)(now.tv_sec * 1000000 + now.tv_nsec / 1000));
}

static void choose_url(trial *self)
{
    if (self->broker == TRIAL_MEMORY) {
        snprintf(self->url, sizeof self->url, "memory://%s", self->prefix);
        return;
    }
    const char *url = getenv("ACEMQ_TEST_URL");
    ck_assert_msg(url != NULL && url[0] != '\0',
                  "ACEMQ_TEST_URL is not set: no broker to test with");
    snprintf(self->url, sizeof self->url, "%s", url);
}

acemq_connection *trial_connect(const trial *self, const acemq_connect_options *options)
{
    acemq_connection *mq = NULL;
    trial_must(acemq_connect(self->url, options, &mq, trial_error()));
    return mq;
}

void trial_begin_with(trial *self, int broker, const acemq_connect_options *options)
{
    choose_prefix(self, broker);
    choose_url(self);
    self->mq = trial_connect(self, options);
}

void trial_begin(trial *self, int broker)
{
    trial_begin_with(self, broker, NULL);
}

void trial_begin_listening(trial *self, int broker)
{
    int port = 0;
    choose_prefix(self, broker);
    if (broker == TRIAL_MEMORY) {
        trial_must(acemq_broker_start(&self->listening, trial_error()));
        trial_must(acemq_broker_listen(self->listening, "127.0.0.1", 0, &port, trial_error()));
        snprintf(self->url, sizeof self->url, "amqp://guest:guest@127.0.0.1:%d/", port);
    } else {
        choose_url(self);
    }
    self->mq = trial_connect(self, NULL);
}

int trial_port(const trial *self)
{
    const char *colon = strrchr(self->url, ':');
    ck_assert_ptr_nonnull(colon);
    return atoi(colon + 1);
}

const char *trial_password(int port)
{
    static char password[128];
    int listening = 0;
    const char *url = getenv("ACEMQ_TEST_URL");
    if (url != NULL &&
        sscanf(url, "amqp://guest:%127[^@]@127.0.0.1:%d", password, &listening) == 2 &&
        listening == port) {
        return password;
    }
    return "guest";
}

void trial_close(acemq_connection *mq)
{
    if (mq != NULL) {
        trial_must(acemq_connection_close(mq, PATIENCE, trial_error()));
        acemq_connection_free(mq);
    }
}

void trial_end(trial *self)
{
    trial_close(self->mq);
    acemq_broker_free(self->listening);
    trial_error();
}

static char *new_name(trial *self)
{
    ck_assert_uint_lt(self->name_count, TRIAL_NAMES);
    return self->names[self->name_count++];
}

const char *trial_name(trial *self, const char *base)
{
    char *name = new_name(self);
    snprintf(name, ACEMQ_NAME_SIZE, "%s.%s", self->prefix, base);
    return name;
}

const char *trial_derived(trial *self, const char *queue, const char *suffix)
{
    char *name = new_name(self);
    int length = snprintf(name, ACEMQ_NAME_SIZE, "%s%s", queue, suffix);
    ck_assert_int_lt(length, ACEMQ_NAME_SIZE);
    return name;
}

static void apply_and_free(const trial *self, acemq_topology *topology)
{
    acemq_plan *plan = NULL;
    trial_must(acemq_topology_apply(self->mq, topology, PATIENCE, &plan, trial_error()));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

const char *trial_queue_with(trial *self, const char *base, acemq_queue_type type, int dead_letter,
                             const acemq_table *arguments)
{
    const char *name = trial_name(self, base);
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, name, type, dead_letter, NULL, arguments);
    apply_and_free(self, topology);
    return name;
}

const char *trial_queue(trial *self, const char *base, acemq_queue_type type)
{
    return trial_queue_with(self, base, type, 0, NULL);
}

void trial_exchange(trial *self, const char *exchange, const char *type)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_exchange(topology, exchange, type);
    apply_and_free(self, topology);
}

void trial_bind(trial *self, const char *exchange, const char *queue, const char *routing_key)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_bind(topology, exchange, queue, routing_key);
    apply_and_free(self, topology);
}

void trial_publish(const trial *self, const char *queue, const char *id, const void *body,
                   size_t length)
{
    acemq_message *message = acemq_message_new(body, length);
    acemq_message_set_id(message, id);
    trial_must(acemq_publish(self->mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
}

void trial_publish_text(const trial *self, const char *queue, const char *id)
{
    trial_publish(self, queue, id, id, strlen(id));
}

uint64_t trial_ready(const trial *self, const char *queue)
{
    uint64_t ready = 0;
    trial_must(acemq_queue_count(self->mq, queue, PATIENCE, &ready, NULL, trial_error()));
    return ready;
}

bool trial_queue_exists(const trial *self, const char *queue)
{
    acemq_status status = acemq_queue_count(self->mq, queue, PATIENCE, NULL, NULL, trial_error());
    if (status != ACEMQ_E_NOT_FOUND) {
        trial_judge(status, ACEMQ_OK, "acemq_queue_count", __FILE__, __LINE__);
    }
    return status == ACEMQ_OK;
}

void trial_wait_ready(const trial *self, const char *queue, uint64_t count, int64_t timeout)
{
    int64_t deadline = trial_now() + timeout;
    uint64_t ready;
    while ((ready = trial_ready(self, queue)) != count) {
        ck_assert_msg(trial_now() < deadline, "%s holds %lu messages after %ld ms, expected %lu",
                      queue, (unsigned long)ready, (long)timeout, (unsigned long)count);
        trial_sleep(20);
    }
}
