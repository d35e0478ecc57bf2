/* Clients that send anything at all: the broker ends them, or answers, and serves the others. */
#include "base/random.h"
#include "support/wire_client.h"
#include "wire/content.h"

#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static ace_broker *broker;
static ace_wire_client *client;

static void start(void)
{
    ace_broker_options options;

    ace_broker_options_init(&options);
    options.limits.handshake_wait = 500;
    ck_assert_int_eq(ace_broker_start(&options, &broker, NULL), ACE_OK);
    client = ace_wire_client_login(broker);
    ace_wire_declare(client, "q", NULL);
}

/* Whatever happened, the others are served. */
static void stop(void)
{
    ace_wire_publish_text(client, "q", "still alive");
    ace_wire_consume(client, "q", "alive", true);
    do
        ck_assert_ptr_nonnull(ace_wire_expect(client, AMQP_BASIC_DELIVER_METHOD));
    while (!ace_bytes_equal_text(client->content->body, "still alive"));
    ace_wire_client_free(client);
    ace_broker_release(broker);
}

/* Everything that a lively client says after its login. */
static void write_conversation(ace_buffer *out)
{
    amqp_table_entry_t fields[] = {
        {amqp_cstring_bytes("x-max-length"), {.kind = AMQP_FIELD_KIND_I32, .value.i32 = 5}},
        {amqp_cstring_bytes("x-dead-letter-exchange"),
         {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("amq.topic")}}};
    amqp_channel_open_t open = {0};
    amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes("mutated"),
                                    .arguments = {2, fields}};
    amqp_queue_bind_t bind = {.queue = amqp_cstring_bytes("mutated"),
                              .exchange = amqp_cstring_bytes("amq.topic"),
                              .routing_key = amqp_cstring_bytes("#.mutated.*")};
    amqp_exchange_declare_t exchange = {.exchange = amqp_cstring_bytes("x"),
                                        .type = amqp_cstring_bytes("headers")};
    amqp_exchange_bind_t join = {.source = amqp_cstring_bytes("amq.topic"),
                                 .destination = amqp_cstring_bytes("x")};
    amqp_basic_qos_t qos = {.prefetch_count = 3};
    amqp_basic_consume_t consume = {.queue = amqp_cstring_bytes("mutated")};
    amqp_confirm_select_t confirms = {0};
    amqp_basic_publish_t publish = {.routing_key = amqp_cstring_bytes("mutated"), .mandatory = 1};
    amqp_basic_properties_t properties = {._flags =
                                              AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_EXPIRATION_FLAG,
                                          .headers = {2, fields},
                                          .expiration = amqp_cstring_bytes("1000")};
    amqp_basic_nack_t nack = {.delivery_tag = 1, .requeue = 1};
    amqp_basic_get_t get = {.queue = amqp_cstring_bytes("mutated")};
    amqp_queue_delete_t delete = {.queue = amqp_cstring_bytes("mutated")};
    const struct {
        amqp_method_number_t id;
        const void *method;
    } steps[] = {{AMQP_CHANNEL_OPEN_METHOD, &open},       {AMQP_QUEUE_DECLARE_METHOD, &declare},
                 {AMQP_QUEUE_BIND_METHOD, &bind},         {AMQP_EXCHANGE_DECLARE_METHOD, &exchange},
                 {AMQP_EXCHANGE_BIND_METHOD, &join},      {AMQP_BASIC_QOS_METHOD, &qos},
                 {AMQP_CONFIRM_SELECT_METHOD, &confirms}, {AMQP_BASIC_CONSUME_METHOD, &consume},
                 {AMQP_BASIC_PUBLISH_METHOD, &publish},   {AMQP_BASIC_PUBLISH_METHOD, &publish},
                 {AMQP_BASIC_NACK_METHOD, &nack},         {AMQP_BASIC_GET_METHOD, &get},
                 {AMQP_QUEUE_DELETE_METHOD, &delete}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        ace_code code = steps[i].id == AMQP_BASIC_PUBLISH_METHOD
                            ? ace_content_write(out, 2, steps[i].id, steps[i].method, &properties,
                                                ace_bytes_of("a body"), 131072, NULL)
                            : ace_method_write(out, 2, steps[i].id, steps[i].method, 131072, NULL);

        ck_assert_int_eq(code, ACE_OK);
    }
}

/* Reads whatever comes, without making sense of it, until it ends or pauses. */
static void drain(ace_stream *stream)
{
    char bytes[4096];
    size_t moved;

    for (;;) {
        struct pollfd polled = {.fd = ace_stream_descriptor(stream), .events = POLLIN};

        if (poll(&polled, 1, 5) <= 0 ||
            ace_stream_read(stream, bytes, sizeof(bytes), &moved, NULL) != ACE_STREAM_READY)
            return;
    }
}

static void torment(const uint8_t *bytes, size_t length)
{
    ace_wire_client *other = ace_wire_client_login(broker);

    ace_wire_send_bytes(other, bytes, length);
    drain(other->stream);
    ace_wire_client_free(other);
}

