#include "message_options.h"

#include "options.h"

#include <stdlib.h>
#include <string.h>

bool cli_message_check(const cli_call *call, const cli_message_options *options)
{
    for (size_t i = 0; i < options->headers.count; i++) {
        const char *header = options->headers.items[i];
        if (strchr(header, '=') == NULL || header[0] == '=') {
            cli_wrong_use(call, "--header must be NAME=VALUE, and not \"%s\"", header);
            return false;
        }
    }
    return true;
}

acemq_message *cli_message_make(const cli_message_options *options, const void *body, size_t length)
{
    acemq_message *message = acemq_message_new(body, length);
    if (message == NULL) {
        return NULL;
    }
    acemq_message_set_content_type(message, options->content_type);
    acemq_message_set_type(message, options->type);
    acemq_message_set_id(message, options->id);
    acemq_message_set_correlation(message, options->correlation);
    for (size_t i = 0; i < options->headers.count; i++) {
        const char *header = options->headers.items[i];
        const char *equals = strchr(header, '=');
        char *name = strndup(header, (size_t)(equals - header));
        if (name == NULL) {
            acemq_message_free(message);
            return NULL;
        }
        acemq_message_set_header(message, name, equals + 1);
        free(name);
    }
    return message;
}
