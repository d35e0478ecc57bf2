/**
 * @file table.h
 * Header tables and queue arguments, with every type AMQP 0-9-1 has.
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Ownership: what is read from a table or a value is borrowed until the table is changed or freed.
 */
#ifndef ACEMQ_TABLE_H
#define ACEMQ_TABLE_H

#include "error.h"

ACEMQ_BEGIN

/** The type of a value, as it stands on the wire. */
typedef enum acemq_kind {
    ACEMQ_KIND_VOID = 0,
    ACEMQ_KIND_BOOL = 1,
    ACEMQ_KIND_INT8 = 2,
    ACEMQ_KIND_UINT8 = 3,
    ACEMQ_KIND_INT16 = 4,
    ACEMQ_KIND_UINT16 = 5,
    ACEMQ_KIND_INT32 = 6,
    ACEMQ_KIND_UINT32 = 7,
    ACEMQ_KIND_INT64 = 8,
    ACEMQ_KIND_UINT64 = 9,
    ACEMQ_KIND_FLOAT = 10,
    ACEMQ_KIND_DOUBLE = 11,
    ACEMQ_KIND_DECIMAL = 12,
    ACEMQ_KIND_STRING = 13, /**< a long string: bytes that are usually UTF-8 */
    ACEMQ_KIND_BYTES = 14,
    ACEMQ_KIND_ARRAY = 15,
    ACEMQ_KIND_TABLE = 16,
    ACEMQ_KIND_TIMESTAMP = 17 /**< whole seconds since 1970 */
} acemq_kind;

/** A table: names and values in their order. Not thread-safe while it is changed; any thread may
 * read one that nobody changes. Owned by whoever made it, freed with acemq_table_free(). */
typedef struct acemq_table acemq_table;
/** A value inside a table or an array; borrowed until the table it came from is changed or freed.
 * Any thread may read it meanwhile. */
typedef struct acemq_value acemq_value;
/** An array being built. One thread at a time. Owned, freed with acemq_array_free(). */
typedef struct acemq_array acemq_array;

/** NULL when memory is gone. */
ACEMQ_API acemq_table *acemq_table_new(void);
/** Frees it, with what was read from it. NULL is fine. */
ACEMQ_API void acemq_table_free(acemq_table *table);
/** A deep copy; owned. Errors: ACEMQ_E_OUT_OF_MEMORY, ACEMQ_E_INVALID_ARGUMENT. */
ACEMQ_API acemq_status acemq_table_copy(const acemq_table *table, acemq_table **copy,
                                        acemq_error **error);

/*
 * Setting. A name that is there already is replaced. Names and values are copied. Errors:
 * ACEMQ_E_LIMIT for a name that is empty or over 255 bytes (section 1), an unsigned integer above
 * 2^63 - 1 (section 11) and tables nested too deep, ACEMQ_E_INVALID_ARGUMENT for a NULL, a name
 * that is not UTF-8, NaN, an infinite float and a number outside its kind, ACEMQ_E_OUT_OF_MEMORY.
 */
/** A long string, `text`. */
ACEMQ_API acemq_status acemq_table_set_string(acemq_table *table, const char *name,
                                              const char *text, acemq_error **error);
/** A long string of any bytes, `text`. */
ACEMQ_API acemq_status acemq_table_set_string_bytes(acemq_table *table, const char *name,
                                                    acemq_bytes text, acemq_error **error);
/** A byte array, `bytes`. */
ACEMQ_API acemq_status acemq_table_set_bytes(acemq_table *table, const char *name,
                                             acemq_bytes bytes, acemq_error **error);
/** An integer of any kind from ACEMQ_KIND_INT8 to ACEMQ_KIND_INT64, uint64 included, whose range is
 * checked. */
ACEMQ_API acemq_status acemq_table_set_integer(acemq_table *table, const char *name,
                                               acemq_kind kind, int64_t number,
                                               acemq_error **error);
/** An int64. */
ACEMQ_API acemq_status acemq_table_set_int64(acemq_table *table, const char *name, int64_t number,
                                             acemq_error **error);
/** True where `value` is not 0. */
ACEMQ_API acemq_status acemq_table_set_bool(acemq_table *table, const char *name, int value,
                                            acemq_error **error);
/** A double, `number`. */
ACEMQ_API acemq_status acemq_table_set_double(acemq_table *table, const char *name, double number,
                                              acemq_error **error);
/** A float, `number`. */
ACEMQ_API acemq_status acemq_table_set_float(acemq_table *table, const char *name, float number,
                                             acemq_error **error);
/** `unscaled` / 10^`decimals`. */
ACEMQ_API acemq_status acemq_table_set_decimal(acemq_table *table, const char *name,
                                               uint8_t decimals, uint32_t unscaled,
                                               acemq_error **error);
