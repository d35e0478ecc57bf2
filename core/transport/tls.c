#include "transport/tls.h"

#include "transport/tls_context.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* The types of the records with which a TLS server may begin. */
#define RECORD_ALERT     21
#define RECORD_HANDSHAKE 22

typedef struct tls_stream {
    ace_stream stream;
    ace_stream *inner;
    SSL *session;
    BIO_METHOD *method; /* how the session reaches `inner` */
    char *name;         /* that the certificate must hold */
    bool connected;     /* the inner stream is */
    bool established;
    bool heard;    /* the first byte of the peer was looked at */
    bool is_plain; /* and is not TLS */
    bool ended;    /* the inner stream has */
    bool received; /* something after the handshake */
    bool certificate_asked;
    bool has_certificate;
    bool reading_waits_for_room; /* what a read has to answer waits for POLLOUT */
    bool writing_waits_for_data;
    ace_error *failure; /* of the inner stream */
} tls_stream;

static tls_stream *of(ace_stream *stream)
{
    return (tls_stream *)(void *)stream;
}

static const tls_stream *of_const(const ace_stream *stream)
{
    return (const tls_stream *)(const void *)stream;
}

/* --- the session's way to the inner stream ---------------------------------------------------- */

static void keep_failure(tls_stream *self, ace_error *error)
{
    ace_error_free(self->failure);
    self->failure = error;
}

static int bio_read(BIO *bio, char *data, size_t size, size_t *moved)
{
    tls_stream *self = BIO_get_data(bio);
    ace_error *error = NULL;
    BIO_clear_retry_flags(bio);
    switch (ace_stream_read(self->inner, data, size, moved, &error)) {
    case ACE_STREAM_READY:
        break;
    case ACE_STREAM_BLOCKED:
        BIO_set_retry_read(bio);
        return 0;
    case ACE_STREAM_END:
        self->ended = true;
        return 0;
    case ACE_STREAM_FAILED:
        keep_failure(self, error);
        return 0;
    }
    if (!self->heard && *moved > 0) {
        self->heard = true;
        self->is_plain = data[0] != RECORD_HANDSHAKE && data[0] != RECORD_ALERT;
    }
    return self->is_plain ? 0 : 1;
}

static int bio_write(BIO *bio, const char *data, size_t size, size_t *moved)
{
    tls_stream *self = BIO_get_data(bio);
    ace_error *error = NULL;
    BIO_clear_retry_flags(bio);
    const struct iovec part = {(void *)(uintptr_t)data, size};
    switch (ace_stream_write(self->inner, &part, 1, moved, &error)) {
    case ACE_STREAM_READY:
        return 1;
    case ACE_STREAM_BLOCKED:
        BIO_set_retry_write(bio);
        return 0;
    case ACE_STREAM_END:
    case ACE_STREAM_FAILED:
        keep_failure(self, error);
        break;
    }
    return 0;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    const tls_stream *self = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return self->ended ? 1 : 0;
    default:
        return 0;
    }
}

