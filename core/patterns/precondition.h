/* What a broker's 406 on a declaration tells: RabbitMQ's words, read. It names one argument, with
 * both values. */
#ifndef ACE_PATTERNS_PRECONDITION_H
#define ACE_PATTERNS_PRECONDITION_H

#include "base/buffer.h"

#include <stdbool.h>

/* All borrowed from the text that was read. A value is without its quotes and its type; "none"
 * where the queue or the declaration does not have the argument. */
typedef struct ace_precondition {
    ace_bytes argument;
    ace_bytes ours;
    ace_bytes theirs;
    ace_bytes their_type; /* RabbitMQ's name of it, "longstr"; empty where the text has none */
} ace_precondition;

/* False where the text is none of those: `inequivalent arg 'NAME' for …: received OURS but current
 * is THEIRS`. */
bool ace_precondition_read(const char *text, ace_precondition *out);

#endif
