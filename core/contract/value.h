/* Reading header values of others, tolerantly (section 2). Nothing here fails: it reads or it does
 * not. */
#ifndef ACE_CONTRACT_VALUE_H
#define ACE_CONTRACT_VALUE_H

#include "base/buffer.h"

#include <amqp.h>

/* An integer of any AMQP width, a whole float, or a decimal string (long string or bytes) with
 * spaces around it, if it is within [minimum, maximum]. `value` may be NULL. */
bool ace_value_integer(const amqp_field_value_t *value, int64_t minimum, int64_t maximum,
                       int64_t *out);

/* A long string or bytes, if it is UTF-8 and not empty; *out is borrowed from the value. */
bool ace_value_text(const amqp_field_value_t *value, ace_bytes *out);

/* acemq-replayed-at: an integer or decimal string is epoch milliseconds, else RFC 3339 (section 3).
 */
bool ace_value_replayed_at(const amqp_field_value_t *value, int64_t *epoch_milliseconds);

#endif
