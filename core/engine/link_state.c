#include "engine/link_record.h"

#include <inttypes.h>
#include <stdio.h>

#define LASTING  5000 /* ms that a connection has to stay open to count as a success */
#define REFUSALS 10   /* in a row, by the broker, after which it means what it says */
#define GRACE    250  /* ms that the connector gets beyond its own deadline, to say why */

const char *const ace_link_state_names[] = {"idle",    "connecting", "open",
                                            "waiting", "closing",    "closed"};

static bool is_permanent(ace_code code)
{
    return code == ACE_LOGIN_REFUSED || code == ACE_VHOST_REFUSED;
}

void ace_link_status_of(const ace_link *link, ace_link_status *status)
{
    int64_t wait = link->retry_at - ace_loop_now(link->loop);
    *status = (ace_link_status){
        .state = link->state,
        .epoch = link->epoch,
        .wait = link->state != ACE_LINK_WAITING ? -1
                : wait < 0                      ? 0
                                                : wait,
        .error = link->error,
        .blocked = link->blocked,
        .reason = link->reason,
    };
}

void ace_link_tell(ace_link *link)
{
    ace_link_status status;
    ace_link_status_of(link, &status);
    for (ace_link_node *node = ace_list_first(&link->listeners); node != NULL;
         node = ace_list_next(&link->listeners, node)) {
        ace_link_listener *listener = ACE_RECORD(node, ace_link_listener, node);
        listener->changed(listener, &status);
    }
}

void ace_link_set_state(ace_link *link, ace_link_state state)
{
    link->state = state;
    atomic_store(&link->is_open, state == ACE_LINK_OPEN);
    if (state != ACE_LINK_OPEN) {
        link->blocked = false;
        link->reason[0] = '\0';
    }
    ace_log_write(&link->settings->log, ACE_LOG_DEBUG, "%s link to %s: %s", link->role, link->place,
                  ace_link_state_names[state]);
}

static void set_error(ace_link *link, ace_error *error)
{
    ace_error_free(link->error);
    link->error = error;
}

void ace_link_finish_first(ace_link *link)
{
    if (link->first != NULL) {
        ace_waiter_complete(link->first);
        link->first = NULL;
    }
}

static int64_t retry_wait(ace_link *link, ace_code code)
{
    const ace_settings *settings = link->settings;
    int64_t wait = settings->reconnect_limit;
    if (!is_permanent(code)) { /* what is refused for good is asked for again, but seldom */
        wait = settings->reconnect_initial;
        for (unsigned i = 0; i < link->attempts && wait < settings->reconnect_limit; i++) {
            wait *= 2;
        }
        wait = wait > settings->reconnect_limit ? settings->reconnect_limit : wait;
    }
    double random = settings->reconnect_jitter * ace_random_unit(settings->random);
    return wait - (int64_t)((double)wait * random);
}

static void retry_now(ace_timer *timer)
{
    ace_link_begin(ACE_RECORD(timer, ace_link, retry));
}

/* Takes the error over. */
static void wait_for_retry(ace_link *link, ace_error *error)
{
    int64_t wait = retry_wait(link, ace_error_code(error));
    link->attempts++;
    link->retry_at = ace_loop_now(link->loop) + wait;
    link->retry.fire = retry_now;
    ace_link_set_state(link, ACE_LINK_WAITING);
    set_error(link, error);
    ace_log_write(&link->settings->log, ACE_LOG_WARNING,
                  "%s link: %s; trying again in %" PRId64 " ms", link->role,
                  ace_error_message(error), wait);
    if (!ace_loop_timer_set(link->loop, &link->retry, link->retry_at)) {
        ace_error *memory = NULL;
        ace_fail_memory(&memory);
        set_error(link, memory);
        ace_link_set_state(link, ACE_LINK_CLOSED);
    }
}

/* A broker that restarts, or that asks somebody else who is away, refuses what it takes a moment
 * later. Credentials that nobody gave are not its answer. */
static bool is_refused_for_good(ace_link *link, ace_code code)
{
    if (!is_permanent(code)) {
        link->refusals = 0;
    } else if (link->stage >= ACE_LOGIN_START) {
        link->refusals++;
    }
    return link->refusals >= REFUSALS;
}

static void end_attempt(ace_link *link)
{
    ace_loop_timer_cancel(link->loop, &link->login_limit);
    ace_loop_undefer(link->loop, &link->failing);
    if (link->connector != NULL) {
        ace_connector_give_up(link->connector);
        link->given_up = link->connector;
        link->connector = NULL;
    }
    ace_credentials_free(&link->credentials);
    ace_link_detach(link);
    link->stage = ACE_LOGIN_NONE;
}