/** Whole seconds since 1970. */
ACEMQ_API acemq_status acemq_table_set_timestamp(acemq_table *table, const char *name,
                                                 int64_t seconds, acemq_error **error);
/** No value. */
ACEMQ_API acemq_status acemq_table_set_void(acemq_table *table, const char *name,
                                            acemq_error **error);
/** A table inside this one: a copy of `inner`. */
ACEMQ_API acemq_status acemq_table_set_table(acemq_table *table, const char *name,
                                             const acemq_table *inner, acemq_error **error);
/** An array: a copy of `inner`. */
ACEMQ_API acemq_status acemq_table_set_array(acemq_table *table, const char *name,
                                             const acemq_array *inner, acemq_error **error);
/** A value of another table, or of an array, with its kind. */
ACEMQ_API acemq_status acemq_table_set_value(acemq_table *table, const char *name,
                                             const acemq_value *value, acemq_error **error);
/** Fine when it is not there. */
ACEMQ_API void acemq_table_remove(acemq_table *table, const char *name);

/** NULL when memory is gone. An array is built by appending values that stand in a table. */
ACEMQ_API acemq_array *acemq_array_new(void);
/** Frees it; NULL is fine. */
ACEMQ_API void acemq_array_free(acemq_array *array);
/** Appends a copy of `value`. Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_OUT_OF_MEMORY. */
ACEMQ_API acemq_status acemq_array_append(acemq_array *array, const acemq_value *value,
                                          acemq_error **error);

/**
 * Reads a table from a JSON object: a plain integer is an int64, a fraction a double, a string a
 * long string; `{"type": T, "value": V}` is of the AMQP type T, as `acemq envelope` has it.
 * Reserved names and a uint64 of the whole range are taken, as they may arrive; publishing refuses
 * both.
 * @param table owned
 * @param json  UTF-8, not ended by a NUL
 * Errors: ACEMQ_E_PARSE with the position or the path of the member, ACEMQ_E_LIMIT,
 * ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_table_parse_json(const char *json, size_t length, acemq_table **table,
                                              acemq_error **error);
/**
 * Writes a table as a JSON object, of which acemq_table_parse_json() makes the same table.
 * @param typed 1: every value of the outermost level has the object form; 0: only where plain JSON
 *              would lose the type
 * @param json  owned, freed with acemq_free()
 * Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_table_format_json(const acemq_table *table, int typed, char **json,
                                               acemq_error **error);

/* Reading. */
/** How many entries there are; 0 for NULL. */
ACEMQ_API size_t acemq_table_count(const acemq_table *table);
/** The name and the value at `index`, in order; NULL past the end. Borrowed until the table
 * changes. Names that hold a NUL are cut there. */
ACEMQ_API const char *acemq_table_name(const acemq_table *table, size_t index);
/** The value at `index`, likewise. Borrowed until the table changes. */
ACEMQ_API const acemq_value *acemq_table_at(const acemq_table *table, size_t index);
/**
 * NULL when there is none.
 * @param name of the entry
 */
ACEMQ_API const acemq_value *acemq_table_get(const acemq_table *table, const char *name);

/** What it is; ACEMQ_KIND_VOID for NULL. */
ACEMQ_API acemq_kind acemq_value_kind(const acemq_value *value);
/** 1 and the number for the integer kinds, a timestamp and a bool; else 0. A uint64 above 2^63 - 1
 * answers 0. */
ACEMQ_API int acemq_value_integer(const acemq_value *value, int64_t *number);
/**
 * The whole range of ACEMQ_KIND_UINT64; else as acemq_value_integer(), refusing negative numbers.
 * @param number left alone for 0
 */
ACEMQ_API int acemq_value_unsigned(const acemq_value *value, uint64_t *number);
/** 1 and the number for float and double; else 0. */
ACEMQ_API int acemq_value_double(const acemq_value *value, double *number);
/** 1 and `unscaled` / 10^`decimals` for a decimal; else 0. */
ACEMQ_API int acemq_value_decimal(const acemq_value *value, uint8_t *decimals, uint32_t *unscaled);
/** 1 and a borrowed view for strings and bytes; else 0. */
ACEMQ_API int acemq_value_bytes(const acemq_value *value, acemq_bytes *bytes);
/** The number of members of a table or an array; 0 for anything else. */
ACEMQ_API size_t acemq_value_count(const acemq_value *value);
/** A member of a table or an array; its name is copied to `name` (up to 255 bytes and a NUL) when
 * that is not NULL, "" in an array. NULL past the end. */
ACEMQ_API const acemq_value *acemq_value_at(const acemq_value *value, size_t index, char name[256]);

ACEMQ_END

#endif
