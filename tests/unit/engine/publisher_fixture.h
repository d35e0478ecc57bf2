/* A publisher on a link to a scripted peer, shared by the tests of publishing. */
#ifndef ACEMQ_TESTS_PUBLISHER_FIXTURE_H
#define ACEMQ_TESTS_PUBLISHER_FIXTURE_H

#include "engine_fixture.h"

#include <stdatomic.h>
#include <stdio.h>

#define APPLICATION 1 /* the channel numbers of the two lanes, in the order in which they open */
#define HOPS        2

typedef struct publishing {
    fixture f;
    ace_publisher *publisher;
} publishing;

static inline void begin(publishing *p, peer_script *script, void *user)
{
    fixture_begin(&p->f, script, user);
    p->publisher = NULL;
}

static inline void connect_publisher(publishing *p)
{
    fixture_make_link(&p->f);
    ck_assert_int_eq(ace_publisher_new(p->f.link, &p->publisher, NULL), ACE_OK);
    fixture_must_connect(&p->f);
}

static inline void take_down(publishing *p)
{
    ace_publisher_close(p->publisher);
    ace_link_close(p->f.link, ace_deadline_after(20));
    ace_publisher_free(p->publisher);
    ace_link_free(p->f.link);
    p->f.link = NULL;
}

static inline void end(publishing *p)
{
    take_down(p);
    fixture_end(&p->f);
}

/* Where the peer may be in the middle of a step. */
static inline void break_off(publishing *p)
{
    take_down(p);
    fixture_break_off(&p->f);
}

/* Both lanes' channels. The application's is the last, since publishes may follow as soon as it is
 * open. */
static inline void open_lanes(peer_side *side)
{
    static const uint16_t order[] = {HOPS, APPLICATION};
    (void)peer_expect(side, APPLICATION, AMQP_CHANNEL_OPEN_METHOD);
    (void)peer_expect(side, HOPS, AMQP_CHANNEL_OPEN_METHOD);
    for (int i = 0; i < 2; i++) {
        amqp_channel_open_ok_t ok = {.channel_id = {0, NULL}};
        peer_send(side, order[i], AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
        (void)peer_expect(side, order[i], AMQP_CONFIRM_SELECT_METHOD);
        amqp_confirm_select_ok_t select = {0};
        peer_send(side, order[i], AMQP_CONFIRM_SELECT_OK_METHOD, &select);
    }
}

static inline void start(peer_side *side)
{
    peer_handshake(side, NULL);
    open_lanes(side);
}

/* What a publish of a test is made of. */
static inline void encode(publishing *p, ace_publish *publish, const char *key, const char *id,
                          const char *body)
{
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG,
                                          .delivery_mode = 2};
    if (id != NULL) {
        properties._flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
        properties.message_id = peer_text(id);
    }
    *publish = (ace_publish){0};
    ck_assert_int_eq(ace_publish_encode(publish, "", key, true, &properties, ace_bytes_of(body),
                                        ace_link_frame_max(p->f.link), 1000000, NULL),
                     ACE_OK);
    publish->deadline = ace_publisher_deadline(p->publisher, 3000);
}

static inline ace_code send_one(publishing *p, const char *key, int64_t timeout, ace_error **error)
{
    ace_publish publish;
    encode(p, &publish, key, "id", "body");
    publish.deadline = ace_publisher_deadline(p->publisher, timeout);
    ace_code code =
        ace_publisher_send(p->publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, error);
    ace_publish_clear(&publish);
    return code;
}

static inline void expect_publish(peer_side *side, uint16_t channel, const char *key)
{
    ace_content *content = peer_expect_content(side, channel, AMQP_BASIC_PUBLISH_METHOD);
    const amqp_basic_publish_t *method = content->method.decoded;
    peer_check(side,
               method->routing_key.len == strlen(key) &&
                   memcmp(method->routing_key.bytes, key, strlen(key)) == 0,
               key);
    peer_check(side, method->mandatory, "not mandatory");
    ace_content_free(content);
}

static inline void done_count(ace_publish *publish)
{
    atomic_fetch_add((atomic_int *)publish->user, 1);
}

static inline void await_count(atomic_int *count, int expected)
{
    for (int i = 0; i < 1000 && atomic_load(count) < expected; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    ck_assert_int_eq(atomic_load(count), expected);
}

#endif
