#include "consume.h"

#include "child.h"
#include "child_environment.h"
#include "output.h"
#include "print_message.h"
#include "progress.h"
#include "signals.h"

#include <acemq/group.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define DRAIN_BUDGET  (20 * ACEMQ_SECOND)
#define LOOK_EVERY    200 /* ms between two looks at whether there is work, where that matters */
#define STATUS_PARKED 64
#define STATUS_REJECT 65

typedef struct cli_consuming {
    const cli_consume_settings *settings;
    acemq_group *group;
    pthread_t *threads;
    size_t thread_count;
    int ended_fd; /* readable once it is to end */
    atomic_bool ending;
    atomic_bool failed;
    atomic_llong left;          /* messages that may still be handled */
    atomic_llong last_activity; /* monotonic ms */
} cli_consuming;

static void end_all(cli_consuming *consuming)
{
    uint64_t one = 1;
    if (atomic_exchange(&consuming->ending, true)) {
        return;
    }
    if (write(consuming->ended_fd, &one, sizeof one) != (ssize_t)sizeof one) {
        cli_say("the waiting thread could not be told to end");
    }
    acemq_group_wake(consuming->group);
}

static void fail_all(cli_consuming *consuming, acemq_error *error)
{
    cli_fail(error);
    atomic_store(&consuming->failed, true);
    end_all(consuming);
}

/* A delivery that a lost connection took away is delivered again; nothing is wrong with it. */
static bool settle(cli_consuming *consuming, acemq_delivery *delivery, acemq_outcome outcome,
                   const char *reason)
{
    acemq_error *error = NULL;
    acemq_status status = acemq_delivery_settle(delivery, outcome, reason, &error);
    if (status == ACEMQ_OK || status == ACEMQ_E_STALE) {
        acemq_error_free(error);
        return true;
    }
    fail_all(consuming, error);
    return false;
}

/* What has been printed is not lost, what could not be printed goes back. */
static void print(cli_consuming *consuming, acemq_delivery *delivery)
{
    FILE *stream = consuming->settings->to_stderr ? stderr : stdout;
    cli_print_message(stream, delivery, SIZE_MAX);
    if (fflush(stream) == 0) {
        (void)settle(consuming, delivery, ACEMQ_ACCEPTED, NULL);
        return;
    }
    cli_fail_system("standard output");
    atomic_store(&consuming->failed, true);
    end_all(consuming);
}

static acemq_outcome outcome_of(int status)
{
    switch (status) {
    case 0:
        return ACEMQ_ACCEPTED;
    case STATUS_PARKED:
        return ACEMQ_PARKED;
    case STATUS_REJECT:
        return ACEMQ_REJECTED;
    default:
        return ACEMQ_FAILED;
    }
}

/* That no process can be made is not the message's fault: it goes back. */
static void execute(cli_consuming *consuming, acemq_delivery *delivery)
{
    char **environment = cli_environment(delivery);
    cli_ending ending = {.last_line = NULL};
    bool ran = environment != NULL && cli_run_command(consuming->settings->command, environment,
                                                      acemq_delivery_body(delivery), &ending);
    if (!ran) {
        if (environment == NULL) {
            cli_fail(NULL);
        }
        atomic_store(&consuming->failed, true);
        end_all(consuming);
    } else if (ending.status == 0 || !ending.was_ended) {
        (void)settle(consuming, delivery, outcome_of(ending.status), ending.last_line);
    }
    free(ending.last_line);
    cli_environment_free(environment);
}

/* The broker is to hear of the cancel before the last message is settled, or it would hand out one
 * more, which a quorum queue does not take back to its place. */
static void take_no_more(cli_consuming *consuming)
{
    end_all(consuming);
    (void)acemq_group_drain(consuming->group, 0, NULL, NULL, NULL);
}

/* False when no more messages may be handled. */
static bool take_one(cli_consuming *consuming)
{
    if (consuming->settings->most == 0) {
        return true;
    }
    long long left = atomic_fetch_sub(&consuming->left, 1);
    if (left <= 1) {
        take_no_more(consuming);
    }
    return left > 0;
}

static void handle(cli_consuming *consuming, acemq_delivery *delivery)
{
    atomic_store(&consuming->last_activity, cli_now());
    if (!cli_interrupted() && take_one(consuming)) {
        if (consuming->settings->command == NULL) {
            print(consuming, delivery);
        } else {
            execute(consuming, delivery);
        }
    }
    acemq_delivery_free(delivery); /* which puts it back when it was not settled */
    atomic_store(&consuming->last_activity, cli_now());
}

