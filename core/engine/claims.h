/*
 * The claims of a consumer's deliveries (sections 6 and 9 of the contract): taken before a receiver
 * sees the message, confirmed or released when it was judged, before anything else becomes of it.
 *
 * The store is asked on handler threads, or on the thread that pulls; what pulling threads settle,
 * and renewals, are done by one thread of the consumer's, which is there while there is something
 * to do. The loop's thread never waits for a store.
 */
#ifndef ACE_ENGINE_CLAIMS_H
#define ACE_ENGINE_CLAIMS_H

#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"
#include "contract/limits.h"
#include "engine/delivery.h"
#include "store/idempotency.h"

#include <stdatomic.h>

/* Writes the key, at most `size` bytes with its NUL, and returns the length it has or would have; a
 * negative number: it could not, which fails the message. On the receiver's thread. */
typedef int ace_claim_key(ace_delivery *delivery, char *key, size_t size, void *user);

typedef struct ace_claim_options {
    ace_idempotency *store; /* NULL: none; a reference is kept */
    int64_t lease;          /* ms */
    int64_t put_back_wait;  /* ms, of a message that somebody else has */
    bool renews;            /* at a third of the lease, until it is judged */
    ace_claim_key *key;     /* NULL: the id of the envelope */
    void *key_user;
} ace_claim_options;

#define ACE_CLAIM_OPTIONS_INIT                                                                     \
    {                                                                                              \
        NULL, ACE_CLAIM_LEASE_DEFAULT, ACE_IN_PROGRESS_WAIT, false, NULL, NULL                     \
    }

struct ace_receiver_verdict;

/* Of one consumer. */
typedef struct ace_claims {
    ace_claim_options options;
    atomic_uint_least64_t fenced;      /* judged after their claim was somebody else's */
    atomic_uint_least64_t unconfirmed; /* accepted, and the store did not take it in time */
    ace_mutex mutex;                   /* guards what follows */
    ace_condition work;
    ace_condition renewed;
    ace_list claims; /* live ones that are renewed, and those to be settled */
    bool has_keeper; /* a thread */
    bool is_set_up;
} ace_claims;

/* Of one delivery. */
typedef struct ace_claim {
    ace_link_node node; /* with the keeper */
    ace_delivery *delivery;
    char token[ACE_CLAIM_TOKEN_MAX + 1];
    char key[ACE_CLAIM_KEY_MAX + 1];
    int64_t until;    /* monotonic, the system's: when the lease ends */
    int64_t due;      /* for the keeper */
    int64_t back_off; /* before the next try */
    bool settling;    /* judged; a reference to the delivery is the keeper's */
    bool renewing;    /* just now */
    bool accepted;
} ace_claim;

/* Attaches the store to the queue. ACE_STATE: it serves another; ACE_INVALID_ARGUMENT, ACE_SYSTEM,
 * ACE_OUT_OF_MEMORY. */
ace_code ace_claims_init(ace_claims *claims, const ace_claim_options *options, const char *queue,
                         ace_error **error);
void ace_claims_free(ace_claims *claims);

/* The receiver's thread. False: the message is not its, and was settled so. */
bool ace_claims_take(ace_delivery *delivery);
/* It was judged: does with its claim what the verdict says, and posts that. Answers as
 * ace_delivery_post(). */
ace_code ace_claims_settle(ace_delivery *delivery, const struct ace_receiver_verdict *verdict,
                           ace_error **error);
/* The delivery goes without having been judged: its claim ends with its lease. */
void ace_claims_forget(ace_delivery *delivery);
/* Ends the waits of the keeper: the consumer is stopping. Any thread. */
void ace_claims_stir(ace_claims *claims);

#endif
