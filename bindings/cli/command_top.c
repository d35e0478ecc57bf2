#include "command.h"
#include "connect.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "signals.h"
#include "top_screen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define READ_TIMEOUT (5 * ACEMQ_SECOND) /* of one queue, so that a hanging broker is told soon */

static struct {
    acemq_policy *retry;
    int64_t every;
    bool once;
} settings = {.every = 2 * ACEMQ_SECOND};

/* Reading goes on beside the screen, so that keys are answered while the broker is not. */
typedef struct top_reader {
    acemq_connection *mq;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    top_reading own;    /* the reader's */
    top_reading latest; /* under the mutex, as what follows */
    bool stopping;
    bool paused;
    bool wanted; /* at once */
    int fresh;   /* an eventfd: `latest` is new */
} top_reader;

static void publish(top_reader *reader)
{
    uint64_t one = 1;
    pthread_mutex_lock(&reader->mutex);
    top_reading_copy(&reader->latest, &reader->own);
    pthread_mutex_unlock(&reader->mutex);
    ssize_t written = write(reader->fresh, &one, sizeof one);
    (void)written; /* it is readable already */
}

static struct timespec deadline_after(int64_t milliseconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t nanoseconds = now.tv_nsec + milliseconds % 1000 * 1000000;
    return (struct timespec){now.tv_sec + milliseconds / 1000 + nanoseconds / 1000000000,
                             nanoseconds % 1000000000};
}

/* False when it is over. */
static bool wait_for_next(top_reader *reader)
{
    struct timespec deadline = deadline_after(settings.every);
    int waited = 0;
    pthread_mutex_lock(&reader->mutex);
    while (!reader->stopping && !reader->wanted && (reader->paused || waited != ETIMEDOUT)) {
        waited = pthread_cond_timedwait(&reader->changed, &reader->mutex, &deadline);
        if (reader->paused && waited == ETIMEDOUT) {
            deadline = deadline_after(settings.every);
        }
    }
    reader->wanted = false;
    bool goes_on = !reader->stopping;
    pthread_mutex_unlock(&reader->mutex);
    return goes_on;
}

static void *read_on(void *user)
{
    top_reader *reader = user;
    do {
        acemq_error *error = NULL;
        if (top_read(&reader->own, reader->mq, settings.retry, READ_TIMEOUT, &error) != ACEMQ_OK &&
            reader->own.trouble[0] == '\0') {
            snprintf(reader->own.trouble, sizeof reader->own.trouble, "%s",
                     acemq_error_message(error));
        }
        acemq_error_free(error);
        publish(reader);
    } while (wait_for_next(reader));
    return NULL;
}

static void tell(top_reader *reader, bool paused, bool wanted, bool stopping)
{
    pthread_mutex_lock(&reader->mutex);
    reader->paused = paused;
    reader->wanted = reader->wanted || wanted;
    reader->stopping = stopping;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->mutex);
}

static bool start_reader(top_reader *reader, pthread_t *thread)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the screen's thread takes the signals */
    errno = pthread_create(thread, NULL, read_on, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (errno != 0) {
        cli_fail_system("the reading cannot be started");
        return false;
    }
    return true;
}

static void draw(top_reader *reader, top_reading *shown, top_view *view)
{
    if (!view->paused) {
        pthread_mutex_lock(&reader->mutex);
        top_reading_copy(shown, &reader->latest);
        pthread_mutex_unlock(&reader->mutex);
    }
    top_screen_draw(shown, view);
}

/* True when the user wants an end. */
static bool take_keys(top_reader *reader, top_view *view)
{
    top_key key;
    while ((key = top_screen_key(view)) != TOP_KEY_NONE) {
        if (key == TOP_KEY_QUIT) {
            return true;
        }
        tell(reader, view->paused, key == TOP_KEY_REFRESH, false);
    }
    return false;
}

