/*
 * A look at a table's raw bytes before rabbitmq-c decodes them, since it recurses as deep as the
 * bytes say, believes every length, and stops at kinds of other clients.
 */
#ifndef ACE_WIRE_TABLE_CHECK_H
#define ACE_WIRE_TABLE_CHECK_H

#include "base/error.h"
#include "contract/limits.h"

#include <stddef.h>
#include <stdint.h>

#define ACE_TABLE_ENTRIES_MAX 65536 /* entries of all tables and arrays together */

typedef struct ace_table_shape {
    size_t bytes;   /* on the wire, with the four bytes of the length */
    size_t decoded; /* what rabbitmq-c will take from a pool to decode it */
    size_t entries; /* on all levels */
    int depth;
} ace_table_shape;

/* Checks the table that starts at `data` (its four length bytes), within `length` bytes. Works
 * without recursion. Two kinds are rewritten in place: 'U', an int16 of other clients, to
 * rabbitmq-c's 's', and 'L', which RabbitMQ reads as a signed integer, to 'l'. `what` names the
 * table in errors: "headers". ACE_PROTOCOL: lengths that do not add up, an unknown kind, a NaN or
 * an infinite float (which no broker passes on). ACE_LIMIT: too deep, too many entries. In both
 * cases `shape->bytes` is the table's size when the outermost length fits into `length`, so that a
 * caller can step over the table, and 0 when it does not. */
ace_code ace_table_check(uint8_t *data, size_t length, const char *what, ace_table_shape *shape,
                         ace_error **error);

#endif
