#include "engine/link_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNHEARD_GOODBYE 250 /* ms */

ace_code ace_link_new(const ace_settings *settings, const ace_url *url, const char *role,
                      ace_link **out, ace_error **error)
{
    ace_link *link = calloc(1, sizeof *link);
    if (link == NULL) {
        return ace_fail_memory(error);
    }
    link->settings = settings;
    link->url = url;
    link->role = role;
    ace_url_place(url, link->place, sizeof link->place);
    (void)snprintf(link->user, sizeof link->user, "%s", url->user);
    atomic_init(&link->is_open, false);
    atomic_init(&link->stopped, false);
    atomic_init(&link->frame_max_now, (unsigned)settings->frame_max);
    ace_list_init(&link->listeners);
    ace_link_state_init(link);
    ace_link_stream_init(link);
    ace_channels_init(link);
    char name[32];
    (void)snprintf(name, sizeof name, "acemq-%s", role);
    ace_code code = ace_loop_start(name, settings->clock, &link->loop, error);
    if (code != ACE_OK) {
        atomic_store(&link->stopped, true);
        ace_link_free(link);
        return code;
    }
    *out = link;
    return ACE_OK;
}

typedef struct connect_request {
    ace_link *link;
    ace_waiter waiter;
    ace_code ended; /* how the wait ended */
    ace_code code;
    ace_error *error;
} connect_request;

static void start_first(void *user)
{
    connect_request *request = user;
    if (request->link->state != ACE_LINK_IDLE) {
        ace_waiter_complete(&request->waiter);
        return;
    }
    request->link->first = &request->waiter;
    ace_link_begin(request->link);
}

/* Reads how it went, and ends it where nobody waits any longer. */
static void conclude_first(void *user)
{
    connect_request *request = user;
    ace_link *link = request->link;
    if (link->first == &request->waiter) {
        ace_error *error = NULL;
        link->first = NULL;
        link->turn.count = 0;
        ace_fail(&error, request->ended, "connecting to %s %s", link->place,
                 request->ended == ACE_CANCELLED ? "was cancelled" : "took longer than allowed");
        ace_error_free(link->failure);
        link->failure = NULL;
        ace_link_come_down(link, error);
    }
    if (link->epoch > 0) { /* it may be lost again by now: that is no failure of this call */
        request->code = ACE_OK;
    } else if (link->error != NULL) {
        request->code = ace_error_move(&request->error, ace_error_copy(link->error));
    } else {
        request->code = ace_fail(&request->error, ACE_STATE, "the %s link is %s", link->role,
                                 ace_link_state_names[link->state]);
    }
}

ace_code ace_link_connect(ace_link *link, int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    connect_request request = {.link = link};
    ace_code code = ace_waiter_init(&request.waiter, error);
    if (code != ACE_OK) {
        return code;
    }
    if (!ace_loop_call(link->loop, start_first, &request)) {
        code = ace_fail(error, ACE_CLOSED, "the %s link was closed", link->role);
    } else {
        request.ended = ace_waiter_wait(&request.waiter, deadline, cancel);
        (void)ace_loop_call(link->loop, conclude_first, &request);
        code = request.code;
        if (request.error != NULL) {
            ace_error_move(error, request.error);
        }
    }
    ace_waiter_destroy(&request.waiter);
    return code;
}

typedef struct close_request {
    ace_link *link;
    ace_waiter waiter;
    ace_connector *connectors[2]; /* taken from the link, which may not wait for them */
    bool unheard;                 /* a broker that is blocked does not read, our goodbye included */
} close_request;

static void start_close(void *user)
{
    close_request *request = user;
    ace_link *link = request->link;
    ace_error *error = NULL;
    bool was_open = link->state == ACE_LINK_OPEN && link->failure == NULL;
    request->unheard = link->blocked || link->congested;
    request->connectors[0] = link->connector;
    request->connectors[1] = link->given_up;
    link->connector = NULL;
    link->given_up = NULL;
    ace_loop_timer_cancel(link->loop, &link->retry);
    ace_fail(&error, ACE_CLOSED, "the connection was closed");
    ace_link_set_state(link, was_open ? ACE_LINK_CLOSING : ACE_LINK_CLOSED);
    ace_channels_lose(link, error, false);
    ace_error_free(error);
    ace_link_finish_first(link);
    if (was_open && ace_login_say_goodbye(link, NULL) == ACE_OK) {
        link->closer = &request->waiter;
        ace_link_tell(link);
        return;
    }
    ace_link_said_goodbye(link);
    ace_waiter_complete(&request->waiter);
}

