/*
 * Where the broker is: `amqp://user:password@host:port/vhost?option=value` or `memory://name`.
 *
 * Everything is percent-encoded where RFC 3986 wants it. `amqp://h` and `amqp://h/` mean the
 * virtual host
 * `/`; `amqp://h/%2Ffoo` means `/foo`. Without user and password they are guest and guest, without
 * a port it is 5672, without a host (`amqp://`) it is localhost. An IPv6 address stands in
 * brackets. A memory broker's name has 1 to 255 bytes; user, password and virtual host may be given
 * for it too: `memory://user:password@name/vhost`.
 *
 * Options: heartbeat (seconds, 0 to 65535, 0 is off), connection_timeout (milliseconds, 1 to 2^31 -
 * 1), channel_max (1 to 65535), frame_max (4096 to 2^31 - 1).
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

#define ACE_AMQP_PORT 5672

typedef enum ace_url_scheme { ACE_URL_AMQP, ACE_URL_MEMORY } ace_url_scheme;

typedef struct ace_endpoint {
    char *host; /* without brackets */
    uint16_t port;
} ace_endpoint;

typedef struct ace_url {
    ace_url_scheme scheme;
    ace_endpoint *endpoints; /* one, of the scheme amqp; none of memory */
    size_t endpoint_count;
    char *memory_name; /* NULL of the scheme amqp */
    bool has_user;     /* it stood in the text */
    char *user;
    char *password;
    char *vhost;
    int32_t heartbeat; /* seconds; this and the next are -1 when they are not in the text */
    int32_t connection_timeout;
    int32_t channel_max;
    int32_t frame_max;
} ace_url;

/* Fills in *url, which the caller frees. ACE_PARSE (position and what is wrong there), ACE_LIMIT,
 * ACE_UNSUPPORTED (amqps, more than one host), ACE_INVALID_ARGUMENT (an unknown option, or a value
 * out of range), ACE_OUT_OF_MEMORY. On failure *url is empty. */
ace_code ace_url_parse(const char *text, ace_url *url, ace_error **error);
void ace_url_free(ace_url *url); /* overwrites the password; leaves an empty one */

/* "host:port", "[::1]:5672" or "memory://name", cut to `size`; for messages. */
void ace_url_place(const ace_url *url, char *out, size_t size);
/* The whole without password: `amqp://user@host:port/vhost`. The caller frees; NULL without memory.
 */
char *ace_url_redacted(const ace_url *url);

#endif
