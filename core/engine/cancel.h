/*
 * Cancelling a blocking call from another thread. A token may be given to any number of calls;
 * firing it ends all of them with ACE_CANCELLED, and those that start later too, until it is reset.
 */
#ifndef ACE_ENGINE_CANCEL_H
#define ACE_ENGINE_CANCEL_H

#include "base/error.h"
#include "base/list.h"

#include <stdbool.h>

typedef struct acemq_cancel ace_cancel;

/* Something that wants to know. Embedded; the record is its owner's from ace_cancel_unwatch() on.
 */
typedef struct ace_cancel_watch ace_cancel_watch;
struct ace_cancel_watch {
    ace_link_node node;
    /* On the thread that fires, with the token locked: it may signal a condition or write an
     * eventfd, and may not watch, unwatch or fire. Called once a firing. */
    void (*fired)(ace_cancel_watch *watch);
};

ace_cancel *ace_cancel_new(ace_error **error); /* one reference; NULL: ACE_OUT_OF_MEMORY */
ace_cancel *ace_cancel_keep(ace_cancel *cancel);
void ace_cancel_release(ace_cancel *cancel); /* NULL is fine */

void ace_cancel_fire(ace_cancel *cancel); /* any thread, not a signal handler; again is fine */
void ace_cancel_reset(ace_cancel *cancel);
bool ace_cancel_fired(const ace_cancel *cancel); /* NULL: false */

/* A token that has fired already calls `fired` at once, on this thread. A NULL token is fine. */
void ace_cancel_watch_add(ace_cancel *cancel, ace_cancel_watch *watch);
/* When this returns `fired` is not running and will not run. Fine when it was never added. */
void ace_cancel_watch_remove(ace_cancel *cancel, ace_cancel_watch *watch);

#endif
