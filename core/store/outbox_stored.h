/* The bytes that the LMDB outbox keeps. Reading expects anything, since a file may be damaged. */
#ifndef ACE_STORE_OUTBOX_STORED_H
#define ACE_STORE_OUTBOX_STORED_H

#include "store/outbox.h"

/* Appends what does not change: all of the record but its id. False: no memory, or a part of 4 GiB.
 */
bool ace_outbox_stored_write(const ace_outbox_record *record, ace_buffer *out);
/* Fills all but the id, borrowed from the bytes. False: they are no such record. */
bool ace_outbox_stored_read(ace_bytes stored, ace_outbox_record *record);

/* What changes: attempts, lease and last error. */
bool ace_outbox_state_write(const ace_outbox_row *row, ace_buffer *out);
bool ace_outbox_state_read(ace_bytes stored, ace_outbox_row *row);

/* A time and an id, so that bytes sort as (time, id) do. */
#define ACE_OUTBOX_KEY_MAX (8 + 255)
size_t ace_outbox_key_write(int64_t time, ace_bytes id, uint8_t key[ACE_OUTBOX_KEY_MAX]);
bool ace_outbox_key_read(ace_bytes key, int64_t *time, ace_bytes *id);

#endif