static void watch(top_reader *reader, top_reading *shown)
{
    top_view view = {.every = settings.every};
    struct pollfd waited[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = cli_interrupted_fd(), .events = POLLIN},
                              {.fd = reader->fresh, .events = POLLIN}};
    bool over = false;
    while (!over) {
        draw(reader, shown, &view);
        int ready = poll(waited, sizeof waited / sizeof waited[0], -1);
        uint64_t count;
        if (ready < 0 && errno != EINTR) {
            return;
        }
        bool hung_up = ready > 0 && (waited[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
        if (ready > 0 && waited[2].revents != 0 && read(reader->fresh, &count, sizeof count) < 0) {
            continue;
        }
        over = take_keys(reader, &view) || hung_up || cli_interrupted();
    }
}

static int show_live(acemq_connection *mq, top_reading *reading, const char *const *names,
                     size_t count)
{
    top_reader reader = {.mq = mq, .fresh = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    pthread_condattr_t attributes;
    pthread_t thread;
    if (reader.fresh < 0) {
        return cli_fail_system("eventfd");
    }
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&reader.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&reader.mutex, NULL);
    int status = CLI_FAILED;
    if (!top_reading_init(&reader.own, names, count, settings.retry) ||
        !top_reading_init(&reader.latest, names, count, settings.retry)) {
        status = cli_fail(NULL);
    } else if (start_reader(&reader, &thread)) {
        status = top_screen_begin();
        if (status == CLI_DONE) {
            watch(&reader, reading);
        }
        top_screen_end();
        tell(&reader, false, false, true);
        acemq_cancel_fire(cli_cancel()); /* what is being asked of the broker ends at once */
        pthread_join(thread, NULL);
    }
    top_reading_release(&reader.own);
    top_reading_release(&reader.latest);
    close(reader.fresh);
    return status;
}

static int show_once(const cli_call *call, acemq_connection *mq, top_reading *reading)
{
    acemq_error *error = NULL;
    if (top_read(reading, mq, settings.retry, CLI_CALL_TIMEOUT, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    if (call->json) {
        top_print_json(reading);
    } else {
        top_print_text(reading);
    }
    return CLI_DONE;
}

static int check_use(const cli_call *call)
{
    if (settings.once) {
        return CLI_DONE;
    }
    if (call->json) {
        return cli_wrong_use(call, "--json is for one reading: give --once too");
    }
    if (!cli_is_terminal(stdout) || isatty(STDIN_FILENO) != 1) {
        return cli_wrong_use(call, "a live view needs a terminal; --once prints one reading");
    }
    return CLI_DONE;
}

/* On the screen a line of the log would stand anywhere: its trouble is shown in its place. */
static int connect_quietly(const cli_call *call, acemq_connection **mq)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_error *error = NULL;
    char *url = cli_url(call);
    if (url == NULL) {
        return CLI_FAILED;
    }
    options.name = "acemq top";
    options.timeout = CLI_CONNECT_TIMEOUT;
    options.cancel = cli_cancel();
    acemq_status status = acemq_connect(url, &options, mq, &error);
    free(url);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static int run(const cli_call *call)
{
    acemq_connection *mq = NULL;
    top_reading reading;
    int status = check_use(call);
    if (status != CLI_DONE) {
        return status;
    }
    if (!top_reading_init(&reading, call->arguments, call->count, settings.retry)) {
        return cli_fail(NULL);
    }
    status = cli_signals_take() ? connect_quietly(call, &mq) : CLI_FAILED;
    if (status == CLI_DONE) {
        status = settings.once ? show_once(call, mq, &reading)
                               : show_live(mq, &reading, call->arguments, call->count);
    }
    cli_disconnect_within(mq, ACEMQ_SECOND);
    top_reading_release(&reading);
    return status;
}

static const cli_option options[] = {
    {"--retry", "POLICY", "also show the rungs of this policy", CLI_POLICY,
     .target = &settings.retry},
    {"--every", "D", "read so often (default 2s)", CLI_DURATION, &settings.every, 100, ACEMQ_HOUR,
     NULL},
    {"--once", NULL, "print one reading and end", CLI_FLAG, .target = &settings.once},
    {.name = NULL},
};

const cli_command cli_command_top = {
    .name = "top",
    .usage = "[QUEUE]...",
    .summary = "Watch queues live: ready, consumers, waits, dead letters, rates",
    .details =
        "What AMQP tells: it counts the queues named, their dead letters, parking lot and\n"
        "rungs, and lists none. Without a QUEUE it shows the queues that have the same name\n"
        "everywhere, the scheduler's. PER S is how fast the number changes.\n\n"
        "Keys: q quit, p pause, s sort by name, ready, dead letters or fewest consumers,\n"
        "r read now, up and down scroll.\n\n"
        "With --once --json: {\"time\", \"connection\", \"reason\", \"queues\": [{\"queue\",\n"
        "\"exists\", \"ready\", \"consumers\", \"deadLettered\", \"parked\",\n"
        "\"rungs\": [{\"queue\", \"messages\"}]}]}. time is in ms since 1970; connection is open,\n"
        "blocked, reconnecting, failed or closed, and reason null or why.\n",
    .options = options,
    .least = 0,
    .most = SIZE_MAX,
    .run = run,
};
