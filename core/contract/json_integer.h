/* How integers outside int64 go between JSON texts and the readers and writers of values; nobody
 * else includes it. */
#ifndef ACE_CONTRACT_JSON_INTEGER_H
#define ACE_CONTRACT_JSON_INTEGER_H

#include "base/buffer.h"

#include <jansson.h>

/* The digits, with their sign, of an integer that int64 does not hold. */
bool ace_json_big_integer(const json_t *json, ace_bytes *digits);
/* A text that would be taken for such an integer when it is written. */
bool ace_json_reads_as_big_integer(ace_bytes text);
/* Such an integer for ace_json_write(). NULL: no memory. */
json_t *ace_json_of_big_integer(uint64_t value);

#endif
