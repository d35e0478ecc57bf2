/* The message that a request describes. */
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

static void set_numbers(acemq_message *message, const json_t *wanted)
{
    const json_t *version = json_object_get(wanted, "version");
    const json_t *priority = json_object_get(wanted, "priority");
    const json_t *expiration = json_object_get(wanted, "expiration");
    if (json_is_integer(version)) {
        acemq_message_set_version(message, (int32_t)json_integer_value(version));
    }
    if (json_is_integer(priority)) {
        acemq_message_set_priority(message, (int)json_integer_value(priority));
    }
    if (json_is_integer(expiration)) {
        acemq_message_set_expiration(message, json_integer_value(expiration));
    }
    if (json_is_true(json_object_get(wanted, "transient"))) {
        acemq_message_set_transient(message);
    }
}

static void set_texts(acemq_message *message, const json_t *wanted)
{
    static const struct {
        const char *name;
        void (*set)(acemq_message *message, const char *text);
    } all[] = {
        {"id", acemq_message_set_id},
        {"type", acemq_message_set_type},
        {"correlation", acemq_message_set_correlation},
        {"causation", acemq_message_set_causation},
        {"origin", acemq_message_set_origin},
        {"contentType", acemq_message_set_content_type},
        {"replyTo", acemq_message_set_reply_to},
    };
    for (size_t index = 0; index < sizeof all / sizeof all[0]; index++) {
        const char *text = json_string_value(json_object_get(wanted, all[index].name));
        if (text) {
            all[index].set(message, text);
        }
    }
}

/* The first member of a message that this driver has no call for. */
static const char *stranger_in(const json_t *wanted)
{
    static const char known[] = " id type version correlation causation origin contentType headers "
                                "replyTo priority expiration transient body bodyBase64 ";
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)wanted, name, value)
    {
        const char *found = strstr(known, name);
        if (!found || found[-1] != ' ' || found[strlen(name)] != ' ') {
            return name;
        }
    }
    return NULL;
}

acemq_message *message_of(driver_request *request)
{
    const json_t *wanted = member_of(request, "message");
    size_t length = 0;
    if (stranger_in(wanted)) {
        unsupported(request, "a message has no such member here");
        return NULL;
    }
    acemq_table *headers = table_of(request, json_object_get(wanted, "headers"));
    if (!headers) {
        return NULL;
    }
    void *body = body_of(wanted, &length);
    acemq_message *message = acemq_message_new(body, length);
    set_texts(message, wanted);
    set_numbers(message, wanted);
    acemq_message_set_headers(message, headers);
    acemq_table_free(headers);
    free(body);
    return message;
}
