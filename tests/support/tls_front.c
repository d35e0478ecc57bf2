#include "support/tls_front.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINES_MAX     512
#define HEARD_MAX     ((size_t)256 * 1024)
#define CHUNK         16384
#define RECORD_HEADER 5
#define RECORD_MAX    (16384 + 256)
#define TICK          20 /* ms between two looks at what the test wants */

typedef struct line {
    tls_front *front;
    pthread_t thread;
    int client;
    int backend; /* -1: not yet */
    unsigned generation;
    SSL *session;
    size_t sent;
    uint8_t header[RECORD_HEADER]; /* of the record that the client is sending */
    size_t header_length;
    size_t record_left;
    bool begun;     /* its first record */
    bool at_work;   /* the client has sent data */
    unsigned asked; /* for so many more handshakes */
} line;

struct tls_front {
    tls_front_options options;
    SSL_CTX *context;
    int listener;
    int port;
    pthread_t acceptor;
    atomic_bool stopping;
    atomic_uint generation; /* lines of an earlier one are cut */
    atomic_uint asking;     /* for so many more handshakes */
    atomic_bool given_another;
    atomic_bool heard_clear;
    pthread_mutex_t mutex; /* of what follows */
    line *lines[LINES_MAX];
    int count;
    uint8_t *heard;
    size_t heard_length;
};

static void must(bool holds, const char *what)
{
    if (!holds) {
        ERR_print_errors_fp(stderr);
        fprintf(stderr, "tls front: %s failed\n", what);
        abort();
    }
}

