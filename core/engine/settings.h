/*
 * What a connection is configured with. A settings record is filled in by one thread, copied when a
 * connection is opened, and not read afterwards.
 */
#ifndef ACE_ENGINE_SETTINGS_H
#define ACE_ENGINE_SETTINGS_H

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "contract/limits.h"
#include "engine/url.h"
#include "transport/tcp.h"
#include "transport/tls.h"

#include <stdbool.h>
#include <stdint.h>

#define ACE_HEARTBEAT_OF_BROKER (-1) /* whatever interval the broker proposes */

typedef enum ace_credentials_source {
    ACE_CREDENTIALS_URL,  /* those in the URL, else guest and guest */
    ACE_CREDENTIALS_FILE, /* `path`: the user on the first line, the password on the second */
    ACE_CREDENTIALS_ENVIRONMENT, /* the variables named by `user_variable` and `password_variable`
                                  */
    ACE_CREDENTIALS_ON_DEMAND,   /* `ask` */
} ace_credentials_source;

typedef struct ace_credentials {
    char *user; /* malloc'd, owned by the holder */
    char *password;
} ace_credentials;

void ace_credentials_free(ace_credentials *credentials); /* overwrites both; leaves it empty */

/* Called at each connect, on a short-lived thread of the library, never on the I/O thread. It may
 * take as long as the connect timeout allows. It fills in `credentials` with malloc'd texts. On
 * failure it sets *error, and the connect fails with it. */
typedef ace_code ace_credentials_ask(ace_credentials *credentials, void *user, ace_error **error);

typedef struct ace_settings {
    const char *name; /* connection_name as operators see it, at most 255 bytes; NULL: none */
    ace_clock *clock; /* borrowed, as is `random`; NULL: the system's */
    ace_random *random;
    ace_log log; /* its user must outlive the connection */

    int32_t heartbeat;       /* seconds offered: 0 off, 1 to 65535, ACE_HEARTBEAT_OF_BROKER */
    int64_t connect_timeout; /* ms, from the name's resolution to open-ok; 1 to 2^31 - 1 */
    int64_t rpc_timeout;     /* ms for the answer to one synchronous method */
    int64_t confirm_timeout; /* ms, of a publish that brings no deadline */
    int32_t channel_max;     /* offered: 1 to 65535 */
    int32_t frame_max;       /* offered: 4096 to 2^31 - 1 */

    bool reconnect;            /* come back after a loss */
    int64_t reconnect_initial; /* ms, doubling up to reconnect_limit */
    int64_t reconnect_limit;
    double reconnect_jitter; /* 0 to 1: the part of a wait that is random; 0 switches it off */

    uint32_t outstanding_limit; /* publishes sent and not confirmed: 1 to 1 000 000 */
    bool confirms;              /* of the application's publishes; hops always have them */
    uint64_t queued_limit;      /* bytes of the application's publishes in hand, at least 1 */
    uint64_t body_limit;        /* bytes of one body, sent or received */
    ace_header_limits headers;  /* of what is sent */
    uint64_t output_limit;      /* bytes owed to a peer that does not read: 4096 and more */

    ace_credentials_source credentials;
    const char *credentials_path;
    const char *user_variable;
    const char *password_variable;
    ace_credentials_ask *ask;
    void *ask_user;

    ace_tls_options tls; /* of amqps:// */
    ace_tcp_options tcp;
} ace_settings;

/* Heartbeat 60 s, connect 10 s, rpc 30 s, confirm 30 s, channel-max 2047, frame-max 131072,
 * back-off 500 ms to 30 s with jitter 0.2, 1000 outstanding, confirms on, credentials of the URL,
 * TLS that verifies, ACE_TCP_OPTIONS_DEFAULT, and the limits of contract/limits.h. */
void ace_settings_init(ace_settings *settings);

/* What the URL's options say goes over what the settings say. Texts are the URL's until the
 * settings are copied. */
void ace_settings_apply_url(ace_settings *settings, const ace_url *url);

/* ACE_INVALID_ARGUMENT or ACE_LIMIT, naming the field and its range. */
ace_code ace_settings_check(const ace_settings *settings, ace_error **error);

/* A copy with its own strings (the clock, the generator and the users of callbacks stay borrowed;
 * NULL ones become the system's). Freed by ace_settings_free(). ACE_OUT_OF_MEMORY. */
ace_code ace_settings_copy(const ace_settings *from, ace_settings *to, ace_error **error);
void ace_settings_free(ace_settings *copy);

/* Reads the credentials where the settings say. Not on the I/O thread. ACE_LOGIN_REFUSED (a missing
 * file or variable, naming it; never its content), what `ask` answers, ACE_OUT_OF_MEMORY. */
ace_code ace_settings_credentials(const ace_settings *settings, const ace_url *url,
                                  ace_credentials *credentials, ace_error **error);

#endif
