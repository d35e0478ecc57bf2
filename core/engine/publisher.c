#include "base/memory.h"
#include "engine/publisher_record.h"
#include "engine/waiter.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROOM_PATIENCE 10  /* ms */
#define WIDE_FROM     256 /* a window from which on three quarters of it keep any broker busy */
#define WIDE_PATIENCE 100 /* ms, there */
#define COMPANY_FROM  16  /* publishes in hand, from which on one more is part of a stream */

/* A thread that waits until at most `limit` are in hand; on its stack. */
typedef struct wanting {
    ace_link_node node;
    ace_waiter waiter;
    bool hops_too;
    size_t limit;
    size_t bytes; /* and that these fit; 0: whatever their bytes */
} wanting;

static size_t in_hand(ace_publisher *publisher, bool hops_too)
{
    size_t count = atomic_load(&publisher->in_hand[ACE_PUBLISH_APPLICATION]) +
                   atomic_load(&publisher->in_hand[ACE_PUBLISH_UNCONFIRMED]);
    return hops_too ? count + atomic_load(&publisher->in_hand[ACE_PUBLISH_HOP]) : count;
}

/* What is larger than the limit goes when nothing else is in hand. */
static bool bytes_fit(ace_publisher *publisher, size_t bytes)
{
    uint64_t limit = publisher->settings->queued_limit;
    size_t held = atomic_load(&publisher->bytes);
    return held == 0 || (held <= limit && bytes <= limit - held);
}

static bool is_met(ace_publisher *publisher, const wanting *wanted)
{
    return in_hand(publisher, wanted->hops_too) <= wanted->limit &&
           (wanted->bytes == 0 || bytes_fit(publisher, wanted->bytes));
}

static void wake_wanting(ace_publisher *publisher)
{
    if (atomic_load(&publisher->waiters) == 0) {
        return;
    }
    ace_mutex_lock(&publisher->mutex);
    ace_link_node *node = ace_list_first(&publisher->wanting);
    while (node != NULL) {
        ace_link_node *next = ace_list_next(&publisher->wanting, node);
        wanting *wanted = ACE_RECORD(node, wanting, node);
        if (is_met(publisher, wanted)) {
            ace_list_remove(&publisher->wanting, node);
            ace_waiter_complete(&wanted->waiter);
            ace_loop_expect(publisher->loop); /* it waited to publish more */
        }
        node = next;
    }
    ace_mutex_unlock(&publisher->mutex);
}

static void leave_hand(ace_publisher *publisher, ace_publish_lane lane, size_t count, size_t bytes)
{
    atomic_fetch_sub(&publisher->bytes, bytes);
    atomic_fetch_sub(&publisher->in_hand[lane], count);
    wake_wanting(publisher);
}

static void tell_ended(ace_deferral *deferral)
{
    ace_publisher *publisher = ACE_RECORD(deferral, ace_publisher, tally);
    for (int i = 0; i < ACE_LANES; i++) {
        size_t count = publisher->ended_now[i];
        size_t bytes = publisher->bytes_ended_now;
        publisher->ended_now[i] = 0;
        if (count > 0) {
            publisher->bytes_ended_now = 0;
            if (count >= COMPANY_FROM && i != ACE_PUBLISH_HOP) {
                ace_loop_expect(publisher->loop); /* a window is filled again */
            }
            leave_hand(publisher, (ace_publish_lane)i, count, bytes);
        }
    }
}

/* The count is what other threads look at all the time: it is written once for many confirms. */
void ace_publisher_ended_one(ace_publisher *publisher, ace_publish_lane lane, size_t bytes)
{
    publisher->ended_now[lane]++;
    publisher->bytes_ended_now += lane == ACE_PUBLISH_HOP ? 0 : bytes;
    ace_loop_defer(publisher->loop, &publisher->tally);
}

