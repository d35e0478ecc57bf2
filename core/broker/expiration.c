/* The expiration property: a text that must be a number of milliseconds, read as RabbitMQ reads it.
 */
#include "broker/arguments.h"

#include <amqp_framing.h>
#include <inttypes.h>
#include <stdio.h>

#define EXPIRY_MAX   INT64_C(315360000000) /* ten years */
#define DIGITS_LIMIT INT64_C(1000000000000000)

static bool refuse(ace_bytes text, const char *why, ace_broker_fault *fault)
{
    return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "invalid expiration '%.*s': %s",
                             ACE_TEXT(text), why);
}

bool ace_broker_expiration_read(ace_bytes text, int64_t *milliseconds, ace_broker_fault *fault)
{
    char why[300];
    int64_t value = 0;
    size_t start = text.length > 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    size_t at = start;

    for (; at < text.length && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
        if (value < DIGITS_LIMIT)
            value = value * 10 + (text.data[at] - '0');
    }
    if (at == start)
        return refuse(text, "no_integer", fault);
    if (at < text.length) {
        ace_bytes rest = {text.data + at, text.length - at};

        snprintf(why, sizeof(why), "{leftover_string,\"%.*s\"}", ACE_TEXT(rest));
        return refuse(text, why, fault);
    }
    if (text.data[0] == '-' && value > 0) {
        snprintf(why, sizeof(why), "{value_negative,-%" PRId64 "}", value);
        return refuse(text, why, fault);
    }
    if (value > EXPIRY_MAX) {
        snprintf(why, sizeof(why), "{value_too_large,%" PRId64 "}", value);
        return refuse(text, why, fault);
    }
    *milliseconds = value;
    return true;
}
