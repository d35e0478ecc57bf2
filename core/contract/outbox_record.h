/* What an outbox keeps of a message, and the message made of it again (section 10). */
#ifndef ACE_CONTRACT_OUTBOX_RECORD_H
#define ACE_CONTRACT_OUTBOX_RECORD_H

#include "contract/envelope.h"
#include "contract/limits.h"
#include "contract/properties.h"

#define ACE_OUTBOX_ID_MAX 64 /* characters */

typedef struct ace_outbox_record { /* borrowed */
    ace_bytes id;
    ace_bytes exchange;
    ace_bytes routing_key;
    ace_bytes content_type; /* empty: none */
    ace_bytes headers;      /* a JSON object: the envelope's and the application's */
    ace_bytes body;
    int64_t created; /* microseconds since 1970; rows are ordered by it, then by the id's bytes */
} ace_outbox_record;

/* The JSON of the envelope, which is complete, and the application's headers (NULL: none); the
 * caller frees it. ACE_INVALID_ARGUMENT, naming the header: bytes, tables, timestamps, decimals and
 * texts that are no UTF-8 or hold a NUL, which plain JSON cannot give back. */
ace_code ace_outbox_headers_write(const ace_envelope *envelope, const amqp_table_t *headers,
                                  int64_t now, char **json, ace_error **error);

/* May it be enqueued: the id of 1 to 64 characters, names within 255 bytes, texts that are UTF-8
 * without NUL. */
ace_code ace_outbox_record_check(const ace_outbox_record *record, ace_error **error);

/* Whether the body is kept as it is ("utf-8"), or as base64. */
bool ace_outbox_body_is_text(ace_bytes body);

/* What a relay publishes. `head` points into the record and the rest of this. */
typedef struct ace_outbox_restored {
    ace_arena arena;
    ace_table arrived;
    ace_envelope envelope;
    ace_head head;
    char exchange[ACE_NAME_MAX + 1];
    char routing_key[ACE_NAME_MAX + 1];
} ace_outbox_restored;

/* Restores the types of section 2 by the headers' names; what the headers leave out comes from the
 * record: its id, and when it was made as first-seen. ACE_PARSE (headers that do not read),
 * ACE_LIMIT and ACE_INVALID_ARGUMENT (what cannot be published), ACE_OUT_OF_MEMORY. Release it in
 * any case. */
ace_code ace_outbox_restore(const ace_outbox_record *record, ace_outbox_restored *restored,
                            ace_error **error);
void ace_outbox_restored_release(ace_outbox_restored *restored);

#endif
