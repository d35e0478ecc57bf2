/* The fields of every method in wire order, and where rabbitmq-c's structs have them: what
 * measuring and checking need, since rabbitmq-c only encodes and decodes. */
#ifndef ACE_WIRE_METHOD_FIELDS_H
#define ACE_WIRE_METHOD_FIELDS_H

#include "base/error.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ace_method_field_kind {
    ACE_FIELD_OCTET,
    ACE_FIELD_SHORT,
    ACE_FIELD_LONG,
    ACE_FIELD_LONG_LONG,
    ACE_FIELD_BIT, /* neighbours share an octet */
    ACE_FIELD_SHORT_TEXT,
    ACE_FIELD_LONG_TEXT,
    ACE_FIELD_TABLE,
} ace_method_field_kind;

typedef struct ace_method_field {
    ace_method_field_kind kind;
    size_t offset; /* in the struct */
    const char *label;
} ace_method_field;

typedef struct ace_method_layout {
    amqp_method_number_t id;
    const char *name; /* "basic.deliver" */
    size_t size;      /* of the struct */
    int count;
    const ace_method_field *fields;
} ace_method_layout;

/* NULL for an unknown method. */
const ace_method_layout *ace_method_layout_of(amqp_method_number_t id);
/* All of them, in the order of their ids. */
const ace_method_layout *ace_method_layouts(size_t *count);

/* Checks that the fields fill the payload exactly, the tables too, and adds up what decoding takes
 * from a pool. Rewrites kinds in tables as ace_table_check() does. `payload` starts with class and
 * method. */
ace_code ace_method_check(uint8_t *payload, size_t length, size_t *decoded, ace_error **error);

/* Decodes a payload that ace_method_check() passed; the method points into it and into the pool. */
ace_code ace_method_decode_checked(uint8_t *payload, size_t length, amqp_pool_t *pool,
                                   amqp_method_t *method, ace_error **error);
/* The same for a method without tables, and those that announce a content have none. `room`,
 * aligned to 8, has what the check added up. */
void ace_method_read(uint8_t *payload, void *room, amqp_method_t *method);

#endif
