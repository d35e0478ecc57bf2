/* Tables, values and arrays as the ABI hands them out. A table is the core's; a value is
 * rabbitmq-c's field value; an array is built here. */
#ifndef ACE_DOOR_TABLE_H
#define ACE_DOOR_TABLE_H

#include "acemq/table.h"
#include "base/arena.h"
#include "contract/table.h"

struct acemq_array {
    ace_arena arena;
    amqp_array_t array; /* entries are malloc'd, what is in them is the arena's */
    int capacity;
};

const acemq_value *ace_value_to_public(const amqp_field_value_t *value);
const amqp_field_value_t *ace_value_from_public(const acemq_value *value);

/* A deep copy with kinds and order as they are; without the reserved names when
 * `application_only`. */
ace_code ace_table_duplicate(const amqp_table_t *from, bool application_only, ace_table **copy,
                             ace_error **error);

#endif
