/* What becomes of a delivery: the table of section 6 as one function. */
#ifndef ACE_CONTRACT_SETTLEMENT_H
#define ACE_CONTRACT_SETTLEMENT_H

#include "contract/ladder.h"
#include "contract/policy.h"

typedef enum ace_happening {
    ACE_HAPPENED_ACCEPTED,
    ACE_HAPPENED_FAILED,      /* an ordinary failure */
    ACE_HAPPENED_FATAL,       /* the handler says that retrying cannot help, or rejects it */
    ACE_HAPPENED_PARKED,      /* by the handler */
    ACE_HAPPENED_UNDECODABLE, /* or no codec takes its type */
    ACE_HAPPENED_DUPLICATE,   /* a confirmed claim */
    ACE_HAPPENED_IN_PROGRESS, /* a live claim elsewhere */
    ACE_HAPPENED_STORE_FAILED,
    ACE_HAPPENED_PUT_BACK, /* its hop is not possible */
} ace_happening;

typedef enum ace_settle_action {
    ACE_SETTLE_ACK,
    ACE_SETTLE_RUNG,        /* hop to `rung` */
    ACE_SETTLE_WAIT_HERE,   /* hold it for `delay`, then hop to the own queue */
    ACE_SETTLE_DEAD_LETTER, /* hop to {queue}.dlq */
    ACE_SETTLE_PARK,        /* hop to {queue}.parked */
    ACE_SETTLE_REQUEUE,     /* nack with requeue, after `delay` */
} ace_settle_action;

/* Counters of a consumer that a settlement adds one to. */
enum {
    ACE_COUNT_ACKNOWLEDGED = 1u << 0,
    ACE_COUNT_REJECTED = 1u << 1,
    ACE_COUNT_RETRIED = 1u << 2,
    ACE_COUNT_DEAD_LETTERED = 1u << 3,
    ACE_COUNT_PARKED = 1u << 4,
    ACE_COUNT_DUPLICATES = 1u << 5,
};

typedef struct ace_settlement_case {
    ace_happening what;
    const ace_policy *policy; /* NULL: none, which is one attempt */
    const ace_ladder *ladder; /* of the same policy; may be NULL where the policy has no rungs */
    bool requeue_on_failure;
    int32_t attempt;       /* of the envelope */
    int64_t age;           /* when the handler ended, or ACE_AGE_UNKNOWN */
    ace_bytes reason;      /* empty: "no reason given" */
    uint32_t repeats;      /* store failures, or requeues, in a row before this one */
    double unit;           /* random in [0, 1), for the jitter of a wait here */
    int64_t put_back_wait; /* ms, of a message in progress elsewhere; 0: ACE_IN_PROGRESS_WAIT */
} ace_settlement_case;

typedef struct ace_settlement {
    ace_settle_action action;
    int32_t attempt;      /* to write on the hop */
    int64_t delay;        /* ms, see the action; for a rung its unjittered wait; else 0 */
    const ace_rung *rung; /* ACE_SETTLE_RUNG alone; the ladder's */
    char *error;          /* to write on the hop, NULL: unchanged; owned */
    const char *outcome;  /* static: "acked", "retried", "dead_lettered", "rejected", "parked",
                             "in_progress" */
    const char *where;    /* static: "broker", "consumer" or "requeued" for what counts as a retry
                             in the metric, else NULL */
    unsigned counters;    /* ACE_COUNT_... */
} ace_settlement;

/* ACE_OUT_OF_MEMORY alone. */
ace_code ace_settlement_decide(const ace_settlement_case *happened, ace_settlement *settlement,
                               ace_error **error);
void ace_settlement_release(ace_settlement *settlement);

/* `first` doubled `repeats` times, at most `limit`. */
int64_t ace_back_off(uint32_t repeats, int64_t first, int64_t limit);

#endif
