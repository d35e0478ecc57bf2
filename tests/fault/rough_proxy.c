#include "rough_proxy.h"

#include "ledger.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE    16384
#define LATENESS 25 /* ms that each piece is late */

typedef struct proxy_line proxy_line;

typedef struct proxy_way {
    proxy_line *line;
    bool upward;
    int64_t cut_after; /* bytes; -1: no cut is planned */
    bool half_only;
    bool ended; /* its reader was told that no more comes */
    pthread_t thread;
} proxy_way;

/* Everything but the sockets is under the proxy's lock. */
struct proxy_line {
    rough_proxy *proxy;
    proxy_line *next;
    int client, broker;
    proxy_way up, down;
    int running; /* threads */
    bool lost;   /* in a black hole */
    bool reset;
    int64_t late_until, pieces_until, stalled_until;
};

struct rough_proxy {
    int listener, port, broker_port;
    pthread_t acceptor;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stopped;
    int64_t turned_away_until, dumb_until;
    proxy_line *lines;
    int count;
};

static void cut(proxy_line *line)
{
    (void)shutdown(line->client, SHUT_RDWR);
    (void)shutdown(line->broker, SHUT_RDWR);
}

static void close_socket(int socket, bool reset)
{
    struct linger none = {1, 0};
    if (reset) {
        (void)setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    }
    (void)close(socket);
}

static void wait_until(rough_proxy *proxy, int64_t deadline)
{
    struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
    (void)pthread_cond_timedwait(&proxy->changed, &proxy->mutex, &until);
}

typedef struct passage {
    size_t pass; /* so many bytes of the piece */
    bool drop, one_by_one, cut, half;
    int64_t late;
} passage;

/* What becomes of a piece of `length` bytes; waits as long as the line is stalled. */
static passage judge(proxy_way *way, size_t length)
{
    proxy_line *line = way->line;
    rough_proxy *proxy = line->proxy;
    passage judged = {.pass = length};
    pthread_mutex_lock(&proxy->mutex);
    while (line->stalled_until > fault_now() && !proxy->stopped) {
        wait_until(proxy, line->stalled_until);
    }
    int64_t now = fault_now();
    judged.drop = line->lost || way->ended;
    judged.one_by_one = line->pieces_until > now;
    judged.late = line->late_until > now ? LATENESS : 0;
    if (way->cut_after >= 0 && way->cut_after <= (int64_t)length) {
        judged.pass = (size_t)way->cut_after;
        judged.cut = !way->half_only;
        judged.half = way->half_only;
        way->ended = way->half_only;
        way->cut_after = -1;
    } else if (way->cut_after >= 0) {
        way->cut_after -= (int64_t)length;
    }
    pthread_mutex_unlock(&proxy->mutex);
    return judged;
}

