/* The envelope: what AceMQ says about a message in its headers (section 2). */
#ifndef ACE_CONTRACT_ENVELOPE_H
#define ACE_CONTRACT_ENVELOPE_H

#include "contract/names.h"
#include "contract/table.h"

/* Texts are borrowed from whoever filled it in; an absent one has length 0, since "" is absent. */
typedef struct ace_envelope {
    ace_bytes id;
    ace_bytes type;
    ace_bytes correlation;
    ace_bytes causation;
    ace_bytes origin;
    ace_bytes error;
    ace_bytes claim;
    int32_t version;        /* from 1 */
    int32_t attempt;        /* from 1 */
    int64_t first_seen;     /* epoch ms; 0: unknown */
    const ace_bytes *route; /* the names of the steps; NULL: no route */
    size_t route_length;
    ace_bytes route_id;
    int32_t route_position; /* from 0; meaningful only with a route */
    bool texts_are_known;   /* to be UTF-8, all but the id and the route */
    /* Read only: headers of the application that a replay or a request wrote. */
    int32_t replay_count;
    ace_bytes replayed_from;
    int64_t replayed_at; /* epoch ms, when replayed_at_known */
    ace_bytes reply_to;
    bool replayed_at_known;
    bool id_unstable; /* neither x-acemq-id nor a message-id: new at every delivery */
} ace_envelope;

void ace_envelope_init(ace_envelope *envelope); /* version 1, attempt 1, all else absent */

typedef struct ace_arrival {
    const amqp_table_t *headers; /* NULL: none */
    ace_bytes routing_key;
    ace_bytes message_id; /* the properties; empty: absent */
    ace_bytes reply_to;
    ace_bytes fallback_id; /* a new UUID, used only where there is no id */
} ace_arrival;

/* Never stops at anything malformed. The texts are borrowed from the arrival, the route's array is
 * the arena's. ACE_OUT_OF_MEMORY alone. */
ace_code ace_envelope_read(const ace_arrival *arrival, ace_arena *arena, ace_envelope *envelope,
                           ace_error **error);

/* Rewrites the known x-acemq-* headers in the table's types: those with a value are set, the others
 * removed; all else in `table` stays. An unknown first-seen is written as `now`. The table may
 * refuse reserved names to others, not to this. */
ace_code ace_envelope_write(const ace_envelope *envelope, int64_t now, ace_table *table,
                            ace_error **error);

/* The same for a table that has no x-acemq-* header yet, and that from here on borrows the
 * envelope's texts. ACE_OUT_OF_MEMORY alone. */
ace_code ace_envelope_append(const ace_envelope *envelope, int64_t now, ace_table *table,
                             ace_error **error);

/* Fills in what a publish always writes: id, type (the routing key, else "message"), correlation
 * (the id), first-seen, origin. Borrows the texts. */
void ace_envelope_complete(ace_envelope *envelope, ace_bytes routing_key, ace_bytes new_id,
                           ace_bytes origin, int64_t now);

/* May a publish send this: UTF-8, the id within 255 bytes, version and attempt from 1, route names
 * not blank, trimmed and without commas. Names the field. */
ace_code ace_envelope_check(const ace_envelope *envelope, ace_error **error);

/* A message that the handling of `parent` causes: `new_id`, the correlation carried on, causation =
 * the parent's id, attempt 1. Borrows the texts. */
void ace_envelope_causing(const ace_envelope *parent, ace_bytes new_id, ace_envelope *child);

/* The application's headers, one a call, reserved ones left out: start with *position 0; NULL at
 * the end. `headers` may be NULL. */
const amqp_table_entry_t *ace_application_header_next(const amqp_table_t *headers, int *position);

#endif
