/*
 * TLS over another stream, as its client. Version 1.2 at least, no renegotiation. The broker's
 * certificate is verified unless that is switched off: its chain, its times, and that it holds the
 * host's name or address.
 */
#ifndef ACE_TRANSPORT_TLS_H
#define ACE_TRANSPORT_TLS_H

#include "base/error.h"
#include "transport/stream.h"

#include <stdbool.h>

typedef struct ace_tls_options {
    bool verify;         /* the broker's certificate */
    const char *ca_file; /* PEM, of the CAs that are trusted; with neither this nor the next: those
                            of the system */
    const char *ca_folder;        /* by hash, as `openssl rehash` makes it */
    const char *certificate_file; /* PEM, the client's, with what is between it and its CA */
    const char *key_file;         /* PEM; NULL: it is in certificate_file */
    const char *key_password;     /* NULL: none */
    /* The name that is asked for and that the certificate must hold. NULL: the host's. "": the
     * host's is verified, and none is asked for. */
    const char *server_name;
} ace_tls_options;

#define ACE_TLS_OPTIONS_DEFAULT                                                                    \
    {                                                                                              \
        true, NULL, NULL, NULL, NULL, NULL, NULL                                                   \
    }

/* What was read from the files; for the streams of one connect. */
typedef struct ace_tls_context ace_tls_context;

/* Reads the files. ACE_INVALID_ARGUMENT: one cannot be read or used; field and text name the option
 * and the path, never the key's password. */
ace_code ace_tls_context_new(const ace_tls_options *options, ace_tls_context **context,
                             ace_error **error);
void ace_tls_context_free(ace_tls_context *context); /* NULL is fine; streams live on */

/*
 * Takes the inner stream over, and closes it on failure too. ace_stream_establish() goes on with
 * its connect and then with the handshake; nothing but the handshake leaves before that is done.
 * `host` is the name or address that the user gave. Establishing fails with ACE_UNREACHABLE (the
 * peer hung up), ACE_TLS_NAME, ACE_TLS_UNTRUSTED, ACE_TLS_EXPIRED, ACE_TLS_PLAIN_SERVER,
 * ACE_TLS_CLIENT_CERTIFICATE, ACE_TLS_VERSION, or ACE_TLS for any other reason.
 */
ace_code ace_tls_open(ace_stream *inner, const ace_tls_context *context, const char *host,
                      ace_stream **stream, ace_error **error);

#endif
