/* The rungs of a queue: one broker queue for each wait that is long enough. */
#ifndef ACE_CONTRACT_LADDER_H
#define ACE_CONTRACT_LADDER_H

#include "contract/names.h"
#include "contract/policy.h"
#include "contract/table.h"

typedef struct ace_rung {
    ace_name queue; /* the rung's whole name */
    int64_t wait;   /* its x-message-ttl */
} ace_rung;

typedef struct ace_ladder {
    ace_rung *rungs; /* ascending waits, which is the order they are first reached in */
    size_t count;
} ace_ladder;

#define ACE_LADDER_INIT                                                                            \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

/* The distinct waits that go to the broker, one rung a rendered name. `policy` NULL: none.
 * ACE_LIMIT for more than ACE_RUNGS_MAX rungs or a name over 255 bytes. Whether the broker takes
 * such waits, ace_policy_broker_check() tells. */
ace_code ace_ladder_build(const char *queue, const ace_policy *policy, ace_ladder *ladder,
                          ace_error **error);
void ace_ladder_release(ace_ladder *ladder);

/* The smallest rung with at least this wait, else the longest; NULL for a ladder without rungs. */
const ace_rung *ace_ladder_choose(const ace_ladder *ladder, int64_t wait);

/* Sets the arguments of a rung of `queue`: three, or with `durable` those of a durable rung. */
ace_code ace_rung_arguments(const char *queue, int64_t wait, bool durable, ace_table *arguments,
                            ace_error **error);

#endif
