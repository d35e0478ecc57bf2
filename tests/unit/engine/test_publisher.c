#include "engine_fixture.h"

#include <stdatomic.h>
#include <stdio.h>

#define APPLICATION 1 /* the channel numbers of the two lanes, in the order in which they open */
#define HOPS        2

typedef struct publishing {
    fixture f;
    ace_publisher *publisher;
} publishing;

static void begin(publishing *p, peer_script *script, void *user)
{
    fixture_begin(&p->f, script, user);
    p->publisher = NULL;
}

static void connect_publisher(publishing *p)
{
    fixture_make_link(&p->f);
    ck_assert_int_eq(ace_publisher_new(p->f.link, &p->publisher, NULL), ACE_OK);
    fixture_must_connect(&p->f);
}

static void end(publishing *p)
{
    ace_publisher_close(p->publisher);
    ace_link_close(p->f.link, ace_deadline_after(20));
    ace_publisher_free(p->publisher);
    ace_link_free(p->f.link);
    p->f.link = NULL;
    fixture_end(&p->f);
}

/* Both lanes' channels. The application's is the last, since publishes may follow as soon as it is
 * open. */
static void open_lanes(peer_side *side)
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

static void start(peer_side *side)
{
    peer_handshake(side, NULL);
    open_lanes(side);
}

/* What a publish of a test is made of. */
static void encode(publishing *p, ace_publish *publish, const char *key, const char *id,
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

static ace_code send_one(publishing *p, const char *key, int64_t timeout, ace_error **error)
{
    ace_publish publish;
    encode(p, &publish, key, "id", "body");
    publish.deadline = ace_publisher_deadline(p->publisher, timeout);
    ace_code code =
        ace_publisher_send(p->publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, error);
    ace_publish_clear(&publish);
    return code;
}

static void expect_publish(peer_side *side, uint16_t channel, const char *key)
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

static void script_ack_one(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    peer_check(side, ace_bytes_equal_text(content->body, "body"), "another body");
    peer_check(side, content->properties->delivery_mode == 2, "not persistent");
    ace_content_free(content);
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_publish_is_confirmed)
{
    publishing p;
    begin(&p, script_ack_one, NULL);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    ace_publisher_counts counts;
    ace_publisher_count(p.publisher, &counts);
    ck_assert_uint_eq(counts.confirmed, 1);
    ck_assert_uint_eq(counts.outstanding, 0);
    end(&p);
}
END_TEST

#define BATCH 10

static void script_batch(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 0; i < BATCH; i++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    }
    peer_ack(side, APPLICATION, 99, false); /* nobody's */
    peer_ack(side, APPLICATION, 3, true);
    peer_nack(side, APPLICATION, 5, false);
    peer_ack(side, APPLICATION, 4, false);
    peer_ack(side, APPLICATION, 4, false); /* a second time */
    peer_ack(side, APPLICATION, 10, true);
    peer_wait_stop(side);
}

START_TEST(acks_and_nacks_single_and_multiple_find_their_publishes)
{
    publishing p;
    ace_publish publishes[BATCH];
    ace_publish *list[BATCH];
    ace_error *error = NULL;
    begin(&p, script_batch, NULL);
    connect_publisher(&p);
    for (int i = 0; i < BATCH; i++) {
        encode(&p, &publishes[i], "orders", "id", "body");
        list[i] = &publishes[i];
    }
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, BATCH, NULL, &error),
        ACE_NACKED);
    ck_assert_int_eq(ace_error_code(error), ACE_NACKED);
    ace_error_free(error);
    for (int i = 0; i < BATCH; i++) {
        ck_assert_int_eq(publishes[i].code, i == 4 ? ACE_NACKED : ACE_OK);
        ace_publish_clear(&publishes[i]);
    }
    ace_publisher_counts counts;
    ace_publisher_count(p.publisher, &counts);
    ck_assert_uint_eq(counts.unknown_tags, 2);
    ck_assert_uint_eq(counts.nacked, 1);
    end(&p);
}
END_TEST