static BIO *new_bio(tls_stream *self)
{
    self->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "byte stream");
    if (self->method == NULL || BIO_meth_set_read_ex(self->method, bio_read) != 1 ||
        BIO_meth_set_write_ex(self->method, bio_write) != 1 ||
        BIO_meth_set_ctrl(self->method, bio_control) != 1) {
        return NULL;
    }
    BIO *bio = BIO_new(self->method);
    if (bio != NULL) {
        BIO_set_data(bio, self);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* --- what an operation of the session came to ---------------------------------------------------
 */

static const char *peer_of(const tls_stream *self)
{
    return ace_stream_peer(self->inner);
}

static ace_tls_failure failure_of(const tls_stream *self)
{
    return (ace_tls_failure){
        .session = self->session,
        .peer = peer_of(self),
        .name = self->name,
        .reason = ERR_peek_error(),
        .certificate_asked = self->certificate_asked,
        .certificate_given = self->certificate_asked && self->has_certificate,
    };
}

static bool is_unexpected_end(void)
{
    unsigned long reason = ERR_peek_error();
    return reason == 0 || ERR_GET_REASON(reason) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

static ace_code fail_handshake(tls_stream *self, ace_error **error)
{
    if (self->is_plain) {
        return ace_fail(error, ACE_TLS_PLAIN_SERVER,
                        "%s does not speak TLS; its port for TLS is another one (5671 as a rule), "
                        "or the URL has to begin with amqp://",
                        peer_of(self));
    }
    bool hung_up = (self->ended || self->failure != NULL) && is_unexpected_end();
    if (!hung_up) {
        ace_tls_failure failure = failure_of(self);
        return ace_tls_explain(&failure, error);
    }
    if (self->failure == NULL) {
        return ace_fail(error, ACE_UNREACHABLE, "%s hung up during the TLS handshake",
                        peer_of(self));
    }
    return ace_fail(error, ACE_UNREACHABLE, "TLS handshake: %s", ace_error_message(self->failure));
}

/* After the handshake. What a broker thinks of our certificate it says only then. */
static ace_stream_state fail_transfer(tls_stream *self, ace_error **error)
{
    ace_tls_failure failure = failure_of(self);
    bool hung_up = (self->ended || self->failure != NULL) && is_unexpected_end();
    if (!self->received && hung_up && self->certificate_asked && !self->has_certificate) {
        ace_tls_explain_hang_up(&failure, error);
        return ACE_STREAM_FAILED;
    }
    if (hung_up && self->failure == NULL) {
        return ACE_STREAM_END;
    }
    if (hung_up) {
        ace_error_move(error, ace_error_copy(self->failure));
        return ACE_STREAM_FAILED;
    }
    ace_error *why = NULL;
    if (ace_tls_explain(&failure, &why) != ACE_TLS_CLIENT_CERTIFICATE || self->received) {
        ace_fail(error, ACE_CONNECTION_LOST, "%s", ace_error_message(why));
        ace_error_free(why);
        return ACE_STREAM_FAILED;
    }
    ace_error_move(error, why);
    return ACE_STREAM_FAILED;
}

/* --- the operations -----------------------------------------------------------------------------
 */

static ace_stream_state tls_establish(ace_stream *stream, ace_error **error)
{
    tls_stream *self = of(stream);
    if (self->established) {
        return ACE_STREAM_READY;
    }
    if (!self->connected) {
        ace_stream_state state = ace_stream_establish(self->inner, error);
        if (state != ACE_STREAM_READY) {
            return state;
        }
        self->connected = true;
    }
    ERR_clear_error();
    int status = SSL_do_handshake(self->session);
    self->writing_waits_for_data = false;
    if (status == 1) {
        self->established = true;
        return ACE_STREAM_READY;
    }
    switch (SSL_get_error(self->session, status)) {
    case SSL_ERROR_WANT_READ:
        self->writing_waits_for_data = true;
        return ACE_STREAM_BLOCKED;
    case SSL_ERROR_WANT_WRITE:
        return ACE_STREAM_BLOCKED;
    default:
        fail_handshake(self, error);
        ERR_clear_error();
        return ACE_STREAM_FAILED;
    }
}

static ace_stream_state read_record(tls_stream *self, char *data, size_t size, size_t *moved,
                                    ace_error **error)
{
    ERR_clear_error();
    self->reading_waits_for_room = false;
    int status = SSL_read_ex(self->session, data, size, moved);
    if (status == 1) {
        self->received = true;
        return ACE_STREAM_READY;
    }
    ace_stream_state state = ACE_STREAM_BLOCKED;
    switch (SSL_get_error(self->session, status)) {
    case SSL_ERROR_WANT_READ:
        break;
    case SSL_ERROR_WANT_WRITE:
        self->reading_waits_for_room = true;
        break;
    case SSL_ERROR_ZERO_RETURN:
        self->ended = true;
        ERR_clear_error();
        state = fail_transfer(self, error);
        break;
    default:
        state = fail_transfer(self, error);
        break;
    }
    ERR_clear_error();
    return state;
}

/* As many records as fit whole: what stays in the session poll(2) would not tell of. */
static ace_stream_state tls_read(ace_stream *stream, void *data, size_t size, size_t *moved,
                                 ace_error **error)
{
    tls_stream *self = of(stream);
    if (!self->established) {
        return ACE_STREAM_BLOCKED;
    }
    if (size == 0) {
        return ACE_STREAM_READY;
    }
    ace_stream_state state;
    do {
        size_t got = 0;
        /* An end or an error that comes after some bytes comes again at the next read. */
        state = read_record(self, (char *)data + *moved, size - *moved, &got,
                            *moved > 0 ? NULL : error);
        *moved += got;
    } while (state == ACE_STREAM_READY && size - *moved >= ACE_STREAM_ROOM);
    return *moved > 0 ? ACE_STREAM_READY : state;
}

static ace_stream_state write_part(tls_stream *self, const struct iovec *part, size_t *moved,
                                   ace_error **error)
{
    ERR_clear_error();
    self->writing_waits_for_data = false;
    int status = SSL_write_ex(self->session, part->iov_base, part->iov_len, moved);
    if (status == 1) {
        return ACE_STREAM_READY;
    }
    ace_stream_state state = ACE_STREAM_BLOCKED;
    switch (SSL_get_error(self->session, status)) {
    case SSL_ERROR_WANT_WRITE:
        break;
    case SSL_ERROR_WANT_READ:
        self->writing_waits_for_data = true;
        break;
    default:
        state = fail_transfer(self, error);
        if (state == ACE_STREAM_END) {
            ace_fail(error, ACE_CONNECTION_LOST, "writing to %s: it has closed the connection",
                     peer_of(self));
            state = ACE_STREAM_FAILED;
        }
        break;
    }
    ERR_clear_error();
    return state;
}

static ace_stream_state tls_write(ace_stream *stream, const struct iovec *parts, int count,
                                  size_t *moved, ace_error **error)
{
    tls_stream *self = of(stream);
    if (!self->established) {
        return ACE_STREAM_BLOCKED;
    }
    ace_stream_state state = ACE_STREAM_READY;
    for (int i = 0; i < count && state == ACE_STREAM_READY; i++) {
        if (parts[i].iov_len == 0) {
            continue;
        }
        size_t sent = 0;
        state = write_part(self, &parts[i], &sent, *moved > 0 ? NULL : error);
        *moved += sent;
        if (sent < parts[i].iov_len) {
            break;
        }
    }
    return *moved > 0 ? ACE_STREAM_READY : state;
}

static void say_goodbye(tls_stream *self)
{
    if (self->established && self->failure == NULL) {
        ERR_clear_error();
        (void)SSL_shutdown(self->session);
        ERR_clear_error();
    }
}

static void tls_finish(ace_stream *stream)
{
    say_goodbye(of(stream));
    ace_stream_finish(of(stream)->inner);
}

static void tls_close(ace_stream *stream)
{
    tls_stream *self = of(stream);
    say_goodbye(self);
    SSL_free(self->session);
    BIO_meth_free(self->method);
    ace_stream_close(self->inner);
    ace_error_free(self->failure);
    free(self->name);
    free(self);
}

/* The session stays as it is: another thread may have been inside it at the fork. */
static void tls_abandon(ace_stream *stream)
{
    ace_stream_abandon(of(stream)->inner);
}

static int tls_descriptor(const ace_stream *stream)
{
    return ace_stream_descriptor(of_const(stream)->inner);
}

static short tls_events(const ace_stream *stream, bool reading, bool writing)
{
    const tls_stream *self = of_const(stream);
    if (!self->connected) {
        return ace_stream_events(self->inner, reading, writing);
    }
    if (!self->established) {
        return self->writing_waits_for_data ? POLLIN : POLLOUT;
    }
    bool in = reading || (writing && self->writing_waits_for_data);
    bool out =
        (writing && !self->writing_waits_for_data) || (reading && self->reading_waits_for_room);
    return ace_stream_events(self->inner, in, out);
}

static const char *tls_peer(const ace_stream *stream)
{
    return peer_of(of_const(stream));
}

static const ace_stream_operations tls_operations = {
    .establish = tls_establish,
    .read = tls_read,
    .write = tls_write,
    .finish = tls_finish,
    .close = tls_close,
    .abandon = tls_abandon,
    .descriptor = tls_descriptor,
    .events = tls_events,
    .peer = tls_peer,
};

/* --- opening
 * -------------------------------------------------------------------------------------- */

static int note_that_certificate_is_asked(SSL *session, void *user)
{
    (void)session;
    ((tls_stream *)user)->certificate_asked = true;
    return 1; /* goes on with the one that was loaded, or without */
}

static bool is_address(const char *name)
{
    unsigned char space[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, space) == 1 || inet_pton(AF_INET6, name, space) == 1;
}

/* What is verified, and what is asked for where the broker has several certificates. A name that
 * is empty the library would verify as any, and one with a dot in front as all that end so. */
static bool set_names(tls_stream *self, bool is_told)
{
    if (self->name[0] == '\0' || self->name[0] == '.') {
        return false;
    }
    X509_VERIFY_PARAM *wanted = SSL_get0_param(self->session);
    if (is_address(self->name)) {
        return X509_VERIFY_PARAM_set1_ip_asc(wanted, self->name) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_host(wanted, self->name, 0) == 1 &&
           (!is_told || SSL_set_tlsext_host_name(self->session, self->name) == 1);
}

static bool begin(tls_stream *self, const ace_tls_context *context, const char *host)
{
    const char *name = context->server_name;
    bool is_told = name == NULL || name[0] != '\0';
    self->name = strdup(name == NULL || name[0] == '\0' ? host : name);
    if (self->name != NULL && strchr(self->name, ':') != NULL) {
        self->name[strcspn(self->name, "%")] = '\0'; /* its interface no certificate knows */
    }
    self->session = SSL_new(context->library);
    self->has_certificate = context->has_certificate;
    BIO *bio = new_bio(self);
    if (self->name == NULL || self->session == NULL || bio == NULL) {
        BIO_free(bio);
        return false;
    }
    SSL_set_bio(self->session, bio, bio);
    SSL_set_connect_state(self->session);
    SSL_set_cert_cb(self->session, note_that_certificate_is_asked, self);
    return set_names(self, is_told);
}

ace_code ace_tls_open(ace_stream *inner, const ace_tls_context *context, const char *host,
                      ace_stream **stream, ace_error **error)
{
    tls_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        ace_stream_close(inner);
        return ace_fail_memory(error);
    }
    self->stream.operations = &tls_operations;
    self->inner = inner;
    ERR_clear_error();
    bool whole = begin(self, context, host);
    ERR_clear_error();
    if (!whole) {
        tls_close(&self->stream);
        return ace_fail(error, ACE_TLS, "TLS with %s cannot be begun: is %s a host's name?", host,
                        context->server_name == NULL ? host : context->server_name);
    }
    *stream = &self->stream;
    return ACE_OK;
}