static void conclude_close(void *user)
{
    close_request *request = user;
    if (request->link->closer == &request->waiter) {
        request->link->closer = NULL;
        ace_link_said_goodbye(request->link);
    }
}

void ace_link_close(ace_link *link, int64_t deadline)
{
    if (link == NULL || atomic_load(&link->stopped)) {
        return;
    }
    close_request request = {.link = link};
    bool can_wait = ace_waiter_init(&request.waiter, NULL) == ACE_OK;
    if (can_wait) {
        (void)ace_loop_call(link->loop, start_close, &request);
        int64_t soon = ace_deadline_after(UNHEARD_GOODBYE);
        (void)ace_waiter_wait(&request.waiter, request.unheard && soon < deadline ? soon : deadline,
                              NULL);
        (void)ace_loop_call(link->loop, conclude_close, &request);
        ace_waiter_destroy(&request.waiter);
    }
    for (int i = 0; i < 2; i++) {
        if (request.connectors[i] != NULL) {
            ace_connector_abandon(request.connectors[i], deadline);
        }
    }
    ace_loop_stop(link->loop);
    atomic_store(&link->stopped, true);
    ace_broker_release(link->broker);
    link->broker = NULL;
}

void ace_link_abandon(ace_link *link)
{
    ace_stream_abandon(link->stream);
    link->stream = NULL;
    ace_loop_abandon(link->loop);
    ace_broker_release(link->broker);
    link->broker = NULL;
}

void ace_link_free(ace_link *link)
{
    if (link == NULL) {
        return;
    }
    if (atomic_load(&link->stopped)) {
        /* A child of fork leaves alone what the loop's thread may have been changing. */
        if (link->connector != NULL) { /* only where a close had no memory to be told of it */
            ace_connector_abandon(link->connector, 0);
        }
        if (link->given_up != NULL) {
            ace_connector_abandon(link->given_up, 0);
        }
        ace_channels_free(link);
        ace_frame_reader_free(&link->reader);
        ace_buffer_free(&link->output);
        empty_amqp_pool(&link->pool);
        ace_error_free(link->error);
        ace_error_free(link->failure);
        ace_error_free(link->host_refusals);
        ace_credentials_free(&link->credentials);
        ace_loop_free(link->loop);
    }
    free(link);
}

ace_loop *ace_link_loop(const ace_link *link)
{
    return link->loop;
}

const char *ace_link_role(const ace_link *link)
{
    return link->role;
}

bool ace_link_is_open(const ace_link *link)
{
    return atomic_load(&link->is_open);
}

uint32_t ace_link_frame_max(const ace_link *link)
{
    return atomic_load(&link->frame_max_now);
}

const ace_settings *ace_link_settings(const ace_link *link)
{
    return link->settings;
}

uint64_t ace_link_epoch(const ace_link *link)
{
    return link->epoch;
}

const ace_link_limits *ace_link_limits_of(const ace_link *link)
{
    return &link->limits;
}

void ace_link_listen(ace_link *link, ace_link_listener *listener)
{
    ace_list_append(&link->listeners, &listener->node);
}

void ace_link_unlisten(ace_link *link, ace_link_listener *listener)
{
    if (ace_list_contains_node(&listener->node)) {
        ace_list_remove(&link->listeners, &listener->node);
    }
}

typedef struct describe_request {
    const ace_link *link;
    ace_link_description *description;
} describe_request;

static void describe_now(void *user)
{
    describe_request *request = user;
    const ace_link *link = request->link;
    ace_link_description *description = request->description;
    *description = (ace_link_description){
        .state = link->state,
        .epoch = link->epoch,
        .limits = link->limits,
        .blocked = link->blocked,
        .error = ace_error_copy(link->error),
    };
    memcpy(description->reason, link->reason, sizeof description->reason);
    memcpy(description->place, link->place, sizeof description->place);
}

void ace_link_describe(ace_link *link, ace_link_description *description)
{
    describe_request request = {link, description};
    if (!ace_loop_call(link->loop, describe_now, &request)) {
        describe_now(&request); /* the loop has ended: nobody changes these any more */
    }
}