static void *work(void *argument)
{
    cli_consuming *consuming = argument;
    while (!atomic_load(&consuming->ending)) {
        acemq_delivery *delivery = NULL;
        acemq_error *error = NULL;
        /* Not for ever, since a wake is for those who wait already. */
        acemq_status status = acemq_group_next(consuming->group, ACEMQ_SECOND, &delivery, &error);
        if (status == ACEMQ_OK) {
            handle(consuming, delivery);
        } else if (status == ACEMQ_E_CANCELLED || status == ACEMQ_E_TIMEOUT ||
                   atomic_load(&consuming->ending)) {
            acemq_error_free(error);
        } else {
            fail_all(consuming, error);
        }
        if (cli_interrupted()) {
            end_all(consuming);
        }
    }
    return NULL;
}

static bool start_group(cli_consuming *consuming, acemq_connection *mq)
{
    const cli_consume_settings *settings = consuming->settings;
    acemq_group_options options = ACEMQ_GROUP_OPTIONS_INIT;
    acemq_error *error = NULL;
    options.consumer = &settings->options;
    options.members = settings->members;
    if (acemq_group_open(mq, settings->queue, &options, &consuming->group, &error) != ACEMQ_OK) {
        cli_fail_at(settings->queue, error);
        return false;
    }
    return true;
}

static bool start_threads(cli_consuming *consuming)
{
    for (int64_t i = 0; i < consuming->settings->members; i++) {
        errno = pthread_create(&consuming->threads[i], NULL, work, consuming);
        if (errno != 0) {
            cli_fail_system("a thread cannot be started");
            return false;
        }
        consuming->thread_count++;
    }
    return true;
}

/* Waits here count as work, and so does a lost connection, behind which there may be some. */
static bool has_work(const cli_consuming *consuming)
{
    acemq_consumer_counters counters = {.size = sizeof counters};
    return acemq_group_get_counters(consuming->group, &counters, NULL) != ACEMQ_OK ||
           counters.in_flight > 0 || acemq_group_subscribed(consuming->group) == 0;
}

static bool is_idle(cli_consuming *consuming)
{
    int64_t now = cli_now();
    if (has_work(consuming)) {
        atomic_store(&consuming->last_activity, now);
    }
    return now - atomic_load(&consuming->last_activity) >= consuming->settings->idle;
}

static int look_time(int64_t idle)
{
    if (idle < 0) {
        return -1;
    }
    int64_t fifth = idle / 5 + 1;
    return fifth < LOOK_EVERY ? (int)fifth : LOOK_EVERY;
}

static void wait_for_end(cli_consuming *consuming)
{
    struct pollfd fds[] = {{.fd = cli_interrupted_fd(), .events = POLLIN},
                           {.fd = consuming->ended_fd, .events = POLLIN}};
    int ready = 0;
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
        ready = poll(fds, 2, look_time(consuming->settings->idle));
        if (ready == 0 && is_idle(consuming)) {
            break;
        }
    }
    end_all(consuming);
}

static void drain(cli_consuming *consuming)
{
    acemq_cancel_reset(cli_cancel()); /* the orderly end is what was asked for */
    end_all(consuming);
    (void)acemq_group_drain(consuming->group, DRAIN_BUDGET, NULL, NULL, NULL);
}

static void run_members(cli_consuming *consuming)
{
    atomic_store(&consuming->last_activity, cli_now());
    if (start_threads(consuming)) {
        wait_for_end(consuming);
    } else {
        atomic_store(&consuming->failed, true);
        end_all(consuming);
    }
    for (size_t i = 0; i < consuming->thread_count; i++) {
        pthread_join(consuming->threads[i], NULL);
    }
    drain(consuming);
}

bool cli_consume(acemq_connection *mq, const cli_consume_settings *settings,
                 acemq_consumer_counters *counters)
{
    cli_consuming consuming = {.settings = settings, .ended_fd = eventfd(0, EFD_CLOEXEC)};
    *counters = (acemq_consumer_counters){.size = sizeof *counters};
    atomic_init(&consuming.left, settings->most);
    consuming.threads = calloc((size_t)settings->members, sizeof *consuming.threads);
    bool started = consuming.threads != NULL && consuming.ended_fd >= 0;
    if (!started) {
        cli_fail_system("consuming");
    }
    cli_at_sudden_end(cli_kill_commands);
    if (started && (started = start_group(&consuming, mq))) {
        run_members(&consuming);
        (void)acemq_group_get_counters(consuming.group, counters, NULL);
        acemq_group_free(consuming.group);
    }
    free(consuming.threads);
    if (consuming.ended_fd >= 0) {
        close(consuming.ended_fd);
    }
    return started && !atomic_load(&consuming.failed);
}
