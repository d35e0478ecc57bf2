/* Inside a delivery: what its consumer knows of it on the loop's thread. */
#ifndef ACE_ENGINE_DELIVERY_STATE_H
#define ACE_ENGINE_DELIVERY_STATE_H

#include "base/arena.h"
#include "base/list.h"
#include "base/random.h"
#include "base/timer.h"
#include "contract/settlement.h"
#include "contract/table.h"
#include "engine/consumer.h"
#include "engine/delivery.h"
#include "engine/interceptor.h"
#include "engine/loop.h"

#include <stdatomic.h>

struct ace_hop_target;

/* Where a delivery is, for the loop. */
typedef enum ace_delivery_stage {
    ACE_DELIVERY_READY,    /* in the inbox or with its receiver, which the inbox alone knows */
    ACE_DELIVERY_WAITING,  /* for its time, then it hops to its own queue */
    ACE_DELIVERY_DELAYED,  /* for its time, then it is put back */
    ACE_DELIVERY_HOPPING,  /* its copy was handed to the publisher */
    ACE_DELIVERY_HELD,     /* its hop failed and is repeated with all others to that target */
    ACE_DELIVERY_ALONE,    /* its hop failed by its own fault, and is repeated alone */
    ACE_DELIVERY_ORPHAN,   /* its own queue is gone, and the broker has not said so yet */
    ACE_DELIVERY_FINISHED, /* acknowledged, put back, or dropped with its channel */
} ace_delivery_stage;

/* What a receiver asked for, before the table of section 6 has been looked at. */
typedef struct ace_receiver_verdict {
    ace_happening what;
    bool put_back_unchanged; /* nothing happened: back to the queue, not counted */
    int64_t wall;            /* when */
} ace_receiver_verdict;

struct ace_claim;

/* What a receiver asked for; each NULL, or empty, until then. */
typedef struct ace_delivery_views {
    ace_arena copies;
    const char **property_texts; /* by property */
    ace_table *all_headers;
    ace_table *headers;
    ace_buffer packed;
    void *attachment;
    void (*release_attachment)(void *attachment);
} ace_delivery_views;

/* Ten thousand of these may wait at a time: what is not needed for that is made when it is. What a
 * message on its usual way is asked comes first and lies together, and the rest is left alone. */
struct acemq_delivery {
    atomic_uint references;
    atomic_bool settled;
    atomic_bool dropped; /* its channel went first: the broker delivers it again */
    atomic_bool untaken; /* its inbox counts it no more as taken */
    bool is_within;      /* its memory is a part of the content's */
    bool pushed;         /* settled by what its handler returns */
    bool exhausted;      /* its attempts are used up, whatever its envelope says */
    bool entering;       /* a `before` hook has it: it may change the envelope */
    bool answered;       /* by the holder of a view of it; under the inbox's lock */
    bool abandoned;      /* an answer comes too late; likewise */
    bool measured;       /* it counts as in flight in the metrics; the loop's thread */
    bool redelivered;
    ace_happening judged;   /* by its handler, for a reviewer */
    ace_consumer *consumer; /* referenced; NULL: nobody settles it */
    ace_content *content;
    uint64_t opening; /* of the channel it came on */

    struct ace_claim *claim; /* its receiver's, until it is judged; NULL: none */

    /* The receiver's thread, then the loop's. */
    ace_passage passage; /* through the interceptors */
    int64_t begun;       /* microseconds, when its receiver got it; 0: nobody measures */
    int64_t ended;       /* and when that judged it */

    /* Written before the task is posted, read on the loop's thread. */
    ace_receiver_verdict verdict;
    ace_task task;

    /* Under the inbox's lock, from being taken on. */
    ace_link_node held;
    int64_t held_since; /* monotonic, of the system's clock */

    /* The loop's thread. */
    ace_link_node queue; /* in the inbox, or with the target that holds it */
    ace_link_node node;  /* in the consumer's list of unsettled deliveries */
    uint64_t tag;
    ace_delivery_stage stage;
    uint32_t faults; /* hops in a row that failed by its own fault */
    ace_settlement settlement;
    struct ace_hop_target *target;
    int64_t arrived; /* monotonic */
    ace_timer timer;

    ace_delivery *origin;      /* of a view: the one it is of, referenced; NULL */
    ace_delivery_views *views; /* NULL until its receiver asks */
    ace_arena arena;
    uint8_t *opened; /* where its body lies when a codec made it */
    char *reason;

    ace_bytes body; /* what its receiver sees: the content's, or what a codec made of it */
    const char *queue_name;
    const char *exchange;
    const char *routing_key;
    ace_envelope envelope; /* the last to be cleared, which reading it does */
    char texts[];          /* what the three names point to */
};

/* One reference, stage READY. Takes the content over, on failure too. NULL: no memory. `consumer`
 * may be NULL; else it is referenced and its queue's name borrowed. */
ace_delivery *ace_delivery_new(ace_content *content, const char *queue, ace_consumer *consumer,
                               ace_random *random);
ace_delivery *ace_delivery_keep(ace_delivery *delivery);
/* Another delivery of the same message, for somebody whose settlement becomes the original's
 * `verdict` and `reason`, `answered` then; the original has to be told no more. NULL: no memory. */
ace_delivery *ace_delivery_view(ace_delivery *delivery);
void ace_delivery_unref(ace_delivery *delivery); /* any thread */
/* The same on the loop's thread, which uses its memory again. */
void ace_delivery_let_go(ace_delivery *delivery);

/* Made at the first call; NULL: no memory. Readers have a delivery that is constant to them, and
 * have it alone. */
ace_delivery_views *ace_delivery_views_of(const ace_delivery *delivery);
/* Frees what only its receiver looks at, which lets go of it. */
void ace_delivery_drop_views(ace_delivery *delivery);

/* The property as it arrived, borrowed; false when the message does not have it, and for numbers.
 */
bool ace_delivery_property_text(const ace_delivery *delivery, ace_property property,
                                ace_bytes *text);

/* What ace_delivery_settle() does, without looking at who asks: for handlers and for what does not
 * decode. */
ace_code ace_delivery_report(ace_delivery *delivery, ace_happening what, const char *reason,
                             ace_error **error);
/* The same of what ace_delivery_put_back() does; what cannot be reported is stale. */
void ace_delivery_hand_back(ace_delivery *delivery);

/* The last step of settling: the verdict goes to the loop. ACE_STALE. */
ace_code ace_delivery_post(ace_delivery *delivery, const ace_receiver_verdict *verdict,
                           ace_error **error);
/* Whoever drains does not take it for one that a receiver has, from here on. Any thread; again is
 * fine. */
void ace_delivery_untake(ace_delivery *delivery);

#endif
