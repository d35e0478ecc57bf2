/* RFC 3339, as section 3 of the contract has it. */
#ifndef ACE_BASE_TIME_H
#define ACE_BASE_TIME_H

#include "base/error.h"

#include <stdint.h>

typedef struct ace_instant {
    int64_t seconds;     /* since 1970, the floor */
    int32_t nanoseconds; /* 0 to 999 999 999; digits past the ninth are cut */
} ace_instant;

/* Strict: exact widths, real dates of the years 0001 to 9999, nothing before or after. ACE_PARSE
 * with the position and what was expected there. */
ace_code ace_time_parse(const char *text, size_t length, ace_instant *out, ace_error **error);

#define ACE_TIME_LENGTH 20
/* UTC, whole seconds (truncated towards the past), "Z". False outside the years 0001 to 9999. */
int ace_time_format(int64_t epoch_milliseconds, char out[ACE_TIME_LENGTH + 1]);

#endif
