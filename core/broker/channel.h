/* A channel: its methods, what it publishes and what it has been given. */
#ifndef ACE_BROKER_CHANNEL_H
#define ACE_BROKER_CHANNEL_H

#include "broker/delivery_window.h"
#include "broker/session.h"
#include "wire/assembly.h"
#include "wire/frame.h"

#include <amqp.h>

struct ace_broker_channel {
    ace_link_node confirming; /* in session->confirming: has confirms to send */
    ace_broker_session *session;
    uint16_t number;
    bool closing; /* close is sent; all but the answer is ignored */
    ace_assembly assembly;
    ace_bytes last_queue; /* declared last: what an empty name means; owned, data NULL: none */

    ace_list consumers;
    ace_broker_delivery_window window;
    uint64_t next_delivery;
    ace_timer overdue;        /* the oldest of them has been out too long */
    uint32_t prefetch;        /* for consumers to come */
    uint32_t global_prefetch; /* of all consumers together; 0: no limit */
    size_t counted;           /* what they have */

    bool confirms;
    uint64_t next_publish;   /* the number of the next publish */
    uint64_t confirmed_upto; /* those up to it are told */
    uint64_t confirm_upto;   /* those up to it can be told */
};

/* Opens and closes channels, and hands methods and contents on. */
void ace_broker_channel_take(ace_broker_session *session, const ace_frame *frame);
/* Consumers are removed and what is unsettled goes back; the client is not told. */
void ace_broker_channel_free(ace_broker_channel *channel);
/* Why a method frame could not be decoded: 503, 541 or 501. Always false. */
bool ace_broker_channel_refuse_method(ace_bytes payload, ace_broker_fault *fault);

/* channel.close with the fault; consumers and what is unsettled go at once. The channel lives on
 * until the client has answered. */
void ace_broker_channel_fail(ace_broker_channel *channel, const ace_broker_fault *fault,
                             amqp_method_number_t id);

void ace_broker_channel_send(ace_broker_channel *channel, amqp_method_number_t id,
                             const void *decoded);

/* --- deliveries (delivery.c) --- */

bool ace_broker_channel_can_deliver(const ace_broker_channel *channel);
/* An entry goes to the client to be settled, under this tag. False: no memory, nothing changed. */
bool ace_broker_channel_lend(ace_broker_channel *channel, uint64_t tag, ace_broker_entry *entry);
void ace_broker_channel_overdue(ace_timer *timer); /* fires when one has been out too long */
void ace_broker_channel_deliver(ace_broker_consumer *consumer, ace_broker_entry *entry);
void ace_broker_channel_notify_cancel(ace_broker_channel *channel, ace_bytes tag);
void ace_broker_channel_release_unsettled(
    ace_broker_channel *channel); /* all goes back to its queues */
void ace_broker_channels_wake_queues(ace_broker_session *session);
/* Takes the entry out of the channel's counts; it is out of the window. */
void ace_broker_channel_uncount(ace_broker_channel *channel, ace_broker_entry *entry);

/* --- confirms (confirm.c) --- */

void ace_broker_channel_confirm(ace_broker_channel *channel,
                                uint64_t number); /* with those that come next to it */
void ace_broker_channel_refuse_publish(ace_broker_channel *channel,
                                       uint64_t number); /* basic.nack */
void ace_broker_channel_send_confirms(ace_broker_channel *channel);
void ace_broker_channels_send_confirms(ace_broker_session *session);

/* --- methods, by class --- */

typedef bool ace_broker_method_handler(ace_broker_channel *channel, const void *decoded,
                                       ace_broker_fault *fault);

ace_broker_method_handler ace_broker_exchange_declare_method;
ace_broker_method_handler ace_broker_exchange_delete_method;
ace_broker_method_handler ace_broker_exchange_bind_method;
ace_broker_method_handler ace_broker_exchange_unbind_method;
ace_broker_method_handler ace_broker_queue_declare_method;
ace_broker_method_handler ace_broker_queue_delete_method;
ace_broker_method_handler ace_broker_queue_purge_method;
ace_broker_method_handler ace_broker_queue_bind_method;
ace_broker_method_handler ace_broker_queue_unbind_method;
ace_broker_method_handler ace_broker_basic_qos_method;
ace_broker_method_handler ace_broker_basic_consume_method;
ace_broker_method_handler ace_broker_basic_cancel_method;
ace_broker_method_handler ace_broker_basic_get_method;
ace_broker_method_handler ace_broker_basic_ack_method;
ace_broker_method_handler ace_broker_basic_nack_method;
ace_broker_method_handler ace_broker_basic_reject_method;
ace_broker_method_handler ace_broker_basic_recover_method;
ace_broker_method_handler ace_broker_basic_recover_async_method;
ace_broker_method_handler ace_broker_confirm_select_method;

/* basic.publish with its content, which is taken over. */
bool ace_broker_basic_publish_content(ace_broker_channel *channel, ace_content *content,
                                      ace_broker_fault *fault);

/* --- names in methods --- */

/* The queue's name, or for an empty one that of the channel's last queue (404 without one). */
bool ace_broker_channel_queue_name(const ace_broker_channel *channel, amqp_bytes_t given,
                                   ace_bytes *name, ace_broker_fault *fault);
/* The queue of that name: 404 without one, 405 when it is another connection's own. NULL: refused.
 */
ace_broker_queue *ace_broker_channel_find_queue(const ace_broker_channel *channel, ace_bytes name,
                                                ace_broker_fault *fault);
bool ace_broker_channel_may_use(const ace_broker_channel *channel, const ace_broker_queue *queue,
                                ace_broker_fault *fault);
/* 404 without one. NULL: refused. */
ace_broker_exchange *ace_broker_channel_find_exchange(const ace_broker_channel *channel,
                                                      ace_bytes name, ace_broker_fault *fault);
/* 501 for a short string that is no UTF-8. */
bool ace_broker_name_is_text(amqp_bytes_t name, ace_broker_fault *fault);
/* "amq.gen-" and 22 random letters; `size` at least 40. */
void ace_broker_make_name(const char *prefix, char *name, size_t size);

#endif
