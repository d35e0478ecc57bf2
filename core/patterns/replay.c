#include "patterns/replay.h"

#include "contract/limits.h"
#include "contract/names.h"
#include "contract/replay_stamp.h"
#include "engine/session.h"
#include "engine/waiter.h"
#include "patterns/declare.h"
#include "patterns/replay_flight.h"

#include <string.h>

#define WINDOW        128  /* published and not confirmed */
#define CANCELLED_END 1000 /* ms that a cancelled pass waits for what is under way */

typedef struct replay_pass {
    ace_connection *connection;
    const ace_replay_options *options;
    ace_replay_result *result;
    const char *queue;
    ace_name failure;
    ace_session *session;
    ace_flight *flight;
    uint64_t total;   /* there when it began */
    uint64_t taken;   /* out of the failure queue */
    uint64_t ready;   /* in there besides, as it was told last */
    uint64_t most;    /* to be moved */
    uint64_t opening; /* of the session's channel; 0: nothing was taken yet */
    uint64_t last_tag;
    uint64_t held;       /* put back at the end */
    int64_t hold_before; /* monotonic; ACE_NEVER while nothing is held */
} replay_pass;

void ace_replay_options_init(ace_replay_options *options)
{
    *options = (ace_replay_options){.most = -1,
                                    .timeout = ACE_CONFIRM_TIMEOUT,
                                    .acknowledgement_limit = ACE_ACK_TIMEOUT_DEFAULT};
}

static ace_code check_queue(const char *queue, ace_error **error)
{
    if (!ace_name_is_failure_queue(queue)) {
        return ace_base_name_check(queue, NULL, error);
    }
    ace_fail(error, ACE_INVALID_ARGUMENT,
             "%s is a failure queue itself: name the queue its messages belong to, %.*s", queue,
             (int)(strrchr(queue, '.') - queue), queue);
    ace_error_field(error, "queue", 0);
    return ACE_INVALID_ARGUMENT;
}

static ace_code name_failure_queue(const char *queue, ace_failure_queue source, ace_name *out,
                                   ace_error **error)
{
    return source == ACE_PARKED_LETTERS ? ace_name_parked(queue, out, error)
                                        : ace_name_dead_letter(queue, out, error);
}

