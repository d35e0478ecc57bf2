#include "patterns/relay.h"

#include "contract/limits.h"
#include "engine/waiter.h"
#include "patterns/relay_pass.h"

#include <stdlib.h>

#define DRAIN_LOOK INT64_C(200) /* ms between two looks at an outbox that empties */

struct acemq_relay {
    ace_handle handle;
    ace_connection *connection;
    ace_outbox *outbox;
    ace_relay_options options;
    ace_cancel *cancel;
    ace_member member;
    ace_outbox_watcher watcher;
    ace_thread thread;

    ace_mutex mutex; /* of what follows */
    ace_condition changed;
    ace_relay_counts counts;
    bool woken;
    bool passing; /* a pass is under way */
    bool stopping;
    bool ended; /* the thread has left */
};

void ace_relay_options_init(ace_relay_options *options)
{
    *options = (ace_relay_options){
        .batch = ACE_RELAY_BATCH, .every = ACE_RELAY_EVERY, .lease = ACE_RELAY_LEASE};
}

static ace_code check_range(const char *name, int64_t value, int64_t least, int64_t most,
                            ace_error **error)
{
    if (value >= least && value <= most) {
        return ACE_OK;
    }
    ace_fail(error, ACE_INVALID_ARGUMENT, "%s is %lld, the limits are %lld and %lld", name,
             (long long)value, (long long)least, (long long)most);
    ace_error_field(error, name, (long long)(value < least ? least : most));
    return ACE_INVALID_ARGUMENT;
}

static ace_code check_options(const ace_relay_options *options, ace_error **error)
{
    ace_code code = check_range("batch", (int64_t)options->batch, 1, ACE_RELAY_BATCH_MAX, error);
    if (code == ACE_OK) {
        code = check_range("every", options->every, 1, INT64_MAX, error);
    }
    return code == ACE_OK
               ? check_range("lease", options->lease, ACE_RELAY_LEASE_MIN, INT64_C(86400000), error)
               : code;
}

/* --- the thread --- */

/* Locked. A wake ends a rest, but not a back-off: messages that keep coming in must not make the
 * relay knock at a broker that is away. */
static void rest(ace_relay *relay, int64_t wait, bool may_wake)
{
    int64_t deadline = ace_deadline_after(wait);
    while (!relay->stopping && !(may_wake && relay->woken) &&
           ace_condition_wait_until(&relay->changed, &relay->mutex, deadline)) {
    }
}

static void end_pass(ace_relay *relay, const ace_relay_counts *counts)
{
    relay->counts.published += counts->published;
    relay->counts.failed += counts->failed;
    relay->counts.retired += counts->retired;
    relay->counts.passes++;
    relay->passing = false;
    ace_condition_broadcast(&relay->changed);
}

static void run(void *user)
{
    ace_relay *relay = user;
    int64_t back_off = ACE_BACK_OFF_FIRST;
    ace_mutex_lock(&relay->mutex);
    while (!relay->stopping) {
        relay->woken = false;
        relay->passing = true;
        ace_mutex_unlock(&relay->mutex);
        ace_relay_pass pass = {.connection = relay->connection,
                               .outbox = relay->outbox,
                               .options = &relay->options,
                               .cancel = relay->cancel};
        ace_relay_outcome outcome = ace_relay_pass_run(&pass);
        ace_mutex_lock(&relay->mutex);
        end_pass(relay, &pass.counts);
        if (outcome == ACE_RELAY_BACK_OFF) {
            rest(relay, back_off, false);
            back_off = back_off < ACE_BACK_OFF_MAX / 2 ? back_off * 2 : ACE_BACK_OFF_MAX;
        } else {
            back_off = ACE_BACK_OFF_FIRST;
            if (outcome == ACE_RELAY_IDLE) {
                rest(relay, relay->options.every, true);
            }
        }
    }
    relay->ended = true;
    ace_condition_broadcast(&relay->changed);
    ace_mutex_unlock(&relay->mutex);
}

typedef struct napper {
    ace_cancel_watch watch;
    ace_mutex mutex;
    ace_condition fired;
    bool is_fired;
} napper;

