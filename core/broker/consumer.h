/* Consumers, and who of them gets the next message. */
#ifndef ACE_BROKER_CONSUMER_H
#define ACE_BROKER_CONSUMER_H

#include "broker/state.h"

typedef struct ace_broker_consumer_declaration {
    ace_broker_channel *channel;
    ace_broker_queue *queue;
    ace_bytes tag;
    int64_t priority;
    bool no_ack;
    bool exclusive;
} ace_broker_consumer_declaration;

/* 403 when the queue is in exclusive use, or cannot be. The prefetch is the channel's of now. */
ace_broker_consumer *ace_broker_consumer_add(const ace_broker_consumer_declaration *declaration,
                                             ace_broker_fault *fault);
/* The last one of an auto-delete queue takes the queue along. */
void ace_broker_consumer_remove(ace_broker_consumer *consumer);
/* Removes the queue's consumers and tells their clients. */
void ace_broker_consumers_cancel_all(ace_broker_queue *queue);

/* Hands out what is ready, in turn, to those with room for it. */
void ace_broker_consumers_serve(ace_broker_queue *queue);
/* An entry leaves the hands of its receiver. */
void ace_broker_consumer_settled(ace_broker_entry *entry);

#endif
