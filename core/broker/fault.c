#include "broker/fault.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(uint16_t code)
{
    switch (code) {
    case AMQP_CONTENT_TOO_LARGE:
        return "CONTENT_TOO_LARGE";
    case AMQP_CONNECTION_FORCED:
        return "CONNECTION_FORCED";
    case AMQP_ACCESS_REFUSED:
        return "ACCESS_REFUSED";
    case AMQP_NOT_FOUND:
        return "NOT_FOUND";
    case AMQP_RESOURCE_LOCKED:
        return "RESOURCE_LOCKED";
    case AMQP_PRECONDITION_FAILED:
        return "PRECONDITION_FAILED";
    case AMQP_FRAME_ERROR:
        return "FRAME_ERROR";
    case AMQP_SYNTAX_ERROR:
        return "SYNTAX_ERROR";
    case AMQP_COMMAND_INVALID:
        return "COMMAND_INVALID";
    case AMQP_CHANNEL_ERROR:
        return "CHANNEL_ERROR";
    case AMQP_UNEXPECTED_FRAME:
        return "UNEXPECTED_FRAME";
    case AMQP_RESOURCE_ERROR:
        return "RESOURCE_ERROR";
    case AMQP_NOT_ALLOWED:
        return "NOT_ALLOWED";
    case AMQP_NOT_IMPLEMENTED:
        return "NOT_IMPLEMENTED";
    default:
        return "INTERNAL_ERROR";
    }
}

bool ace_broker_refuse(ace_broker_fault *fault, uint16_t code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    int start = snprintf(text, sizeof(text), "%s - ", name_of(code));

    va_start(arguments, format);
    vsnprintf(text + start, sizeof(text) - (size_t)start, format, arguments);
    va_end(arguments);

    size_t length = strlen(text);

    if (length > ACE_REPLY_TEXT_MAX)
        memcpy(text + ACE_REPLY_TEXT_MAX - 3, "...", 4);
    memcpy(fault->text, text, length > ACE_REPLY_TEXT_MAX ? ACE_REPLY_TEXT_MAX + 1 : length + 1);
    fault->code = code;
    return false;
}

bool ace_broker_refuse_memory(ace_broker_fault *fault)
{
    return ace_broker_refuse(fault, AMQP_RESOURCE_ERROR, "the memory broker is out of memory");
}

bool ace_broker_refuse_internal(ace_broker_fault *fault)
{
    fault->code = AMQP_INTERNAL_ERROR;
    memcpy(fault->text, "INTERNAL_ERROR", sizeof("INTERNAL_ERROR"));
    return false;
}

bool ace_broker_fault_is_hard(uint16_t code)
{
    switch (code) {
    case AMQP_CONTENT_TOO_LARGE:
    case AMQP_NO_ROUTE:
    case AMQP_NO_CONSUMERS:
    case AMQP_ACCESS_REFUSED:
    case AMQP_NOT_FOUND:
    case AMQP_RESOURCE_LOCKED:
    case AMQP_PRECONDITION_FAILED:
        return false;
    default:
        return true;
    }
}
