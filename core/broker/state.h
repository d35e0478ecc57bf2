/*
 * The broker's records and how they hang together. All of them belong to the broker's thread.
 *
 * broker > virtual hosts > exchanges and queues, with bindings between them
 *        > sessions (one a connection) > channels > consumers
 * An entry is one message in one queue: ready, returned, or with a channel until it is settled. A
 * message is shared by the entries it was routed to.
 */
#ifndef ACE_BROKER_STATE_H
#define ACE_BROKER_STATE_H

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/timer.h"
#include "broker/arguments.h"
#include "broker/broker.h"
#include "broker/fault.h"
#include "broker/message.h"
#include "broker/name_map.h"
#include "contract/table.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ace_broker_vhost ace_broker_vhost;
typedef struct ace_broker_exchange ace_broker_exchange;
typedef struct ace_broker_binding ace_broker_binding;
typedef struct ace_broker_queue ace_broker_queue;
typedef struct ace_broker_entry ace_broker_entry;
typedef struct ace_broker_consumer ace_broker_consumer;
typedef struct ace_broker_channel ace_broker_channel;
typedef struct ace_broker_session ace_broker_session;
typedef struct ace_broker_core ace_broker_core;

struct ace_broker_vhost {
    ace_link_node link; /* in core->vhosts */
    ace_broker_core *core;
    char *name;
    ace_broker_name_map exchanges;
    ace_broker_name_map queues;
};

typedef enum ace_broker_exchange_kind {
    ACE_EXCHANGE_DIRECT,
    ACE_EXCHANGE_FANOUT,
    ACE_EXCHANGE_TOPIC,
    ACE_EXCHANGE_HEADERS,
} ace_broker_exchange_kind;

struct ace_broker_exchange {
    ace_broker_vhost *vhost;
    ace_bytes name; /* owned */
    ace_broker_exchange_kind kind;
    bool durable;
    bool auto_delete;
    bool internal;
    bool predeclared;
    ace_table arguments;
    ace_bytes alternate; /* in the arguments; data NULL: none */
    ace_list outgoing;   /* bindings by_source */
    ace_list incoming;   /* bindings by_destination: it is their destination */
    ace_broker_name_map
        by_key;       /* the first binding of each key, the others behind it; direct ones only */
    uint64_t visited; /* the routing that came by last */
};

struct ace_broker_binding {
    ace_link_node by_source;
    ace_link_node by_destination;
    ace_broker_binding *same_key; /* the next one of this source and key */
    ace_broker_exchange *source;
    ace_broker_queue *queue; /* the destination is one of these two */
    ace_broker_exchange *exchange;
    ace_bytes key; /* owned */
    ace_table arguments;
};

struct ace_broker_queue {
    ace_broker_vhost *vhost;
    ace_bytes name; /* owned */
    bool durable;
    bool auto_delete;
    ace_broker_session *owner; /* of an exclusive queue; NULL */
    ace_link_node owned;       /* in owner->owned */
    ace_table arguments;
    ace_broker_queue_settings settings;
    ace_list bindings; /* by_destination */

    ace_list ready;    /* entries by priority, then age; on a quorum queue by arrival */
    ace_list returned; /* quorum only: they go before those in `ready` */
    ace_list unsettled;
    ace_list dead; /* at least once: waiting for a way to their dead-letter exchange */
    size_t ready_bytes;
    uint64_t next_sequence;
    ace_broker_entry *last_put_back; /* in `ready`; NULL: where to look for the next one's place */

    ace_list consumers;          /* the next to be served first */
    ace_broker_consumer *active; /* single active consumer */
    ace_broker_consumer *sole;   /* holds the queue exclusively */
    bool had_consumers;

    ace_timer expiry;   /* the head's TTL */
    ace_timer disuse;   /* x-expires */
    ace_timer retry;    /* of `dead` */
    ace_link_node turn; /* in core->turns: something may be deliverable */
    uint64_t visited;   /* the routing that came by last */
};

struct ace_broker_entry {
    ace_link_node place; /* in one of the queue's lists */
    ace_broker_message *message;
    ace_broker_queue *queue;       /* NULL once the queue is gone */
    ace_broker_consumer *consumer; /* that has it; NULL: basic.get, or cancelled since */
    const char *reason;            /* of death, in the queue's `dead` */
    uint64_t sequence;
    int64_t delivered; /* when, monotonic */
    int64_t expiry;    /* monotonic; ACE_NEVER */
    uint32_t delivery_count;
    uint8_t priority;
    bool redelivered;
    bool counted; /* in the channel's count of deliveries to consumers */
};

struct ace_broker_consumer {
    ace_link_node of_queue;
    ace_link_node of_channel;
    ace_broker_channel *channel;
    ace_broker_queue *queue;
    ace_bytes tag; /* owned */
    int64_t priority;
    uint32_t prefetch; /* 0: no limit */
    uint32_t unsettled;
    bool no_ack;
    bool exclusive;
};

struct ace_broker_core {
    ace_broker_limits limits;
    ace_clock *clock;
    ace_log log;
    ace_broker_user *users; /* owned, names and passwords too */
    size_t user_count;
    ace_list vhosts;
    ace_list sessions;
    size_t queue_count;
    size_t exchange_count; /* the predeclared ones not counted */
    size_t binding_count;
    size_t stored_bytes;

    ace_timer_heap queue_timers;   /* on `clock` */
    ace_timer_heap session_timers; /* on the system's clock, in milliseconds */
    int64_t now;                   /* of `clock`, read once a round: a TTL of 0 is one round */
    uint64_t routing;              /* counts routings */

    ace_list turns;   /* queues by turn */
    ace_list deaths;  /* dead letters to be published */
    bool work_failed; /* memory ran out where no client could be told */
};

#endif
