/* The properties of class basic in wire order, and checking the raw list of them. */
#ifndef ACE_WIRE_PROPERTY_FIELDS_H
#define ACE_WIRE_PROPERTY_FIELDS_H

#include "base/error.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ace_property_kind {
    ACE_PROPERTY_TEXT,
    ACE_PROPERTY_TABLE,
    ACE_PROPERTY_OCTET,
    ACE_PROPERTY_TIMESTAMP,
} ace_property_kind;

typedef struct ace_property_field {
    ace_property_kind kind;
    amqp_flags_t flag;
    size_t offset; /* in amqp_basic_properties_t */
    const char *label;
} ace_property_field;

#define ACE_PROPERTY_COUNT 14
#define ACE_PROPERTY_FLAGS 0xFFFCu /* all of the flags that class basic has */

extern const ace_property_field ace_property_fields[ACE_PROPERTY_COUNT];

/* That of the first flag, which is taken out of them. There is one, and none is unknown. */
static inline const ace_property_field *ace_property_next(amqp_flags_t *flags)
{
    int first = __builtin_clz(*flags) - 16;
    *flags &= ~(0x8000u >> first);
    return &ace_property_fields[first];
}

#define ACE_CONTENT_HEAD_SIZE 12u /* class, weight and body size, before flags and list */

typedef struct ace_property_shape {
    size_t decoded;      /* what ace_properties_read() takes */
    size_t table_offset; /* of the header table; 0: there is none */
    size_t table_size;
} ace_property_shape;

/* Checks flags and list: that the list fills `length` exactly. On a failure inside the header table
 * the rest of the list is still checked, and `shape->table_size` is not 0 when all but the table is
 * sound. */
ace_code ace_properties_check(uint8_t *data, size_t length, ace_property_shape *shape,
                              ace_error **error);

/* Takes the header table out of a list, in place. Returns the new length. */
size_t ace_properties_strip_table(uint8_t *data, size_t length, const ace_property_shape *shape);

/* The first 12 bytes of a header frame. ACE_PROTOCOL: too short, another class, a weight. */
ace_code ace_content_check_head(const uint8_t *payload, size_t length, uint64_t *body_size,
                                ace_error **error);

#endif
