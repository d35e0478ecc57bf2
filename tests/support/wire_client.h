/*
 * A client for tests of servers, on core/wire alone: it sends what it is told to, sensible or not,
 * and fails the running Check test when what comes back is not what was expected. One thread.
 */
#ifndef ACE_TESTS_WIRE_CLIENT_H
#define ACE_TESTS_WIRE_CLIENT_H

#include "base/arena.h"
#include "broker/broker.h"
#include "transport/stream.h"
#include "wire/assembly.h"
#include "wire/frame.h"
#include "wire/method.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

#define ACE_WIRE_QUIET 60 /* milliseconds of silence that count as nothing coming */

typedef struct ace_wire_client {
    ace_stream *stream;
    ace_frame_reader reader;
    ace_buffer out;
    uint32_t frame_max;
    amqp_pool_t pool;     /* of the last method */
    amqp_method_t method; /* the last one read */
    uint16_t channel;     /* that it came on */
    ace_content *content; /* the last one read; freed by the next */
    ace_assembly assembly;
    ace_arena arena; /* tables of arguments; lives as long as the client */
} ace_wire_client;

/* Milliseconds for an answer; as many times more as Check's own limits get under a slow tool. */
int ace_wire_patience(void);
/* Takes the stream. Nothing is sent. */
ace_wire_client *ace_wire_client_open(ace_stream *stream);
/* Attaches to the broker, logs in as guest, opens "/" and channel 1. */
ace_wire_client *ace_wire_client_login(ace_broker *broker);
void ace_wire_client_free(ace_wire_client *client); /* without a goodbye; NULL is fine */

/* --- sending --- */

void ace_wire_send_bytes(ace_wire_client *client, const void *data, size_t length);
void ace_wire_send_header(ace_wire_client *client);
void ace_wire_send(ace_wire_client *client, uint16_t channel, amqp_method_number_t id,
                   const void *decoded);
void ace_wire_publish(ace_wire_client *client, uint16_t channel,
                      const amqp_basic_publish_t *publish,
                      const amqp_basic_properties_t *properties, ace_bytes body);
/* Through the default exchange, without properties. */
void ace_wire_publish_text(ace_wire_client *client, const char *queue, const char *body);

/* --- reading --- */

/* The next method, heartbeats left out, with its content where it has one. Fails after
 * ace_wire_patience(). False: the server ended the stream. */
bool ace_wire_read(ace_wire_client *client);
/* Reads the next method, which must be `id`; returns its struct. */
const void *ace_wire_expect(ace_wire_client *client, amqp_method_number_t id);
/* The next method must be channel.close (or connection.close) with this code and text. The close is
 * answered. */
void ace_wire_expect_channel_close(ace_wire_client *client, int code, const char *text);
void ace_wire_expect_connection_close(ace_wire_client *client, int code, const char *text);
void ace_wire_expect_end(
    ace_wire_client *client); /* the server ends the stream, sending nothing more */
void ace_wire_expect_quiet(ace_wire_client *client); /* nothing comes */
/* The next method is a delivery (or get-ok) of this body; returns its tag. */
uint64_t ace_wire_expect_delivery(ace_wire_client *client, const char *body, bool redelivered);

/* --- everyday work, on channel 1 unless said --- */

void ace_wire_open_channel(ace_wire_client *client, uint16_t channel);
/* `arguments` may be NULL. Returns the number of messages. */
uint32_t ace_wire_declare(ace_wire_client *client, const char *queue,
                          const amqp_table_t *arguments);
uint32_t ace_wire_count(ace_wire_client *client, const char *queue); /* passively */
void ace_wire_wait_count(ace_wire_client *client, const char *queue, uint32_t count);
void ace_wire_consume(ace_wire_client *client, const char *queue, const char *tag, bool no_ack);
void ace_wire_prefetch(ace_wire_client *client, uint16_t count, bool global);
void ace_wire_get(ace_wire_client *client, const char *queue); /* the answer is not read */
/* Gets until a message is there; fails after ace_wire_patience(). Returns its tag. */
uint64_t ace_wire_wait_get(ace_wire_client *client, const char *queue, const char *body);
void ace_wire_ack(ace_wire_client *client, uint64_t tag, bool multiple);
void ace_wire_nack(ace_wire_client *client, uint64_t tag, bool multiple, bool requeue);
void ace_wire_confirm_select(ace_wire_client *client);

/* Arguments: name, kind and value, ending with NULL; kinds 'i' (int64_t), 's' (const char *), 't'
 * (int). ace_wire_table(client, "x-message-ttl", 'i', INT64_C(5), NULL) */
amqp_table_t ace_wire_table(ace_wire_client *client, const char *name, ...);
/* A header of the content that was read last; NULL. */
const amqp_field_value_t *ace_wire_header(const ace_wire_client *client, const char *name);
const char *ace_wire_text(ace_wire_client *client, const amqp_field_value_t *value);

#endif