#define MANY 200

/* Returns each seventh, in order and before its confirm, as RabbitMQ does; confirms come late and
 * in one. */
static void script_return_sevenths(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 0; i < MANY; i++) {
        ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
        if (i % 7 == 0) {
            peer_return(side, content, 312, "NO_ROUTE");
        }
        ace_content_free(content);
    }
    peer_ack(side, APPLICATION, MANY, true);
    peer_wait_stop(side);
}

START_TEST(of_a_batch_exactly_those_returned_are_unroutable)
{
    publishing p;
    ace_publish publishes[MANY];
    ace_publish *list[MANY];
    begin(&p, script_return_sevenths, NULL);
    connect_publisher(&p);
    for (int i = 0; i < MANY; i++) {
        encode(&p, &publishes[i], i % 7 == 0 ? "missing" : "orders", "the same id", "body");
        list[i] = &publishes[i];
    }
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, MANY, NULL, NULL),
        ACE_UNROUTABLE);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(publishes[i].code, i % 7 == 0 ? ACE_UNROUTABLE : ACE_OK);
        if (i % 7 == 0) {
            ck_assert_int_eq(ace_error_reply(publishes[i].error), 312);
            ck_assert_ptr_nonnull(strstr(ace_error_message(publishes[i].error), "NO_ROUTE"));
            ck_assert_ptr_nonnull(strstr(ace_error_message(publishes[i].error), "'missing'"));
        }
        ace_publish_clear(&publishes[i]);
    }
    end(&p);
}
END_TEST

static void script_return_second(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content *first = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    ace_content *second = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    peer_return(side, second, 312, "NO_ROUTE");
    peer_ack(side, APPLICATION, 2, true);
    ace_content_free(first);
    ace_content_free(second);
    peer_wait_stop(side);
}

START_TEST(of_two_with_the_same_id_the_right_one_is_unroutable)
{
    publishing p;
    ace_publish publishes[2];
    ace_publish *list[2] = {&publishes[0], &publishes[1]};
    begin(&p, script_return_second, NULL);
    connect_publisher(&p);
    encode(&p, &publishes[0], "orders", "twin", "body");
    encode(&p, &publishes[1], "missing", "twin", "body");
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, 2, NULL, NULL),
        ACE_UNROUTABLE);
    ck_assert_int_eq(publishes[0].code, ACE_OK);
    ck_assert_int_eq(publishes[1].code, ACE_UNROUTABLE);
    ace_publish_clear(&publishes[0]);
    ace_publish_clear(&publishes[1]);
    end(&p);
}
END_TEST

static void script_never_confirm(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_delay(side, 300);
    peer_ack(side, APPLICATION, 1, false); /* too late, and for nobody */
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_ack(side, APPLICATION, 2, false);
    peer_wait_stop(side);
}

START_TEST(a_confirm_that_comes_too_late_is_unknown_and_harms_nobody)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_never_confirm, NULL);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "orders", 100, &error), ACE_UNKNOWN_OUTCOME);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "may or may not"));
    ace_error_free(error);
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_lose(peer_side *side, int index, void *user)
{
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    if (index == 0) {
        peer_hang_up(side);
        return;
    }
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_lost_connection_makes_what_was_sent_unknown_and_numbers_start_again)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_lose, NULL);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "orders", 3000, &error), ACE_UNKNOWN_OUTCOME);
    ace_error_free(error);
    /* Submitted while the link is down: it waits for the link. */
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_away(peer_side *side, int index, void *user)
{
    (void)user;
    if (index > 0) {
        peer_wait_stop(side); /* never finishes a login again */
    }
    start(side);
    peer_hang_up(side);
}

START_TEST(what_could_not_be_sent_in_time_is_refused_and_says_why)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_away, NULL);
    connect_publisher(&p);
    fixture_await_state(&p.f, ACE_LINK_CONNECTING, 1);
    ck_assert_int_eq(send_one(&p, "orders", 100, &error), ACE_REFUSED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "nothing was sent: not connected"));
    ace_error_free(error);
    end(&p);
}
END_TEST

