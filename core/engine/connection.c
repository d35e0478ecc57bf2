#include "engine/connection.h"

#include "engine/waiter.h"

#include <inttypes.h>
#include <stdlib.h>

#define EVENT_LIMIT 10000 /* of each kind */
#define GOODBYE     500   /* ms for the links' goodbye, where the budget is used up */

enum { PHASE_OPEN, PHASE_STOPPED, PHASE_DRAINED, PHASE_CLOSED };

static void log_to_events(ace_log_level level, const char *line, void *user)
{
    ace_event event = {.kind = ACE_EVENT_LOG,
                       .level = level,
                       .wait = -1,
                       .source = "",
                       .text = (char *)(uintptr_t)line};
    ace_events_put(user, &event);
}

static void put_status(const ace_connection_watch *watch, ace_event_kind kind,
                       const ace_link_status *status)
{
    ace_event event = {.kind = kind,
                       .state = (int)status->state,
                       .number = status->epoch,
                       .wait = status->wait,
                       .source = watch->source};
    if (kind == ACE_EVENT_STATE) {
        event.error = (ace_error *)(uintptr_t)status->error;
    } else {
        event.text = (char *)(uintptr_t)status->reason;
    }
    ace_events_put(watch->events, &event);
}

static void log_blocked(const ace_connection_watch *watch, const ace_link_status *status)
{
    if (status->blocked) {
        ace_log_write(watch->log, ACE_LOG_WARNING, "the broker takes no publishes: %s",
                      status->reason);
    } else if (status->state == ACE_LINK_OPEN) {
        ace_log_write(watch->log, ACE_LOG_INFO, "the broker takes publishes again");
    }
}

static void link_changed(ace_link_listener *listener, const ace_link_status *status)
{
    ace_connection_watch *watch = ACE_RECORD(listener, ace_connection_watch, listener);
    if (status->state != watch->state) {
        put_status(watch, ACE_EVENT_STATE, status);
        if (status->state == ACE_LINK_OPEN && status->epoch > 1) {
            ace_log_write(watch->log, ACE_LOG_INFO, "the %s connection is back", watch->source);
        }
    }
    if (status->blocked != watch->blocked) {
        log_blocked(watch, status);
        put_status(watch, status->blocked ? ACE_EVENT_BLOCKED : ACE_EVENT_UNBLOCKED, status);
    }
    watch->state = status->state;
    watch->blocked = status->blocked;
}

static void message_returned(const ace_error *error, void *user)
{
    ace_connection *connection = user;
    ace_event event = {.kind = ACE_EVENT_RETURNED,
                       .wait = -1,
                       .source = "publishing",
                       .error = (ace_error *)(uintptr_t)error};
    ace_log_write(&connection->settings.log, ACE_LOG_WARNING, "%s", ace_error_message(error));
    ace_events_put(connection->events, &event);
}

typedef struct listen_request {
    ace_link *link;
    ace_link_listener *listener;
} listen_request;

static void listen_now(void *user)
{
    listen_request *request = user;
    ace_link_listen(request->link, request->listener);
}