/* ACE_OK, ACE_TIMEOUT, ACE_CANCELLED, or why it could not wait at all. */
static ace_code wait_for(ace_publisher *publisher, wanting *wanted, int64_t deadline,
                         ace_cancel *cancel, ace_error **error)
{
    ace_code code = ace_waiter_init(&wanted->waiter, error);
    if (code != ACE_OK) {
        return code;
    }
    atomic_fetch_add(&publisher->waiters, 1);
    ace_mutex_lock(&publisher->mutex);
    bool waits = !is_met(publisher, wanted);
    if (waits) {
        ace_list_append(&publisher->wanting, &wanted->node);
    }
    ace_mutex_unlock(&publisher->mutex);
    if (waits) {
        ace_loop_hurry(publisher->loop);
        code = ace_waiter_wait(&wanted->waiter, deadline, cancel);
    }
    ace_mutex_lock(&publisher->mutex);
    if (waits && ace_list_contains_node(&wanted->node)) {
        ace_list_remove(&publisher->wanting, &wanted->node);
    }
    ace_mutex_unlock(&publisher->mutex);
    atomic_fetch_sub(&publisher->waiters, 1);
    ace_waiter_destroy(&wanted->waiter);
    return code;
}

static void link_changed(ace_link_listener *listener, const ace_link_status *status)
{
    ace_publisher *publisher = ACE_RECORD(listener, ace_publisher, listener);
    bool was_blocked = publisher->blocked;
    publisher->blocked = status->blocked;
    if (was_blocked && !status->blocked) {
        for (int i = 0; i < ACE_LANES; i++) {
            ace_lane_pump(&publisher->lanes[i]);
        }
    }
}

typedef struct start_request {
    ace_publisher *publisher;
    ace_code code;
    ace_error *error;
} start_request;

static size_t all_in_hand(void *user)
{
    return in_hand(user, true);
}

static void start_lanes(void *user)
{
    start_request *request = user;
    ace_publisher *publisher = request->publisher;
    for (int i = 0; i < ACE_LANES && request->code == ACE_OK; i++) {
        request->code =
            ace_lane_init(&publisher->lanes[i], publisher, (ace_publish_lane)i, &request->error);
    }
    if (request->code != ACE_OK) {
        for (int i = 0; i < ACE_LANES; i++) {
            ace_channel_close(publisher->lanes[i].channel);
        }
        return;
    }
    publisher->listener.changed = link_changed;
    ace_link_listen(publisher->link, &publisher->listener);
    ace_loop_lend(publisher->loop, all_in_hand, publisher);
}

ace_code ace_publisher_new(ace_link *link, ace_publisher **out, ace_error **error)
{
    ace_publisher *publisher = calloc(1, sizeof *publisher);
    if (publisher == NULL) {
        return ace_fail_memory(error);
    }
    publisher->link = link;
    publisher->loop = ace_link_loop(link);
    publisher->settings = ace_link_settings(link);
    publisher->tally.run = tell_ended;
    ace_list_init(&publisher->wanting);
    ace_code code = ace_mutex_init(&publisher->mutex, error);
    if (code != ACE_OK) {
        free(publisher);
        return code;
    }
    start_request request = {.publisher = publisher};
    if (!ace_loop_call(publisher->loop, start_lanes, &request)) {
        request.code = ace_fail(&request.error, ACE_CLOSED, "the connection was closed");
    }
    if (request.code != ACE_OK) {
        ace_error_move(error, request.error);
        ace_publisher_free(publisher);
        return request.code;
    }
    *out = publisher;
    return ACE_OK;
}

void ace_publisher_free(ace_publisher *publisher)
{
    if (publisher == NULL) {
        return;
    }
    for (int i = 0; i < ACE_LANES; i++) {
        ace_confirms_free(&publisher->lanes[i].confirms);
    }
    ace_mutex_destroy(&publisher->mutex);
    free(publisher);
}

static void arrive(ace_task *task);

/* Those behind it were written by another processor: by the time they arrive they are here. */
static void call_following(const ace_task *task)
{
    const ace_task *next = task->next;
    if (next == NULL || next->run != arrive) {
        return;
    }
    const ace_publish *following = ACE_RECORD(next, ace_publish, task);
    ace_memory_call(following->frames.data, following->frames.length);
    if (next->next != NULL) {
        ace_memory_call(ACE_RECORD(next->next, ace_publish, task), sizeof *following);
    }
}

