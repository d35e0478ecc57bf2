/* Randomness, injectable like the clock. */
#ifndef ACE_BASE_RANDOM_H
#define ACE_BASE_RANDOM_H

#include <stdint.h>

typedef struct ace_random ace_random;

ace_random *ace_random_system(void);          /* getrandom(2); static, any thread */
ace_random *ace_random_seeded(uint64_t seed); /* repeatable; locked inside; NULL without memory */
void ace_random_free(ace_random *random);     /* NULL and the system one are fine */
uint64_t ace_random_next(ace_random *random);
double ace_random_unit(ace_random *random); /* in [0, 1) */

#define ACE_UUID_LENGTH 36
void ace_uuid_v4(ace_random *random, char out[ACE_UUID_LENGTH + 1]); /* lower case, with dashes */

#endif
