#include "top.h"

#include "json.h"
#include "output.h"
#include "progress.h"

#include <acemq/queue.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* AMQP lists no queues. These have the same names wherever they are: the scheduler's. */
static const char *const fixed_names[] = {
    "acemq.schedule.due", "acemq.schedule.1s",  "acemq.schedule.10s",
    "acemq.schedule.1m",  "acemq.schedule.10m", "acemq.schedule.1h",
};

#define FIXED_COUNT (sizeof fixed_names / sizeof fixed_names[0])

bool top_reading_init(top_reading *reading, const char *const *names, size_t count,
                      const acemq_policy *retry)
{
    bool fixed = count == 0;
    size_t rungs = fixed || retry == NULL ? 0 : acemq_policy_rung_count(retry);
    *reading = (top_reading){.count = fixed ? FIXED_COUNT : count};
    reading->queues = calloc(reading->count, sizeof *reading->queues);
    for (size_t i = 0; reading->queues != NULL && i < reading->count; i++) {
        top_queue *queue = &reading->queues[i];
        queue->name = fixed ? fixed_names[i] : names[i];
        queue->plain = fixed;
        queue->rung_count = rungs;
        queue->rungs = calloc(rungs + 1, sizeof *queue->rungs);
        if (queue->rungs == NULL) {
            top_reading_release(reading);
            return false;
        }
    }
    return reading->queues != NULL;
}

void top_reading_release(top_reading *reading)
{
    for (size_t i = 0; reading->queues != NULL && i < reading->count; i++) {
        free(reading->queues[i].rungs);
    }
    free(reading->queues);
    reading->queues = NULL;
}

void top_reading_copy(top_reading *to, const top_reading *from)
{
    for (size_t i = 0; i < from->count; i++) {
        top_rung *rungs = to->queues[i].rungs;
        memcpy(rungs, from->queues[i].rungs, from->queues[i].rung_count * sizeof *rungs);
        to->queues[i] = from->queues[i];
        to->queues[i].rungs = rungs;
    }
    to->taken_at = from->taken_at;
    to->wall = from->wall;
    to->state = from->state;
    memcpy(to->trouble, from->trouble, sizeof to->trouble);
}

/* A queue that is missing holds nothing. */
static acemq_status count(acemq_connection *mq, const char *name, int64_t timeout,
                          uint64_t *messages, uint64_t *consumers, bool *exists,
                          acemq_error **error)
{
    acemq_status status = acemq_queue_count(mq, name, timeout, messages, consumers, error);
    *exists = status == ACEMQ_OK;
    if (status == ACEMQ_E_NOT_FOUND) {
        acemq_error_free(*error);
        *error = NULL;
        *messages = 0;
        status = ACEMQ_OK;
    }
    return status;
}

static acemq_status count_rungs(top_queue *queue, acemq_connection *mq, const acemq_policy *retry,
                                int64_t timeout, acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    bool exists;
    for (size_t i = 0; status == ACEMQ_OK && i < queue->rung_count; i++) {
        top_rung *rung = &queue->rungs[i];
        int64_t delay = acemq_policy_rung_delay(retry, i);
        status = acemq_policy_rung_name(retry, queue->name, delay, rung->name, error);
        if (status == ACEMQ_OK) {
            status = count(mq, rung->name, timeout, &rung->messages, NULL, &exists, error);
        }
    }
    return status;
}

