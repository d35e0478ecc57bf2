/*
 * A TLS server in front of an AMQP server that knows nothing of TLS: it ends the TLS of its clients
 * and hands on what was inside. It remembers what came over the wire, and can behave badly.
 */
#ifndef ACEMQ_TESTS_TLS_FRONT_H
#define ACEMQ_TESTS_TLS_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tls_front tls_front;

typedef struct tls_front_options {
    const char *certificate; /* paths of PEM files */
    const char *key;
    const char *client_ca; /* of the certificates that clients must have; NULL: they need none */
    int highest_version;   /* TLS1_2_VERSION and so on; 0: the newest */
    int backend;           /* port on 127.0.0.1 */
    bool update_keys;      /* new keys, of both sides, all the time */
    const void *bytes;     /* the answer in place of TLS, after which it hangs up; NULL: TLS */
    size_t length;
    size_t cut_after; /* of so many bytes to the client it hangs up; 0: never */
} tls_front_options;

/* Listens on a port of 127.0.0.1. Texts and bytes are borrowed until front_stop(). */
tls_front *front_start(const tls_front_options *options);
int front_port(const tls_front *front);
int front_connections(tls_front *front); /* so far */
/* What all clients sent so far as it came over the wire, up to 256 KiB; the caller frees. */
uint8_t *front_heard(tls_front *front, size_t *length);
/* A client sent a byte that was in no TLS record, or began with another than a handshake's. */
bool front_heard_clear(tls_front *front);
/* Asks each client that is connected for another handshake, which TLS 1.2 still has. */
void front_ask_again(tls_front *front);
bool front_was_given_another(tls_front *front); /* some client began it */
void front_cut(tls_front *front);               /* hangs up on everybody */
void front_stop(tls_front *front);

#endif
