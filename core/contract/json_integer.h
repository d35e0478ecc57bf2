/* How integers outside int64 go from ace_json_read() to the readers of values; nobody else includes
 * it. */
#ifndef ACE_CONTRACT_JSON_INTEGER_H
#define ACE_CONTRACT_JSON_INTEGER_H

#include "base/buffer.h"

#include <jansson.h>

/* The digits, with their sign, of an integer that int64 does not hold. */
bool ace_json_big_integer(const json_t *json, ace_bytes *digits);

#endif