static void script_block(peer_side *side, int index, void *user)
{
    (void)index;
    atomic_int *step = user;
    start(side);
    expect_publish(side, APPLICATION, "first");
    amqp_connection_blocked_t blocked = {.reason = peer_text("low on disk")};
    peer_send(side, 0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
    peer_ack(side, APPLICATION, 1, false);
    while (atomic_load(step) == 0) {
        peer_expect_silence(side, 20);
    }
    amqp_connection_unblocked_t unblocked = {0};
    peer_send(side, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
    expect_publish(side, APPLICATION, "third");
    peer_ack(side, APPLICATION, 2, false);
    peer_wait_stop(side);
}

static void done_count(ace_publish *publish)
{
    atomic_fetch_add((atomic_int *)publish->user, 1);
}

static void await_count(atomic_int *count, int expected)
{
    for (int i = 0; i < 1000 && atomic_load(count) < expected; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    ck_assert_int_eq(atomic_load(count), expected);
}

START_TEST(a_blocked_broker_refuses_at_the_deadline_and_what_waits_goes_on_when_it_is_free)
{
    publishing p;
    ace_error *error = NULL;
    atomic_int step;
    atomic_int ended;
    ace_publish third;
    atomic_init(&step, 0);
    atomic_init(&ended, 0);
    begin(&p, script_block, &step);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "first", 3000, NULL), ACE_OK);
    ck_assert_int_eq(send_one(&p, "second", 100, &error), ACE_REFUSED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "blocked: low on disk"));
    ace_error_free(error);
    encode(&p, &third, "third", "id", "body");
    third.done = done_count;
    third.user = &ended;
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &third, NULL),
                     ACE_OK);
    atomic_store(&step, 1);
    await_count(&ended, 1);
    ck_assert_int_eq(third.code, ACE_OK);
    ace_publish_clear(&third);
    end(&p);
}
END_TEST