static ace_code open_link(ace_connection *connection, int which, const char *role, ace_link **link,
                          ace_error **error)
{
    ace_code code = ace_link_new(&connection->settings, &connection->url, role, link, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_connection_watch *watch = &connection->watches[which];
    watch->listener.changed = link_changed;
    watch->events = connection->events;
    watch->log = &connection->settings.log;
    watch->source = role;
    listen_request request = {*link, &watch->listener};
    (void)ace_loop_call(ace_link_loop(*link), listen_now, &request);
    return ACE_OK;
}

static ace_code read_configuration(ace_connection *connection, const char *url,
                                   const ace_settings *settings, ace_error **error)
{
    ace_settings merged;
    ace_code code = ace_url_parse(url, &connection->url, error);
    if (code != ACE_OK) {
        return code;
    }
    if (settings == NULL) {
        ace_settings_init(&merged);
    } else {
        merged = *settings;
    }
    ace_settings_apply_url(&merged, &connection->url);
    code = ace_settings_check(&merged, error);
    if (code == ACE_OK) {
        code = ace_settings_copy(&merged, &connection->settings, error);
    }
    return code;
}

/* What an interceptor got wrong where that changes nothing. */
static void interceptor_failed(const char *text, void *user)
{
    ace_connection *connection = user;
    ace_event event = {
        .kind = ACE_EVENT_INTERCEPTOR, .wait = -1, .source = "", .text = (char *)(uintptr_t)text};
    ace_log_write(&connection->settings.log, ACE_LOG_ERROR, "%s", text);
    ace_events_put(connection->events, &event);
}

static ace_code make_parts(ace_connection *connection, ace_error **error)
{
    ace_code code = ace_events_new(EVENT_LIMIT, &connection->events, error);
    if (code != ACE_OK) {
        return code;
    }
    if (connection->settings.log.sink == NULL) {
        connection->settings.log.sink = log_to_events;
        connection->settings.log.user = connection->events;
    }
    code = open_link(connection, 0, "publishing", &connection->publishing, error);
    if (code == ACE_OK) {
        code = open_link(connection, 1, "consuming", &connection->consuming, error);
    }
    if (code == ACE_OK) {
        code = ace_publisher_new(connection->publishing, &connection->publisher, error);
    }
    if (code == ACE_OK) {
        ace_publisher_watch_returns(connection->publisher, message_returned, connection);
    }
    return code;
}

static void end_parts(ace_connection *connection, int64_t deadline)
{
    if (connection->publisher != NULL) {
        ace_publisher_close(connection->publisher);
    }
    ace_link_close(connection->consuming, deadline);
    ace_link_close(connection->publishing, deadline);
}

static void free_listener(ace_settled_listener *listener)
{
    if (listener != NULL && listener->destructor != NULL) {
        listener->destructor(listener->user);
    }
    free(listener);
}

static void destroy(ace_connection *connection)
{
    ace_link_free(connection->consuming);
    ace_link_free(connection->publishing);
    ace_publisher_free(connection->publisher);
    ace_events_free(connection->events);
    ace_settings_free(&connection->settings);
    ace_url_free(&connection->url);
    ace_interceptors_destroy(&connection->interceptors);
    ace_metrics_release(atomic_load(&connection->metrics));
    free_listener(atomic_load(&connection->settled));
    ace_condition_destroy(&connection->quiet);
    ace_mutex_destroy(&connection->mutex);
    free(connection);
}

static ace_code make_record(ace_connection **out, ace_error **error)
{
    ace_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_mutex_init(&connection->mutex, error);
    if (code != ACE_OK) {
        free(connection);
        return code;
    }
    code = ace_condition_init(&connection->quiet, error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&connection->mutex);
        free(connection);
        return code;
    }
    code = ace_interceptors_init(&connection->interceptors, interceptor_failed, connection, error);
    if (code != ACE_OK) {
        ace_condition_destroy(&connection->quiet);
        ace_mutex_destroy(&connection->mutex);
        free(connection);
        return code;
    }
    ace_handle_init(&connection->handle, ACE_CONNECTION_MAGIC);
    ace_list_init(&connection->members);
    *out = connection;
    return ACE_OK;
}

ace_code ace_connection_open(const char *url, const ace_settings *settings, ace_cancel *cancel,
                             ace_connection **out, ace_error **error)
{
    if (ace_loop_is_any_current()) {
        return ace_fail(error, ACE_FROM_HANDLER, "connecting would block a thread that may not");
    }
    ace_connection *connection = NULL;
    ace_code code = make_record(&connection, error);
    if (code != ACE_OK) {
        return code;
    }
    code = read_configuration(connection, url, settings, error);
    if (code == ACE_OK) {
        code = make_parts(connection, error);
    }
    int64_t deadline = ace_deadline_after(connection->settings.connect_timeout);
    if (code == ACE_OK) {
        code = ace_link_connect(connection->publishing, deadline, cancel, error);
    }
    if (code == ACE_OK) {
        code = ace_link_connect(connection->consuming, deadline, cancel, error);
    }
    if (code != ACE_OK) {
        end_parts(connection, ace_deadline_after(GOODBYE));
        destroy(connection);
        return code;
    }
    *out = connection;
    return ACE_OK;
}

/* The next member that has not been through `phase`, marked as busy; NULL when there is none.
 * Members may be removed while a hook runs, so the search begins anew each time. */
