/*
 * What stands before a body: the header table and the properties. Everything is measured here,
 * before a byte is sent, since the codec notices too late or not at all.
 */
#ifndef ACE_CONTRACT_PROPERTIES_H
#define ACE_CONTRACT_PROPERTIES_H

#include "contract/table.h"

#include <amqp_framing.h>

/* One message's head. The strings of `properties` are in the table's arena, and properties.headers
 * is the table, so that the whole is one piece and outlives what it was made from. May be moved by
 * assignment, not copied. */
typedef struct ace_head {
    ace_table headers;
    amqp_basic_properties_t properties;
} ace_head;

#define ACE_HEAD_INIT                                                                              \
    {                                                                                              \
        ACE_TABLE_INIT,                                                                            \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

void ace_head_release(ace_head *head); /* leaves an empty one */

/* A deep copy of what arrived, headers as by ace_table_copy_arrived(). */
ace_code ace_head_copy(ace_head *head, const amqp_basic_properties_t *from, ace_error **error);

/* Points properties.headers at the table again, after it changed; sets its flag. */
void ace_head_seal(ace_head *head);

/* Bytes of the property flags and list, headers included. */
size_t ace_properties_encoded_size(const amqp_basic_properties_t *properties);

/* The payload a content-header frame has room for; SIZE_MAX for frame_max 0 (no limit). */
size_t ace_content_header_room(size_t frame_max);

/* Can this be sent at all: short strings within 255 bytes, headers that pass ace_table_sendable(),
 * and the whole within one frame of `frame_max` bytes (0: no limit). ACE_LIMIT or
 * ACE_INVALID_ARGUMENT with field and limit. */
ace_code ace_properties_sendable(const amqp_basic_properties_t *properties, size_t frame_max,
                                 ace_error **error);
/* Only the last of these. */
ace_code ace_properties_fit(const amqp_basic_properties_t *properties, size_t frame_max,
                            ace_error **error);

#endif
