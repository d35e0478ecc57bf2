/*
 * A content: the method that announces it, the header frame with the properties, and the body.
 * Class basic only, there is no other. Properties are rabbitmq-c's amqp_basic_properties_t, whose
 * _flags say which of them are there.
 */
#ifndef ACE_WIRE_CONTENT_H
#define ACE_WIRE_CONTENT_H

#include "base/buffer.h"
#include "base/error.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stddef.h>
#include <stdint.h>

/* The size of the header frame's payload for these properties.
 * ACE_LIMIT: a property or a header name over 255 bytes; more than one frame holds ("headers take
 * 140000 bytes, one frame holds 131064"); what ace_table_measure() refuses. ACE_INVALID_ARGUMENT:
 * an unknown property flag, and what ace_table_measure() refuses. */
ace_code ace_content_measure(const amqp_basic_properties_t *properties, uint32_t frame_max,
                             size_t *size, ace_error **error);

/* Appends the header frame. The buffer is unchanged on an error. */
ace_code ace_content_write_header(ace_buffer *buffer, uint16_t channel,
                                  const amqp_basic_properties_t *properties, uint64_t body_size,
                                  uint32_t frame_max, ace_error **error);

/* Appends a whole content: the method frame (basic.publish, return, deliver or get-ok), the header
 * frame and the body frames. Everything is measured before the first byte: the whole goes in, or
 * nothing. */
ace_code ace_content_write(ace_buffer *buffer, uint16_t channel, amqp_method_number_t id,
                           const void *method, const amqp_basic_properties_t *properties,
                           ace_bytes body, uint32_t frame_max, ace_error **error);

/* Decodes the payload of a header frame. The payload is copied: everything `properties` points to
 * lives in the pool. ACE_PROTOCOL: not class basic, properties that do not fill the payload
 * exactly, an unknown property flag, a malformed table. ACE_LIMIT: a header table too deep or with
 * too many entries. */
ace_code ace_content_decode_header(ace_bytes payload, amqp_pool_t *pool, uint64_t *body_size,
                                   amqp_basic_properties_t **properties, ace_error **error);

#endif