static void end_nap(ace_cancel_watch *watch)
{
    napper *own = ACE_RECORD(watch, napper, watch);
    ace_mutex_lock(&own->mutex);
    own->is_fired = true;
    ace_condition_signal(&own->fired);
    ace_mutex_unlock(&own->mutex);
}

void ace_relay_nap(int64_t wait, ace_cancel *cancel)
{
    napper own = {.watch = {.fired = end_nap}};
    if (ace_mutex_init(&own.mutex, NULL) != ACE_OK) {
        return;
    }
    if (ace_condition_init(&own.fired, NULL) == ACE_OK) {
        int64_t deadline = ace_deadline_after(wait);
        ace_cancel_watch_add(cancel, &own.watch);
        ace_mutex_lock(&own.mutex);
        while (!own.is_fired && ace_condition_wait_until(&own.fired, &own.mutex, deadline)) {
        }
        ace_mutex_unlock(&own.mutex);
        ace_cancel_watch_remove(cancel, &own.watch);
        ace_condition_destroy(&own.fired);
    }
    ace_mutex_destroy(&own.mutex);
}

/* --- stopping --- */

static void begin_stopping(ace_relay *relay)
{
    ace_mutex_lock(&relay->mutex);
    relay->stopping = true;
    ace_condition_broadcast(&relay->changed);
    ace_mutex_unlock(&relay->mutex);
}

static bool await_end(ace_relay *relay, int64_t deadline)
{
    ace_mutex_lock(&relay->mutex);
    while (!relay->ended && ace_condition_wait_until(&relay->changed, &relay->mutex, deadline)) {
    }
    bool ended = relay->ended;
    ace_mutex_unlock(&relay->mutex);
    return ended;
}

static void stop_member(ace_member *member)
{
    begin_stopping(ACE_RECORD(member, ace_relay, member));
}

static bool drain_member(ace_member *member, int64_t deadline)
{
    return await_end(ACE_RECORD(member, ace_relay, member), deadline);
}

static void close_member(ace_member *member)
{
    ace_relay *relay = ACE_RECORD(member, ace_relay, member);
    ace_cancel_fire(relay->cancel);
    (void)await_end(relay, ACE_NEVER);
}

static void added(void *user)
{
    ace_relay_wake(user);
}

/* --- the handle --- */

static void destroy(ace_relay *relay)
{
    ace_condition_destroy(&relay->changed);
    ace_mutex_destroy(&relay->mutex);
    ace_cancel_release(relay->cancel);
    ace_outbox_free(relay->outbox);
    ace_connection_release(relay->connection);
    free(relay);
}

static ace_code make(ace_connection *connection, ace_outbox *outbox,
                     const ace_relay_options *options, ace_relay **out, ace_error **error)
{
    ace_relay *relay = calloc(1, sizeof *relay);
    if (relay == NULL) {
        (void)ace_fail_memory(error);
        return ACE_OUT_OF_MEMORY;
    }
    relay->cancel = ace_cancel_new(error);
    ace_code code =
        relay->cancel == NULL ? ACE_OUT_OF_MEMORY : ace_mutex_init(&relay->mutex, error);
    if (code == ACE_OK) {
        code = ace_condition_init(&relay->changed, error);
        if (code != ACE_OK) {
            ace_mutex_destroy(&relay->mutex);
        }
    }
    if (code != ACE_OK) {
        ace_cancel_release(relay->cancel);
        free(relay);
        return code;
    }
    ace_handle_init(&relay->handle, ACE_RELAY_MAGIC);
    relay->connection = ace_connection_keep(connection);
    relay->outbox = ace_outbox_keep(outbox);
    relay->options = *options;
    relay->watcher = (ace_outbox_watcher){.added = added, .user = relay};
    relay->member = (ace_member){.stop = stop_member, .drain = drain_member, .close = close_member};
    *out = relay;
    return ACE_OK;
}

