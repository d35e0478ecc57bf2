/* Events on their way out: what happened inside becomes what the ABI tells. */
#ifndef ACE_DOOR_EVENT_H
#define ACE_DOOR_EVENT_H

#include "acemq/connection.h"
#include "acemq/event.h"
#include "engine/events.h"
#include "engine/link.h"

struct acemq_event {
    acemq_event_kind kind;
    int64_t number;
    int64_t next_try;
    ace_event *event; /* owned; text and error are its own */
};

/* A confirm that interceptors wait for: they are told now, on this thread. */
void ace_event_tell_interceptors(ace_event *event);

/* Takes the event over. NULL: no memory. */
acemq_event *ace_event_to_public(ace_event *event);

/* What a client with these two links is; `failed` links were given up. */
acemq_connection_state ace_state_of_links(ace_link_state publishing, ace_link_state consuming,
                                          bool blocked);

#endif