static ace_member *begin_hook(ace_connection *connection, int phase)
{
    ace_member *found = NULL;
    ace_mutex_lock(&connection->mutex);
    for (ace_link_node *node = ace_list_first(&connection->members); node != NULL && found == NULL;
         node = ace_list_next(&connection->members, node)) {
        ace_member *member = ACE_RECORD(node, ace_member, node);
        if (member->phase < phase) {
            found = member;
        }
    }
    if (found != NULL) {
        found->phase = phase;
        found->busy = true;
        found->caller = pthread_self();
        if (phase == PHASE_CLOSED) {
            ace_list_remove(&connection->members, &found->node);
        }
    }
    ace_mutex_unlock(&connection->mutex);
    return found;
}

static void end_hook(ace_connection *connection, ace_member *member)
{
    ace_mutex_lock(&connection->mutex);
    member->busy = false;
    ace_condition_broadcast(&connection->quiet);
    ace_mutex_unlock(&connection->mutex);
}

static bool close_members(ace_connection *connection, int64_t deadline, ace_work *left)
{
    bool drained = true;
    ace_member *member;
    while ((member = begin_hook(connection, PHASE_STOPPED)) != NULL) {
        member->stop(member);
        end_hook(connection, member);
    }
    while ((member = begin_hook(connection, PHASE_DRAINED)) != NULL) {
        if (member->drain != NULL && !member->drain(member, deadline)) {
            drained = false;
        }
        end_hook(connection, member);
    }
    while ((member = begin_hook(connection, PHASE_CLOSED)) != NULL) {
        member->close(member);
        if (member->report != NULL) {
            member->report(member, left);
        }
        end_hook(connection, member);
    }
    return drained;
}

static bool is_from_inside(ace_connection *connection)
{
    bool inside = ace_loop_is_any_current();
    ace_mutex_lock(&connection->mutex);
    for (ace_link_node *node = ace_list_first(&connection->members); node != NULL && !inside;
         node = ace_list_next(&connection->members, node)) {
        ace_member *member = ACE_RECORD(node, ace_member, node);
        inside = member->is_current != NULL && member->is_current(member);
    }
    ace_mutex_unlock(&connection->mutex);
    return inside;
}

static ace_code fail_cut_off(int64_t timeout, const ace_work *left, ace_error **error)
{
    ace_buffer text = ACE_BUFFER_INIT;
    char *named = NULL;
    if (left->count + left->missed > 0 && ace_buffer_format(&text, "; ") &&
        ace_work_describe(left, &text)) {
        named = ace_buffer_take_text(&text);
    }
    ace_buffer_free(&text);
    ace_code code =
        ace_fail(error, ACE_TIMEOUT,
                 "closing took longer than %" PRId64 " ms; work in hand went back to the broker%s",
                 timeout, named == NULL ? "" : named);
    free(named);
    return code;
}

static ace_code shut_down(ace_connection *connection, int64_t timeout, ace_work *left,
                          ace_error **error)
{
    int64_t deadline = ace_deadline_after(timeout);
    ace_mutex_lock(&connection->mutex);
    connection->closing = true;
    ace_mutex_unlock(&connection->mutex);
    bool drained = close_members(connection, deadline, left);
    ace_code code = ace_publisher_flush(connection->publisher, deadline, NULL, error);
    int64_t least = ace_deadline_after(GOODBYE);
    end_parts(connection, deadline > least ? deadline : least);
    if (code == ACE_OK && !drained) {
        code = fail_cut_off(timeout, left, error);
    }
    return code;
}

ace_code ace_connection_close(ace_connection *connection, int64_t timeout, ace_error **error)
{
    return ace_connection_close_naming(connection, timeout, NULL, error);
}

ace_code ace_connection_close_naming(ace_connection *connection, int64_t timeout, ace_work *left,
                                     ace_error **error)
{
    ace_work own = {0};
    const ace_handle *handle = connection == NULL ? NULL : &connection->handle;
    ace_code code = ace_handle_check(handle, ACE_CONNECTION_MAGIC, "connection", error);
    if (code != ACE_OK) {
        return code;
    }
    if (is_from_inside(connection)) {
        return ace_fail(error, ACE_FROM_HANDLER,
                        "a connection cannot be closed from inside one of its handlers");
    }
    if (!ace_handle_close(&connection->handle)) {
        return ace_fail(error, ACE_CLOSED, "the connection was closed");
    }
    code = shut_down(connection, timeout < 0 ? ACE_DRAIN_BUDGET : timeout,
                     left == NULL ? &own : left, error);
    ace_work_release(&own);
    return code;
}

