/* Building the small tables that go with methods: queue arguments, client properties. */
#ifndef ACE_WIRE_ARGUMENTS_H
#define ACE_WIRE_ARGUMENTS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#include <amqp.h>
#include <stdbool.h>
#include <stdint.h>

/* Everything, names and texts included, is copied into the arena, which must outlive the table. The
 * first failure (no memory) is kept, later calls do nothing, and ace_arguments_table() reports it.
 */
typedef struct ace_arguments {
    ace_arena *arena;
    amqp_table_t table;
    int capacity;
    bool failed;
} ace_arguments;

void ace_arguments_init(ace_arguments *arguments, ace_arena *arena);
void ace_arguments_add_text(ace_arguments *arguments, const char *name, const char *text);
void ace_arguments_add_bytes(ace_arguments *arguments, const char *name,
                             ace_bytes text); /* kind 'S' */
void ace_arguments_add_bool(ace_arguments *arguments, const char *name, bool value);
void ace_arguments_add_int32(ace_arguments *arguments, const char *name, int32_t value);
void ace_arguments_add_int64(ace_arguments *arguments, const char *name, int64_t value);
void ace_arguments_add_table(ace_arguments *arguments, const char *name,
                             const amqp_table_t *table); /* not copied */
/* *table points into the arena. */
ace_code ace_arguments_table(const ace_arguments *arguments, amqp_table_t *table,
                             ace_error **error);

/* Whether `name` is in the table; the value is borrowed from it. NULL when it is not. */
const amqp_field_value_t *ace_arguments_find(const amqp_table_t *table, const char *name);
/* The text of a string value ('S' or 'x'); empty with NULL data when it is missing or another kind.
 */
ace_bytes ace_arguments_text(const amqp_table_t *table, const char *name);

/* What a client says about itself in connection.start-ok. The capabilities are those without which
 * a broker keeps things to itself: publisher_confirms, consumer_cancel_notify, connection.blocked,
 * basic.nack, exchange_exchange_bindings, authentication_failure_close. `connection_name` may be
 * NULL. */
ace_code ace_client_properties(ace_arena *arena, const char *product, const char *version,
                               const char *connection_name, amqp_table_t *table, ace_error **error);

/* Whether the peer's properties (server's or client's) hold the capability. */
bool ace_properties_have_capability(const amqp_table_t *properties, const char *name);

#endif
