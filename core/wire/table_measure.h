/* What a decoded table takes on the wire, and whether it may go there. */
#ifndef ACE_WIRE_TABLE_MEASURE_H
#define ACE_WIRE_TABLE_MEASURE_H

#include "base/error.h"
#include "contract/limits.h"

#include <amqp.h>
#include <stddef.h>

/* The size with the four length bytes. `what` names the table in errors, which name the entry too:
 * "headers: the name of entry 3 has 256 bytes, the limit is 255".
 * ACE_LIMIT: a name over 255 bytes, an unsigned integer over 2^63 - 1, deeper than
 * ACE_TABLE_DEPTH_MAX, more than ACE_TABLE_ENTRIES_MAX entries, a size over 2^31 - 1.
 * ACE_INVALID_ARGUMENT: a NaN or an infinite float, an unknown kind (RabbitMQ closes the connection
 * over them), a NULL where bytes are claimed, a negative count. */
ace_code ace_table_measure(const amqp_table_t *table, const char *what, size_t *size,
                           ace_error **error);

/* The same for one value: its kind octet and what follows. `depth` is the number of tables around
 * it. */
ace_code ace_table_measure_value(const amqp_field_value_t *value, const char *what, int depth,
                                 size_t *size, ace_error **error);

#endif
