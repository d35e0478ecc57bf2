/*
 * A header table that owns what is in it. Entries keep their order; a name stands at most once
 * unless a table that was copied had it twice. Not thread-safe.
 *
 * The memory of a replaced or removed value is given back with the table, not before.
 */
#ifndef ACE_CONTRACT_TABLE_H
#define ACE_CONTRACT_TABLE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#include <amqp.h>

typedef struct acemq_table ace_table;

struct acemq_table {
    amqp_table_t table; /* read it freely; it moves with every change */
    int capacity;
    ace_arena arena;          /* also for strings that live as long as the table */
    bool refuses_reserved;    /* setting an "x-acemq-" name is ACE_RESERVED_HEADER */
    bool borrows;             /* names and values are pointed to from here on, and not copied */
    amqp_table_entry_t *lent; /* by ace_table_lend() */
};

#define ACE_TABLE_INIT                                                                             \
    {                                                                                              \
        {0, NULL}, 0, ACE_ARENA_INIT, false, false, NULL                                           \
    }

ace_table *ace_table_new(void);           /* NULL: no memory */
void ace_table_delete(ace_table *table);  /* of ace_table_new(); NULL is fine */
void ace_table_release(ace_table *table); /* of a table by value; leaves it empty and usable */
void ace_table_clear(ace_table *table);   /* no entries; keeps some memory */
/* Room of the caller's for the first entries of a table that has none yet; it must outlive the
 * table's release. */
void ace_table_lend(ace_table *table, amqp_table_entry_t *entries, int count);
/* Room for that many entries in all, taken at once. */
ace_code ace_table_reserve(ace_table *table, int entries, ace_error **error);

/* The value under `name`, the first if there are several; NULL. Borrowed until the next change. */
const amqp_field_value_t *ace_table_find(const amqp_table_t *table, const char *name);
const amqp_field_value_t *ace_table_find_bytes(const amqp_table_t *table, ace_bytes name);
bool ace_table_remove(ace_table *table, const char *name); /* all of that name; was there one */
bool ace_table_remove_bytes(ace_table *table, ace_bytes name);

/*
 * Setters copy name and value, and replace in place or append. They refuse, naming the header, and
 * leave the table as it was: an empty name or one over 255 bytes (ACE_LIMIT), NaN, infinity and
 * unknown kinds (ACE_INVALID_ARGUMENT), uint64 above 2^63 - 1 (ACE_LIMIT), nesting over
 * ACE_TABLE_DEPTH_MAX (ACE_LIMIT), a reserved name where the table refuses it
 * (ACE_RESERVED_HEADER).
 */
ace_code ace_table_set(ace_table *table, ace_bytes name, const amqp_field_value_t *value,
                       ace_error **error);
ace_code ace_table_set_bool(ace_table *table, const char *name, bool value, ace_error **error);
ace_code ace_table_set_int8(ace_table *table, const char *name, int8_t value, ace_error **error);
ace_code ace_table_set_uint8(ace_table *table, const char *name, uint8_t value, ace_error **error);
ace_code ace_table_set_int16(ace_table *table, const char *name, int16_t value, ace_error **error);
ace_code ace_table_set_uint16(ace_table *table, const char *name, uint16_t value,
                              ace_error **error);
ace_code ace_table_set_int32(ace_table *table, const char *name, int32_t value, ace_error **error);
ace_code ace_table_set_uint32(ace_table *table, const char *name, uint32_t value,
                              ace_error **error);
ace_code ace_table_set_int64(ace_table *table, const char *name, int64_t value, ace_error **error);
ace_code ace_table_set_uint64(ace_table *table, const char *name, uint64_t value,
                              ace_error **error);
ace_code ace_table_set_float(ace_table *table, const char *name, float value, ace_error **error);
ace_code ace_table_set_double(ace_table *table, const char *name, double value, ace_error **error);
/* The number value / 10^decimals. */
ace_code ace_table_set_decimal(ace_table *table, const char *name, uint8_t decimals, uint32_t value,
                               ace_error **error);
ace_code ace_table_set_text(ace_table *table, const char *name, const char *value,
                            ace_error **error);
ace_code ace_table_set_longstr(ace_table *table, const char *name, ace_bytes value,
                               ace_error **error);
ace_code ace_table_set_bytes(ace_table *table, const char *name, ace_bytes value,
                             ace_error **error);
ace_code ace_table_set_timestamp(ace_table *table, const char *name, uint64_t seconds,
                                 ace_error **error);
ace_code ace_table_set_void(ace_table *table, const char *name, ace_error **error);
ace_code ace_table_set_table(ace_table *table, const char *name, const amqp_table_t *value,
                             ace_error **error);
ace_code ace_table_set_array(ace_table *table, const char *name, const amqp_array_t *value,
                             ace_error **error);

/* Appends every entry of `from` by ace_table_set(). On failure the entries before the bad one
 * stand. */
ace_code ace_table_set_all(ace_table *table, const amqp_table_t *from, ace_error **error);

/* Replaces the contents of `table` by those of an arrived one, order and doubles kept, uint64
 * turned into int64 at every depth, as the broker does itself. Does not look at reserved names. */
ace_code ace_table_copy_arrived(ace_table *table, const amqp_table_t *from, ace_error **error);

/* A deep copy whose every byte is the arena's. NULL strings become empty ones. */
ace_code ace_value_copy(ace_arena *arena, const amqp_field_value_t *from, amqp_field_value_t *to,
                        ace_error **error);

/* Same names with same kinds and values, in any order, but those of one name in theirs; floats
 * compare by their bits. */
bool ace_table_equal(const amqp_table_t *a, const amqp_table_t *b);
bool ace_value_equal(const amqp_field_value_t *a, const amqp_field_value_t *b);

/* May this go on the wire: what the setters refuse, reserved and empty names aside. `field` names
 * the table in the error ("headers", "arguments of queue orders"). */
ace_code ace_table_sendable(const char *field, const amqp_table_t *table, ace_error **error);

/* Bytes on the wire, the four of the table's own length included; SIZE_MAX where it cannot be
 * encoded at all. Expects a table that passed the check. */
size_t ace_table_encoded_size(const amqp_table_t *table);
size_t ace_value_encoded_size(const amqp_field_value_t *value); /* its kind byte included */

/* Between the two kinds of view. */
ace_bytes ace_bytes_from_amqp(amqp_bytes_t bytes);
amqp_bytes_t ace_bytes_to_amqp(ace_bytes bytes); /* borrowed; the result must not be written to */

#endif
