/*
 * A codec that keeps large bodies out of the broker: what another codec writes travels in a small
 * frame, or, from a threshold on, lies in a store while its key travels (section 13).
 */
#ifndef ACE_CODEC_CLAIM_CHECK_H
#define ACE_CODEC_CLAIM_CHECK_H

#include "base/random.h"
#include "codec/claim_store.h"
#include "codec/codec.h"

#define ACE_CLAIM_THRESHOLD 65536 /* encoded bytes from which on a body is stored */

/* Wraps `inner`; both are referenced. `random` is asked for the keys, which are UUIDs; NULL: the
 * system's. Its content type, and what it reads, are those of `inner`. ACE_OUT_OF_MEMORY. */
ace_code ace_codec_claim_check(const ace_codec *inner, ace_claim_store *store, uint64_t threshold,
                               ace_random *random, ace_codec **out, ace_error **error);

#endif