static void script_hop_only(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    expect_publish(side, HOPS, "orders.dlq");
    peer_ack(side, HOPS, 1, false);
    expect_publish(side, APPLICATION, "resumed");
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_pause_holds_the_application_back_and_no_hop)
{
    publishing p;
    ace_error *error = NULL;
    ace_publish hop;
    begin(&p, script_hop_only, NULL);
    connect_publisher(&p);
    ace_publisher_pause(p.publisher);
    ck_assert(ace_publisher_is_paused(p.publisher));
    ck_assert_int_eq(send_one(&p, "paused", 50, &error), ACE_REFUSED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "paused"));
    ace_error_free(error);
    encode(&p, &hop, "orders.dlq", "id", "body");
    ck_assert_int_eq(ace_publisher_send(p.publisher, ACE_PUBLISH_HOP, &hop, NULL, NULL), ACE_OK);
    ace_publish_clear(&hop);
    ace_publisher_resume(p.publisher);
    ck_assert_int_eq(send_one(&p, "resumed", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_window(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    expect_publish(side, APPLICATION, "0");
    expect_publish(side, APPLICATION, "1");
    peer_expect_silence(side, 150); /* the window is two wide */
    peer_ack(side, APPLICATION, 1, false);
    expect_publish(side, APPLICATION, "2");
    peer_expect_silence(side, 50);
    peer_ack(side, APPLICATION, 3, true);
    expect_publish(side, APPLICATION, "3");
    peer_wait_stop(side); /* never confirmed, and 4 waits behind it */
}

START_TEST(more_than_the_outstanding_limit_wait_for_the_window)
{
    publishing p;
    ace_publish publishes[6];
    atomic_int ended;
    atomic_init(&ended, 0);
    begin(&p, script_window, NULL);
    p.f.settings.outstanding_limit = 2;
    connect_publisher(&p);
    for (int i = 0; i < 4; i++) {
        char key[2] = {(char)('0' + i), '\0'};
        encode(&p, &publishes[i], key, "id", "body");
        publishes[i].done = done_count;
        publishes[i].user = &ended;
        ck_assert_int_eq(
            ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publishes[i], NULL),
            ACE_OK);
    }
    ck_assert_int_eq(ace_publisher_await_room(p.publisher, ace_deadline_after(10), NULL, NULL),
                     ACE_REFUSED);
    await_count(&ended, 3);
    ck_assert_int_eq(ace_publisher_await_room(p.publisher, ace_deadline_after(10), NULL, NULL),
                     ACE_OK);
    ace_publisher_close(p.publisher);
    ck_assert_int_eq(publishes[3].code, ACE_UNKNOWN_OUTCOME);
    for (int i = 0; i < 4; i++) {
        ace_publish_clear(&publishes[i]);
    }
    end(&p);
}
END_TEST

static void script_missing_exchange(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 0; i < 3; i++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    }
    peer_ack(side, APPLICATION, 1, false);
    peer_close_channel(side, APPLICATION, 404, "NOT_FOUND - no exchange 'nowhere' in vhost '/'",
                       AMQP_BASIC_PUBLISH_METHOD);
    /* Close-ok comes before the number is used again. */
    (void)peer_expect(side, APPLICATION, AMQP_CHANNEL_CLOSE_OK_METHOD);
    peer_open_confirm_channel(side, APPLICATION);
    expect_publish(side, APPLICATION, "after");
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

static void encode_to(publishing *p, ace_publish *publish, const char *exchange, const char *key)
{
    amqp_basic_properties_t properties = {._flags = 0};
    *publish = (ace_publish){0};
    ck_assert_int_eq(ace_publish_encode(publish, exchange, key, true, &properties,
                                        ace_bytes_of("body"), ace_link_frame_max(p->f.link), 1000,
                                        NULL),
                     ACE_OK);
    publish->deadline = ace_publisher_deadline(p->publisher, 3000);
}

START_TEST(a_missing_exchange_fails_its_publish_and_the_channel_is_replaced)
{
    publishing p;
    ace_publish publishes[3];
    ace_publish *list[3] = {&publishes[0], &publishes[1], &publishes[2]};
    begin(&p, script_missing_exchange, NULL);
    connect_publisher(&p);
    encode_to(&p, &publishes[0], "", "orders");
    encode_to(&p, &publishes[1], "nowhere", "orders");
    encode_to(&p, &publishes[2], "", "orders");
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, 3, NULL, NULL),
        ACE_NOT_FOUND);
    ck_assert_int_eq(publishes[0].code, ACE_OK);
    ck_assert_int_eq(publishes[1].code, ACE_NOT_FOUND);
    ck_assert_int_eq(ace_error_reply(publishes[1].error), 404);
    ck_assert_int_eq(publishes[2].code, ACE_UNKNOWN_OUTCOME);
    for (int i = 0; i < 3; i++) {
        ace_publish_clear(&publishes[i]);
    }
    ck_assert_int_eq(send_one(&p, "after", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

START_TEST(what_cannot_be_encoded_is_refused_with_the_field_and_the_channel_stays_usable)
{
    publishing p;
    ace_publish publish = {0};
    ace_error *error = NULL;
    char name[257];
    amqp_basic_properties_t properties = {._flags = 0};
    memset(name, 'a', 256);
    name[256] = '\0';
    begin(&p, script_ack_one, NULL);
    connect_publisher(&p);
    uint32_t frame_max = ace_link_frame_max(p.f.link);
    ck_assert_int_eq(ace_publish_encode(&publish, "", name, true, &properties, ace_bytes_of("b"),
                                        frame_max, 1000, &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "routing key has 256 bytes"));
    ace_error_free(error);
    error = NULL;
    properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.message_id = peer_text(name);
    ck_assert_int_eq(ace_publish_encode(&publish, "", "key", true, &properties, ace_bytes_of("b"),
                                        frame_max, 1000, &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "256"));
    ace_error_free(error);
    error = NULL;
    /* Headers larger than a frame. */
    size_t large = frame_max;
    char *text = calloc(1, large);
    amqp_table_entry_t entry = {
        .key = peer_text("k"),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = {large, text}}};
    properties =
        (amqp_basic_properties_t){._flags = AMQP_BASIC_HEADERS_FLAG, .headers = {1, &entry}};
    ck_assert_int_eq(ace_publish_encode(&publish, "", "key", true, &properties, ace_bytes_of("b"),
                                        frame_max, 1000, &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "headers"));
    ace_error_free(error);
    error = NULL;
    ck_assert_int_eq(ace_publish_encode(&publish, "", "key", true, &properties,
                                        (ace_bytes){(uint8_t *)text, 1001}, frame_max, 1000,
                                        &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(
        strstr(ace_error_message(error), "body has 1001 bytes, the limit is 1000"));
    ck_assert_str_eq(ace_error_field_name(error), "body");
    ck_assert_int_eq(ace_error_limit(error), 1000);
    ace_error_free(error);
    free(text);
    ace_publish_clear(&publish);
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

typedef struct bodies {
    size_t lengths[16];
    int count;
} bodies;

static void script_bodies(peer_side *side, int index, void *user)
{
    (void)index;
    const bodies *wanted = user;
    const peer_tune tune = {2047, 4096, 0};
    peer_handshake(side, &tune);
    open_lanes(side);
    for (int i = 0; i < wanted->count; i++) {
        ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
        bool whole = content->body.length == wanted->lengths[i];
        for (size_t at = 0; at < content->body.length && whole; at++) {
            whole = content->body.data[at] == (uint8_t)(at * 31);
        }
        ace_content_free(content);
        peer_check(side, whole, "the body is another one");
        peer_ack(side, APPLICATION, (uint64_t)i + 1, false);
    }
    peer_wait_stop(side);
}

START_TEST(bodies_around_multiples_of_the_frame_leave_whole)
{
    static const size_t payload = 4096 - 8;
    publishing p;
    bodies wanted = {.count = 0};
    for (size_t n = 1; n <= 3; n++) {
        for (size_t off = 0; off < 3; off++) {
            wanted.lengths[wanted.count++] = n * payload + off - 1;
        }
    }
    wanted.lengths[wanted.count++] = 0;
    wanted.lengths[wanted.count++] = 8 * 1024 * 1024;
    begin(&p, script_bodies, &wanted);
    connect_publisher(&p);
    uint8_t *bytes = malloc(8 * 1024 * 1024);
    ck_assert_ptr_nonnull(bytes);
    for (size_t at = 0; at < 8 * 1024 * 1024; at++) {
        bytes[at] = (uint8_t)(at * 31);
    }
    for (int i = 0; i < wanted.count; i++) {
        ace_publish publish = {0};
        amqp_basic_properties_t properties = {._flags = 0};
        ck_assert_int_eq(ace_publish_encode(&publish, "", "orders", true, &properties,
                                            (ace_bytes){bytes, wanted.lengths[i]},
                                            ace_link_frame_max(p.f.link), 1 << 30, NULL),
                         ACE_OK);
        publish.deadline = ace_publisher_deadline(p.publisher, 5000);
        ck_assert_int_eq(
            ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, NULL), ACE_OK);
        ace_publish_clear(&publish);
    }
    free(bytes);
    end(&p);
}
END_TEST

static void script_shrink(peer_side *side, int index, void *user)
{
    (void)user;
    const peer_tune tune = {2047, index == 0 ? 131072 : 4096, 0};
    peer_handshake(side, &tune);
    open_lanes(side);
    if (index == 0) {
        peer_hang_up(side);
        return;
    }
    expect_publish(side, APPLICATION, "small");
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(headers_too_large_for_a_connection_that_came_back_smaller_are_refused_alone)
{
    publishing p;
    ace_publish publish = {0};
    ace_error *error = NULL;
    char text[6000] = {0};
    begin(&p, script_shrink, NULL);
    connect_publisher(&p);
    fixture_await_state(&p.f, ACE_LINK_OPEN, 2);
    amqp_table_entry_t entry = {
        .key = peer_text("k"),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = {sizeof text, text}}};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = {1, &entry}};
    /* Measured against the frames of the first connection, sent on the second. */
    ck_assert_int_eq(ace_publish_encode(&publish, "", "large", true, &properties, ace_bytes_of("b"),
                                        131072, 1000, NULL),
                     ACE_OK);
    publish.deadline = ace_publisher_deadline(p.publisher, 3000);
    ck_assert_int_eq(
        ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, &error),
        ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "4096"));
    ace_error_free(error);
    ace_publish_clear(&publish);
    ck_assert_int_eq(send_one(&p, "small", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_without_confirms(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    amqp_channel_open_ok_t ok = {.channel_id = {0, NULL}};
    peer_handshake(side, NULL);
    (void)peer_expect(side, APPLICATION, AMQP_CHANNEL_OPEN_METHOD);
    peer_open_confirm_channel(side, HOPS);
    peer_send(side, APPLICATION, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
    ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    peer_return(side, content, 312, "NO_ROUTE");
    ace_content_free(content);
    expect_publish(side, HOPS, "hop");
    peer_ack(side, HOPS, 1, false);
    peer_wait_stop(side);
}

static void count_return(const ace_error *error, void *user)
{
    if (ace_error_code(error) == ACE_UNROUTABLE) {
        atomic_fetch_add((atomic_int *)user, 1);
    }
}

START_TEST(without_confirms_written_is_done_and_a_hop_is_confirmed_all_the_same)
{
    publishing p;
    ace_publish hop;
    atomic_int returned;
    atomic_init(&returned, 0);
    begin(&p, script_without_confirms, NULL);
    p.f.settings.confirms = false;
    fixture_make_link(&p.f);
    ck_assert_int_eq(ace_publisher_new(p.f.link, &p.publisher, NULL), ACE_OK);
    ace_publisher_watch_returns(p.publisher, count_return, &returned);
    fixture_must_connect(&p.f);
    ck_assert_int_eq(send_one(&p, "missing", 3000, NULL), ACE_OK);
    await_count(&returned, 1);
    encode(&p, &hop, "hop", "id", "body");
    ck_assert_int_eq(ace_publisher_send(p.publisher, ACE_PUBLISH_HOP, &hop, NULL, NULL), ACE_OK);
    ace_publish_clear(&hop);
    end(&p);
}
END_TEST

static void script_no_answer(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_wait_stop(side);
}

static void fire_soon(void *user)
{
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    ace_cancel_fire(user);
}

START_TEST(a_send_is_cancelled_and_says_whether_it_was_sent)
{
    publishing p;
    ace_error *error = NULL;
    ace_publish publish;
    ace_thread thread;
    begin(&p, script_no_answer, NULL);
    connect_publisher(&p);
    ace_cancel *cancel = ace_cancel_new(NULL);
    ck_assert_int_eq(ace_thread_start(&thread, "fire", fire_soon, cancel, NULL), ACE_OK);
    encode(&p, &publish, "orders", "id", "body");
    ck_assert_int_eq(
        ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, cancel, &error),
        ACE_CANCELLED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "may or may not"));
    ace_error_free(error);
    error = NULL;
    ace_publish_clear(&publish);
    ace_thread_join(&thread);
    ace_publisher_pause(p.publisher);
    encode(&p, &publish, "orders", "id", "body");
    ck_assert_int_eq(
        ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, cancel, &error),
        ACE_CANCELLED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "nothing was sent"));
    ace_error_free(error);
    ace_publish_clear(&publish);
    ace_publisher_resume(p.publisher);
    ace_cancel_release(cancel);
    end(&p);
}
END_TEST