/* What waits; a failure queue that is missing holds nothing. */
static ace_code count_pending(ace_session *session, const char *queue, const char *failure,
                              int64_t deadline, ace_cancel *cancel, uint64_t *pending,
                              ace_error **error)
{
    *pending = 0;
    ace_code code =
        ace_declare_queue_passively(session, queue, NULL, NULL, deadline, cancel, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_error *missing = NULL;
    code = ace_declare_queue_passively(session, failure, pending, NULL, deadline, cancel, &missing);
    if (code == ACE_NOT_FOUND) {
        ace_error_free(missing);
        return ACE_OK;
    }
    return code == ACE_OK ? ACE_OK : ace_error_move(error, missing);
}

ace_code ace_replay_pending(ace_connection *connection, const char *queue, ace_failure_queue source,
                            int64_t deadline, ace_cancel *cancel, uint64_t *pending,
                            ace_error **error)
{
    ace_name failure;
    ace_session *session = NULL;
    ace_code code = name_failure_queue(queue, source, &failure, error);
    if (code == ACE_OK) {
        code = ace_session_new(connection->consuming, &session, error);
    }
    if (code == ACE_OK) {
        code = count_pending(session, queue, failure.text, deadline, cancel, pending, error);
    }
    ace_session_free(session);
    return code;
}

static void tell_progress(const replay_pass *pass)
{
    if (pass->options->progress != NULL) {
        pass->options->progress(pass->result->replayed, pass->result->declined, pass->total,
                                pass->options->progress_user);
    }
}

/* It stays unacknowledged until the pass ends, so that it does not come again in this one. */
static void hold(replay_pass *pass)
{
    pass->held++;
    if (pass->hold_before == ACE_NEVER && pass->options->acknowledgement_limit > 0) {
        pass->hold_before = ace_deadline_after(pass->options->acknowledgement_limit / 6 * 5);
    }
}

static bool is_taken(const replay_pass *pass, const ace_delivery *delivery)
{
    const ace_content *content = ace_delivery_content(delivery);
    if (content->fault != NULL) {
        ace_log_write(&pass->connection->settings.log, ACE_LOG_WARNING,
                      "a message in %s cannot be replayed, since its headers cannot be read: %s",
                      pass->failure.text, ace_error_message(content->fault));
        return false;
    }
    const ace_replay_options *options = pass->options;
    if (options->id != NULL &&
        !ace_bytes_equal_text(ace_delivery_envelope(delivery)->id, options->id)) {
        return false;
    }
    return options->filter == NULL || options->filter(delivery, options->filter_user);
}

static ace_code encode(const replay_pass *pass, const ace_content *content, ace_publish *publish,
                       ace_error **error)
{
    uint32_t frame_max = ace_link_frame_max(pass->connection->publishing);
    ace_replay_stamp stamp = {.properties = content->properties,
                              .from = pass->failure.text,
                              .now = ace_clock_wall(pass->connection->settings.clock),
                              .keeping_attempts = pass->options->keeping_attempts,
                              .frame_max = frame_max};
    ace_head head = ACE_HEAD_INIT;
    ace_code code = ace_replay_stamp_build(&stamp, &head, error);
    if (code == ACE_OK) {
        code = ace_publish_encode(publish, "", pass->queue, true, &head.properties, content->body,
                                  frame_max, UINT64_MAX, error);
    }
    ace_head_release(&head);
    publish->deadline = ace_publisher_deadline(pass->connection->publisher, pass->options->timeout);
    return code;
}

static ace_code launch(replay_pass *pass, ace_delivery *delivery, uint64_t tag, ace_error **error)
{
    ace_publish publish = {.deadline = 0};
    ace_code code = encode(pass, ace_delivery_content(delivery), &publish, error);
    if (code != ACE_OK) {
        ace_publish_clear(&publish);
        ace_delivery_free(delivery);
        return code;
    }
    return ace_flight_launch(pass->flight, &publish, delivery, tag, error);
}

/* Acknowledges what has been confirmed, in order. Waits for one until `deadline` or until `cancel`
 * fires; false when that one is still under way. The first failure is kept in *code and *error. */
static bool land_one(replay_pass *pass, int64_t deadline, ace_cancel *cancel, ace_code *code,
                     ace_error **error)
{
    ace_flown flown;
    if (!ace_flight_land(pass->flight, deadline, cancel, &flown)) {
        return false;
    }
    ace_error *failure = flown.error;
    ace_code ended = flown.code;
    if (ended == ACE_OK) {
        pass->result->replayed++;
        ended = ace_session_ack(pass->session, pass->opening, flown.tag, false, &failure);
        if (ended == ACE_STALE) {
            ace_error_free(failure);
            failure = NULL;
            ended = ace_fail(&failure, ACE_CONNECTION_LOST,
                             "the connection was lost before %s gave the message up: it is in both "
                             "queues",
                             pass->failure.text);
        }
        tell_progress(pass);
    }
    if (ended != ACE_OK && *code == ACE_OK) {
        *code = ace_error_move(error, failure);
    } else {
        ace_error_free(failure);
    }
    return true;
}

static ace_code land_some(replay_pass *pass, ace_error **error)
{
    ace_code code = ACE_OK;
    ace_cancel *cancel = pass->options->cancel;
    while (land_one(pass, 0, NULL, &code, error)) {
    }
    while (code == ACE_OK && ace_flight_count(pass->flight) >= WINDOW &&
           !ace_cancel_fired(cancel)) {
        land_one(pass, ACE_NEVER, cancel, &code, error);
    }
    return code;
}

static void land_all(replay_pass *pass, ace_code *code, ace_error **error)
{
    ace_cancel *cancel = pass->options->cancel;
    while (!ace_cancel_fired(cancel) && ace_flight_count(pass->flight) > 0) {
        land_one(pass, ACE_NEVER, cancel, code, error);
    }
    int64_t deadline = ace_deadline_after(CANCELLED_END);
    while (land_one(pass, deadline, NULL, code, error)) {
    }
    if (*code == ACE_OK && ace_flight_count(pass->flight) > 0) {
        *code = ace_fail(error, ACE_CANCELLED, "the replay was cancelled");
    }
}

static ace_code check_holding(const replay_pass *pass, ace_error **error)
{
    if (pass->held >= ACE_REPLAY_DECLINED_MAX) {
        ace_fail(error, ACE_LIMIT,
                 "%d messages of %s are held back, which is the limit of one pass",
                 ACE_REPLAY_DECLINED_MAX, pass->failure.text);
        ace_error_field(error, "declined", ACE_REPLAY_DECLINED_MAX);
        return ACE_LIMIT;
    }
    if (pass->hold_before != ACE_NEVER && ace_deadline_after(0) >= pass->hold_before) {
        return ace_fail(error, ACE_TIMEOUT,
                        "the pass over %s ends before the broker takes back what is held: run it "
                        "again for the rest",
                        pass->failure.text);
    }
    return ACE_OK;
}

/* One message out of the failure queue; NULL when it is empty. */
static ace_code take(replay_pass *pass, ace_delivery **delivery, ace_error **error)
{
    *delivery = NULL;
    ace_content *content = NULL;
    uint64_t opening = 0;
    ace_code code =
        ace_session_get(pass->session, pass->failure.text, &content, &opening,
                        ace_deadline_after(pass->options->timeout), pass->options->cancel, error);
    if (code != ACE_OK) {
        return code;
    }
    if (content == NULL) {
        pass->ready = 0;
        return ACE_OK;
    }
    if (pass->opening != 0 && opening != pass->opening) {
        /* What was held came back with the old channel: going on would see it a second time. */
        ace_content_free(content);
        return ace_fail(error, ACE_CONNECTION_LOST,
                        "the connection was lost during the pass over %s: run it again for the "
                        "rest",
                        pass->failure.text);
    }
    pass->opening = opening;
    const amqp_basic_get_ok_t *got = content->method.decoded;
    pass->last_tag = got->delivery_tag;
    pass->ready = got->message_count;
    pass->taken++;
    return ace_delivery_of_content(content, pass->failure.text, delivery, error);
}

static bool wants_more(const replay_pass *pass)
{
    return pass->taken < pass->total &&
           pass->result->replayed + ace_flight_count(pass->flight) < pass->most;
}

/* What was too large to be read stays where it is. */
static bool is_whole(const replay_pass *pass, const ace_delivery *delivery)
{
    const ace_settings *settings = &pass->connection->settings;
    ace_error *error = NULL;
    bool whole =
        ace_content_whole(ace_delivery_content(delivery), settings->body_limit, &error) == ACE_OK;
    if (!whole) {
        ace_log_write(&settings->log, ACE_LOG_WARNING, "a message stays in %s: %s",
                      pass->failure.text, ace_error_message(error));
    }
    ace_error_free(error);
    return whole;
}

static ace_code move_one(replay_pass *pass, bool *empty, ace_error **error)
{
    ace_delivery *delivery;
    ace_code code = take(pass, &delivery, error);
    *empty = delivery == NULL;
    if (code != ACE_OK || delivery == NULL) {
        return code;
    }
    bool taken = is_whole(pass, delivery) && is_taken(pass, delivery);
    if (taken && !pass->options->dry_run) {
        return launch(pass, delivery, pass->last_tag, error);
    }
    ace_delivery_free(delivery);
    hold(pass);
    if (taken) {
        pass->result->replayed++;
    } else {
        pass->result->declined++;
    }
    tell_progress(pass);
    return ACE_OK;
}

/* What was not acknowledged goes back where it lay. */
static void put_back(replay_pass *pass)
{
    uint64_t moved = pass->options->dry_run ? 0 : pass->result->replayed;
    pass->result->left = pass->ready + pass->taken - moved;
    if (pass->opening != 0 && pass->taken > moved) {
        ace_declare_give_back(pass->session, pass->connection->consuming, pass->failure.text,
                              pass->result->left, ace_deadline_after(pass->options->timeout));
        pass->session = NULL;
    }
}

static ace_code run(replay_pass *pass, ace_error **error)
{
    ace_code code = ACE_OK;
    bool empty = false;
    while (code == ACE_OK && !empty && wants_more(pass)) {
        code = land_some(pass, error);
        if (code == ACE_OK && ace_cancel_fired(pass->options->cancel)) {
            code = ace_fail(error, ACE_CANCELLED, "the replay was cancelled");
        }
        if (code == ACE_OK) {
            code = check_holding(pass, error);
        }
        if (code == ACE_OK) {
            code = move_one(pass, &empty, error);
        }
    }
    land_all(pass, &code, error);
    put_back(pass);
    return code;
}

static ace_code begin(replay_pass *pass, ace_error **error)
{
    ace_code code = ace_session_new(pass->connection->consuming, &pass->session, error);
    if (code == ACE_OK) {
        code = count_pending(pass->session, pass->queue, pass->failure.text,
                             ace_deadline_after(pass->options->timeout), pass->options->cancel,
                             &pass->total, error);
    }
    if (code == ACE_OK) {
        code = ace_flight_new(pass->connection->publisher, &pass->flight, error);
    }
    pass->ready = pass->total;
    pass->result->left = pass->total;
    return code;
}

/* Nobody has to be looked at to know how many would move. */
static bool needs_no_look(const replay_pass *pass)
{
    return pass->options->dry_run && pass->options->filter == NULL && pass->options->id == NULL;
}

ace_code ace_replay(ace_connection *connection, const char *queue,
                    const ace_replay_options *options, ace_replay_result *result, ace_error **error)
{
    *result = (ace_replay_result){0, 0, 0};
    replay_pass pass = {.connection = connection,
                        .options = options,
                        .result = result,
                        .queue = queue,
                        .hold_before = ACE_NEVER};
    ace_code code = check_queue(queue, error);
    if (code == ACE_OK) {
        code = name_failure_queue(queue, options->source, &pass.failure, error);
    }
    if (code == ACE_OK) {
        code = begin(&pass, error);
    }
    pass.most = options->most < 0 ? UINT64_MAX : (uint64_t)options->most;
    if (options->id != NULL && pass.most > 1) {
        pass.most = 1;
    }
    if (code == ACE_OK && pass.total > 0) {
        if (needs_no_look(&pass)) {
            result->replayed = pass.total < pass.most ? pass.total : pass.most;
        } else {
            code = run(&pass, error);
        }
    }
    ace_flight_free(pass.flight);
    ace_session_free(pass.session);
    return code;
}
