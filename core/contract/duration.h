/* Durations as text: a whole number with one unit, or a bare 0. */
#ifndef ACE_CONTRACT_DURATION_H
#define ACE_CONTRACT_DURATION_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACE_DURATION_LENGTH 32 /* bytes any formatted duration fits in, its NUL included */

/* Reads the whole of `text`: "500ms", "10s", "5m", "2h", "1d" or "0". No sign, no space, no
 * fraction. ACE_PARSE with the position and what was expected there; ACE_LIMIT past 2^63 - 1 ms. */
ace_code ace_duration_parse(const char *text, size_t length, int64_t *milliseconds,
                            ace_error **error);

/* The same from `*position` on, up to the first byte that does not belong to the duration; moves
 * *position behind it. Positions in errors count from the start of `text`, from 1. */
ace_code ace_duration_scan(const char *text, size_t length, size_t *position, int64_t *milliseconds,
                           ace_error **error);

/* One unit, never compound (section 1): "40s", "1m", "90s", "1500ms"; zero is "0". A negative one
 * is written as 0. */
void ace_duration_format(int64_t milliseconds, char out[ACE_DURATION_LENGTH]);

#endif
