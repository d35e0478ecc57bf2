#include "engine/link_record.h"

#include "engine/refusal.h"

#include <inttypes.h>
#include <stdio.h>

#define LASTING  5000 /* ms that a connection has to stay open to count as a success */
#define REFUSALS 10   /* in a row, by the broker, after which it means what it says */
#define GRACE    250  /* ms that the connector gets beyond its own deadline, to say why */

const char *const ace_link_state_names[] = {"idle",    "connecting", "open",
                                            "waiting", "closing",    "closed"};

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
    /* What is refused for good is asked for again, but seldom. */
    if (!ace_refusal_is_permanent(code)) {
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
    if (!ace_refusal_is_permanent(code)) {
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

static void login_took_too_long(ace_timer *timer)
{
    ace_link *link = ACE_RECORD(timer, ace_link, login_limit);
    ace_error *error = NULL;
    if (link->stage == ACE_LOGIN_STREAM) {
        ace_fail(&error, ACE_UNREACHABLE, "%s did not answer within %" PRId64 " ms", link->place,
                 link->settings->connect_timeout);
    } else {
        ace_fail(&error, ACE_TIMEOUT, "%s: the login did not end within %s%" PRId64 " ms",
                 link->place, link->turn.count > 0 ? "its share of " : "",
                 link->settings->connect_timeout);
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

/* From here on messages name this host. Its login gets its share of the time that is left, so that
 * one that accepts and says nothing does not use up all. */
static void reached_host(ace_link *link, const ace_connected *connected)
{
    if (connected->error != NULL || link->url->endpoint_count == 0) {
        link->turn.count = 0;
        return;
    }
    if (connected->refusals != NULL) {
        link->host_refusals = ace_refusal_join(link->host_refusals, connected->refusals);
    }
    size_t count = link->url->endpoint_count;
    size_t tried = (connected->host + count - link->turn.first) % count + 1;
    link->turn.first = (connected->host + 1) % count;
    link->turn.count = link->turn.count > tried ? link->turn.count - tried : 0;
    ace_endpoint_place(&link->url->endpoints[connected->host], link->place, sizeof link->place);
    if (link->turn.count > 0) {
        int64_t left = link->attempt_deadline - ace_clock_monotonic(ace_clock_system());
        int64_t share = left / (int64_t)(link->turn.count + 1);
        /* Cannot fail: it is set already. */
        (void)ace_loop_timer_set(link->loop, &link->login_limit,
                                 ace_loop_now(link->loop) + (share > 0 ? share : 0));
    }
    if (link->url->scheme == ACE_URL_AMQPS && !link->settings->tls.verify) {
        ace_log_write(&link->settings->log, ACE_LOG_WARNING,
                      "%s link: the certificate of %s is not verified: anybody in between can "
                      "read and change everything",
                      link->role, link->place);
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
    reached_host(link, &result);
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

static void try_hosts(ace_link *link)
{
    ace_error *error = NULL;
    int64_t left = link->attempt_deadline - ace_clock_monotonic(ace_clock_system());
    link->stage = ACE_LOGIN_STREAM;
    link->peer_tells_refusal = false;
    if (!ace_loop_timer_set(link->loop, &link->login_limit,
                            ace_loop_now(link->loop) + left + GRACE)) {
        ace_fail_memory(&error);
    } else if (clear_given_up(link, &error) == ACE_OK) {
        (void)ace_connector_start(link->settings, link->url, link->turn, link->loop,
                                  &link->connected, link->attempt_deadline, &link->connector,
                                  &error);
    }
    if (error != NULL) {
        link->turn.count = 0;
        ace_link_fail(link, error);
    }
}

static bool has_another_host(const ace_link *link, const ace_error *error)
{
    return link->state == ACE_LINK_CONNECTING && link->turn.count > 0 &&
           ace_clock_monotonic(ace_clock_system()) < link->attempt_deadline &&
           (!ace_refusal_is_permanent(ace_error_code(error)) ||
            ace_error_code(error) == ACE_TLS_WANTED);
}

/* Takes the error over, and gives one back that names what every host said. */
static ace_error *join_refusals(ace_link *link, ace_error *error)
{
    if (link->state != ACE_LINK_CONNECTING || link->url->endpoint_count < 2) {
        return error;
    }
    error = ace_refusal_join(link->host_refusals, error);
    link->host_refusals = NULL;
    if (link->turn.count == 0) { /* else some were not asked: the login is refused everywhere */
        ace_error_prefix(&error, "none of %zu hosts took the connection",
                         link->url->endpoint_count);
    }
    return error;
}

void ace_link_come_down(ace_link *link, ace_error *error)
{
    if (link->state == ACE_LINK_CLOSING) {
        ace_error_free(error);
        ace_link_said_goodbye(link);
        return;
    }
    error = ace_login_explain(link, error);
    if (has_another_host(link, error)) {
        link->host_refusals = ace_refusal_join(link->host_refusals, error);
        end_attempt(link);
        try_hosts(link);
        return;
    }
    error = join_refusals(link, error);
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

void ace_link_begin(ace_link *link)
{
    size_t hosts = link->url->endpoint_count;
    size_t first = (size_t)(ace_random_unit(link->settings->random) * (double)hosts);
    ace_link_set_state(link, ACE_LINK_CONNECTING);
    ace_url_place(link->url, link->place, sizeof link->place);
    link->turn = (ace_host_turn){hosts == 0 ? 0 : first % hosts, hosts};
    ace_error_free(link->host_refusals);
    link->host_refusals = NULL;
    link->attempt_deadline = ace_deadline_after(link->settings->connect_timeout);
    link->login_limit.fire = login_took_too_long;
    link->connected.run = stream_connected;
    try_hosts(link);
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