ace_code ace_relay_start(ace_connection *connection, ace_outbox *outbox,
                         const ace_relay_options *options, ace_relay **out, ace_error **error)
{
    ace_relay *relay = NULL;
    ace_code code = check_options(options, error);
    if (code == ACE_OK) {
        code = make(connection, outbox, options, &relay, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    code = ace_thread_start(&relay->thread, "acemq-relay", run, relay, error);
    if (code == ACE_OK) {
        code = ace_connection_add(connection, &relay->member, error);
        if (code != ACE_OK) {
            begin_stopping(relay);
            ace_cancel_fire(relay->cancel);
            ace_thread_join(&relay->thread);
        }
    }
    if (code != ACE_OK) {
        destroy(relay);
        return code;
    }
    ace_outbox_watch(outbox, &relay->watcher);
    *out = relay;
    return ACE_OK;
}

ace_code ace_relay_check(const ace_relay *relay, ace_error **error)
{
    return ace_handle_check_open_or_closed(relay == NULL ? NULL : &relay->handle, ACE_RELAY_MAGIC,
                                           "relay", error);
}

ace_connection *ace_relay_connection(const ace_relay *relay)
{
    return relay->connection;
}

void ace_relay_wake(ace_relay *relay)
{
    ace_mutex_lock(&relay->mutex);
    relay->woken = true;
    ace_condition_broadcast(&relay->changed);
    ace_mutex_unlock(&relay->mutex);
}

/* Wakes the relay and waits a little. False: it has ended. */
static bool wait_a_little(ace_relay *relay, int64_t deadline)
{
    int64_t look = ace_deadline_after(DRAIN_LOOK);
    ace_mutex_lock(&relay->mutex);
    uint64_t passes = relay->counts.passes;
    relay->woken = true;
    ace_condition_broadcast(&relay->changed);
    while (!relay->ended && relay->counts.passes == passes &&
           ace_condition_wait_until(&relay->changed, &relay->mutex,
                                    look < deadline ? look : deadline)) {
    }
    bool runs = !relay->ended;
    ace_mutex_unlock(&relay->mutex);
    return runs;
}

/* The pass that published the last row has marked it before it counts it. */
static void await_count(ace_relay *relay, int64_t deadline)
{
    ace_mutex_lock(&relay->mutex);
    uint64_t passes = relay->counts.passes;
    while (relay->passing && relay->counts.passes == passes &&
           ace_condition_wait_until(&relay->changed, &relay->mutex, deadline)) {
    }
    ace_mutex_unlock(&relay->mutex);
}

ace_code ace_relay_drain(ace_relay *relay, int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    for (bool runs = true;; runs = wait_a_little(relay, deadline)) {
        ace_outbox_counts counts;
        ace_code code = ace_outbox_count(relay->outbox, deadline, &counts, error);
        if (code == ACE_OK && counts.pending == 0) {
            await_count(relay, deadline);
        }
        if (code != ACE_OK || counts.pending == 0) {
            return code;
        }
        if (!runs) {
            return ace_fail(error, ACE_CLOSED, "the relay has stopped, %llu rows are pending",
                            (unsigned long long)counts.pending);
        }
        if (ace_cancel_fired(cancel)) {
            return ace_fail(error, ACE_CANCELLED, "the wait was cancelled");
        }
        if (ace_clock_monotonic(ace_clock_system()) >= deadline) {
            return ace_fail(error, ACE_TIMEOUT, "%llu rows are still pending",
                            (unsigned long long)counts.pending);
        }
    }
}

bool ace_relay_stop(ace_relay *relay, int64_t deadline)
{
    begin_stopping(relay);
    bool in_time = await_end(relay, deadline);
    ace_cancel_fire(relay->cancel);
    (void)await_end(relay, ACE_NEVER);
    return in_time;
}

void ace_relay_count(ace_relay *relay, ace_relay_counts *counts)
{
    ace_mutex_lock(&relay->mutex);
    *counts = relay->counts;
    ace_mutex_unlock(&relay->mutex);
}

void ace_relay_free(ace_relay *relay)
{
    if (relay == NULL) {
        return;
    }
    if (ace_handle_is_foreign(&relay->handle)) {
        ace_connection_release(relay->connection); /* closes this child's descriptors */
        return;
    }
    ace_outbox_unwatch(relay->outbox, &relay->watcher);
    ace_connection_remove(relay->connection, &relay->member);
    (void)ace_relay_stop(relay, ace_deadline_after(ACE_DRAIN_BUDGET));
    ace_thread_join(&relay->thread);
    if (ace_handle_release(&relay->handle)) {
        destroy(relay);
    }
}
