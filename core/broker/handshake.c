/* The methods of class connection, from the greeting to the goodbye. */
#include "broker/login.h"
#include "broker/session.h"
#include "broker/topology.h"
#include "wire/arguments.h"
#include "wire/method.h"

#include <amqp_framing.h>
#include <stdio.h>
#include <stdlib.h>

#define PRODUCT       "AceMQ memory broker"
#define VERSION       "3.10.8" /* of RabbitMQ's, whose behaviour this is: clients choose by it */
#define VERSION_MAJOR 0
#define VERSION_MINOR 9

static const char *const capabilities[] = {
    "publisher_confirms",           "exchange_exchange_bindings", "basic.nack",
    "consumer_cancel_notify",       "connection.blocked",         "consumer_priorities",
    "authentication_failure_close", "per_consumer_qos",
};

static bool server_properties(ace_arena *arena, amqp_table_t *table)
{
    ace_arguments able;
    ace_arguments properties;
    amqp_table_t able_table;

    ace_arguments_init(&able, arena);
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
        ace_arguments_add_bool(&able, capabilities[i], true);
    if (ace_arguments_table(&able, &able_table, NULL) != ACE_OK)
        return false;
    ace_arguments_init(&properties, arena);
    ace_arguments_add_table(&properties, "capabilities", &able_table);
    ace_arguments_add_text(&properties, "platform", "C");
    ace_arguments_add_text(&properties, "product", PRODUCT);
    ace_arguments_add_text(&properties, "version", VERSION);
    return ace_arguments_table(&properties, table, NULL) == ACE_OK;
}

void ace_broker_handshake_greet(ace_broker_session *session)
{
    ace_arena arena = ACE_ARENA_INIT;
    amqp_connection_start_t start = {.version_major = VERSION_MAJOR,
                                     .version_minor = VERSION_MINOR,
                                     .mechanisms = amqp_cstring_bytes(ACE_BROKER_LOGIN_MECHANISMS),
                                     .locales = amqp_cstring_bytes("en_US")};

    if (server_properties(&arena, &start.server_properties)) {
        session->state = ACE_SESSION_STARTING;
        ace_broker_session_send(session, 0, AMQP_CONNECTION_START_METHOD, &start);
    } else {
        ace_broker_session_kill(session);
    }
    ace_arena_free(&arena);
}

/* --- start-ok --- */

static void send_tune(ace_broker_session *session)
{
    const ace_broker_limits *limits = &session->core->limits;
    amqp_connection_tune_t tune = {.channel_max = (uint16_t)limits->channels,
                                   .frame_max = (uint32_t)limits->frame_bytes,
                                   .heartbeat = limits->heartbeat};

    session->state = ACE_SESSION_TUNING;
    ace_broker_session_send(session, 0, AMQP_CONNECTION_TUNE_METHOD, &tune);
}

