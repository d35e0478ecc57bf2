/* Methods of AMQP 0-9-1, both directions of each, as rabbitmq-c's structs (<amqp_framing.h>). */
#ifndef ACE_WIRE_METHOD_H
#define ACE_WIRE_METHOD_H

#include "base/buffer.h"
#include "base/error.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the payload of a method frame. The payload is copied: everything `method` points to lives
 * in the pool, until that is recycled or emptied. ACE_PROTOCOL: an unknown method, fields that do
 * not fill the payload exactly, a malformed table. ACE_LIMIT: a table too deep or with too many
 * entries. */
ace_code ace_method_decode(ace_bytes payload, amqp_pool_t *pool, amqp_method_t *method,
                           ace_error **error);

/* Appends one method frame. `decoded` is the struct of `id`; it may be NULL for a method without
 * fields. Everything is measured first and the buffer is unchanged on an error. ACE_LIMIT: a short
 * string or a name in a table over 255 bytes, a method that does not fit one frame, and what
 * ace_table_measure() refuses. ACE_INVALID_ARGUMENT: an unknown method, a NULL where fields are,
 * and what ace_table_measure() refuses. Errors name the field: "routing key has 300 bytes, the
 * limit is 255". */
ace_code ace_method_write(ace_buffer *buffer, uint16_t channel, amqp_method_number_t id,
                          const void *decoded, uint32_t frame_max, ace_error **error);

/* The size of the payload (class, method and fields), with the checks of ace_method_write(). */
ace_code ace_method_measure(amqp_method_number_t id, const void *decoded, uint32_t frame_max,
                            size_t *size, ace_error **error);

/* The id at the front of a method payload; 0 when it is shorter than four bytes. */
amqp_method_number_t ace_method_id(ace_bytes payload);
/* Whether a content follows it: basic.publish, return, deliver, get-ok. */
bool ace_method_has_content(amqp_method_number_t id);
/* "basic.deliver"; "unknown method" for others. */
const char *ace_method_name(amqp_method_number_t id);
/* The same by the class and method numbers that connection.close and channel.close carry. */
const char *ace_method_name_of(uint16_t class_id, uint16_t method_id);

#define ACE_METHOD_CLASS(id)  ((uint16_t)((id) >> 16))
#define ACE_METHOD_NUMBER(id) ((uint16_t)((id)&0xFFFF))

#endif
