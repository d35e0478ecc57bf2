/* Queues: what lies in them, who takes it out, and when it dies. Nothing here delivers or publishes
 * at once: a queue that something happened to gets a turn (ace_broker_turns_run()), so that no
 * chain of queues recurses. */
#ifndef ACE_BROKER_QUEUE_H
#define ACE_BROKER_QUEUE_H

#include "broker/state.h"

typedef struct ace_broker_queue_declaration {
    ace_bytes name;
    bool durable;
    bool auto_delete;
    ace_broker_session *owner; /* NULL: not exclusive */
    const amqp_table_t *arguments;
} ace_broker_queue_declaration;

ace_broker_queue *ace_broker_queue_find(const ace_broker_vhost *vhost, ace_bytes name);
/* Checks the arguments and what the kind of queue allows. NULL: refused. */
ace_broker_queue *ace_broker_queue_make(ace_broker_vhost *vhost,
                                        const ace_broker_queue_declaration *declaration,
                                        ace_broker_fault *fault);
/* Consumers are told (basic.cancel) where their clients asked for it; what was unsettled is gone.
 */
void ace_broker_queue_delete(ace_broker_queue *queue);

size_t ace_broker_queue_length(const ace_broker_queue *queue); /* ready to be delivered */
size_t ace_broker_queue_purge(ace_broker_queue *queue);        /* how many were ready */
void ace_broker_queue_used(ace_broker_queue *queue);           /* starts x-expires again */
const char *ace_broker_queue_text(const ace_broker_queue *queue, char *text);

/* Gives the queue a turn. */
void ace_broker_queue_wake(ace_broker_queue *queue);
/* Works until no queue has anything to do and no dead letter waits. After every method and timer.
 */
void ace_broker_turns_run(ace_broker_core *core);

typedef enum ace_broker_push {
    ACE_PUSH_DONE,
    ACE_PUSH_REJECTED, /* x-overflow */
    ACE_PUSH_FAILED,   /* no memory */
} ace_broker_push;

ace_broker_push ace_broker_queue_push(ace_broker_queue *queue, ace_broker_message *message);
/* Takes the head for a client, into `unsettled`. NULL: empty, apart from what has expired. */
ace_broker_entry *ace_broker_queue_take(ace_broker_queue *queue);

typedef enum ace_broker_put_back {
    ACE_REQUEUED, /* by its receiver */
    ACE_RETURNED, /* because its receiver is gone */
} ace_broker_put_back;

/* An unsettled entry goes back, or dies of its delivery limit. Where the queue is gone it is freed.
 */
void ace_broker_entry_put_back(ace_broker_entry *entry, ace_broker_put_back how);
void ace_broker_entry_discard(ace_broker_entry *entry); /* rejected: dies */
void ace_broker_entry_done(ace_broker_entry *entry);    /* acknowledged: freed */

/* An entry that is on no list is freed. */
void ace_broker_entry_free(ace_broker_entry *entry);

/* --- between the files of the queue --- */

ace_broker_entry *ace_broker_queue_head(const ace_broker_queue *queue);
void ace_broker_queue_detach(
    ace_broker_entry *entry); /* of a ready one: off its list, and not counted */
void ace_broker_queue_drop_expired(ace_broker_queue *queue,
                                   int64_t now); /* heads that expired at or before */
void ace_broker_queue_drop_overflow(ace_broker_queue *queue);
void ace_broker_queue_set_expiry_timer(ace_broker_queue *queue);

#endif
