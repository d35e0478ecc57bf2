/* The names of section 1, and those derived from a queue's name. Queue names are NUL-terminated. */
#ifndef ACE_CONTRACT_NAMES_H
#define ACE_CONTRACT_NAMES_H

#include "contract/duration.h"
#include "contract/policy.h"

#define ACE_RESERVED_PREFIX      "x-acemq-"
#define ACE_EXCHANGE_RETRY       "acemq.retry"
#define ACE_EXCHANGE_DEAD_LETTER "acemq.dlx"
#define ACE_SUFFIX_DEAD_LETTER   ".dlq"
#define ACE_SUFFIX_PARKED        ".parked"

/* The application's headers that this library gives a meaning. */
#define ACE_HEADER_REPLAYED_FROM "acemq-replayed-from"
#define ACE_HEADER_REPLAYED_AT   "acemq-replayed-at"
#define ACE_HEADER_REPLAY_COUNT  "acemq-replay-count"
#define ACE_HEADER_REPLY_TO      "acemq-reply-to"

#define ACE_HEADER_ID             "x-acemq-id"
#define ACE_HEADER_TYPE           "x-acemq-type"
#define ACE_HEADER_VERSION        "x-acemq-version"
#define ACE_HEADER_CORRELATION    "x-acemq-correlation"
#define ACE_HEADER_ATTEMPT        "x-acemq-attempt"
#define ACE_HEADER_FIRST_SEEN     "x-acemq-first-seen"
#define ACE_HEADER_ORIGIN         "x-acemq-origin"
#define ACE_HEADER_CAUSATION      "x-acemq-causation"
#define ACE_HEADER_ERROR          "x-acemq-error"
#define ACE_HEADER_CLAIM          "x-acemq-claim"
#define ACE_HEADER_ROUTE          "x-acemq-route"
#define ACE_HEADER_ROUTE_POSITION "x-acemq-route-position"
#define ACE_HEADER_ROUTE_ID       "x-acemq-route-id"

typedef struct ace_name {
    char text[ACE_NAME_MAX + 1];
} ace_name;

/* Does it start with ACE_RESERVED_PREFIX: such a header is the library's own. */
bool ace_header_is_reserved(ace_bytes name);

/* The delay part of a rung's name. `whole_seconds`: fractions of a second dropped, "0s" (16.1). */
void ace_delay_format(int64_t milliseconds, bool whole_seconds, char out[ACE_DURATION_LENGTH]);

/* Each fails with ACE_LIMIT when the derived name passes 255 bytes. */
ace_code ace_name_dead_letter(const char *queue, ace_name *out, ace_error **error);
ace_code ace_name_parked(const char *queue, ace_name *out, ace_error **error);
ace_code ace_name_rung(const char *queue, int64_t wait, const ace_policy *policy, ace_name *out,
                       ace_error **error);
ace_code ace_name_partition(const char *name, int32_t partition, ace_name *out, ace_error **error);

/* Can a consumer of `queue` with this policy (NULL: none) work: the name itself is not empty, and
 * the longest derived name fits. ACE_LIMIT names the derived name that does not. */
ace_code ace_base_name_check(const char *queue, const ace_policy *policy, ace_error **error);

/* Does the name end in ".dlq" or ".parked" with something before it. */
bool ace_name_is_failure_queue(const char *queue);

/* "acemq@<host>", "acemq@unknown" for NULL, "" and what is not UTF-8. Cut at 255 bytes. */
void ace_origin_default(const char *host, ace_name *out);

#endif
