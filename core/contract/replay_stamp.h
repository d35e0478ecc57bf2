/* What a replayed message carries (section 8). */
#ifndef ACE_CONTRACT_REPLAY_STAMP_H
#define ACE_CONTRACT_REPLAY_STAMP_H

#include "contract/properties.h"

typedef struct ace_replay_stamp {
    const amqp_basic_properties_t *properties; /* as they lie in the failure queue */
    const char *from;                          /* the failure queue's name */
    int64_t now;
    bool keeping_attempts; /* attempt and error stay as they are */
    size_t frame_max;      /* 0: no limit */
} ace_replay_stamp;

/* Fills `head`: attempt 1 and no error, the three stamps, nothing else of the envelope touched.
 * ACE_LIMIT when it does not fit a frame; `head` is then empty. */
ace_code ace_replay_stamp_build(const ace_replay_stamp *stamp, ace_head *head, ace_error **error);

/* How often the message was replayed before: the new header's count if it reads, else the legacy
 * one's, else 0. */
int32_t ace_replay_count(const amqp_table_t *headers);

#endif
