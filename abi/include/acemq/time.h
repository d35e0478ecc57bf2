/**
 * @file time.h
 * RFC 3339, as section 3 of the wire contract has it.
 *
 * Threads: pure functions, any thread.
 */
#ifndef ACEMQ_TIME_H
#define ACEMQ_TIME_H

#include "error.h"

ACEMQ_BEGIN

/** Room for acemq_time_format(), with its NUL. */
#define ACEMQ_TIME_SIZE 21

/**
 * Reads `text`, a time, strictly: exact widths, real dates of the years 0001 to 9999, capital `T`
 * and `Z`.
 * @param seconds      since 1970, the floor
 * @param nanoseconds  0 to 999 999 999; digits past the ninth are cut, never rounded
 * Errors: ACEMQ_E_PARSE, the message has the position and what was expected;
 * ACEMQ_E_INVALID_ARGUMENT.
 */
ACEMQ_API acemq_status acemq_time_parse(const char *text, int64_t *seconds, int32_t *nanoseconds,
                                        acemq_error **error);

/**
 * Writes UTC in whole seconds with `Z`, truncated and never rounded.
 * @param epoch_milliseconds since 1970
 * @param out room for the text
 * Errors: ACEMQ_E_INVALID_ARGUMENT outside the years 0001 to 9999.
 */
ACEMQ_API acemq_status acemq_time_format(int64_t epoch_milliseconds, char out[ACEMQ_TIME_SIZE],
                                         acemq_error **error);

ACEMQ_END

#endif