#define THREADS 8
#define EACH    250

static void script_sink(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (uint64_t tag = 1; tag <= THREADS * EACH; tag++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
        peer_ack(side, APPLICATION, tag, false);
    }
    peer_wait_stop(side);
}

static void publish_many(void *user)
{
    publishing *p = user;
    for (int i = 0; i < EACH; i++) {
        ck_assert_int_eq(send_one(p, "orders", 10000, NULL), ACE_OK);
    }
}

START_TEST(many_threads_publish_through_one_queue)
{
    publishing p;
    ace_thread threads[THREADS];
    begin(&p, script_sink, NULL);
    connect_publisher(&p);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(ace_thread_start(&threads[i], "publish", publish_many, &p, NULL), ACE_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        ace_thread_join(&threads[i]);
    }
    ace_publisher_counts counts;
    ace_publisher_count(p.publisher, &counts);
    ck_assert_uint_eq(counts.confirmed, THREADS * EACH);
    end(&p);
}
END_TEST

static void script_close_mid_way(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_delay(side, 100);
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_flush_waits_for_the_confirm)
{
    publishing p;
    ace_publish publish;
    atomic_int ended;
    atomic_init(&ended, 0);
    begin(&p, script_close_mid_way, NULL);
    connect_publisher(&p);
    encode(&p, &publish, "orders", "id", "body");
    publish.done = done_count;
    publish.user = &ended;
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
                     ACE_OK);
    ck_assert_int_eq(ace_publisher_flush(p.publisher, ace_deadline_after(10), NULL, NULL),
                     ACE_TIMEOUT);
    ck_assert_int_eq(ace_publisher_flush(p.publisher, ace_deadline_after(3000), NULL, NULL),
                     ACE_OK);
    ck_assert_int_eq(atomic_load(&ended), 1);
    ck_assert_int_eq(publish.code, ACE_OK);
    ace_publish_clear(&publish);
    ace_publisher_close(p.publisher);
    encode(&p, &publish, "orders", "id", "body");
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
                     ACE_CLOSED);
    ck_assert_int_eq(ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, NULL),
                     ACE_CLOSED);
    ace_publish_clear(&publish);
    end(&p);
}
END_TEST

