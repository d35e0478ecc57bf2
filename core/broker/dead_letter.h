/* Dead letters: where a message goes that was rejected, expired, crowded out or delivered too
 * often. */
#ifndef ACE_BROKER_DEAD_LETTER_H
#define ACE_BROKER_DEAD_LETTER_H

#include "broker/state.h"

#define ACE_DEATH_REJECTED       "rejected"
#define ACE_DEATH_EXPIRED        "expired"
#define ACE_DEATH_MAXLEN         "maxlen"
#define ACE_DEATH_DELIVERY_LIMIT "delivery_limit"

/* An entry that is on no list dies: it goes where the queue's arguments say, or nowhere. Taken
 * over. The reason is one of the above. */
void ace_broker_dead_letter_entry(ace_broker_entry *entry, const char *reason);
/* The same for a message that never got into the queue. */
void ace_broker_dead_letter_send(ace_broker_queue *queue, ace_broker_message *message,
                                 const char *reason);

/* Publishes the death that has waited longest. False: there is none. */
bool ace_broker_dead_letter_publish_next(ace_broker_core *core);
/* Tries again those of an at-least-once queue that no queue took. */
void ace_broker_dead_letters_retry(ace_broker_queue *queue);

void ace_broker_dead_letters_free(ace_broker_core *core); /* those that wait, unpublished */

#endif
