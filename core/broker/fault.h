/* Why the broker refuses something: the reply code and text of connection.close and channel.close.
 */
#ifndef ACE_BROKER_FAULT_H
#define ACE_BROKER_FAULT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define ACE_REPLY_TEXT_MAX 255

typedef struct ace_broker_fault {
    uint16_t code; /* 0: none */
    char text[ACE_REPLY_TEXT_MAX + 1];
} ace_broker_fault;

/* For printf's "%.*s": the text of bytes that are not NUL-terminated. */
#define ACE_TEXT(bytes) (int)(bytes).length, (const char *)(bytes).data

/* Sets code and text, "NOT_FOUND - no queue 'x' in vhost '/'": the code's name is put in front, and
 * a text over 255 bytes ends in "..." as RabbitMQ's do. Always false, so that `return
 * ace_broker_refuse(...)` is the whole error path. */
bool ace_broker_refuse(ace_broker_fault *fault, uint16_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The broker ran out of memory: 506. Always false. */
bool ace_broker_refuse_memory(ace_broker_fault *fault);
/* 541 with nothing but the code's name, which is all RabbitMQ says of its own crashes. Always
 * false. */
bool ace_broker_refuse_internal(ace_broker_fault *fault);

/* Whether the code closes the connection (true) or the channel. */
bool ace_broker_fault_is_hard(uint16_t code);

#endif