static void script_dead(peer_side *side, int index, void *user)
{
    (void)user;
    const peer_tune tune = {2047, 131072, 1};
    if (index > 0) {
        peer_wait_stop(side);
    }
    peer_handshake(side, &tune);
    open_lanes(side);
    peer_wait_stop(side); /* neither reads nor writes nor hangs up: a machine that lost its power */
}

START_TEST(with_heartbeats_on_a_dead_peer_blocks_neither_the_first_publish_nor_the_second)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_dead, NULL);
    p.f.settings.heartbeat = 60;
    p.f.settings.connect_timeout = 500;
    connect_publisher(&p);
    int64_t before = ace_clock_monotonic(ace_clock_system());
    ck_assert_int_eq(send_one(&p, "first", 10000, &error), ACE_UNKNOWN_OUTCOME);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "heartbeat"));
    ace_error_free(error);
    error = NULL;
    int64_t took = ace_clock_monotonic(ace_clock_system()) - before;
    ck_assert_int_ge(took, 1900);
    ck_assert_int_lt(took, 4000);
    before = ace_clock_monotonic(ace_clock_system());
    ck_assert_int_eq(send_one(&p, "second", 200, &error), ACE_REFUSED);
    took = ace_clock_monotonic(ace_clock_system()) - before;
    ck_assert_int_lt(took, 2000);
    ace_error_free(error);
    end(&p);
}
END_TEST

