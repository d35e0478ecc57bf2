#include "acemq/settlement.h"

#include "arguments.h"
#include "client.h"

const char *acemq_settlement_queue(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->queue;
}

const char *acemq_settlement_exchange(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->exchange;
}

const char *acemq_settlement_routing_key(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->routing_key;
}

const char *acemq_settlement_id(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->id;
}

const char *acemq_settlement_type(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->type;
}

const char *acemq_settlement_correlation(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->correlation;
}

const char *acemq_settlement_outcome(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->outcome;
}

int32_t acemq_settlement_attempt(const acemq_settlement *settlement)
{
    return settlement == NULL ? 0 : settlement->attempt;
}

const char *acemq_settlement_traceparent(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->traceparent;
}

const char *acemq_settlement_tracestate(const acemq_settlement *settlement)
{
    return settlement == NULL ? "" : settlement->tracestate;
}

int64_t acemq_settlement_microseconds(const acemq_settlement *settlement)
{
    return settlement == NULL ? 0 : settlement->microseconds;
}

acemq_status acemq_connection_on_settled(acemq_connection *connection,
                                         acemq_settlement_callback callback, void *user,
                                         acemq_destructor destructor, acemq_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK && callback == NULL) {
        code = ace_argument_present(NULL, "callback", error);
    }
    if (code == ACE_OK) {
        ace_settled_listener listener = {callback, user, destructor};
        code = ace_connection_listen_settled(connection, &listener, error);
    }
    return (acemq_status)code;
}
