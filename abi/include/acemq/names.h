/**
 * @file names.h
 * Derived names, durations, and the small rules that every implementation must share.
 *
 * Threads: pure functions, any thread.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_NAMES_H
#define ACEMQ_NAMES_H

#include "error.h"

ACEMQ_BEGIN

/** Room for any AMQP name, with its NUL. */
#define ACEMQ_NAME_SIZE 256

/** Where hops to rungs are published. */
#define ACEMQ_RETRY_EXCHANGE "acemq.retry"
/** Where the broker dead-letters to. */
#define ACEMQ_DEAD_LETTER_EXCHANGE "acemq.dlx"

/**
 * Frees text that the library handed out as owned.
 * @param memory NULL is fine
 */
ACEMQ_API void acemq_free(void *memory);

/** Room for acemq_new_id(), with its NUL. */
#define ACEMQ_ID_SIZE 37
/** A new UUID v4, as a message gets one that has no id set. */
ACEMQ_API void acemq_new_id(char id[ACEMQ_ID_SIZE]);

/**
 * `{queue}.dlq`. Errors: ACEMQ_E_LIMIT when that passes 255 bytes, ACEMQ_E_INVALID_ARGUMENT.
 * @param name room for it
 */
ACEMQ_API acemq_status acemq_dead_letter_queue(const char *queue, char name[ACEMQ_NAME_SIZE],
                                               acemq_error **error);
/**
 * `{queue}.parked`.
 * @param name room for it
 */
ACEMQ_API acemq_status acemq_parked_queue(const char *queue, char name[ACEMQ_NAME_SIZE],
                                          acemq_error **error);

/** Reads a `text` such as `10s`, `500ms`, `0` into milliseconds (section 5). Errors: ACEMQ_E_PARSE,
 * ACEMQ_E_LIMIT.
 */
ACEMQ_API acemq_status acemq_duration_parse(const char *text, int64_t *milliseconds,
                                            acemq_error **error);
/**
 * Writes one unit, never compound: 40 s is `40s`, 60 s is `1m`, 1500 ms is `1500ms` (section 1).
 * Room for 24.
 * @param milliseconds 0 and more
 * @param text room for it
 */
ACEMQ_API acemq_status acemq_duration_format(int64_t milliseconds, char text[24],
                                             acemq_error **error);

/** Which partition a key goes to (sections 7 and 16.6). */
typedef enum acemq_partition_rule {
    ACEMQ_PARTITION_UNSIGNED = 0,  /**< ours, Go, Python, Ruby */
    ACEMQ_PARTITION_FLOOR_MOD = 1, /**< Java */
    ACEMQ_PARTITION_MASKED = 2     /**< .NET */
} acemq_partition_rule;
/**
 * Of `key`, by `rule`.
 * @param partitions 1 to 2^31 - 1; -1 is answered for anything else.
 */
ACEMQ_API int64_t acemq_partition(acemq_bytes key, int64_t partitions, acemq_partition_rule rule);

/** What a body framed for the claim check is (section 13). */
typedef enum acemq_claim_frame {
    ACEMQ_CLAIM_NONE = 0,   /**< not framed: the bytes are the body */
    ACEMQ_CLAIM_INLINE = 1, /**< the payload follows the frame's three bytes */
    ACEMQ_CLAIM_STORED = 2  /**< the key of a stored payload follows */
} acemq_claim_frame;
/**
 * Reads the frame of a `body`.
 * @param rest the payload or the key; borrowed from `body`. Errors: ACEMQ_E_DECODE for a malformed
 * key.
 * @param frame receives which of the three it is
 */
ACEMQ_API acemq_status acemq_claim_frame_read(acemq_bytes body, acemq_claim_frame *frame,
                                              acemq_bytes *rest, acemq_error **error);
/**
 * Writes the frame; *framed is owned, freed with acemq_free().
 * @param rest the payload or the key
 * @param length receives how many bytes
 */
ACEMQ_API acemq_status acemq_claim_frame_write(acemq_claim_frame frame, acemq_bytes rest,
                                               void **framed, size_t *length, acemq_error **error);

/** The parts of an encrypted body; borrowed from it. Nothing is decrypted. */
typedef struct acemq_encrypted_frame {
    /** names the key */
    acemq_bytes key_id;
    /** everything before the nonce */
    acemq_bytes authenticated;
    /** 12 bytes */
    acemq_bytes nonce;
    /** as long as what was encrypted */
    acemq_bytes ciphertext;
    /** 16 bytes */
    acemq_bytes tag;
} acemq_encrypted_frame;
/** Reads where in an encrypted `body` what lies. Errors: ACEMQ_E_DECODE with what is wrong. */
ACEMQ_API acemq_status acemq_encrypted_frame_read(acemq_bytes body, acemq_encrypted_frame *frame,
                                                  acemq_error **error);

/**
 * 1 when the codec `codec` ("json", "text", "msgpack", "bytes") reads a body of this content type
 * (section 13); NULL or "" is none.
 * @param content_type as it arrived
 */
ACEMQ_API int acemq_codec_reads(const char *codec, const char *content_type);

ACEMQ_END

#endif