static void arrive(ace_task *task)
{
    ace_publish *publish = ACE_RECORD(task, ace_publish, task);
    call_following(task);
    ace_lane_arrive(&publish->publisher->lanes[publish->lane], publish);
}

static ace_code submit(ace_publisher *publisher, ace_publish_lane lane, ace_publish *publish,
                       bool (*post)(ace_loop *loop, ace_task *task), ace_error **error)
{
    publish->publisher = publisher;
    publish->lane = lane;
    publish->stage = ACE_PUBLISH_POSTED;
    publish->code = ACE_OK;
    ace_error_free(publish->error);
    publish->error = NULL;
    publish->task.run = arrive;
    ace_publish_measure_begin(publish);
    if (!atomic_load(&publisher->closed)) {
        size_t bytes = lane == ACE_PUBLISH_HOP ? 0 : ace_publish_bytes(publish);
        atomic_fetch_add(&publisher->in_hand[lane], 1);
        atomic_fetch_add(&publisher->bytes, bytes);
        if (post(publisher->loop, &publish->task)) {
            return ACE_OK;
        }
        leave_hand(publisher, lane, 1, bytes);
    }
    publish->stage = ACE_PUBLISH_IDLE;
    return ace_fail(error, ACE_CLOSED, "nothing was sent: the connection was closed");
}

ace_code ace_publisher_submit(ace_publisher *publisher, ace_publish_lane lane, ace_publish *publish,
                              ace_error **error)
{
    return submit(publisher, lane, publish, ace_loop_post, error);
}

ace_code ace_publisher_submit_soon(ace_publisher *publisher, ace_publish_lane lane,
                                   ace_publish *publish, ace_error **error)
{
    bool company = (atomic_load(&publisher->in_hand[lane]) >= COMPANY_FROM ||
                    ace_loop_expects(publisher->loop)) &&
                   !ace_loop_is_current(publisher->loop);
    return submit(publisher, lane, publish, company ? ace_loop_post_soon : ace_loop_post, error);
}

void ace_publisher_hurry(ace_publisher *publisher)
{
    ace_loop_hurry(publisher->loop);
}

/* What a blocking send waits for: the last of its records. */
typedef struct sending {
    ace_waiter waiter;
    ace_loop *loop;
    atomic_size_t left;
    ace_publish **publishes;
    size_t count;
} sending;

static void one_done(ace_publish *publish)
{
    sending *wait = publish->user;
    if (atomic_fetch_sub(&wait->left, 1) > 1) {
        return;
    }
    if (ace_loop_is_current(wait->loop)) {
        ace_loop_complete(wait->loop, &wait->waiter);
    } else {
        ace_waiter_complete(&wait->waiter); /* nothing was submitted */
    }
}

static void cancel_rest(void *user)
{
    sending *wait = user;
    for (size_t i = 0; i < wait->count; i++) {
        /* A record that is still posted cannot be: its task ran before this one. */
        if (wait->publishes[i]->stage != ACE_PUBLISH_IDLE) {
            ace_lane_cancel(wait->publishes[i]);
        }
    }
}

/* What was not even taken ends here, so that each record has a result. */
static void submit_all(ace_publisher *publisher, ace_publish_lane lane, sending *wait)
{
    bool (*post)(ace_loop * loop, ace_task * task) =
        wait->count == 1 ? ace_loop_post : ace_loop_post_soon;
    for (size_t i = 0; i < wait->count; i++) {
        ace_publish *publish = wait->publishes[i];
        ace_error *error = NULL;
        publish->done = one_done;
        publish->user = wait;
        ace_code code = submit(publisher, lane, publish, post, &error);
        if (code != ACE_OK) {
            publish->code = code;
            publish->error = error;
            one_done(publish);
        }
    }
    if (wait->count > 1) {
        ace_loop_hurry(publisher->loop);
    }
}

static ace_code first_failure(const sending *wait, ace_error **error)
{
    for (size_t i = 0; i < wait->count; i++) {
        const ace_publish *publish = wait->publishes[i];
        if (publish->code != ACE_OK) {
            ace_code code = publish->code;
            (void)ace_error_move(error, ace_error_copy(publish->error));
            return code;
        }
    }
    return ACE_OK;
}

