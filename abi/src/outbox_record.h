/* A message of the ABI as an outbox keeps it. */
#ifndef ACE_DOOR_OUTBOX_RECORD_H
#define ACE_DOOR_OUTBOX_RECORD_H

#include "contract/outbox_record.h"
#include "message.h"

typedef struct ace_message_record {
    ace_outbox_record record; /* points into what follows, and into the message */
    char new_id[ACE_UUID_LENGTH + 1];
    char *headers;
} ace_message_record;

/* `created` is the time, in microseconds. The arguments are looked at here. Cleared on failure. */
ace_code ace_message_record_make(const acemq_message *message, const char *exchange,
                                 const char *routing_key, int64_t created, ace_message_record *made,
                                 ace_error **error);
void ace_message_record_clear(ace_message_record *made);

#endif
