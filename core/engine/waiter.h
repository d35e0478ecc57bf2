/*
 * A one-shot completion that one thread waits for and another completes. It lives on the waiting
 * thread's stack: whoever completes it does not touch it afterwards.
 */
#ifndef ACE_ENGINE_WAITER_H
#define ACE_ENGINE_WAITER_H

#include "base/error.h"
#include "base/thread.h"
#include "engine/cancel.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ace_waiter {
    ace_semaphore wakes; /* posted by the completion and by each cancellation */
    atomic_bool done;
    atomic_bool cancelled;
    unsigned cancellations;
    unsigned taken; /* of the wakes */
    ace_cancel_watch watch;
    struct ace_waiter *next; /* of those that a loop completes at the end of its turn */
} ace_waiter;

ace_code ace_waiter_init(ace_waiter *waiter, ace_error **error); /* ACE_SYSTEM */
void ace_waiter_destroy(ace_waiter *waiter);
void ace_waiter_complete(ace_waiter *waiter); /* any thread, once */
/* The waiting thread: whether waiting would find it completed. */
bool ace_waiter_is_done(const ace_waiter *waiter);

/* Waits until it is completed, `deadline` passes (monotonic milliseconds of the system's clock,
 * ACE_NEVER for none) or `cancel` fires (NULL: none). ACE_OK, ACE_TIMEOUT, ACE_CANCELLED; a
 * completion wins over the others. After the latter two the completing side still knows the waiter:
 * tell it, and wait again with ace_waiter_finish(). */
ace_code ace_waiter_wait(ace_waiter *waiter, int64_t deadline, ace_cancel *cancel);
void ace_waiter_finish(ace_waiter *waiter); /* waits without an end */

/* The deadline that is `timeout` milliseconds from now on the system's clock; a negative timeout is
 * 0, and what would pass ACE_NEVER is ACE_NEVER. */
int64_t ace_deadline_after(int64_t timeout);

#endif