static acemq_status count_failures(top_queue *queue, acemq_connection *mq, int64_t timeout,
                                   acemq_error **error)
{
    char name[ACEMQ_NAME_SIZE];
    bool exists;
    acemq_status status = acemq_dead_letter_queue(queue->name, name, error);
    if (status == ACEMQ_OK) {
        status = count(mq, name, timeout, &queue->dead_lettered, NULL, &exists, error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_parked_queue(queue->name, name, error);
    }
    if (status == ACEMQ_OK) {
        status = count(mq, name, timeout, &queue->parked, NULL, &exists, error);
    }
    return status;
}

static double rate(uint64_t now, uint64_t before, int64_t milliseconds)
{
    return ((double)now - (double)before) * 1000.0 / (double)milliseconds;
}

static acemq_status read_queue(top_queue *queue, acemq_connection *mq, const acemq_policy *retry,
                               int64_t timeout, acemq_error **error)
{
    queue->consumers = 0;
    acemq_status status =
        count(mq, queue->name, timeout, &queue->ready, &queue->consumers, &queue->exists, error);
    if (status == ACEMQ_OK && !queue->plain) {
        status = count_failures(queue, mq, timeout, error);
    }
    if (status == ACEMQ_OK) {
        status = count_rungs(queue, mq, retry, timeout, error);
    }
    return status;
}

static int64_t wall_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

acemq_status top_read(top_reading *reading, acemq_connection *mq, const acemq_policy *retry,
                      int64_t timeout, acemq_error **error)
{
    int64_t before = reading->taken_at;
    int64_t now = cli_now();
    acemq_error *reason = NULL;
    reading->state = acemq_connection_get_state(mq, &reason);
    snprintf(reading->trouble, sizeof reading->trouble, "%s",
             reason == NULL ? "" : acemq_error_message(reason));
    acemq_error_free(reason);
    for (size_t i = 0; i < reading->count; i++) {
        top_queue *queue = &reading->queues[i];
        uint64_t ready = queue->ready;
        uint64_t dead = queue->dead_lettered;
        acemq_status status = read_queue(queue, mq, retry, timeout, error);
        if (status != ACEMQ_OK) {
            return status;
        }
        queue->has_rates = before > 0 && now > before;
        if (queue->has_rates) {
            queue->ready_rate = rate(queue->ready, ready, now - before);
            queue->dead_rate = rate(queue->dead_lettered, dead, now - before);
        }
    }
    reading->taken_at = now;
    reading->wall = wall_now();
    return ACEMQ_OK;
}

const char *top_state_name(acemq_connection_state state)
{
    switch (state) {
    case ACEMQ_CONNECTION_OPEN:
        return "open";
    case ACEMQ_CONNECTION_BLOCKED:
        return "blocked";
    case ACEMQ_CONNECTION_RECONNECTING:
        return "reconnecting";
    case ACEMQ_CONNECTION_FAILED:
        return "failed";
    case ACEMQ_CONNECTION_CLOSED:
    default:
        return "closed";
    }
}

uint64_t top_waiting(const top_queue *queue)
{
    uint64_t waiting = 0;
    for (size_t i = 0; i < queue->rung_count; i++) {
        waiting += queue->rungs[i].messages;
    }
    return waiting;
}

static void print_queue_json(cli_json *json, const top_queue *queue)
{
    cli_json_object(json);
    cli_json_member_text(json, "queue", queue->name);
    cli_json_name(json, "exists");
    cli_json_boolean(json, queue->exists);
    cli_json_member_unsigned(json, "ready", queue->ready);
    cli_json_member_unsigned(json, "consumers", queue->consumers);
    cli_json_member_unsigned(json, "deadLettered", queue->dead_lettered);
    cli_json_member_unsigned(json, "parked", queue->parked);
    cli_json_name(json, "rungs");
    cli_json_array(json);
    for (size_t i = 0; i < queue->rung_count; i++) {
        cli_json_object(json);
        cli_json_member_text(json, "queue", queue->rungs[i].name);
        cli_json_member_unsigned(json, "messages", queue->rungs[i].messages);
        cli_json_end_object(json);
    }
    cli_json_end_array(json);
    cli_json_end_object(json);
}

void top_print_json(const top_reading *reading)
{
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_integer(&json, "time", reading->wall);
    cli_json_member_text(&json, "connection", top_state_name(reading->state));
    cli_json_member_text(&json, "reason", reading->trouble[0] == '\0' ? NULL : reading->trouble);
    cli_json_name(&json, "queues");
    cli_json_array(&json);
    for (size_t i = 0; i < reading->count; i++) {
        if (!reading->queues[i].plain || reading->queues[i].exists) {
            print_queue_json(&json, &reading->queues[i]);
        }
    }
    cli_json_end_array(&json);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static void print_queue_text(const top_queue *queue)
{
    printf("%10" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "  ", queue->ready,
           queue->consumers, top_waiting(queue), queue->dead_lettered, queue->parked);
    cli_print_shown(stdout, queue->name, strlen(queue->name), ACEMQ_NAME_SIZE);
    printf("%s\n", queue->exists ? "" : " (missing)");
    for (size_t i = 0; i < queue->rung_count; i++) {
        printf("%10s %9s %9" PRIu64 " %9s %9s    ", "", "", queue->rungs[i].messages, "", "");
        cli_print_shown(stdout, queue->rungs[i].name, strlen(queue->rungs[i].name),
                        ACEMQ_NAME_SIZE);
        printf("\n");
    }
}

void top_print_text(const top_reading *reading)
{
    printf("%10s %9s %9s %9s %9s  %s\n", "READY", "CONSUMERS", "WAITING", "DEAD", "PARKED",
           "QUEUE");
    for (size_t i = 0; i < reading->count; i++) {
        if (!reading->queues[i].plain || reading->queues[i].exists) {
            print_queue_text(&reading->queues[i]);
        }
    }
}
