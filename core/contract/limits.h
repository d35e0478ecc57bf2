/* The numbers of the contract. Times are milliseconds unless the name says otherwise. */
#ifndef ACE_CONTRACT_LIMITS_H
#define ACE_CONTRACT_LIMITS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

#include <amqp.h>
#include <stdint.h>

#define ACE_NAME_MAX             255            /* bytes of an AMQP short string */
#define ACE_BROKER_WAIT_MAX      315360000000LL /* the longest x-message-ttl the broker takes */
#define ACE_THRESHOLD_DEFAULT    30000LL
#define ACE_PREFETCH_DEFAULT     50
#define ACE_PREFETCH_MAX         65535
#define ACE_DRAIN_BUDGET_DEFAULT 20000LL
#define ACE_CLAIM_LEASE_DEFAULT  300000LL
#define ACE_IN_PROGRESS_WAIT     5000LL /* before an in-progress message is put back */
#define ACE_STORE_WAIT_MAX       30000LL /* the in-progress wait doubles to this while a store fails */
#define ACE_BACK_OFF_FIRST       1000LL /* of requeues and of hops that fail */
#define ACE_BACK_OFF_MAX         30000LL
#define ACE_HOLD_MAX             1500000LL /* 25 minutes: how long a delivery is held for its hop */
#define ACE_ACK_TIMEOUT_DEFAULT  1800000LL /* 30 minutes: how long the broker lets one be held */
#define ACE_CONFIRM_TIMEOUT      30000LL
#define ACE_OUTSTANDING_DEFAULT  1000
#define ACE_REPLAY_DECLINED_MAX  10000
#define ACE_PARTITIONS_DEFAULT   8
#define ACE_PARTITIONS_MAX       1024
#define ACE_RUNGS_MAX            1024 /* rungs of one policy; a schedule with more is refused */
#define ACE_TABLE_DEPTH_MAX      32   /* tables and arrays inside one another; the outermost is 1 */
#define ACE_CLAIM_CHECK_SIZE     65536
#define ACE_BODY_BYTES_DEFAULT   134217728 /* 128 MiB */
#define ACE_BODY_BYTES_CLAIMED   536870912 /* 512 MiB: no broker has a larger body */
#define ACE_QUEUED_BYTES_DEFAULT 268435456 /* 256 MiB */
#define ACE_OUTPUT_BYTES_DEFAULT 16777216  /* 16 MiB */
#define ACE_OUTPUT_BYTES_LEAST   4096
#define ACE_HEADER_BYTES_DEFAULT 131072
/* What travels on gets more, and what arrives may have 65536. */
#define ACE_HEADER_ENTRIES_DEFAULT 4096
#define ACE_HEADER_ENTRIES_MAX     65000
#define ACE_FRAME_BYTES_LEAST      4096
#define ACE_FRAME_BYTES_TAKEN      1048576 /* of what a broker suggests, unless more is asked for */

ace_code ace_name_explain(const char *field, ace_bytes name,
                          ace_error **error); /* for the next one */

/* ACE_LIMIT "<field> has 300 bytes, the limit is 255", or ACE_INVALID_ARGUMENT for a name with a
 * NUL byte in it or one that is not UTF-8. An empty name passes. */
static inline ace_code ace_name_check(const char *field, ace_bytes name, ace_error **error)
{
    return name.length <= ACE_NAME_MAX && ace_utf8_is_plain((const char *)name.data, name.length)
               ? ACE_OK
               : ace_name_explain(field, name, error);
}

/* 1 to ACE_PREFETCH_MAX; ACE_LIMIT otherwise. */
ace_code ace_prefetch_check(int64_t prefetch, ace_error **error);

/* Of the headers that an application gives one message. */
typedef struct ace_header_limits {
    uint64_t bytes;   /* as they are encoded */
    uint64_t entries; /* of all tables and arrays together */
    int depth;        /* tables and arrays inside one another; the headers themselves are 1 */
} ace_header_limits;

/* ACE_LIMIT "headers have 5000 entries, the limit is 4096"; `headers` may be NULL. */
ace_code ace_headers_check(const amqp_table_t *headers, const ace_header_limits *limits,
                           ace_error **error);

#endif
