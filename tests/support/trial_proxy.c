#include "support/trial_proxy.h"

#include "support/trial.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINKS_MAX    64
#define FRAME_HEADER 7
#define GREETING     8 /* what a client says before its first frame */

typedef struct proxy_link proxy_link;

typedef struct proxy_way {
    proxy_link *link;
    bool from_client;
    pthread_t thread;
} proxy_way;

struct proxy_link {
    trial_proxy *proxy;
    int index;
    int client, broker;
    proxy_way up, down;
};

struct trial_proxy {
    trial_judge_frame *judge;
    void *user;
    int listener, port;
    char url[256];
    pthread_t acceptor;
    pthread_mutex_t judging;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    bool stalled, stopped;
    proxy_link *links[LINKS_MAX];
    int count;
};

static bool read_whole(int socket, uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t got = recv(socket, bytes, length, 0);
        if (got <= 0) {
            return false;
        }
        bytes += got;
        length -= (size_t)got;
    }
    return true;
}

static bool write_whole(int socket, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static void cut(proxy_link *link)
{
    shutdown(link->client, SHUT_RDWR);
    shutdown(link->broker, SHUT_RDWR);
}

static uint32_t big_endian(const uint8_t *bytes, int count)
{
    uint32_t number = 0;
    for (int i = 0; i < count; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static void wait_while_stalled(trial_proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    while (proxy->stalled && !proxy->stopped) {
        pthread_cond_wait(&proxy->changed, &proxy->mutex);
    }
    pthread_mutex_unlock(&proxy->mutex);
}

static trial_pass judge(proxy_way *way, uint8_t *frame, uint32_t length)
{
    trial_proxy *proxy = way->link->proxy;
    trial_frame seen = {
        .link = way->link->index,
        .from_client = way->from_client,
        .type = frame[0],
        .channel = (uint16_t)big_endian(frame + 1, 2),
        .payload = frame + FRAME_HEADER,
        .length = length,
    };
    if (seen.type == 1 && length >= 4) {
        seen.method = big_endian(seen.payload, 4);
    }
    wait_while_stalled(proxy);
    if (proxy->judge == NULL) {
        return TRIAL_FORWARD;
    }
    pthread_mutex_lock(&proxy->judging);
    trial_pass pass = proxy->judge(&seen, proxy->user);
    pthread_mutex_unlock(&proxy->judging);
    return pass;
}

/* False at the end of the line. */
static bool pass_frame(proxy_way *way, int from, int to)
{
    uint8_t header[FRAME_HEADER];
    if (!read_whole(from, header, sizeof header)) {
        return false;
    }
    uint32_t length = big_endian(header + 3, 4);
    uint8_t *frame = malloc(FRAME_HEADER + (size_t)length + 1);
    ck_assert_ptr_nonnull(frame);
    memcpy(frame, header, sizeof header);
    bool goes_on = read_whole(from, frame + FRAME_HEADER, (size_t)length + 1);
    if (goes_on) {
        trial_pass pass = judge(way, frame, length);
        goes_on = pass == TRIAL_DROP || (pass == TRIAL_FORWARD &&
                                         write_whole(to, frame, FRAME_HEADER + (size_t)length + 1));
    }
    free(frame);
    return goes_on;
}

static void *run_way(void *user)
{
    proxy_way *way = user;
    proxy_link *link = way->link;
    int from = way->from_client ? link->client : link->broker;
    int to = way->from_client ? link->broker : link->client;
    uint8_t greeting[GREETING];
    bool goes_on = !way->from_client || (read_whole(from, greeting, sizeof greeting) &&
                                         write_whole(to, greeting, sizeof greeting));
    while (goes_on) {
        goes_on = pass_frame(way, from, to);
    }
    cut(link);
    return NULL;
}

static int connect_to(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr = {htonl(INADDR_LOOPBACK)},
    };
    int one = 1;
    int connected = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(connected, 0);
    setsockopt(connected, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(connected, (struct sockaddr *)&address, sizeof address) != 0) {
        close(connected);
        return -1;
    }
    return connected;
}

static void start_link(trial_proxy *proxy, int client, int broker)
{
    proxy_link *link = calloc(1, sizeof *link);
    int one = 1;
    ck_assert_ptr_nonnull(link);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    link->proxy = proxy;
    link->client = client;
    link->broker = broker;
    link->up = (proxy_way){.link = link, .from_client = true};
    link->down = (proxy_way){.link = link, .from_client = false};
    pthread_mutex_lock(&proxy->mutex);
    ck_assert_int_lt(proxy->count, LINKS_MAX);
    link->index = proxy->count;
    proxy->links[proxy->count++] = link;
    ck_assert_int_eq(pthread_create(&link->up.thread, NULL, run_way, &link->up), 0);
    ck_assert_int_eq(pthread_create(&link->down.thread, NULL, run_way, &link->down), 0);
    pthread_mutex_unlock(&proxy->mutex);
}

static void *accept_all(void *user)
{
    trial_proxy *proxy = user;
    for (;;) {
        int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0) {
            return NULL;
        }
        int broker = connect_to(proxy->port);
        if (broker < 0) {
            close(client);
            continue;
        }
        start_link(proxy, client, broker);
    }
}

static void listen_on_any_port(trial_proxy *proxy)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(proxy->listener, 0);
    ck_assert_int_eq(bind(proxy->listener, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(proxy->listener, LINKS_MAX), 0);
    ck_assert_int_eq(getsockname(proxy->listener, (struct sockaddr *)&address, &length), 0);
    snprintf(proxy->url, sizeof proxy->url, "amqp://guest:%s@127.0.0.1:%d/",
             trial_password(proxy->port), ntohs(address.sin_port));
}

trial_proxy *trial_proxy_start(int port, trial_judge_frame *judge_frame, void *user)
{
    trial_proxy *proxy = calloc(1, sizeof *proxy);
    ck_assert_ptr_nonnull(proxy);
    proxy->judge = judge_frame;
    proxy->user = user;
    proxy->port = port;
    pthread_mutex_init(&proxy->judging, NULL);
    pthread_mutex_init(&proxy->mutex, NULL);
    pthread_cond_init(&proxy->changed, NULL);
    listen_on_any_port(proxy);
    ck_assert_int_eq(pthread_create(&proxy->acceptor, NULL, accept_all, proxy), 0);
    return proxy;
}

const char *trial_proxy_url(const trial_proxy *proxy)
{
    return proxy->url;
}

void trial_proxy_stall(trial_proxy *proxy, bool stalled)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->stalled = stalled;
    pthread_cond_broadcast(&proxy->changed);
    pthread_mutex_unlock(&proxy->mutex);
}

int trial_proxy_links(trial_proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    int count = proxy->count;
    pthread_mutex_unlock(&proxy->mutex);
    return count;
}

void trial_proxy_stop(trial_proxy *proxy)
{
    shutdown(proxy->listener, SHUT_RDWR);
    pthread_join(proxy->acceptor, NULL);
    close(proxy->listener);
    pthread_mutex_lock(&proxy->mutex);
    proxy->stopped = true;
    pthread_cond_broadcast(&proxy->changed);
    pthread_mutex_unlock(&proxy->mutex);
    for (int i = 0; i < proxy->count; i++) {
        proxy_link *link = proxy->links[i];
        cut(link);
        pthread_join(link->up.thread, NULL);
        pthread_join(link->down.thread, NULL);
        close(link->client);
        close(link->broker);
        free(link);
    }
    pthread_mutex_destroy(&proxy->judging);
    pthread_mutex_destroy(&proxy->mutex);
    pthread_cond_destroy(&proxy->changed);
    free(proxy);
}