ace_connection *ace_connection_keep(ace_connection *connection)
{
    ace_handle_retain(&connection->handle);
    return connection;
}

/* What another thread was changing at the fork is left as it is: only descriptors are closed. */
static void abandon(ace_connection *connection)
{
    ace_link_abandon(connection->publishing);
    ace_link_abandon(connection->consuming);
    ace_events_abandon(connection->events);
}

static void end(void *user)
{
    ace_connection *connection = user;
    if (ace_handle_close(&connection->handle)) {
        ace_work left = {0};
        (void)shut_down(connection, 0, &left, NULL);
        ace_work_release(&left);
    }
    void *attachment = connection->attachment;
    void (*release)(void *attachment) = connection->attachment_release;
    destroy(connection);
    if (release != NULL) {
        release(attachment);
    }
}

void ace_connection_release(ace_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    if (ace_handle_is_foreign(&connection->handle)) {
        /* At the first release: who holds the others may never let go in this process. */
        abandon(connection);
        (void)ace_handle_release(&connection->handle);
        return;
    }
    if (!ace_handle_release(&connection->handle)) {
        return;
    }
    if (!ace_loop_is_any_current()) {
        end(connection);
        return;
    }
    /* From a callback, whose thread may be one of those that would have to be waited for. */
    ace_thread thread;
    if (ace_thread_start(&thread, "acemq-end", end, connection, NULL) == ACE_OK) {
        (void)pthread_detach(thread.id);
    }
    /* Without a thread it stays as it is: a leak, and nothing worse. */
}

ace_code ace_connection_add(ace_connection *connection, ace_member *member, ace_error **error)
{
    ace_code code = ACE_OK;
    ace_mutex_lock(&connection->mutex);
    if (connection->closing) {
        code = ace_fail(error, ACE_CLOSED, "the connection was closed");
    } else {
        member->busy = false;
        member->phase = PHASE_OPEN;
        ace_list_append(&connection->members, &member->node);
    }
    ace_mutex_unlock(&connection->mutex);
    return code;
}

void ace_connection_remove(ace_connection *connection, ace_member *member)
{
    ace_mutex_lock(&connection->mutex);
    if (ace_list_contains_node(&member->node)) {
        ace_list_remove(&connection->members, &member->node);
    }
    while (member->busy && pthread_equal(member->caller, pthread_self()) == 0) {
        ace_condition_wait(&connection->quiet, &connection->mutex);
    }
    ace_mutex_unlock(&connection->mutex);
}

void ace_connection_describe(ace_connection *connection, ace_connection_status *status)
{
    ace_link_describe(connection->publishing, &status->publishing);
    ace_link_describe(connection->consuming, &status->consuming);
    status->open =
        status->publishing.state == ACE_LINK_OPEN && status->consuming.state == ACE_LINK_OPEN;
    status->blocked = status->publishing.blocked;
}

ace_code ace_connection_measure(ace_connection *connection, ace_metrics *metrics, ace_error **error)
{
    ace_metrics *nobody = NULL;
    (void)ace_metrics_keep(metrics);
    if (!atomic_compare_exchange_strong(&connection->metrics, &nobody, metrics)) {
        ace_metrics_release(metrics);
        return ace_fail(error, ACE_STATE, "the connection is measured already");
    }
    ace_publisher_measure(connection->publisher, metrics);
    return ACE_OK;
}

ace_code ace_connection_listen_settled(ace_connection *connection,
                                       const ace_settled_listener *listener, ace_error **error)
{
    ace_settled_listener *copy = malloc(sizeof *copy);
    ace_settled_listener *nobody = NULL;
    if (copy == NULL) {
        return ace_fail_memory(error);
    }
    *copy = *listener;
    if (!atomic_compare_exchange_strong(&connection->settled, &nobody, copy)) {
        free(copy);
        return ace_fail(error, ACE_STATE, "somebody listens to its settlements already");
    }
    return ACE_OK;
}
