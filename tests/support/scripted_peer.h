/*
 * An AMQP server that does what a test's script says, and nothing else: any frames in any order,
 * half frames, late answers, garbage, silence. It listens on 127.0.0.1; each connection that comes
 * in runs the script on a thread of its own, told apart by its index (0 for the first). The script
 * is plain C with blocking steps.
 *
 * A step that does not find what it expects records why and ends the script there; peer_stop()
 * hands the first such reason to the test.
 */
#ifndef ACEMQ_TESTS_SCRIPTED_PEER_H
#define ACEMQ_TESTS_SCRIPTED_PEER_H

#include "base/buffer.h"
#include "wire/assembly.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct scripted_peer scripted_peer;
typedef struct peer_side peer_side; /* one connection, on its script's thread */
typedef void peer_script(peer_side *side, int index, void *user);

/* Aborts the test when it cannot listen. */
scripted_peer *peer_start(peer_script *script, void *user);
const char *peer_url(const scripted_peer *peer); /* amqp://guest:guest@127.0.0.1:PORT */
uint16_t peer_port(const scripted_peer *peer);
int peer_connections(scripted_peer *peer); /* how many came in so far */
/* Ends all scripts (a step that waits gives up), joins and frees. NULL when every step found what
 * it expected, else the first reason, which the caller frees. */
char *peer_stop(scripted_peer *peer);

/* How long a step waits for bytes before it fails; 20000 ms at first. */
void peer_set_patience(peer_side *side, int milliseconds);
void peer_fail(peer_side *side, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void peer_check(peer_side *side, bool holds, const char *what);

typedef struct peer_tune {
    uint16_t channel_max;
    uint32_t frame_max;
    uint16_t heartbeat;
} peer_tune;

/* The whole handshake; `tune` NULL offers 2047, 131072 and no heartbeat. */
void peer_handshake(peer_side *side, const peer_tune *tune);
/* Its steps. The server properties of start hold the capabilities when `capable`. */
void peer_expect_header(peer_side *side);
void peer_send_start(peer_side *side, const char *mechanisms, bool capable);
void peer_send_tune(peer_side *side, const peer_tune *tune);
/* The latest tune-ok. */
const amqp_connection_tune_ok_t *peer_tuned(const peer_side *side);

/* The next method, which must be this one; borrowed until the next step. Heartbeats are passed
 * over. */
const void *peer_expect(peer_side *side, uint16_t channel, amqp_method_number_t id);
/* The next content, announced by this method; the test frees it. */
ace_content *peer_expect_content(peer_side *side, uint16_t channel, amqp_method_number_t id);
/* The next heartbeat; other frames fail the step. */
void peer_expect_heartbeat(peer_side *side);
/* That nothing but heartbeats comes for so long. */
void peer_expect_silence(peer_side *side, int milliseconds);
/* That the client hangs up; what it sends before is passed over. */
void peer_expect_end(peer_side *side);
/* The client's connection.close, answered. */
void peer_expect_goodbye(peer_side *side);
/* channel.open, answered. */
void peer_open_channel(peer_side *side, uint16_t channel);
/* channel.open and confirm.select, both answered. */
void peer_open_confirm_channel(peer_side *side, uint16_t channel);

void peer_send(peer_side *side, uint16_t channel, amqp_method_number_t id, const void *method);
void peer_send_content(peer_side *side, uint16_t channel, amqp_method_number_t id,
                       const void *method, const amqp_basic_properties_t *properties,
                       ace_bytes body);
void peer_send_raw(peer_side *side, const void *bytes, size_t length);
void peer_send_heartbeat(peer_side *side);
void peer_ack(peer_side *side, uint16_t channel, uint64_t tag, bool multiple);
void peer_nack(peer_side *side, uint16_t channel, uint64_t tag, bool multiple);
/* basic.return of a content that came as basic.publish. */
void peer_return(peer_side *side, const ace_content *publish, uint16_t code, const char *text);
void peer_close_channel(peer_side *side, uint16_t channel, uint16_t code, const char *text,
                        amqp_method_number_t over);
void peer_close_connection(peer_side *side, uint16_t code, const char *text);
/* What is sent is kept back and leaves in one piece, or with every byte on its own, until it is set
 * back. */
typedef enum peer_pieces { PEER_AS_IT_COMES, PEER_BYTE_BY_BYTE } peer_pieces;
void peer_set_pieces(peer_side *side, peer_pieces pieces);

void peer_delay(peer_side *side, int milliseconds);
void peer_hang_up(peer_side *side);   /* closes the socket at once */
void peer_wait_stop(peer_side *side); /* does nothing, reads nothing, until peer_stop() */

amqp_bytes_t peer_text(const char *text);

#endif
