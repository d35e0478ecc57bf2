/*
 * Making, or looking for, a list of declarations, one after the other on a channel of its own, so
 * that a refusal (403, 404, 406) closes no channel on which messages are in flight. Belongs to the
 * loop's thread of its link.
 */
#ifndef ACE_ENGINE_DECLARE_H
#define ACE_ENGINE_DECLARE_H

#include "base/buffer.h"
#include "base/error.h"
#include "contract/plan.h"
#include "engine/channel.h"
#include "engine/link.h"
#include "engine/loop.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ace_declarer ace_declarer;

struct ace_declarer {
    /* Set by the owner. */
    ace_link *link;
    const ace_plan *plan;
    const char *source; /* a queue that must be there already, looked for first; NULL: none */
    bool verify; /* look, declare nothing; bindings cannot be looked at. Goes on past a gap */
    bool go_on;  /* past what is refused */
    /* At the end of the turn in which the last answer came. May start it again. */
    void (*done)(ace_declarer *declarer);

    /* The result, until the next start. */
    ace_error *error; /* owned; NULL: all is there. The first refusal, naming its declaration, or of
                         `verify` the list of what is missing */
    bool interrupted; /* not refused: the connection was lost, or the answer did not come */
    bool *refused;    /* one an item of the plan */

    /* Its own. */
    bool running;
    bool opened; /* its channel was, since it was asked for */
    ace_channel *channel;
    ace_call call;
    size_t next; /* position in the plan */
    bool source_found;
    ace_buffer missing;
    ace_deferral end;
};

/* Sends nothing before its channel is open. ACE_OUT_OF_MEMORY, and what ace_channel_new() answers;
 * `done` is not called then. Not while it is running. */
ace_code ace_declarer_start(ace_declarer *declarer, ace_error **error);
/* `done` will not be called. Frees the result too. Fine when it is not running. */
void ace_declarer_reset(ace_declarer *declarer);

#endif
