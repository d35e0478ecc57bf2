#include "patterns/browser.h"

#include "contract/limits.h"
#include "engine/session.h"
#include "engine/waiter.h"
#include "patterns/declare.h"
#include "patterns/queue_kind.h"

#include <stdlib.h>
#include <string.h>

struct ace_browser {
    ace_connection *connection;
    ace_session *session;
    char *queue;
    ace_browser_options options;
    ace_delivery **held; /* all that were read, in order */
    size_t count;
    size_t capacity;
    uint64_t opening; /* of the session's channel; 0: nothing was read */
    uint64_t tag;     /* of the last one */
    bool removable;
    uint64_t removed;
    uint64_t ready; /* in the queue besides, as it was told last */
};

void ace_browser_options_init(ace_browser_options *options)
{
    *options = (ace_browser_options){.most = 10000, .timeout = ACE_CONFIRM_TIMEOUT};
}

static ace_code refuse(const char *queue, const char *why, ace_error **error)
{
    ace_fail(error, ACE_STATE, "%s %s", queue, why);
    ace_error_field(error, "queue", 0);
    return ACE_STATE;
}

static ace_code check_kind(const ace_browser *browser, ace_error **error)
{
    int64_t deadline = ace_deadline_after(browser->options.timeout);
    ace_code code = ace_declare_queue_passively(browser->session, browser->queue, NULL, NULL,
                                                deadline, browser->options.cancel, error);
    ace_queue_kind kind = ACE_QUEUE_KIND_UNKNOWN;
    if (code == ACE_OK) {
        code = ace_queue_find_kind(browser->session, browser->queue, deadline,
                                   browser->options.cancel, &kind, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    if (kind == ACE_QUEUE_KIND_STREAM) {
        return refuse(browser->queue, "is a stream, which is not looked through from a head",
                      error);
    }
    if (kind == ACE_QUEUE_KIND_QUORUM && !browser->options.force) {
        return refuse(browser->queue,
                      "is a quorum queue, where each look counts as a delivery towards its limit: "
                      "force it if that is wanted",
                      error);
    }
    return ACE_OK;
}

static ace_browser *make(ace_connection *connection, const char *queue,
                         const ace_browser_options *options)
{
    ace_browser *browser = calloc(1, sizeof *browser);
    if (browser == NULL) {
        return NULL;
    }
    browser->queue = strdup(queue);
    if (browser->queue == NULL) {
        free(browser);
        return NULL;
    }
    browser->options = *options;
    if (options->cancel != NULL) {
        ace_cancel_keep(options->cancel);
    }
    browser->connection = ace_connection_keep(connection);
    return browser;
}

ace_code ace_browser_open(ace_connection *connection, const char *queue,
                          const ace_browser_options *options, ace_browser **out, ace_error **error)
{
    ace_code code = ace_name_check("queue", ace_bytes_of(queue), error);
    if (code == ACE_OK && ace_name_is_rung(queue)) {
        code = refuse(queue, "is a rung: putting its messages back would start their wait anew",
                      error);
    }
    if (code != ACE_OK) {
        return code;
    }
    ace_browser *browser = make(connection, queue, options);
    if (browser == NULL) {
        return ace_fail_memory(error);
    }
    code = ace_session_new(connection->consuming, &browser->session, error);
    if (code == ACE_OK) {
        code = check_kind(browser, error);
    }
    if (code != ACE_OK) {
        ace_browser_close(browser);
        return code;
    }
    *out = browser;
    return ACE_OK;
}

static ace_code make_room(ace_browser *browser, ace_error **error)
{
    if (browser->count >= (uint64_t)browser->options.most) {
        ace_fail(error, ACE_LIMIT, "%zu messages of %s are held, the limit is %lld", browser->count,
                 browser->queue, (long long)browser->options.most);
        ace_error_field(error, "max", browser->options.most);
        return ACE_LIMIT;
    }
    if (browser->count < browser->capacity) {
        return ACE_OK;
    }
    size_t capacity = browser->capacity == 0 ? 16 : browser->capacity * 2;
    ace_delivery **grown = realloc(browser->held, capacity * sizeof(ace_delivery *));
    if (grown == NULL) {
        return ace_fail_memory(error);
    }
    browser->held = grown;
    browser->capacity = capacity;
    return ACE_OK;
}

ace_code ace_browser_next(ace_browser *browser, const ace_delivery **delivery, ace_error **error)
{
    *delivery = NULL;
    ace_content *content = NULL;
    uint64_t opening = 0;
    ace_code code = make_room(browser, error);
    if (code == ACE_OK) {
        code = ace_session_get(browser->session, browser->queue, &content, &opening,
                               ace_deadline_after(browser->options.timeout),
                               browser->options.cancel, error);
    }
    browser->removable = false;
    if (code != ACE_OK || content == NULL) {
        return code;
    }
    if (browser->opening != 0 && browser->opening != opening) {
        ace_content_free(content);
        return ace_fail(error, ACE_CONNECTION_LOST,
                        "the connection was lost while %s was looked through", browser->queue);
    }
    browser->opening = opening;
    const amqp_basic_get_ok_t *got = content->method.decoded;
    browser->tag = got->delivery_tag;
    browser->ready = got->message_count;
    code = ace_content_whole(content, browser->connection->settings.body_limit, error);
    if (code != ACE_OK) {
        ace_error_prefix(error, "a message in %s", browser->queue);
        ace_content_free(content);
        return code;
    }
    code = ace_delivery_of_content(content, browser->queue, &browser->held[browser->count], error);
    if (code == ACE_OK) {
        browser->removable = true;
        *delivery = browser->held[browser->count++];
    }
    return code;
}

ace_code ace_browser_remove(ace_browser *browser, ace_error **error)
{
    if (!browser->removable) {
        return ace_fail(error, ACE_STATE, "there is no message that was read and not removed");
    }
    ace_code code = ace_session_ack(browser->session, browser->opening, browser->tag, false, error);
    if (code == ACE_OK) {
        browser->removable = false;
        browser->removed++;
    }
    return code;
}

void ace_browser_close(ace_browser *browser)
{
    if (browser == NULL) {
        return;
    }
    if (!ace_handle_is_foreign(&browser->connection->handle)) {
        uint64_t held = browser->count - browser->removed;
        if (held > 0) {
            ace_declare_give_back(browser->session, browser->connection->consuming, browser->queue,
                                  browser->ready + held,
                                  ace_deadline_after(browser->options.timeout));
        } else {
            ace_session_free(browser->session);
        }
    }
    for (size_t i = 0; i < browser->count; i++) {
        ace_delivery_free(browser->held[i]);
    }
    free(browser->held);
    free(browser->queue);
    ace_cancel_release(browser->options.cancel);
    ace_connection_release(browser->connection);
    free(browser);
}
