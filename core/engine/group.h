/*
 * A group: n receivers of one queue that share one subscription, so that none waits for one member
 * while another is free (section 7 of the contract). With a handler, n of its calls run at once, on
 * threads of the library; without, n threads pull. Number of members and prefetch change while it
 * runs.
 *
 * Thread-safe, and fine from one of its handlers where nothing else is said; never from a loop's
 * thread. Deadlines as in consumer.h.
 */
#ifndef ACE_ENGINE_GROUP_H
#define ACE_ENGINE_GROUP_H

#include "base/handle.h"
#include "engine/consumer.h"

#define ACE_GROUP_MAGIC     ACE_MAGIC('G', 'R', 'U', 'P')
#define ACE_MEMBERS_DEFAULT 2

typedef struct acemq_group ace_group;

/* `options.members` has the number of members, 1 to ACE_MEMBERS_MOST; `prefetch` is each member's.
 * `budget` is the milliseconds that closing, and scaling down, wait for handlers. Errors as of
 * ace_consumer_open(), ACE_LIMIT for the members. */
ace_code ace_group_open(ace_connection *connection, const ace_consumer_options *options,
                        int64_t budget, int64_t deadline, ace_cancel *cancel, ace_group **group,
                        ace_error **error);

/* What follows is the consumer's, see there. */
ace_consumer *ace_group_consumer(const ace_group *group);

/* Within the budget: ACE_TIMEOUT, ACE_CANCELLED (it has the new number all the same). From one of
 * its handlers it does not wait. */
ace_code ace_group_scale(ace_group *group, int64_t members, ace_error **error);

/* Takes no more work, and waits until all in hand is settled; adds to `left`, which may be NULL,
 * what was not. ACE_TIMEOUT, ACE_CANCELLED, ACE_CLOSED, ACE_FROM_HANDLER. */
ace_code ace_group_drain(ace_group *group, int64_t deadline, ace_cancel *cancel, ace_work *left,
                         ace_error **error);

/* Drains within the budget and closes, whatever came of that. From one of its handlers it closes at
 * once, and what handlers hold is settled when they return. ACE_TIMEOUT: something was left.
 * ACE_CLOSED the second time. */
ace_code ace_group_close(ace_group *group, ace_error **error);
/* The caller's last use. Closes without waiting what was not closed. NULL is fine. */
void ace_group_release(ace_group *group);

#endif
