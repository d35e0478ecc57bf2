/* The statement that writes a record into the outbox's table, for connections that are not ours. */
#ifndef ACE_STORE_OUTBOX_STATEMENT_H
#define ACE_STORE_OUTBOX_STATEMENT_H

#include "store/outbox.h"

#define ACE_OUTBOX_PARAMETERS 8

/* How parameters are named in the text; the numbers are those of the public header. */
typedef enum ace_placeholder {
    ACE_PLACEHOLDER_DOLLAR = 0,   /* $1, $2 */
    ACE_PLACEHOLDER_QUESTION = 1, /* ? */
    ACE_PLACEHOLDER_PERCENT = 2,  /* %s */
} ace_placeholder;

typedef struct ace_outbox_statement {
    char *text;
    char *values[ACE_OUTBOX_PARAMETERS]; /* all are text */
} ace_outbox_statement;

/* `or_nothing`: an id that is there already changes nothing, instead of being an error of the
 * server. ACE_INVALID_ARGUMENT (the table's name), ACE_OUT_OF_MEMORY. */
ace_code ace_outbox_statement_make(const char *table, ace_placeholder placeholder, bool or_nothing,
                                   const ace_outbox_record *record, ace_outbox_statement *statement,
                                   ace_error **error);
void ace_outbox_statement_clear(ace_outbox_statement *statement);

#endif