static ace_code send_and_wait(ace_publisher *publisher, ace_publish_lane lane,
                              ace_publish **publishes, size_t count, ace_cancel *cancel,
                              ace_error **error)
{
    if (ace_loop_is_any_current()) {
        return ace_fail(error, ACE_FROM_HANDLER,
                        "a publish that waits would block a thread that may not wait");
    }
    if (count == 0) {
        return ACE_OK;
    }
    sending wait = {.loop = publisher->loop, .publishes = publishes, .count = count};
    ace_code code = ace_waiter_init(&wait.waiter, error);
    if (code != ACE_OK) {
        return code;
    }
    atomic_init(&wait.left, count);
    bool lent = ace_loop_borrow(publisher->loop, count == 1 && in_hand(publisher, true) == 0);
    submit_all(publisher, lane, &wait);
    /* The records bring their deadlines, which the loop keeps. */
    code = lent ? ace_loop_wait(publisher->loop, &wait.waiter, ACE_NEVER, cancel)
                : ace_waiter_wait(&wait.waiter, ACE_NEVER, cancel);
    if (code == ACE_CANCELLED) {
        (void)ace_loop_call(publisher->loop, cancel_rest, &wait);
        ace_waiter_finish(&wait.waiter);
    }
    ace_waiter_destroy(&wait.waiter);
    return first_failure(&wait, error);
}

ace_code ace_publisher_send(ace_publisher *publisher, ace_publish_lane lane, ace_publish *publish,
                            ace_cancel *cancel, ace_error **error)
{
    return send_and_wait(publisher, lane, &publish, 1, cancel, error);
}

ace_code ace_publisher_send_all(ace_publisher *publisher, ace_publish_lane lane,
                                ace_publish **publishes, size_t count, ace_cancel *cancel,
                                ace_error **error)
{
    return send_and_wait(publisher, lane, publishes, count, cancel, error);
}

/* Until a good part of the limit is free, so that a thread that fills the window wakes once for
 * many confirms; when that takes its time, until one is. A narrow window is kept fuller, since the
 * broker may have nothing else to do. */
static ace_code wait_for_room(ace_publisher *publisher, size_t limit, size_t bytes,
                              int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    bool is_wide = limit >= WIDE_FROM;
    int64_t soon = ace_deadline_after(is_wide ? WIDE_PATIENCE : ROOM_PATIENCE);
    if (limit >= 16 && soon < deadline) {
        wanting much = {.limit = limit - limit / (is_wide ? 4 : 8), .bytes = bytes};
        ace_code code = wait_for(publisher, &much, soon, cancel, error);
        if (code != ACE_TIMEOUT) {
            return code;
        }
    }
    wanting one = {.limit = limit - 1, .bytes = bytes};
    return wait_for(publisher, &one, deadline, cancel, error);
}

bool ace_publisher_has_room(ace_publisher *publisher, size_t bytes)
{
    return !atomic_load(&publisher->closed) &&
           ((in_hand(publisher, false) < publisher->settings->outstanding_limit &&
             bytes_fit(publisher, bytes)) ||
            ace_loop_is_current(publisher->loop));
}

static ace_code no_room(ace_publisher *publisher, size_t bytes, ace_error **error)
{
    size_t limit = publisher->settings->outstanding_limit;
    size_t count = in_hand(publisher, false);
    if (count < limit && !bytes_fit(publisher, bytes)) {
        uint64_t most = publisher->settings->queued_limit;
        ace_code code = ace_fail(error, ACE_REFUSED,
                                 "nothing was sent: publishes of %zu bytes are in hand, this one "
                                 "has %zu, the limit is %" PRIu64,
                                 atomic_load(&publisher->bytes), bytes, most);
        ace_error_field(error, "queued", (long long)most);
        return code;
    }
    ace_code code =
        ace_fail(error, ACE_REFUSED,
                 "nothing was sent: %zu publishes are in hand, the limit is %zu", count, limit);
    ace_error_field(error, "outstanding", (long long)limit);
    return code;
}

