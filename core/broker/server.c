/* The broker's thread: one poll over everything, then what came of it. */
#include "broker/server.h"

#include "broker/queue.h"
#include "broker/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ACCEPTS_A_ROUND 64
/* How long a listener rests when there are no descriptors left for what it accepts. */
#define EXHAUSTED_WAIT 100

void ace_broker_wake(ace_broker *broker)
{
    uint64_t one = 1;
    ssize_t written;

    do
        written = write(broker->wake, &one, sizeof(one));
    while (written < 0 && errno == EINTR);
}

static void drain_wake(ace_broker *broker)
{
    uint64_t count;
    ssize_t got;

    do
        got = read(broker->wake, &count, sizeof(count));
    while (got < 0 && errno == EINTR);
}

/* --- connections --- */

static void admit(ace_broker *broker, ace_stream *stream)
{
    ace_broker_core *core = &broker->core;
    int descriptor = ace_stream_descriptor(stream);

    if (core->sessions.count >= core->limits.connections) {
        ace_log_write(&core->log, ACE_LOG_WARNING,
                      "connection %s refused: %zu are open, which is the limit",
                      ace_stream_peer(stream), core->limits.connections);
        ace_broker_forget_descriptor(broker, descriptor);
        ace_stream_close(stream);
        return;
    }
    if (!ace_broker_session_make(core, stream))
        ace_broker_forget_descriptor(broker, descriptor);
}

static void dismiss(ace_broker *broker, ace_broker_session *session)
{
    ace_broker_forget_descriptor(broker, ace_stream_descriptor(session->stream));
    ace_broker_session_free(session);
    ace_broker_turns_run(&broker->core);
}

static void dismiss_dead(ace_broker *broker)
{
    ace_broker_core *core = &broker->core;
    ace_link_node *node = ace_list_first(&core->sessions);

    while (node) {
        ace_broker_session *session = ACE_RECORD(node, ace_broker_session, link);

        node = ace_list_next(&core->sessions, node);
        if (session->state == ACE_SESSION_DEAD)
            dismiss(broker, session);
    }
}

static bool accept_some(ace_broker *broker, ace_listener *listener)
{
    for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
        ace_stream *stream = NULL;
        ace_stream_state state = ace_listener_accept(listener, &stream, NULL);

        if (state == ACE_STREAM_FAILED)
            return false;
        if (state != ACE_STREAM_READY)
            return true;
        ace_broker_note_descriptor(broker, ace_stream_descriptor(stream));
        admit(broker, stream);
    }
    return true;
}

/* True when the thread has to end. */
static bool take_requests(ace_broker *broker)
{
    ace_list requests;
    ace_link_node *node;
    bool stopping;

    ace_list_init(&requests);
    ace_mutex_lock(&broker->lock);
    ace_list_splice(&requests, &broker->requests);
    stopping = broker->stopping;
    ace_mutex_unlock(&broker->lock);
    while ((node = ace_list_take_first(&requests))) {
        ace_broker_request *request = ACE_RECORD(node, ace_broker_request, link);

        if (request->listener) {
            ace_list_append(&broker->listeners, &request->link);
            continue;
        }
        admit(broker, request->stream);
        free(request);
    }
    return stopping;
}

/* --- the poll --- */

static bool make_room(ace_broker *broker, size_t count)
{
    struct pollfd *polled;

    if (count <= broker->polled_capacity)
        return true;
    polled = realloc(broker->polled, count * 2 * sizeof(*polled));
    if (!polled)
        return false;
    broker->polled = polled;
    broker->polled_capacity = count * 2;
    return true;
}

