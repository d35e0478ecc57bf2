/* What the sources of the header table share among themselves; nobody else includes it. */
#ifndef ACE_CONTRACT_TABLE_RULES_H
#define ACE_CONTRACT_TABLE_RULES_H

#include "contract/table.h"

/* The setters' rules for one value that stands `depth` levels deep, its table counted. */
ace_code ace_value_sendable(const char *field, ace_bytes name, const amqp_field_value_t *value,
                            int depth, ace_error **error);

/* Turns uint64 into int64, bit for bit, at every depth. The value must be ours to write. */
void ace_value_make_signed(amqp_field_value_t *value);

/* Appends a deep copy without looking at the name or the value. */
ace_code ace_table_append_unchecked(ace_table *table, ace_bytes name,
                                    const amqp_field_value_t *value, ace_error **error);

#endif
