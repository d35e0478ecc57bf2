/*
 * Interceptors of a connection (section 12 of the contract): hooks around publishing and around
 * handling. A message that passes holds the chain as it was when it came, so that registering and
 * taking off need no wait: what is taken off goes once the last message that met it has passed.
 *
 * All functions may be called from any thread, and from inside a hook.
 */
#ifndef ACE_ENGINE_INTERCEPTOR_H
#define ACE_ENGINE_INTERCEPTOR_H

#include "base/error.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ace_interceptor_side {
    ACE_SIDE_PUBLISHING = 0,
    ACE_SIDE_CONSUMING = 1,
    ACE_SIDES = 2,
} ace_interceptor_side;

typedef struct ace_interceptor ace_interceptor;
typedef struct acemq_interception ace_interception;

/* One call of one hook; borrowed for the call. */
struct acemq_interception {
    ace_interceptor_side side;
    const char *exchange; /* the message's */
    const char *routing_key;
    char *reason; /* owned; NULL: none was given */
    void **kept;  /* the interceptor's own place with this message */
};

/* What a hook says: 0 to go on. Of a `before` on the consuming side anything else is an
 * ace_outcome; elsewhere it only counts as an error. NULL hooks are passed over. */
typedef struct ace_interceptor_hooks {
    const char *name; /* copied; for messages */
    int64_t order;    /* lower first, ties in the order of registration */
    int (*before)(ace_interception *call, void *subject, void *user);
    /* Publishing: confirmed. Consuming: always, once `before` succeeded. */
    int (*after)(ace_interception *call, void *subject, int outcome, void *user);
    /* Before `after` where both are called. `error` is the publish's, else NULL; `reason` the
     * delivery's, may be NULL. */
    int (*failed)(ace_interception *call, void *subject, int outcome, const ace_error *error,
                  const char *reason, void *user);
    void *user;
    void (*destructor)(void *user); /* once, on the thread that lets go last; may be NULL */
} ace_interceptor_hooks;

/* An interceptor failed where that changes nothing: told, so that it is not lost. */
typedef void ace_interceptor_complaint(const char *text, void *user);

typedef struct ace_chain ace_chain; /* immutable, counted */

typedef struct ace_interceptors {
    ace_mutex mutex; /* of the chains */
    atomic_size_t count[ACE_SIDES];
    ace_chain *chains[ACE_SIDES]; /* NULL: empty */
    ace_interceptor_complaint *complain;
    void *complain_user;
} ace_interceptors;

ace_code ace_interceptors_init(ace_interceptors *interceptors, ace_interceptor_complaint *complain,
                               void *user, ace_error **error);
void ace_interceptors_destroy(ace_interceptors *interceptors);

/* *added is a reference of the caller's. ACE_OUT_OF_MEMORY, and then the destructor is not called.
 */
ace_code ace_interceptors_add(ace_interceptors *interceptors, ace_interceptor_side side,
                              const ace_interceptor_hooks *hooks, ace_interceptor **added,
                              ace_error **error);
/* Messages that come from here on do not meet it. Again is fine. Without memory it stays on the
 * chain, and is passed over. */
void ace_interceptors_remove(ace_interceptors *interceptors, ace_interceptor *interceptor);
void ace_interceptor_release(ace_interceptor *interceptor); /* the reference; NULL is fine */

/* Whether a message of this side would meet any; cheap. */
bool ace_interceptors_any(ace_interceptors *interceptors, ace_interceptor_side side);

/* Whether the calling thread is inside a hook of that side. */
bool ace_interceptor_is_inside(ace_interceptor_side side);

typedef struct ace_passage_place {
    void *kept;
    bool met; /* its `before` succeeded */
} ace_passage_place;

/* One message on its way through the chain. Zeroed at first. */
typedef struct ace_passage {
    ace_interceptors *interceptors;
    ace_chain *chain; /* one reference; NULL: it meets nobody */
    size_t entered;
    ace_passage_place *places; /* one for each of the chain */
} ace_passage;

typedef struct ace_passenger { /* what the hooks are handed */
    ace_interceptor_side side;
    void *subject;
    const char *exchange;
    const char *routing_key;
} ace_passenger;

/* Runs the `before` hooks in order, until one does not answer 0: then that is returned, and *reason
 * (owned by the caller, may be NULL) is what it said, or that it said nothing. Without memory for
 * the passage -1 is returned and no hook has run. */
int ace_passage_enter(ace_passage *passage, ace_interceptors *interceptors,
                      const ace_passenger *passenger, char **reason);

typedef struct ace_passage_end {
    bool failed; /* the `failed` hooks are called */
    bool after;  /* the `after` hooks are called */
    int outcome;
    const ace_error *error;
    const char *reason;
} ace_passage_end;

/* The hooks of those entered, in reverse, and lets go of the chain. Again does nothing. */
void ace_passage_leave(ace_passage *passage, const ace_passenger *passenger,
                       const ace_passage_end *end);

#endif