/* The wake first, then the listeners, then the sessions, each in its list's order. */
static size_t gather(ace_broker *broker)
{
    ace_broker_core *core = &broker->core;
    size_t count = 0;

    if (!make_room(broker, 1 + broker->listeners.count + core->sessions.count))
        return 0;
    broker->polled[count++] = (struct pollfd){broker->wake, POLLIN, 0};
    for (ace_link_node *node = ace_list_first(&broker->listeners); node;
         node = ace_list_next(&broker->listeners, node)) {
        ace_listener *listener = ACE_RECORD(node, ace_broker_request, link)->listener;

        broker->polled[count++] = (struct pollfd){ace_listener_descriptor(listener), POLLIN, 0};
    }
    for (ace_link_node *node = ace_list_first(&core->sessions); node;
         node = ace_list_next(&core->sessions, node)) {
        ace_broker_session *session = ACE_RECORD(node, ace_broker_session, link);
        short events = ace_stream_events(session->stream, ace_broker_session_wants_input(session),
                                         ace_broker_session_wants_output(session));

        broker->polled[count++] =
            (struct pollfd){ace_stream_descriptor(session->stream), events, 0};
    }
    return count;
}

static int sooner(int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

static int wait_of(const ace_broker *broker)
{
    const ace_broker_core *core = &broker->core;

    return sooner(
        ace_clock_poll_timeout(core->clock, ace_timer_next(&core->queue_timers)),
        ace_clock_poll_timeout(ace_clock_system(), ace_timer_next(&core->session_timers)));
}

static void serve(ace_broker_session *session, short events)
{
    if (events != 0)
        ace_broker_session_receive(session);
}

static void run_timers(ace_broker_core *core)
{
    core->now = ace_clock_monotonic(core->clock);
    ace_timer_run(&core->queue_timers, core->now);
    ace_broker_turns_run(core);
    ace_timer_run(&core->session_timers, ace_broker_session_clock());
}

/* Everybody's output, since what one client did may have brought something to any other. */
static void flush_all(ace_broker_core *core)
{
    for (ace_link_node *node = ace_list_first(&core->sessions); node;
         node = ace_list_next(&core->sessions, node)) {
        ace_broker_session *session = ACE_RECORD(node, ace_broker_session, link);

        ace_broker_session_flush(session);
        ace_broker_session_resume(session);
        ace_broker_turns_run(core);
    }
}

/* New sessions are appended while listeners are served: they have no place in `polled` yet. */
static void handle(ace_broker *broker, size_t count)
{
    ace_broker_core *core = &broker->core;
    size_t at = 1;
    size_t sessions = core->sessions.count;
    bool exhausted = false;

    for (ace_link_node *node = ace_list_first(&broker->listeners); node && at < count;
         node = ace_list_next(&broker->listeners, node), at++) {
        if (broker->polled[at].revents != 0 &&
            !accept_some(broker, ACE_RECORD(node, ace_broker_request, link)->listener))
            exhausted = true;
    }
    for (ace_link_node *node = ace_list_first(&core->sessions); node && sessions > 0 && at < count;
         node = ace_list_next(&core->sessions, node), at++, sessions--)
        serve(ACE_RECORD(node, ace_broker_session, link), broker->polled[at].revents);
    if (exhausted)
        poll(NULL, 0, EXHAUSTED_WAIT);
}

static void report_failures(ace_broker_core *core)
{
    if (core->work_failed)
        ace_log_write(&core->log, ACE_LOG_ERROR,
                      "the memory broker is out of memory and lost a message or a timer");
    core->work_failed = false;
}

void ace_broker_run(void *user)
{
    ace_broker *broker = user;
    ace_broker_core *core = &broker->core;

    for (;;) {
        size_t count = gather(broker);

        if (count == 0 || poll(broker->polled, (nfds_t)count, wait_of(broker)) < 0)
            count = 0; /* no memory, or interrupted: timers and requests are served all the same */
        /* Time first: what a client asks about next has expired by then. */
        run_timers(core);
        handle(broker, count);
        if (count > 0 && broker->polled[0].revents != 0)
            drain_wake(broker);
        if (take_requests(broker))
            return;
        flush_all(core);
        dismiss_dead(broker);
        report_failures(core);
    }
}
