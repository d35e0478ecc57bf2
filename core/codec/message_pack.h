/*
 * A message as one MessagePack map, so that a binding makes one crossing a message. The value
 * functions are what such a map is put together from; ace_message_pack_table() writes AMQP headers.
 *
 * All append to the buffer; those that return bool return false when memory is gone. On failure the
 * buffer is unchanged.
 */
#ifndef ACE_CODEC_MESSAGE_PACK_H
#define ACE_CODEC_MESSAGE_PACK_H

#include "base/buffer.h"
#include "base/error.h"

#include <amqp.h>
#include <stdbool.h>
#include <stdint.h>

#define ACE_MESSAGE_PACK_TIMESTAMP 1 /* extension: seconds as 8 bytes, big-endian, unsigned */
#define ACE_MESSAGE_PACK_DECIMAL   2 /* extension: places as 1 byte, value as 4, big-endian */

bool ace_message_pack_map(ace_buffer *buffer,
                          uint32_t pairs); /* that many keys and values follow */
bool ace_message_pack_array(ace_buffer *buffer, uint32_t count); /* that many values follow */
bool ace_message_pack_nil(ace_buffer *buffer);
bool ace_message_pack_boolean(ace_buffer *buffer, bool value);
bool ace_message_pack_integer(ace_buffer *buffer, int64_t value);  /* in its shortest form */
bool ace_message_pack_binary(ace_buffer *buffer, ace_bytes value); /* at most UINT32_MAX bytes */
/* A str where the bytes are UTF-8, a bin where they are not. */
bool ace_message_pack_text(ace_buffer *buffer, ace_bytes value);

/*
 * Writes a header table as a map in its order. Kinds keep their type and width: integers as the
 * MessagePack integer of the same width and sign, floats, booleans, void as nil, long strings as
 * ace_message_pack_text(), byte arrays as bin, tables, arrays, and the two extensions above.
 *
 * `levels_above` is how many maps and arrays the table will lie in, 0 when it stands alone.
 * ACE_LIMIT when the deepest value would lie more than ACE_MSGPACK_DEPTH levels down, which no
 * reader takes; ACE_INVALID_ARGUMENT for an unknown kind of field.
 */
ace_code ace_message_pack_table(ace_buffer *buffer, const amqp_table_t *table, int levels_above,
                                ace_error **error);

#endif
