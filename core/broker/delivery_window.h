/* What a channel has delivered and its client has not settled, by delivery tag. */
#ifndef ACE_BROKER_DELIVERY_WINDOW_H
#define ACE_BROKER_DELIVERY_WINDOW_H

#include "broker/state.h"

typedef struct ace_broker_window_slot {
    uint64_t tag;
    ace_broker_entry *entry; /* NULL: settled */
} ace_broker_window_slot;

typedef struct ace_broker_delivery_window {
    ace_broker_window_slot *slots; /* ascending tags */
    size_t start;                  /* the slots before it are settled */
    size_t end;
    size_t capacity;
    size_t outstanding;
} ace_broker_delivery_window;

/* `tag` is above all that were added before. False: no memory, nothing changed. */
bool ace_broker_delivery_window_add(ace_broker_delivery_window *window, uint64_t tag,
                                    ace_broker_entry *entry);
/* Takes the entry out; NULL when the tag is not outstanding. */
ace_broker_entry *ace_broker_delivery_window_take(ace_broker_delivery_window *window, uint64_t tag);
bool ace_broker_delivery_window_has(const ace_broker_delivery_window *window, uint64_t tag);
/* Takes the oldest one whose tag is at most `up_to`; NULL when there is none. */
ace_broker_entry *ace_broker_delivery_window_take_oldest(ace_broker_delivery_window *window,
                                                         uint64_t up_to);
/* The oldest one, which stays; NULL when there is none. */
const ace_broker_entry *ace_broker_delivery_window_oldest(const ace_broker_delivery_window *window);
/* The consumer is gone: what it has stays, and counts for it no longer. */
void ace_broker_delivery_window_forget(ace_broker_delivery_window *window,
                                       const ace_broker_consumer *consumer);
void ace_broker_delivery_window_free(ace_broker_delivery_window *window); /* not the entries */

#endif