void ace_link_come_down(ace_link *link, ace_error *error)
{
    if (link->state == ACE_LINK_CLOSING) {
        ace_error_free(error);
        ace_link_said_goodbye(link);
        return;
    }
    error = ace_login_explain(link, error);
    if (link->state == ACE_LINK_OPEN && ace_loop_now(link->loop) - link->opened_at >= LASTING) {
        link->attempts = 0;
    }
    bool for_good = is_refused_for_good(link, ace_error_code(error));
    end_attempt(link);
    if (link->epoch > 0 && link->settings->reconnect && !for_good) {
        wait_for_retry(link, error);
    } else {
        if (for_good) {
            ace_log_write(&link->settings->log, ACE_LOG_ERROR,
                          "%s link: %s; that was the answer %d times, and is not tried again",
                          link->role, ace_error_message(error), REFUSALS);
        }
        ace_link_set_state(link, ACE_LINK_CLOSED);
        set_error(link, error);
    }
    ace_channels_lose(link, link->error, link->state == ACE_LINK_WAITING);
    ace_link_tell(link);
    ace_link_finish_first(link);
}

static void fail_now(ace_deferral *deferral)
{
    ace_link *link = ACE_RECORD(deferral, ace_link, failing);
    ace_error *error = link->failure;
    link->failure = NULL;
    ace_link_come_down(link, error);
}

void ace_link_state_init(ace_link *link)
{
    link->failing.run = fail_now;
}

void ace_link_fail(ace_link *link, ace_error *error)
{
    bool alive = link->state == ACE_LINK_CONNECTING || link->state == ACE_LINK_OPEN ||
                 link->state == ACE_LINK_CLOSING;
    if (!alive || link->failure != NULL) {
        ace_error_free(error);
        return;
    }
    link->failure = error;
    ace_loop_defer(link->loop, &link->failing);
}

static void login_took_too_long(ace_timer *timer)
{
    ace_link *link = ACE_RECORD(timer, ace_link, login_limit);
    ace_error *error = NULL;
    if (link->stage == ACE_LOGIN_STREAM) {
        ace_fail(&error, ACE_UNREACHABLE, "%s did not answer within %" PRId64 " ms", link->place,
                 link->settings->connect_timeout);
    } else {
        ace_fail(&error, ACE_TIMEOUT, "%s: the login did not end within %" PRId64 " ms",
                 link->place, link->settings->connect_timeout);
    }
    ace_link_fail(link, error);
}

static void keep_broker(ace_link *link, ace_broker *broker)
{
    if (broker != NULL) {
        /* Never the last reference of a broker that is in use: this connect holds another. */
        ace_broker_release(link->broker);
        link->broker = broker;
    }
}

static void stream_connected(ace_task *task)
{
    ace_link *link = ACE_RECORD(task, ace_link, connected);
    if (link->connector == NULL) {
        return; /* given up in the meantime */
    }
    ace_connected result;
    ace_connector_finish(link->connector, &result);
    link->connector = NULL;
    keep_broker(link, result.broker);
    link->credentials = result.credentials;
    if (link->credentials.user != NULL) {
        (void)snprintf(link->user, sizeof link->user, "%s", link->credentials.user);
    }
    ace_error *error = result.error;
    if (error != NULL) {
        ace_stream_close(result.stream);
    } else if (ace_link_attach(link, result.stream, &error) == ACE_OK) {
        (void)ace_login_begin(link, &error);
    }
    if (error != NULL) {
        ace_link_fail(link, error);
    }
}

/* One credentials callback runs at a time: while that of an attempt given up still does, there is
 * no other. */
static ace_code clear_given_up(ace_link *link, ace_error **error)
{
    if (link->given_up == NULL) {
        return ACE_OK;
    }
    if (ace_connector_is_asking(link->given_up)) {
        return ace_fail(error, ACE_TIMEOUT, "the credentials callback has not returned");
    }
    ace_connector_abandon(link->given_up, 0);
    link->given_up = NULL;
    return ACE_OK;
}

void ace_link_begin(ace_link *link)
{
    int64_t timeout = link->settings->connect_timeout;
    ace_error *error = NULL;
    ace_link_set_state(link, ACE_LINK_CONNECTING);
    link->stage = ACE_LOGIN_STREAM;
    link->peer_tells_refusal = false;
    link->login_limit.fire = login_took_too_long;
    link->connected.run = stream_connected;
    if (!ace_loop_timer_set(link->loop, &link->login_limit,
                            ace_loop_now(link->loop) + timeout + GRACE)) {
        ace_fail_memory(&error);
    } else if (clear_given_up(link, &error) == ACE_OK) {
        (void)ace_connector_start(link->settings, link->url, link->loop, &link->connected,
                                  ace_deadline_after(timeout), &link->connector, &error);
    }
    if (error != NULL) {
        ace_link_fail(link, error);
    }
    ace_link_tell(link);
}

void ace_link_opened(ace_link *link)
{
    ace_loop_timer_cancel(link->loop, &link->login_limit);
    link->epoch++;
    link->refusals = 0;
    link->opened_at = ace_loop_now(link->loop);
    atomic_store(&link->frame_max_now, link->limits.frame_max);
    set_error(link, NULL);
    ace_link_set_state(link, ACE_LINK_OPEN);
    ace_channels_open(link);
    ace_link_tell(link);
    ace_link_finish_first(link);
}

void ace_link_said_goodbye(ace_link *link)
{
    end_attempt(link);
    ace_link_set_state(link, ACE_LINK_CLOSED);
    ace_link_tell(link);
    if (link->closer != NULL) {
        ace_waiter_complete(link->closer);
        link->closer = NULL;
    }
}