/* Only a client that asked for it is told; any other sees its connection end. */
static void refuse_login(ace_broker_session *session, ace_bytes mechanism)
{
    ace_broker_fault fault;
    amqp_connection_close_t close = {.reply_code = AMQP_ACCESS_REFUSED};

    ace_log_write(&session->core->log, ACE_LOG_WARNING, "connection %s: login refused",
                  ace_stream_peer(session->stream));
    if (session->notifies_login) {
        ace_broker_refuse(&fault, AMQP_ACCESS_REFUSED,
                          "Login was refused using authentication mechanism %.*s. For details see "
                          "the broker logfile.",
                          ACE_TEXT(mechanism));
        close.reply_text = amqp_cstring_bytes(fault.text);
        ace_broker_session_send(session, 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
    }
    ace_broker_session_drain(session);
}

static bool take_start_ok(ace_broker_session *session, const amqp_connection_start_ok_t *ok,
                          ace_broker_fault *fault)
{
    ace_bytes mechanism = ace_bytes_from_amqp(ok->mechanism);

    session->notifies_cancel =
        ace_properties_have_capability(&ok->client_properties, "consumer_cancel_notify");
    session->notifies_login =
        ace_properties_have_capability(&ok->client_properties, "authentication_failure_close");
    if (!ace_broker_login_mechanism_known(mechanism))
        return ace_broker_refuse(fault, AMQP_COMMAND_INVALID,
                                 "unknown authentication mechanism '%.*s'", ACE_TEXT(mechanism));
    switch (ace_broker_login_check(session->core, mechanism, ace_bytes_from_amqp(ok->response),
                                   &session->user)) {
    case ACE_BROKER_LOGIN_ACCEPTED:
        send_tune(session);
        return true;
    case ACE_BROKER_LOGIN_REFUSED:
        refuse_login(session, mechanism);
        return true;
    default:
        return ace_broker_refuse(fault, AMQP_SYNTAX_ERROR, "the login response is invalid");
    }
}

/* --- tune-ok --- */

static bool check_negotiated(const char *field, uint32_t value, uint32_t least, uint32_t most,
                             const char *detail, ace_broker_fault *fault)
{
    if (value != 0 && value < least)
        return ace_broker_refuse(
            fault, AMQP_NOT_ALLOWED,
            "negotiated %s = %u%s is lower than the minimum allowed value (%u)", field, value,
            detail, least);
    if (value == 0 || value > most)
        return ace_broker_refuse(
            fault, AMQP_NOT_ALLOWED,
            "negotiated %s = %u%s is higher than the maximum allowed value (%u)", field, value,
            detail, most);
    return true;
}

static bool take_tune_ok(ace_broker_session *session, const amqp_connection_tune_ok_t *ok,
                         ace_broker_fault *fault)
{
    const ace_broker_limits *limits = &session->core->limits;
    bool no_limit = ok->channel_max == 0;

    if (!check_negotiated("frame_max", ok->frame_max, ACE_FRAME_MAX_LEAST,
                          (uint32_t)limits->frame_bytes, "", fault) ||
        !check_negotiated("channel_max", ok->channel_max, 1, (uint32_t)limits->channels,
                          no_limit ? " (no limit)" : "", fault))
        return false;
    session->channels = calloc((size_t)ok->channel_max + 1, sizeof(*session->channels));
    if (!session->channels)
        return ace_broker_refuse_memory(fault);
    session->frame_max = ok->frame_max;
    session->channel_max = ok->channel_max;
    session->heartbeat = ok->heartbeat;
    ace_frame_reader_set_max(&session->reader, ok->frame_max);
    session->state = ACE_SESSION_OPENING;
    return session->heartbeat == 0 ||
           ace_timer_set(&session->core->session_timers, &session->pulse,
                         ace_broker_session_clock() + (int64_t)session->heartbeat * 500) ||
           ace_broker_refuse_memory(fault);
}

/* --- open and close --- */

static bool take_open(ace_broker_session *session, const amqp_connection_open_t *open,
                      ace_broker_fault *fault)
{
    ace_bytes name = ace_bytes_from_amqp(open->virtual_host);
    amqp_connection_open_ok_t ok = {.known_hosts = amqp_empty_bytes};

    session->vhost = ace_broker_vhost_find(session->core, name);
    if (!session->vhost)
        return ace_broker_refuse(fault, AMQP_NOT_ALLOWED, "vhost %.*s not found", ACE_TEXT(name));
    session->state = ACE_SESSION_RUNNING;
    ace_broker_session_set_deadline(session, ACE_NEVER);
    ace_broker_session_send(session, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &ok);
    return true;
}

static void take_close(ace_broker_session *session)
{
    amqp_connection_close_ok_t ok = {0};

    ace_broker_session_close_channels(session);
    ace_broker_session_send(session, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
    ace_broker_session_drain(session);
}

static bool refuse_in_state(const ace_broker_session *session, ace_broker_fault *fault)
{
    static const char *const names[] = {"pre_init", "starting", "tuning", "opening", "running"};

    return ace_broker_refuse(fault, AMQP_CHANNEL_ERROR, "unexpected method in connection state %s",
                             session->state <= ACE_SESSION_RUNNING ? names[session->state]
                                                                   : "closing");
}

static bool take_in_goodbye(ace_broker_session *session, const amqp_method_t *method)
{
    if (method->id == AMQP_CONNECTION_CLOSE_OK_METHOD)
        ace_broker_session_drain(session);
    else if (method->id == AMQP_CONNECTION_CLOSE_METHOD)
        take_close(session);
    return true;
}

bool ace_broker_handshake_take(ace_broker_session *session, const amqp_method_t *method,
                               ace_broker_fault *fault)
{
    if (session->state == ACE_SESSION_CLOSING)
        return take_in_goodbye(session, method);
    if (method->id == AMQP_CONNECTION_START_OK_METHOD && session->state == ACE_SESSION_STARTING)
        return take_start_ok(session, method->decoded, fault);
    if (method->id == AMQP_CONNECTION_TUNE_OK_METHOD && session->state == ACE_SESSION_TUNING)
        return take_tune_ok(session, method->decoded, fault);
    if (method->id == AMQP_CONNECTION_OPEN_METHOD && session->state == ACE_SESSION_OPENING)
        return take_open(session, method->decoded, fault);
    if (method->id == AMQP_CONNECTION_CLOSE_METHOD && session->state == ACE_SESSION_RUNNING) {
        take_close(session);
        return true;
    }
    return refuse_in_state(session, fault);
}
