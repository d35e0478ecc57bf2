/* The options that publish and outbox add share: what a message is made of. */
#ifndef CLI_MESSAGE_OPTIONS_H
#define CLI_MESSAGE_OPTIONS_H

#include "command.h"

#include <acemq/message.h>

typedef struct cli_message_options {
    const char *type;
    const char *id;
    const char *correlation;
    const char *content_type;
    cli_list headers; /* NAME=VALUE each */
} cli_message_options;

/* False, and said why, when a header is not NAME=VALUE. */
bool cli_message_check(const cli_call *call, const cli_message_options *options);
/* NULL when memory is gone; what is wrong with it is the message's error. */
acemq_message *cli_message_make(const cli_message_options *options, const void *body,
                                size_t length);

#endif