static bool send_all(int to, const char *bytes, size_t length, bool one_by_one)
{
    while (length > 0) {
        ssize_t sent = send(to, bytes, one_by_one ? 1 : length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool carry(proxy_way *way, int from, int to)
{
    char piece[PIECE];
    ssize_t got = recv(from, piece, sizeof piece, 0);
    if (got <= 0) {
        return false;
    }
    passage judged = judge(way, (size_t)got);
    if (judged.late > 0) {
        fault_nap(judged.late);
    }
    if (!judged.drop && !send_all(to, piece, judged.pass, judged.one_by_one)) {
        return false;
    }
    if (judged.half) {
        (void)shutdown(to, SHUT_WR);
    }
    return !judged.cut;
}

static void leave(proxy_line *line)
{
    rough_proxy *proxy = line->proxy;
    pthread_mutex_lock(&proxy->mutex);
    bool last = --line->running == 0;
    for (proxy_line **at = &proxy->lines; last && *at != NULL; at = &(*at)->next) {
        if (*at == line) {
            *at = line->next;
            proxy->count--;
            break;
        }
    }
    bool reset = line->reset;
    /* Closed under the lock, so that nobody cuts a number that is somebody else's by then. */
    if (last) {
        close_socket(line->client, reset);
        close_socket(line->broker, reset);
        pthread_cond_broadcast(&proxy->changed);
    }
    pthread_mutex_unlock(&proxy->mutex);
    if (last) {
        free(line);
    }
}

static void *run_way(void *user)
{
    proxy_way *way = user;
    proxy_line *line = way->line;
    int from = way->upward ? line->client : line->broker;
    int to = way->upward ? line->broker : line->client;
    while (carry(way, from, to)) {
    }
    cut(line);
    leave(line);
    return NULL;
}

static int connect_to(int port)
{
    int one = 1;
    int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (end >= 0 && connect(end, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(end);
        return -1;
    }
    (void)setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return end;
}

static void start_line(rough_proxy *proxy, int client, int broker, bool lost)
{
    proxy_line *line = calloc(1, sizeof *line);
    if (line == NULL) {
        fault_die("calloc");
    }
    line->proxy = proxy;
    line->client = client;
    line->broker = broker;
    line->lost = lost;
    line->running = 2;
    line->up = (proxy_way){.line = line, .upward = true, .cut_after = -1};
    line->down = (proxy_way){.line = line, .upward = false, .cut_after = -1};
    pthread_mutex_lock(&proxy->mutex);
    line->next = proxy->lines;
    proxy->lines = line;
    proxy->count++;
    pthread_mutex_unlock(&proxy->mutex);
    if (pthread_create(&line->up.thread, NULL, run_way, &line->up) != 0 ||
        pthread_detach(line->up.thread) != 0) {
        fault_die("pthread_create");
    }
    /* The record may be gone once this one has ended as well. */
    pthread_t other;
    if (pthread_create(&other, NULL, run_way, &line->down) != 0 || pthread_detach(other) != 0) {
        fault_die("pthread_create");
    }
}

static void *accept_lines(void *user)
{
    rough_proxy *proxy = user;
    int client;
    while ((client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        int one = 1;
        (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        pthread_mutex_lock(&proxy->mutex);
        bool turned_away = proxy->turned_away_until > fault_now();
        bool dumb = proxy->dumb_until > fault_now();
        pthread_mutex_unlock(&proxy->mutex);
        int broker = turned_away ? -1 : connect_to(proxy->broker_port);
        if (broker < 0) {
            (void)close(client);
        } else {
            start_line(proxy, client, broker, dumb);
        }
    }
    return NULL;
}

rough_proxy *rough_proxy_start(int port)
{
    rough_proxy *proxy = calloc(1, sizeof *proxy);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    pthread_condattr_t monotonic;
    if (proxy == NULL || pthread_condattr_init(&monotonic) != 0 ||
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) != 0 ||
        pthread_cond_init(&proxy->changed, &monotonic) != 0 ||
        pthread_mutex_init(&proxy->mutex, NULL) != 0) {
        fault_die("the proxy");
    }
    (void)pthread_condattr_destroy(&monotonic);
    proxy->broker_port = port;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (proxy->listener < 0 ||
        bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, 64) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&proxy->acceptor, NULL, accept_lines, proxy) != 0) {
        fault_die("the proxy's port");
    }
    proxy->port = ntohs(address.sin_port);
    return proxy;
}

int rough_proxy_port(const rough_proxy *proxy)
{
    return proxy->port;
}

int rough_proxy_lost(rough_proxy *proxy)
{
    int count = 0;
    pthread_mutex_lock(&proxy->mutex);
    for (const proxy_line *line = proxy->lines; line != NULL; line = line->next) {
        count += line->lost;
    }
    pthread_mutex_unlock(&proxy->mutex);
    return count;
}

/* With the lock held. */
static proxy_line *choose(rough_proxy *proxy, int number)
{
    proxy_line *line = proxy->lines;
    for (int left = proxy->count > 0 ? number % proxy->count : 0; left > 0; left--) {
        line = line->next;
    }
    return line;
}

static void befall(proxy_line *line, const fault *one)
{
    int64_t until = fault_now() + one->lasting;
    proxy_way *way = one->upward ? &line->up : &line->down;
    switch (one->kind) {
    case FAULT_DELAY:
        line->late_until = until;
        break;
    case FAULT_PIECES:
        line->pieces_until = until;
        break;
    case FAULT_STALL:
        line->stalled_until = until;
        break;
    case FAULT_BLACK_HOLE:
        line->lost = true;
        break;
    case FAULT_HALF_CLOSE:
        way->half_only = true;
        way->cut_after = one->bytes;
        break;
    default:
        line->reset = one->kind == FAULT_RESET;
        way->half_only = false;
        way->cut_after = one->bytes;
        break;
    }
}

static void cut_all(rough_proxy *proxy)
{
    for (proxy_line *line = proxy->lines; line != NULL; line = line->next) {
        cut(line);
    }
}

void rough_proxy_fault(rough_proxy *proxy, const fault *one)
{
    pthread_mutex_lock(&proxy->mutex);
    if (one->kind == FAULT_TURN_AWAY || one->kind == FAULT_DUMB) {
        int64_t *until = one->kind == FAULT_DUMB ? &proxy->dumb_until : &proxy->turned_away_until;
        *until = fault_now() + one->lasting;
        cut_all(proxy);
    } else if (proxy->lines != NULL) {
        befall(choose(proxy, one->line), one);
    }
    pthread_mutex_unlock(&proxy->mutex);
}

void rough_proxy_heal(rough_proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->dumb_until = 0;
    proxy->turned_away_until = 0;
    for (proxy_line *line = proxy->lines; line != NULL; line = line->next) {
        line->late_until = 0;
        line->pieces_until = 0;
        line->stalled_until = 0;
        line->up.cut_after = -1;
        line->down.cut_after = -1;
    }
    pthread_cond_broadcast(&proxy->changed);
    pthread_mutex_unlock(&proxy->mutex);
}

void rough_proxy_stop(rough_proxy *proxy)
{
    (void)shutdown(proxy->listener, SHUT_RDWR);
    (void)pthread_join(proxy->acceptor, NULL);
    (void)close(proxy->listener);
    pthread_mutex_lock(&proxy->mutex);
    proxy->stopped = true;
    cut_all(proxy);
    pthread_cond_broadcast(&proxy->changed);
    while (proxy->count > 0) {
        pthread_cond_wait(&proxy->changed, &proxy->mutex);
    }
    pthread_mutex_unlock(&proxy->mutex);
    (void)pthread_cond_destroy(&proxy->changed);
    (void)pthread_mutex_destroy(&proxy->mutex);
    free(proxy);
}
