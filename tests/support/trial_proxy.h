/*
 * A proxy between a client and a broker that knows where AMQP frames begin and end: a test judges
 * each frame as it passes, and may change it, keep it back, or cut the line there and then. So
 * "killed after the confirm was sent and before it arrived" is a place and not a matter of luck.
 */
#ifndef ACEMQ_TESTS_TRIAL_PROXY_H
#define ACEMQ_TESTS_TRIAL_PROXY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct trial_proxy trial_proxy;

typedef struct trial_frame {
    int link; /* the client's connections, from 0 in the order in which they came */
    bool from_client;
    uint8_t type; /* 1 method, 2 header, 3 body, 8 heartbeat */
    uint16_t channel;
    uint32_t method;  /* class << 16 | method, for a method frame; else 0 */
    uint8_t *payload; /* may be changed, its length may not */
    uint32_t length;
} trial_frame;

#define TRIAL_METHOD(class_id, method_id) ((uint32_t)(class_id) << 16 | (uint32_t)(method_id))
enum {
    TRIAL_CONNECTION_TUNE = TRIAL_METHOD(10, 30),
    TRIAL_CONNECTION_TUNE_OK = TRIAL_METHOD(10, 31),
    TRIAL_CHANNEL_OPEN = TRIAL_METHOD(20, 10),
    TRIAL_BASIC_PUBLISH = TRIAL_METHOD(60, 40),
    TRIAL_BASIC_ACK = TRIAL_METHOD(60, 80),
};

typedef enum trial_pass {
    TRIAL_FORWARD = 0,
    TRIAL_DROP = 1, /* this frame does not arrive */
    TRIAL_CUT = 2   /* this frame does not arrive, and both ends are closed */
} trial_pass;

/* On threads of the proxy, one call at a time. */
typedef trial_pass trial_judge_frame(trial_frame *frame, void *user);

/* Listens on a port of 127.0.0.1 and hands what comes to 127.0.0.1:`port`. */
trial_proxy *trial_proxy_start(int port, trial_judge_frame *judge, void *user);
/* amqp://guest:guest@127.0.0.1:PORT/ */
const char *trial_proxy_url(const trial_proxy *proxy);
/* From now on nothing passes, though all lines stay open; or it does again. */
void trial_proxy_stall(trial_proxy *proxy, bool stalled);
/* Connections that came in so far. */
int trial_proxy_links(trial_proxy *proxy);
/* Cuts every line, joins and frees. */
void trial_proxy_stop(trial_proxy *proxy);

#endif
