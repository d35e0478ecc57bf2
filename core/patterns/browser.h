/*
 * Looking through a queue from its head. What was read is held, and put back where it lay when the
 * browser is closed; the broker marks it as redelivered. One thread at a time, never a loop's.
 */
#ifndef ACE_PATTERNS_BROWSER_H
#define ACE_PATTERNS_BROWSER_H

#include "engine/connection.h"
#include "engine/delivery.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ace_browser ace_browser;

typedef struct ace_browser_options {
    ace_cancel *cancel; /* one reference is kept; NULL: none */
    int64_t most;       /* messages held */
    int64_t timeout;    /* ms, of each step */
    bool force;         /* browse a quorum queue, though each look counts as a delivery */
} ace_browser_options;

void ace_browser_options_init(ace_browser_options *options); /* 10 000, 30 s */

/* ACE_NOT_FOUND, ACE_STATE (a rung, whose waits would start anew; a stream, which has no head to
 * look from; a quorum queue without `force`), and the errors of ace_session_call(). The connection
 * is referenced. */
ace_code ace_browser_open(ace_connection *connection, const char *queue,
                          const ace_browser_options *options, ace_browser **browser,
                          ace_error **error);

/* The next message, borrowed until the browser is closed; NULL at the end. ACE_LIMIT: `most` are
 * held. ACE_CONNECTION_LOST: the broker has put back what was held. */
ace_code ace_browser_next(ace_browser *browser, const ace_delivery **delivery, ace_error **error);

/* Takes the one that was read last off the queue for good. ACE_STATE: nothing was read, or it was
 * removed before. ACE_STALE: the connection was lost, the message is still there. */
ace_code ace_browser_remove(ace_browser *browser, ace_error **error);

/* Puts the others back and frees it; NULL is fine. In a child of fork it frees memory alone. */
void ace_browser_close(ace_browser *browser);

#endif
