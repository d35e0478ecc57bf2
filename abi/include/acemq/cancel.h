/**
 * @file cancel.h
 * Ending a blocking call from another thread.
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_CANCEL_H
#define ACEMQ_CANCEL_H

#include "error.h"

ACEMQ_BEGIN

/**
 * A cancel token. A blocking call that watches it returns ACEMQ_E_CANCELLED soon after it fires,
 * and at once while it stands fired. Thread-safe; acemq_cancel_fire() may be called from any
 * thread, but not from a signal handler. Owned, freed with acemq_cancel_free().
 */
typedef struct acemq_cancel acemq_cancel;

/** *cancel is owned: free it with acemq_cancel_free(). Errors: ACEMQ_E_OUT_OF_MEMORY. */
ACEMQ_API acemq_status acemq_cancel_new(acemq_cancel **cancel, acemq_error **error);
/** Fires: what watches it ends with ACEMQ_E_CANCELLED. Again is fine. */
ACEMQ_API void acemq_cancel_fire(acemq_cancel *cancel);
/** Makes a fired token usable again. */
ACEMQ_API void acemq_cancel_reset(acemq_cancel *cancel);
/** 1 while it stands fired. */
ACEMQ_API int acemq_cancel_fired(const acemq_cancel *cancel);
/** Handles that were given the token keep it alive; the caller's hold ends here. */
ACEMQ_API void acemq_cancel_free(acemq_cancel *cancel);

ACEMQ_END

#endif
