/* An entry as the LMDB store keeps it, below its key. Fixed and versioned, numbers big endian:
 * version 1, state, recorded_at (8 bytes), expires_at (8), length of the token, token. */
#ifndef ACE_STORE_CLAIM_RECORD_H
#define ACE_STORE_CLAIM_RECORD_H

#include "store/idempotency.h"

#define ACE_CLAIM_RECORD_MAX (2 + 8 + 8 + 1 + ACE_CLAIM_TOKEN_MAX)

/* Writes all but the key; returns the length. */
size_t ace_claim_record_write(const ace_claim_entry *entry, uint8_t out[ACE_CLAIM_RECORD_MAX]);
/* False: it is not such a record. Leaves the key alone. */
bool ace_claim_record_read(ace_bytes record, ace_claim_entry *entry);

#endif