#define LARGE 64

static void script_reads_nothing(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    peer_wait_stop(side);
}

START_TEST(what_the_broker_does_not_read_is_not_piled_up_and_is_refused_at_the_deadline)
{
    publishing p;
    static ace_publish publishes[LARGE];
    ace_publish *list[LARGE];
    size_t length = 1024 * 1024;
    uint8_t *body = calloc(1, length);
    int refused = 0;
    int unknown = 0;
    begin(&p, script_reads_nothing, NULL);
    connect_publisher(&p);
    for (int i = 0; i < LARGE; i++) {
        amqp_basic_properties_t properties = {._flags = 0};
        ck_assert_int_eq(ace_publish_encode(&publishes[i], "", "orders", true, &properties,
                                            (ace_bytes){body, length}, ace_link_frame_max(p.f.link),
                                            length, NULL),
                         ACE_OK);
        publishes[i].deadline = ace_publisher_deadline(p.publisher, 500);
        list[i] = &publishes[i];
    }
    (void)ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, LARGE, NULL, NULL);
    for (int i = 0; i < LARGE; i++) {
        refused += publishes[i].code == ACE_REFUSED;
        unknown += publishes[i].code == ACE_UNKNOWN_OUTCOME;
        if (publishes[i].code == ACE_REFUSED) {
            ck_assert_ptr_nonnull(strstr(ace_error_message(publishes[i].error), "does not read"));
            ck_assert_int_eq(unknown, i - refused + 1); /* in order: none was sent after it */
        }
        ace_publish_clear(&publishes[i]);
    }
    ck_assert_int_eq(refused + unknown, LARGE);
    /* The kernel's buffers of both ends and a little more than a megabyte of ours. */
    ck_assert_int_ge(unknown, 1);
    ck_assert_int_ge(refused, LARGE / 2);
    free(body);
    end(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publisher");
    TCase *results = tcase_create("results");
    tcase_set_timeout(results, 30);
    tcase_add_test(results, a_publish_is_confirmed);
    tcase_add_test(results, acks_and_nacks_single_and_multiple_find_their_publishes);
    tcase_add_test(results, of_a_batch_exactly_those_returned_are_unroutable);
    tcase_add_test(results, of_two_with_the_same_id_the_right_one_is_unroutable);
    tcase_add_test(results, a_confirm_that_comes_too_late_is_unknown_and_harms_nobody);
    tcase_add_test(results, a_lost_connection_makes_what_was_sent_unknown_and_numbers_start_again);
    tcase_add_test(results, what_could_not_be_sent_in_time_is_refused_and_says_why);
    tcase_add_test(results,
                   a_blocked_broker_refuses_at_the_deadline_and_what_waits_goes_on_when_it_is_free);
    tcase_add_test(results, a_missing_exchange_fails_its_publish_and_the_channel_is_replaced);
    suite_add_tcase(suite, results);
    TCase *lanes = tcase_create("lanes");
    tcase_set_timeout(lanes, 30);
    tcase_add_test(lanes, a_pause_holds_the_application_back_and_no_hop);
    tcase_add_test(lanes, more_than_the_outstanding_limit_wait_for_the_window);
    tcase_add_test(lanes, without_confirms_written_is_done_and_a_hop_is_confirmed_all_the_same);
    tcase_add_test(lanes, a_send_is_cancelled_and_says_whether_it_was_sent);
    tcase_add_test(lanes, many_threads_publish_through_one_queue);
    tcase_add_test(lanes, a_flush_waits_for_the_confirm);
    tcase_add_test(lanes,
                   with_heartbeats_on_a_dead_peer_blocks_neither_the_first_publish_nor_the_second);
    tcase_add_test(lanes,
                   what_the_broker_does_not_read_is_not_piled_up_and_is_refused_at_the_deadline);
    suite_add_tcase(suite, lanes);
    TCase *frames = tcase_create("frames");
    tcase_set_timeout(frames, 30);
    tcase_add_test(frames,
                   what_cannot_be_encoded_is_refused_with_the_field_and_the_channel_stays_usable);
    tcase_add_test(frames, bodies_around_multiples_of_the_frame_leave_whole);
    tcase_add_test(frames,
                   headers_too_large_for_a_connection_that_came_back_smaller_are_refused_alone);
    suite_add_tcase(suite, frames);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
