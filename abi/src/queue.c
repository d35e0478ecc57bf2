#include "acemq/queue.h"

#include "arguments.h"
#include "client.h"
#include "contract/table.h"
#include "engine/session.h"
#include "engine/waiter.h"
#include "patterns/browser.h"
#include "patterns/declare.h"

#include <stdatomic.h>
#include <stdlib.h>

#define MAGIC         ACE_MAGIC('B', 'R', 'W', 'S')
#define FIRST_RELEASE ACE_SIZE_UP_TO(acemq_browser_options, reserved)

static const acemq_browser_options defaults = ACEMQ_BROWSER_OPTIONS_INIT;

struct acemq_browser {
    ace_handle handle;
    ace_browser *browser;
    ace_connection *connection; /* the browser's */
    atomic_bool busy;
};

/* An empty name is to the broker the queue that the channel declared last. */
static ace_code check_call(acemq_connection *connection, const char *queue, int64_t timeout,
                           ace_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_text(queue, "queue", error);
    }
    if (code == ACE_OK) {
        code = ace_name_check("queue", ace_bytes_of(queue), error);
    }
    if (code == ACE_OK && *queue == '\0') {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "queue is empty");
        ace_error_field(error, "queue", 0);
    }
    return code == ACE_OK ? ace_argument_timeout(timeout, error) : code;
}

acemq_status acemq_queue_count(acemq_connection *connection, const char *queue, int64_t timeout,
                               uint64_t *ready, uint64_t *consumers, acemq_error **error)
{
    ace_code code = check_call(connection, queue, timeout, error);
    ace_session *session = NULL;
    if (code == ACE_OK) {
        code = ace_session_new(connection->consuming, &session, error);
    }
    if (code == ACE_OK) {
        code = ace_declare_queue_passively(session, queue, ready, consumers,
                                           ace_deadline_after(timeout),
                                           ace_client_cancel(connection, NULL), error);
    }
    ace_session_free(session);
    return (acemq_status)code;
}

static acemq_status empty_queue(acemq_connection *connection, amqp_method_number_t id,
                                const void *method, int64_t timeout, uint64_t *messages,
                                acemq_error **error)
{
    ace_reply reply;
    ace_code code =
        ace_link_rpc(connection->consuming, id, method, &reply, ace_deadline_after(timeout),
                     ace_client_cancel(connection, NULL), error);
    if (code == ACE_OK && messages != NULL) {
        *messages = reply.message_count;
    }
    return (acemq_status)code;
}

acemq_status acemq_queue_purge(acemq_connection *connection, const char *queue, int64_t timeout,
                               uint64_t *messages, acemq_error **error)
{
    ace_code code = check_call(connection, queue, timeout, error);
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    amqp_queue_purge_t purge = {.queue = ace_bytes_to_amqp(ace_bytes_of(queue))};
    return empty_queue(connection, AMQP_QUEUE_PURGE_METHOD, &purge, timeout, messages, error);
}

acemq_status acemq_queue_delete(acemq_connection *connection, const char *queue, int64_t timeout,
                                uint64_t *messages, acemq_error **error)
{
    ace_code code = check_call(connection, queue, timeout, error);
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    amqp_queue_delete_t delete = {.queue = ace_bytes_to_amqp(ace_bytes_of(queue))};
    return empty_queue(connection, AMQP_QUEUE_DELETE_METHOD, &delete, timeout, messages, error);
}

acemq_status acemq_browser_options_init(acemq_browser_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code read_options(const acemq_browser_options *given, acemq_browser_options *options,
                             ace_error **error)
{
    *options = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->max, 1, INT64_MAX, "max", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(options->timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->force, 0, 1, "force", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->reserved, 0, 0, "reserved", error);
    }
    return code;
}

static ace_code open_browser(acemq_connection *connection, const char *queue,
                             const acemq_browser_options *options, acemq_browser **browser,
                             ace_error **error)
{
    acemq_browser *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    ace_browser_options inner = {.cancel = ace_client_cancel(connection, options->cancel),
                                 .most = options->max,
                                 .timeout = options->timeout,
                                 .force = options->force != 0};
    ace_code code = ace_browser_open(connection, queue, &inner, &made->browser, error);
    if (code != ACE_OK) {
        free(made);
        return code;
    }
    made->connection = connection;
    atomic_init(&made->busy, false);
    ace_handle_init(&made->handle, MAGIC);
    *browser = made;
    return ACE_OK;
}

acemq_status acemq_browser_open(acemq_connection *connection, const char *queue,
                                const acemq_browser_options *options, acemq_browser **browser,
                                acemq_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_text(queue, "queue", error);
    }
    acemq_browser_options read;
    if (code == ACE_OK) {
        code = read_options(options, &read, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(browser, "browser", error);
    }
    if (code == ACE_OK) {
        code = open_browser(connection, queue, &read, browser, error);
    }
    return (acemq_status)code;
}

/* One thread at a time: a second one is told so. */
static ace_code enter(acemq_browser *browser, ace_error **error)
{
    ace_code code =
        ace_handle_check(browser == NULL ? NULL : &browser->handle, MAGIC, "browser", error);
    if (code == ACE_OK) {
        code = ace_connection_check(browser->connection, error);
    }
    if (code == ACE_OK && atomic_exchange(&browser->busy, true)) {
        code = ace_fail(error, ACE_WRONG_THREAD, "another thread uses the browser");
    }
    return code;
}

acemq_status acemq_browser_next(acemq_browser *browser, const acemq_delivery **delivery,
                                acemq_error **error)
{
    ace_code code = ace_argument_present(delivery, "delivery", error);
    if (code == ACE_OK) {
        code = enter(browser, error);
    }
    if (code == ACE_OK) {
        code = ace_browser_next(browser->browser, delivery, error);
        atomic_store(&browser->busy, false);
    }
    return (acemq_status)code;
}

acemq_status acemq_browser_remove(acemq_browser *browser, acemq_error **error)
{
    ace_code code = enter(browser, error);
    if (code == ACE_OK) {
        code = ace_browser_remove(browser->browser, error);
        atomic_store(&browser->busy, false);
    }
    return (acemq_status)code;
}

void acemq_browser_free(acemq_browser *browser)
{
    if (browser != NULL && ace_handle_release(&browser->handle)) {
        ace_browser_close(browser->browser);
        free(browser);
    }
}
