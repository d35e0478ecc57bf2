/* What a publish writes before the body (section 2, last bullet) and refuses (section 11). */
#ifndef ACE_CONTRACT_PUBLISH_H
#define ACE_CONTRACT_PUBLISH_H

#include "contract/envelope.h"
#include "contract/properties.h"

typedef struct ace_publication {
    const ace_envelope *envelope; /* completed by ace_envelope_complete() */
    const amqp_table_t *headers;  /* the application's; NULL: none */
    const char *exchange;
    const char *routing_key;
    ace_bytes content_type; /* empty: none written */
    bool transient;         /* delivery mode 1 */
    int priority;           /* 0 to 255; -1: none written */
    int64_t expiration;     /* ms; -1: none written */
    ace_bytes reply_to;     /* empty: none written */
    int64_t now;
    size_t frame_max; /* 0: no limit */
} ace_publication;

/* Names over 255 bytes, a priority over 255, and what ace_envelope_check() refuses. */
ace_code ace_publication_check(const ace_publication *publication, ace_error **error);

/* Fills `head`, or refuses the message whole, naming the field: names over 255 bytes, reserved
 * headers, values the wire cannot carry, headers that do not fit one frame. `head` is then empty.
 * It points into what the publication points to, which must live as long: only bytes made here are
 * its own. */
ace_code ace_publication_build(const ace_publication *publication, ace_head *head,
                               ace_error **error);

#endif