ace_code ace_publisher_await_room(ace_publisher *publisher, size_t bytes, int64_t deadline,
                                  ace_cancel *cancel, ace_error **error)
{
    if (atomic_load(&publisher->closed)) {
        return ace_fail(error, ACE_CLOSED, "the connection was closed");
    }
    if (ace_publisher_has_room(publisher, bytes)) {
        return ACE_OK;
    }
    ace_code code = wait_for_room(publisher, publisher->settings->outstanding_limit, bytes,
                                  deadline, cancel, error);
    if (code == ACE_TIMEOUT) {
        code = no_room(publisher, bytes, error);
    } else if (code == ACE_CANCELLED) {
        code = ace_fail(error, ACE_CANCELLED, "the publish was cancelled; nothing was sent");
    }
    return code;
}

void ace_publisher_watch_returns(ace_publisher *publisher,
                                 void (*returned)(const ace_error *error, void *user), void *user)
{
    publisher->returned_user = user;
    publisher->returned = returned;
}

int64_t ace_publisher_deadline(const ace_publisher *publisher, int64_t timeout)
{
    int64_t now = ace_clock_monotonic(publisher->settings->clock);
    if (timeout <= 0) {
        return now;
    }
    return timeout > ACE_NEVER - now ? ACE_NEVER : now + timeout;
}

static void pump_application(void *user)
{
    ace_publisher *publisher = user;
    ace_lane_pump(&publisher->lanes[ACE_PUBLISH_APPLICATION]);
    ace_lane_pump(&publisher->lanes[ACE_PUBLISH_UNCONFIRMED]);
}

void ace_publisher_pause(ace_publisher *publisher)
{
    atomic_store(&publisher->paused, true);
    /* Once this has run, nothing more goes out. */
    (void)ace_loop_call(publisher->loop, pump_application, publisher);
}

void ace_publisher_resume(ace_publisher *publisher)
{
    atomic_store(&publisher->paused, false);
    (void)ace_loop_call(publisher->loop, pump_application, publisher);
}

bool ace_publisher_is_paused(const ace_publisher *publisher)
{
    return atomic_load(&publisher->paused);
}

ace_code ace_publisher_flush(ace_publisher *publisher, int64_t deadline, ace_cancel *cancel,
                             ace_error **error)
{
    wanting wanted = {.hops_too = true, .limit = 0};
    ace_code code = wait_for(publisher, &wanted, deadline, cancel, error);
    if (code == ACE_TIMEOUT || code == ACE_CANCELLED) {
        ace_fail(error, code, "%zu publishes have no result yet", in_hand(publisher, true));
    }
    return code;
}

static void close_lanes(void *user)
{
    ace_publisher *publisher = user;
    if (publisher->ended) {
        return;
    }
    publisher->ended = true;
    ace_loop_lend(publisher->loop, NULL, NULL);
    ace_link_unlisten(publisher->link, &publisher->listener);
    for (int i = 0; i < ACE_LANES; i++) {
        ace_lane_close(&publisher->lanes[i]);
    }
    ace_loop_undefer(publisher->loop, &publisher->tally);
    tell_ended(&publisher->tally);
}

void ace_publisher_close(ace_publisher *publisher)
{
    atomic_store(&publisher->closed, true);
    (void)ace_loop_call(publisher->loop, close_lanes, publisher);
}

typedef struct count_request {
    ace_publisher *publisher;
    ace_publisher_counts *counts;
} count_request;

static void count_now(void *user)
{
    count_request *request = user;
    ace_publisher *publisher = request->publisher;
    *request->counts = publisher->counts;
    for (int i = 0; i < ACE_LANES; i++) {
        const ace_lane *lane = &publisher->lanes[i];
        request->counts->unknown_tags += lane->confirms.unknown;
        request->counts->unmatched += lane->confirms.unmatched;
        request->counts->outstanding += lane->confirms.count + lane->writing.count;
        request->counts->waiting += lane->waiting.count;
    }
}

void ace_publisher_count(ace_publisher *publisher, ace_publisher_counts *counts)
{
    count_request request = {publisher, counts};
    if (!ace_loop_call(publisher->loop, count_now, &request)) {
        count_now(&request); /* the loop has ended: nobody changes these any more */
    }
}
