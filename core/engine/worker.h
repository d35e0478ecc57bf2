/*
 * The threads that run a consumer's handler: made when there is something to handle, at most one
 * for a consumer, which handles one delivery at a time, and one for each member of a group; gone
 * after some seconds without work.
 */
#ifndef ACE_ENGINE_WORKER_H
#define ACE_ENGINE_WORKER_H

#include "base/error.h"
#include "engine/consumer.h"
#include "engine/consumer_inbox.h"

/* Whether there is more than the threads that wait will take, and may be another. With the inbox
 * locked. */
bool ace_worker_is_missing(const ace_inbox *inbox);

/* Sees to it that somebody takes what is ready: wakes a thread, or makes one. With the inbox
 * locked. ACE_SYSTEM, ACE_OUT_OF_MEMORY: there is nobody. */
ace_code ace_worker_call(ace_inbox *inbox, ace_error **error);

/* The consumer whose handler the calling thread is in; NULL. */
const ace_consumer *ace_worker_consumer(void);

#endif