START_TEST(random_bytes_from_the_start)
{
    ace_random *random = ace_random_seeded((uint64_t)_i + 1);

    ck_assert_ptr_nonnull(random);
    for (int round = 0; round < 30; round++) {
        uint8_t bytes[600];
        size_t length = 1 + ace_random_next(random) % sizeof(bytes);
        ace_stream *stream = NULL;
        ace_wire_client *other;

        for (size_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)ace_random_next(random);
        ck_assert_int_eq(ace_broker_attach(broker, &stream, NULL), ACE_OK);
        other = ace_wire_client_open(stream);
        if (round % 2 == 0)
            ace_wire_send_header(other);
        ace_wire_send_bytes(other, bytes, length);
        drain(other->stream);
        ace_wire_client_free(other);
    }
    ace_random_free(random);
}
END_TEST

START_TEST(a_conversation_cut_anywhere)
{
    ace_buffer conversation = ACE_BUFFER_INIT;

    write_conversation(&conversation);
    for (size_t length = (size_t)_i; length < conversation.length; length += 8)
        torment(conversation.data, length);
    ace_buffer_free(&conversation);
}
END_TEST

START_TEST(a_conversation_with_bytes_changed)
{
    ace_buffer conversation = ACE_BUFFER_INIT;
    ace_random *random = ace_random_seeded((uint64_t)_i + 1);

    ck_assert_ptr_nonnull(random);
    write_conversation(&conversation);
    for (int round = 0; round < 100; round++) {
        uint8_t *copy = malloc(conversation.length);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, conversation.data, conversation.length);
        for (uint64_t i = 0; i <= ace_random_next(random) % 4; i++)
            copy[ace_random_next(random) % conversation.length] = (uint8_t)ace_random_next(random);
        torment(copy, conversation.length);
        free(copy);
    }
    ace_buffer_free(&conversation);
    ace_random_free(random);
}
END_TEST

START_TEST(frames_out_of_order)
{
    ace_buffer conversation = ACE_BUFFER_INIT;
    ace_random *random = ace_random_seeded((uint64_t)_i + 1);
    struct {
        size_t start;
        size_t length;
    } frames[64];
    size_t count = 0;

    ck_assert_ptr_nonnull(random);
    write_conversation(&conversation);
    for (size_t at = 0; at < conversation.length; count++) {
        const uint8_t *size = conversation.data + at + 3;

        frames[count].start = at;
        frames[count].length = 8 + ((size_t)size[0] << 24 | (size_t)size[1] << 16 |
                                    (size_t)size[2] << 8 | (size_t)size[3]);
        at += frames[count].length;
    }
    for (int round = 0; round < 100; round++) {
        ace_wire_client *other = ace_wire_client_login(broker);

        ace_wire_open_channel(other, 2);
        for (int i = 0; i < 20; i++) {
            size_t which = 1 + ace_random_next(random) % (count - 1);

            ace_wire_send_bytes(other, conversation.data + frames[which].start,
                                frames[which].length);
        }
        drain(other->stream);
        ace_wire_client_free(other);
    }
    ace_buffer_free(&conversation);
    ace_random_free(random);
}
END_TEST

/* Headers nested deeper than any client's, and a claim of a body that never comes. */
START_TEST(deep_headers_and_claims_of_size)
{
    enum { DEPTH = 20000 };
    uint8_t *header = calloc(1, 14 + 4 + DEPTH * 7 + 100);
    ace_wire_client *other = ace_wire_client_login(broker);
    amqp_basic_publish_t publish = {.routing_key = amqp_cstring_bytes("q")};
    ace_buffer out = ACE_BUFFER_INIT;
    size_t at = 14 + 4;
    size_t inner = DEPTH * 7;

    ck_assert_ptr_nonnull(header);
    header[1] = 60;
    header[12] = 0x20; /* headers alone */
    for (int i = 0; i < 4; i++)
        header[14 + i] = (uint8_t)(inner >> (24 - 8 * i));
    for (int depth = 0; depth < DEPTH; depth++) {
        inner -= 7;
        header[at++] = 1;
        header[at++] = 'k';
        header[at++] = 'F';
        for (int i = 0; i < 4; i++)
            header[at++] = (uint8_t)(inner >> (24 - 8 * i));
    }
    ck_assert_int_eq(ace_method_write(&out, 1, AMQP_BASIC_PUBLISH_METHOD, &publish, 131072, NULL),
                     ACE_OK);
    ck_assert_int_eq(ace_frame_write(&out, ACE_FRAME_HEADER, 1,
                                     (ace_bytes){header, at < 131064 ? at : 131064}, 131072, NULL),
                     ACE_OK);
    ace_wire_send_bytes(other, out.data, out.length);
    drain(other->stream);
    ace_wire_client_free(other);
    memset(header, 0xff, 12);
    torment(header, 12);
    ace_buffer_free(&out);
    free(header);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile clients");
    TCase *tcase = tcase_create("hostile clients");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_loop_test(tcase, random_bytes_from_the_start, 0, 5);
    tcase_add_loop_test(tcase, a_conversation_cut_anywhere, 0, 8);
    tcase_add_loop_test(tcase, a_conversation_with_bytes_changed, 0, 8);
    tcase_add_loop_test(tcase, frames_out_of_order, 0, 4);
    tcase_add_test(tcase, deep_headers_and_claims_of_size);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
