/**
 * @file work.h
 * What is in hand: the messages that handlers and pulling threads are at, by name.
 */
#ifndef ACEMQ_WORK_H
#define ACEMQ_WORK_H

#include "error.h"

ACEMQ_BEGIN

/** A list of messages in hand, as it was when it was made. Owned, immutable, any thread, freed with
 * acemq_work_free(). */
typedef struct acemq_work acemq_work;

/** 0 for NULL. */
ACEMQ_API size_t acemq_work_count(const acemq_work *work);
/** Of the message `index`, from 0: its queue and its id; "" past the end. Borrowed until the list
 * is freed. */
ACEMQ_API const char *acemq_work_queue(const acemq_work *work, size_t index);
/** The id of the message `index`; "" past the end. Borrowed until the list is freed. */
ACEMQ_API const char *acemq_work_id(const acemq_work *work, size_t index);
/** How long its handler, or the thread that pulled it, has had it, in ms; 0 past the end. */
ACEMQ_API int64_t acemq_work_running(const acemq_work *work, size_t index);
/** Frees the list, with its texts. NULL is fine. */
ACEMQ_API void acemq_work_free(acemq_work *work);

ACEMQ_END

#endif
