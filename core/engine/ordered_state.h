/* Inside an ordered consumer. */
#ifndef ACE_ENGINE_ORDERED_STATE_H
#define ACE_ENGINE_ORDERED_STATE_H

#include "engine/consumer_state.h"
#include "engine/ordered.h"

typedef struct ace_partition {
    ace_ordered *ordered; /* a reference, from its consumer's opening until that is gone */
    int32_t index;
    ace_consumer *consumer; /* a reference; NULL before it is open */

    /* Its handler's thread, of which there is one. */
    char *id; /* of the message whose attempts are counted; NULL */
    int32_t attempts;
    bool handed_back; /* by the holder of a view, or since nobody may have it yet */

    /* Under the ordered consumer's lock. */
    bool halted;
    ace_error *why;
} ace_partition;

struct acemq_ordered {
    ace_handle handle;          /* referenced by its user and each partition */
    ace_connection *connection; /* the consumers' */
    ace_member member;          /* so that its handouts end when the connection closes */
    ace_policy policy;
    bool has_policy;
    ace_order_failure failure;
    ace_handler *handler; /* NULL: pull */
    void *user;
    void (*destructor)(void *user);
    atomic_int handling;  /* partitions whose handlers may still run */
    atomic_bool ready;    /* all are open; before, no handler runs */
    atomic_bool given_up; /* opening failed: `user` is not ours any more */
    ace_inbox handouts;   /* views, for those who pull */

    ace_mutex mutex;
    ace_gaps gaps;

    int32_t count;
    ace_partition partitions[];
};

/* The partition's handler and its reviewer. `user` is the partition. */
ace_outcome ace_partition_handle(ace_delivery *delivery, void *user);
ace_review ace_partition_review(ace_delivery *delivery, ace_happening *what, void *user);
/* On the loop's thread: a gap, which a message that was put back before is not yet. */
void ace_partition_set_aside(ace_delivery *delivery, bool parked, void *user);

#endif
