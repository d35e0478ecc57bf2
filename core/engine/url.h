/*
 * Where the broker is: `amqp://user:password@host:port/vhost?option=value`, the same with
 * `amqps://` for TLS, or `memory://name`. Hosts may be several, with commas between them:
 * `a,b,c:5673`, each with a port of its own or none.
 *
 * Everything is percent-encoded where RFC 3986 wants it. `amqp://h` and `amqp://h/` mean the
 * virtual host
 * `/`; `amqp://h/%2Ffoo` means `/foo`. Without user and password they are guest and guest, without
 * a port it is 5672 (5671 with TLS), without a host (`amqp://`) it is localhost. An IPv6 address
 * stands in brackets. A memory broker's name has 1 to 255 bytes; user, password and virtual host
 * may be given for it too: `memory://user:password@name/vhost`.
 *
 * Options: heartbeat (seconds, 0 to 65535, 0 is off), connection_timeout (milliseconds, 1 to 2^31 -
 * 1), channel_max (1 to 65535), frame_max (4096 to 2^31 - 1). With amqps:// also cacertfile,
 * certfile, keyfile, password (the key's), verify (verify_peer or verify_none) and
 * server_name_indication (a name, or disable).
 *
 * Errors name the place by its position in the text and never quote it: a password that was not
 * encoded might stand anywhere.
 */
#ifndef ACE_ENGINE_URL_H
#define ACE_ENGINE_URL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACE_AMQP_PORT  5672
#define ACE_AMQPS_PORT 5671

typedef enum ace_url_scheme { ACE_URL_AMQP, ACE_URL_AMQPS, ACE_URL_MEMORY } ace_url_scheme;

typedef struct ace_endpoint {
    char *host; /* without brackets */
    uint16_t port;
} ace_endpoint;

typedef struct ace_url {
    ace_url_scheme scheme;
    ace_endpoint *endpoints; /* 1 to 64; none of a memory broker */
    size_t endpoint_count;
    char *memory_name; /* NULL of the others */
    bool has_user;     /* it stood in the text */
    char *user;
    char *password;
    char *vhost;
    int32_t heartbeat; /* seconds; this and the next are -1 when they are not in the text */
    int32_t connection_timeout;
    int32_t channel_max;
    int32_t frame_max;
    int32_t verify; /* 0 or 1; -1: not in the text */
    char *ca_file;  /* this and the rest are NULL when they are not in the text */
    char *certificate_file;
    char *key_file;
    char *key_password;
    char *server_name; /* "": disable */
} ace_url;

/* Fills in *url, which the caller frees. ACE_PARSE (position and what is wrong there), ACE_LIMIT,
 * ACE_INVALID_ARGUMENT (an unknown option, one of TLS without amqps://, or a value out of range),
 * ACE_OUT_OF_MEMORY. On failure *url is empty. */
ace_code ace_url_parse(const char *text, ace_url *url, ace_error **error);
void ace_url_free(ace_url *url); /* overwrites its texts; leaves an empty one */

/* "host:port" or "[::1]:5672"; cut to `size`, at least 1. */
void ace_endpoint_place(const ace_endpoint *endpoint, char *out, size_t size);
/* "host:port", "a:5672,b:5672" or "memory://name", cut to `size`; for messages. */
void ace_url_place(const ace_url *url, char *out, size_t size);
/* The whole without password: `amqp://user@host:port/vhost`, without options. The caller frees;
 * NULL without memory.
 */
char *ace_url_redacted(const ace_url *url);

#endif
