/* Everyday work of the test client. */
#include "support/wire_client.h"
#include "wire/arguments.h"

#include <check.h>
#include <poll.h>

#define STEP 10 /* milliseconds */

ace_wire_client *ace_wire_client_login(ace_broker *broker)
{
    ace_stream *stream = NULL;
    ace_wire_client *client;
    amqp_connection_start_ok_t start = {.mechanism = amqp_cstring_bytes("PLAIN"),
                                        .response = {12, (void *)"\0guest\0guest"},
                                        .locale = amqp_cstring_bytes("en_US")};
    amqp_connection_tune_ok_t tune = {.channel_max = 2047, .frame_max = ACE_FRAME_MAX_DEFAULT};
    amqp_connection_open_t open = {.virtual_host = amqp_cstring_bytes("/")};

    ck_assert_int_eq(ace_broker_attach(broker, &stream, NULL), ACE_OK);
    client = ace_wire_client_open(stream);
    ck_assert_int_eq(
        ace_client_properties(&client->arena, "test", "1", NULL, &start.client_properties, NULL),
        ACE_OK);
    ace_wire_send_header(client);
    ace_wire_expect(client, AMQP_CONNECTION_START_METHOD);
    ace_wire_send(client, 0, AMQP_CONNECTION_START_OK_METHOD, &start);
    ace_wire_expect(client, AMQP_CONNECTION_TUNE_METHOD);
    ace_wire_send(client, 0, AMQP_CONNECTION_TUNE_OK_METHOD, &tune);
    ace_wire_send(client, 0, AMQP_CONNECTION_OPEN_METHOD, &open);
    ace_wire_expect(client, AMQP_CONNECTION_OPEN_OK_METHOD);
    ace_wire_open_channel(client, 1);
    return client;
}

void ace_wire_open_channel(ace_wire_client *client, uint16_t channel)
{
    amqp_channel_open_t open = {0};

    ace_wire_send(client, channel, AMQP_CHANNEL_OPEN_METHOD, &open);
    ace_wire_expect(client, AMQP_CHANNEL_OPEN_OK_METHOD);
}

static uint32_t declare(ace_wire_client *client, const amqp_queue_declare_t *declare)
{
    const amqp_queue_declare_ok_t *ok;

    ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, declare);
    ok = ace_wire_expect(client, AMQP_QUEUE_DECLARE_OK_METHOD);
    return ok->message_count;
}

uint32_t ace_wire_declare(ace_wire_client *client, const char *queue, const amqp_table_t *arguments)
{
    amqp_queue_declare_t method = {.queue = amqp_cstring_bytes(queue), .durable = 1};

    if (arguments)
        method.arguments = *arguments;
    return declare(client, &method);
}

uint32_t ace_wire_count(ace_wire_client *client, const char *queue)
{
    amqp_queue_declare_t method = {.queue = amqp_cstring_bytes(queue), .passive = 1};

    return declare(client, &method);
}

void ace_wire_wait_count(ace_wire_client *client, const char *queue, uint32_t count)
{
    uint32_t found = ace_wire_count(client, queue);

    for (int left = ace_wire_patience() / STEP; left > 0 && found != count; left--) {
        poll(NULL, 0, STEP);
        found = ace_wire_count(client, queue);
    }
    ck_assert_uint_eq(found, count);
}

void ace_wire_consume(ace_wire_client *client, const char *queue, const char *tag, bool no_ack)
{
    amqp_basic_consume_t consume = {.queue = amqp_cstring_bytes(queue),
                                    .consumer_tag = amqp_cstring_bytes(tag),
                                    .no_ack = no_ack};

    ace_wire_send(client, 1, AMQP_BASIC_CONSUME_METHOD, &consume);
    ace_wire_expect(client, AMQP_BASIC_CONSUME_OK_METHOD);
}

void ace_wire_prefetch(ace_wire_client *client, uint16_t count, bool global)
{
    amqp_basic_qos_t qos = {.prefetch_count = count, .global = global};

    ace_wire_send(client, 1, AMQP_BASIC_QOS_METHOD, &qos);
    ace_wire_expect(client, AMQP_BASIC_QOS_OK_METHOD);
}

void ace_wire_get(ace_wire_client *client, const char *queue)
{
    amqp_basic_get_t get = {.queue = amqp_cstring_bytes(queue)};

    ace_wire_send(client, 1, AMQP_BASIC_GET_METHOD, &get);
}

uint64_t ace_wire_wait_get(ace_wire_client *client, const char *queue, const char *body)
{
    for (int left = ace_wire_patience() / STEP; left > 0; left--) {
        const amqp_basic_get_ok_t *got;

        ace_wire_get(client, queue);
        ck_assert(ace_wire_read(client));
        if (client->method.id == AMQP_BASIC_GET_OK_METHOD) {
            got = client->method.decoded;
            ck_assert_msg(ace_bytes_equal_text(client->content->body, body),
                          "%.*s came instead of %s", (int)client->content->body.length,
                          (const char *)client->content->body.data, body);
            return got->delivery_tag;
        }
        ck_assert_uint_eq(client->method.id, AMQP_BASIC_GET_EMPTY_METHOD);
        poll(NULL, 0, STEP);
    }
    ck_abort_msg("%s did not arrive in %s", body, queue);
}

void ace_wire_ack(ace_wire_client *client, uint64_t tag, bool multiple)
{
    amqp_basic_ack_t ack = {.delivery_tag = tag, .multiple = multiple};

    ace_wire_send(client, 1, AMQP_BASIC_ACK_METHOD, &ack);
}

void ace_wire_nack(ace_wire_client *client, uint64_t tag, bool multiple, bool requeue)
{
    amqp_basic_nack_t nack = {.delivery_tag = tag, .multiple = multiple, .requeue = requeue};

    ace_wire_send(client, 1, AMQP_BASIC_NACK_METHOD, &nack);
}

void ace_wire_confirm_select(ace_wire_client *client)
{
    amqp_confirm_select_t select = {0};

    ace_wire_send(client, 1, AMQP_CONFIRM_SELECT_METHOD, &select);
    ace_wire_expect(client, AMQP_CONFIRM_SELECT_OK_METHOD);
}