static bool send_all(int descriptor, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(descriptor, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool send_to_client(line *self, const uint8_t *bytes, size_t length)
{
    size_t limit = self->front->options.cut_after;
    size_t fits = limit == 0 || self->sent + length <= limit ? length : limit - self->sent;
    self->sent += fits;
    return send_all(self->client, bytes, fits) && fits == length;
}

static bool flush(line *self)
{
    uint8_t bytes[CHUNK];
    int length;
    while ((length = BIO_read(SSL_get_wbio(self->session), bytes, sizeof bytes)) > 0) {
        if (!send_to_client(self, bytes, (size_t)length)) {
            return false;
        }
    }
    return true;
}

/* Of the four kinds of TLS 1.x, the first of a line a handshake. */
static bool is_record(const line *self, bool first)
{
    const uint8_t *header = self->header;
    size_t length = (size_t)header[3] << 8 | header[4];
    return header[0] >= 20 && header[0] <= 23 && (!first || header[0] == 22) && header[1] == 3 &&
           header[2] <= 4 && length <= RECORD_MAX;
}

/* In TLS 1.2; in 1.3 whatever comes after the first data looks like data. */
static void note_another_handshake(line *self)
{
    if (self->at_work && self->header[0] == SSL3_RT_HANDSHAKE) {
        atomic_store(&self->front->given_another, true);
    }
    self->at_work = self->at_work || self->header[0] == SSL3_RT_APPLICATION_DATA;
}

/* All that a client sends has to lie in records, whatever it is. */
static void follow_records(line *self, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at < length && !atomic_load(&self->front->heard_clear);) {
        if (self->record_left > 0) {
            size_t skipped = length - at < self->record_left ? length - at : self->record_left;
            self->record_left -= skipped;
            at += skipped;
            continue;
        }
        self->header[self->header_length++] = bytes[at++];
        if (self->header_length == RECORD_HEADER) {
            self->header_length = 0;
            self->record_left = (size_t)self->header[3] << 8 | self->header[4];
            if (!is_record(self, !self->begun)) {
                atomic_store(&self->front->heard_clear, true);
            }
            self->begun = true;
            note_another_handshake(self);
        }
    }
}

static void remember(line *self, const uint8_t *bytes, size_t length)
{
    tls_front *front = self->front;
    follow_records(self, bytes, length);
    pthread_mutex_lock(&front->mutex);
    size_t fits =
        HEARD_MAX - front->heard_length < length ? HEARD_MAX - front->heard_length : length;
    memcpy(front->heard + front->heard_length, bytes, fits);
    front->heard_length += fits;
    pthread_mutex_unlock(&front->mutex);
}

static int connect_backend(int port)
{
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* False: this line is over. */
static bool go_on(line *self)
{
    if (self->backend < 0) {
        int status = SSL_do_handshake(self->session);
        bool failed = status <= 0 && SSL_get_error(self->session, status) != SSL_ERROR_WANT_READ;
        if (!flush(self) || failed) {
            return false;
        }
        if (status <= 0) {
            return true;
        }
        self->backend = connect_backend(self->front->options.backend);
        if (self->backend < 0) {
            return false;
        }
    }
    uint8_t bytes[CHUNK];
    int length;
    while ((length = SSL_read(self->session, bytes, sizeof bytes)) > 0) {
        if (!send_all(self->backend, bytes, (size_t)length)) {
            return false;
        }
    }
    return flush(self) && SSL_get_error(self->session, length) == SSL_ERROR_WANT_READ;
}

static bool take_from_client(line *self)
{
    uint8_t bytes[CHUNK];
    ssize_t length = recv(self->client, bytes, sizeof bytes, 0);
    if (length <= 0) {
        return false;
    }
    remember(self, bytes, (size_t)length);
    const tls_front_options *options = &self->front->options;
    if (options->bytes != NULL) {
        (void)send_to_client(self, options->bytes, options->length);
        return false;
    }
    return BIO_write(SSL_get_rbio(self->session), bytes, (int)length) == length && go_on(self);
}

static bool take_from_backend(line *self)
{
    uint8_t bytes[CHUNK];
    ssize_t length = recv(self->backend, bytes, sizeof bytes, 0);
    if (length <= 0) {
        return false;
    }
    if (self->front->options.update_keys && SSL_version(self->session) == TLS1_3_VERSION) {
        must(SSL_key_update(self->session, SSL_KEY_UPDATE_REQUESTED) == 1, "new keys");
    }
    return SSL_write(self->session, bytes, (int)length) == length && flush(self);
}

static bool ask_again(line *self)
{
    unsigned asking = atomic_load(&self->front->asking);
    if (self->asked == asking || self->backend < 0) {
        return true;
    }
    self->asked = asking;
    must(SSL_renegotiate(self->session) == 1 && SSL_do_handshake(self->session) == 1,
         "asking for another handshake");
    return flush(self);
}

/* So that the client reads what was sent last, instead of a reset. */
static void linger(line *self)
{
    uint8_t bytes[CHUNK];
    shutdown(self->client, SHUT_WR);
    struct pollfd polled = {.fd = self->client, .events = POLLIN};
    while (poll(&polled, 1, 2000) == 1) {
        ssize_t length = recv(self->client, bytes, sizeof bytes, 0);
        if (length <= 0) {
            return;
        }
        remember(self, bytes, (size_t)length);
    }
}

static void *run_line(void *user)
{
    line *self = user;
    tls_front *front = self->front;
    bool alive = true;
    while (alive && !atomic_load(&front->stopping) &&
           atomic_load(&front->generation) == self->generation) {
        struct pollfd polled[2] = {{.fd = self->client, .events = POLLIN},
                                   {.fd = self->backend, .events = POLLIN}};
        (void)poll(polled, 2, TICK);
        if (polled[0].revents != 0) {
            alive = take_from_client(self);
        }
        if (alive && self->backend >= 0 && polled[1].revents != 0) {
            alive = take_from_backend(self);
        }
        alive = alive && ask_again(self);
        ERR_clear_error();
    }
    if (!alive) {
        linger(self);
    }
    SSL_free(self->session);
    close(self->client);
    if (self->backend >= 0) {
        close(self->backend);
    }
    return NULL;
}

static void take_line(tls_front *front, int client)
{
    line *self = calloc(1, sizeof *self);
    must(self != NULL, "memory");
    *self = (line){.front = front, .client = client, .backend = -1};
    self->generation = atomic_load(&front->generation);
    self->asked = atomic_load(&front->asking);
    if (front->context != NULL) {
        self->session = SSL_new(front->context);
        must(self->session != NULL, "a session");
        SSL_set_bio(self->session, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_accept_state(self->session);
    }
    pthread_mutex_lock(&front->mutex);
    must(front->count < LINES_MAX, "room for a connection");
    must(pthread_create(&self->thread, NULL, run_line, self) == 0, "a thread");
    front->lines[front->count++] = self;
    pthread_mutex_unlock(&front->mutex);
}

static void *accept_all(void *user)
{
    tls_front *front = user;
    while (!atomic_load(&front->stopping)) {
        struct pollfd polled = {.fd = front->listener, .events = POLLIN};
        if (poll(&polled, 1, TICK) != 1) {
            continue;
        }
        int client = accept4(front->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0) {
            take_line(front, client);
        }
    }
    return NULL;
}

static void make_context(tls_front *front)
{
    const tls_front_options *options = &front->options;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    must(context != NULL, "a context");
    must(SSL_CTX_use_certificate_chain_file(context, options->certificate) == 1, "certificate");
    must(SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) == 1, "key");
    if (options->highest_version != 0) {
        must(SSL_CTX_set_max_proto_version(context, options->highest_version) == 1, "version");
    }
    if (options->highest_version != 0 && options->highest_version < TLS1_2_VERSION) {
        must(SSL_CTX_set_min_proto_version(context, TLS1_VERSION) == 1, "version");
        must(SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0") == 1, "ciphers");
    }
    if (options->client_ca != NULL) {
        must(SSL_CTX_load_verify_file(context, options->client_ca) == 1, "client ca");
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    front->context = context;
}

tls_front *front_start(const tls_front_options *options)
{
    tls_front *front = calloc(1, sizeof *front);
    must(front != NULL, "memory");
    front->options = *options;
    front->heard = malloc(HEARD_MAX);
    must(front->heard != NULL && pthread_mutex_init(&front->mutex, NULL) == 0, "memory");
    if (options->bytes == NULL) {
        make_context(front);
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    front->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(front->listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    must(listen(front->listener, 64) == 0, "listen");
    must(getsockname(front->listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
    front->port = ntohs(address.sin_port);
    must(pthread_create(&front->acceptor, NULL, accept_all, front) == 0, "a thread");
    return front;
}

int front_port(const tls_front *front)
{
    return front->port;
}

int front_connections(tls_front *front)
{
    pthread_mutex_lock(&front->mutex);
    int count = front->count;
    pthread_mutex_unlock(&front->mutex);
    return count;
}

uint8_t *front_heard(tls_front *front, size_t *length)
{
    pthread_mutex_lock(&front->mutex);
    uint8_t *copy = malloc(front->heard_length + 1);
    must(copy != NULL, "memory");
    memcpy(copy, front->heard, front->heard_length);
    *length = front->heard_length;
    pthread_mutex_unlock(&front->mutex);
    return copy;
}

bool front_heard_clear(tls_front *front)
{
    return atomic_load(&front->heard_clear);
}

void front_ask_again(tls_front *front)
{
    atomic_fetch_add(&front->asking, 1);
}

bool front_was_given_another(tls_front *front)
{
    return atomic_load(&front->given_another);
}

void front_cut(tls_front *front)
{
    atomic_fetch_add(&front->generation, 1);
}

void front_stop(tls_front *front)
{
    atomic_store(&front->stopping, true);
    pthread_join(front->acceptor, NULL);
    for (int i = 0; i < front->count; i++) {
        pthread_join(front->lines[i]->thread, NULL);
        free(front->lines[i]);
    }
    close(front->listener);
    SSL_CTX_free(front->context);
    pthread_mutex_destroy(&front->mutex);
    free(front->heard);
    free(front);
}
