/* The inside of TLS, shared by the files that make it up. Nobody else includes this. */
#ifndef ACE_TRANSPORT_TLS_CONTEXT_H
#define ACE_TRANSPORT_TLS_CONTEXT_H

#include "transport/tls.h"

#include <openssl/ssl.h>

struct ace_tls_context {
    SSL_CTX *library;
    bool has_certificate; /* of the client */
    char *server_name;    /* as in the options */
};

/* What is known when a handshake, or what comes right after it, fails. */
typedef struct ace_tls_failure {
    SSL *session;
    const char *peer;
    const char *name;     /* that the certificate had to hold */
    unsigned long reason; /* of the library, 0: none */
    bool certificate_asked;
    bool certificate_given;
} ace_tls_failure;

/* Makes the error of it: its kind, the peer, and what to do. */
ace_code ace_tls_explain(const ace_tls_failure *failure, ace_error **error);
/* The peer hung up right after the handshake, which is how some refuse the client's certificate. */
ace_code ace_tls_explain_hang_up(const ace_tls_failure *failure, ace_error **error);

#endif
