#include "support/wire_client.h"

#include "contract/table.h"
#include "wire/content.h"

#include <check.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define POOL_PAGE     4096
#define ARGUMENTS_MAX 16
#define PATIENCE      30000

int ace_wire_patience(void)
{
    const char *times = getenv("CK_TIMEOUT_MULTIPLIER");
    return times != NULL && atoi(times) > 1 ? PATIENCE * atoi(times) : PATIENCE;
}

ace_wire_client *ace_wire_client_open(ace_stream *stream)
{
    ace_wire_client *client = calloc(1, sizeof(*client));

    ck_assert_ptr_nonnull(client);
    client->stream = stream;
    client->frame_max = ACE_FRAME_MAX_DEFAULT;
    ace_frame_reader_init(&client->reader, ACE_FRAME_CLIENT);
    ace_assembly_init(&client->assembly, ACE_BODY_MAX_DEFAULT);
    init_amqp_pool(&client->pool, POOL_PAGE);
    return client;
}

void ace_wire_client_free(ace_wire_client *client)
{
    if (!client)
        return;
    ace_stream_close(client->stream);
    ace_frame_reader_free(&client->reader);
    ace_buffer_free(&client->out);
    ace_content_free(client->content);
    ace_assembly_reset(&client->assembly);
    ace_arena_free(&client->arena);
    empty_amqp_pool(&client->pool);
    free(client);
}

static bool wait_for(ace_wire_client *client, bool reading, int milliseconds)
{
    struct pollfd polled = {.fd = ace_stream_descriptor(client->stream),
                            .events = ace_stream_events(client->stream, reading, !reading)};

    return poll(&polled, 1, milliseconds) > 0;
}

/* --- sending --- */

/* A server that has hung up is a fine answer to bad bytes: the rest is dropped then. */
void ace_wire_send_bytes(ace_wire_client *client, const void *data, size_t length)
{
    size_t sent = 0;

    while (sent < length) {
        struct iovec part = {(char *)(uintptr_t)data + sent, length - sent};
        size_t moved = 0;
        ace_stream_state state = ace_stream_write(client->stream, &part, 1, &moved, NULL);

        if (state == ACE_STREAM_FAILED)
            return;
        if (state == ACE_STREAM_BLOCKED)
            ck_assert_msg(wait_for(client, false, ace_wire_patience()), "the server does not read");
        sent += moved;
    }
}

static void send_out(ace_wire_client *client)
{
    ace_wire_send_bytes(client, client->out.data, client->out.length);
    ace_buffer_clear(&client->out);
}

void ace_wire_send_header(ace_wire_client *client)
{
    ck_assert_int_eq(ace_frame_write_protocol_header(&client->out, NULL), ACE_OK);
    send_out(client);
}

void ace_wire_send(ace_wire_client *client, uint16_t channel, amqp_method_number_t id,
                   const void *decoded)
{
    ck_assert_int_eq(ace_method_write(&client->out, channel, id, decoded, client->frame_max, NULL),
                     ACE_OK);
    send_out(client);
}

void ace_wire_publish(ace_wire_client *client, uint16_t channel,
                      const amqp_basic_publish_t *publish,
                      const amqp_basic_properties_t *properties, ace_bytes body)
{
    static const amqp_basic_properties_t none = {0};

    ck_assert_int_eq(ace_content_write(&client->out, channel, AMQP_BASIC_PUBLISH_METHOD, publish,
                                       properties ? properties : &none, body, client->frame_max,
                                       NULL),
                     ACE_OK);
    send_out(client);
}

void ace_wire_publish_text(ace_wire_client *client, const char *queue, const char *body)
{
    amqp_basic_publish_t publish = {.routing_key = amqp_cstring_bytes(queue)};

    ace_wire_publish(client, 1, &publish, NULL, ace_bytes_of(body));
}

/* --- reading --- */

static bool receive(ace_wire_client *client)
{
    size_t size = 0;
    size_t moved = 0;
    uint8_t *room = ace_frame_reader_room(&client->reader, 4096, &size);
    ace_stream_state state;

    ck_assert_ptr_nonnull(room);
    state = ace_stream_read(client->stream, room, size, &moved, NULL);
    if (state == ACE_STREAM_READY)
        ace_frame_reader_received(&client->reader, moved);
    return state == ACE_STREAM_READY || state == ACE_STREAM_BLOCKED;
}

/* False: the stream ended. */
static bool next_frame(ace_wire_client *client, ace_frame *frame)
{
    for (;;) {
        ck_assert_int_eq(ace_frame_next(&client->reader, frame, NULL), ACE_OK);
        if (frame->type != ACE_FRAME_NONE)
            return true;
        ck_assert_msg(wait_for(client, true, ace_wire_patience()), "no answer");
        if (!receive(client))
            return false;
    }
}

static bool is_of_content(const ace_wire_client *client, const ace_frame *frame)
{
    return frame->type != ACE_FRAME_METHOD || !ace_assembly_is_empty(&client->assembly) ||
           ace_method_has_content(ace_method_id(frame->payload));
}

static bool take_frame(ace_wire_client *client, const ace_frame *frame)
{
    client->channel = frame->channel;
    if (!is_of_content(client, frame)) {
        recycle_amqp_pool(&client->pool);
        ck_assert_int_eq(ace_method_decode(frame->payload, &client->pool, &client->method, NULL),
                         ACE_OK);
        return true;
    }
    ck_assert_int_eq(ace_assembly_take(&client->assembly, frame, &client->content, NULL), ACE_OK);
    if (!client->content)
        return false;
    ck_assert_ptr_null(client->content->fault);
    client->method = client->content->method;
    return true;
}

bool ace_wire_read(ace_wire_client *client)
{
    ace_frame frame;

    ace_content_free(client->content);
    client->content = NULL;
    do {
        if (!next_frame(client, &frame))
            return false;
    } while (frame.type == ACE_FRAME_HEARTBEAT || !take_frame(client, &frame));
    return true;
}

const void *ace_wire_expect(ace_wire_client *client, amqp_method_number_t id)
{
    ck_assert_msg(ace_wire_read(client), "the stream ended, %s was expected", ace_method_name(id));
    if (client->method.id == AMQP_CHANNEL_CLOSE_METHOD && id != AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *close = client->method.decoded;

        ck_abort_msg("%s was expected, the channel was closed: %.*s", ace_method_name(id),
                     (int)close->reply_text.len, (const char *)close->reply_text.bytes);
    }
    ck_assert_msg(client->method.id == id, "%s was expected, %s came", ace_method_name(id),
                  ace_method_name(client->method.id));
    return client->method.decoded;
}

static void compare_close(int code, amqp_bytes_t text, int wanted_code, const char *wanted_text)
{
    char got[256];

    memcpy(got, text.bytes, text.len);
    got[text.len] = '\0';
    ck_assert_str_eq(got, wanted_text);
    ck_assert_int_eq(code, wanted_code);
}

void ace_wire_expect_channel_close(ace_wire_client *client, int code, const char *text)
{
    const amqp_channel_close_t *close = ace_wire_expect(client, AMQP_CHANNEL_CLOSE_METHOD);
    amqp_channel_close_ok_t ok = {0};

    compare_close(close->reply_code, close->reply_text, code, text);
    ace_wire_send(client, client->channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
}

void ace_wire_expect_connection_close(ace_wire_client *client, int code, const char *text)
{
    const amqp_connection_close_t *close = ace_wire_expect(client, AMQP_CONNECTION_CLOSE_METHOD);
    amqp_connection_close_ok_t ok = {0};

    compare_close(close->reply_code, close->reply_text, code, text);
    ace_wire_send(client, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
    ace_wire_expect_end(client);
}

void ace_wire_expect_end(ace_wire_client *client)
{
    ck_assert_msg(!ace_wire_read(client), "%s came instead of the end",
                  ace_method_name(client->method.id));
}

void ace_wire_expect_quiet(ace_wire_client *client)
{
    ace_frame frame;

    ck_assert_int_eq(ace_frame_next(&client->reader, &frame, NULL), ACE_OK);
    ck_assert_int_eq(frame.type, ACE_FRAME_NONE);
    ck_assert_msg(!wait_for(client, true, ACE_WIRE_QUIET), "something came");
}

uint64_t ace_wire_expect_delivery(ace_wire_client *client, const char *body, bool redelivered)
{
    const amqp_basic_deliver_t *deliver;
    const amqp_basic_get_ok_t *got;
    uint64_t tag;
    bool again;

    ck_assert_msg(ace_wire_read(client), "the stream ended, a delivery was expected");
    if (client->method.id == AMQP_BASIC_GET_OK_METHOD) {
        got = client->method.decoded;
        tag = got->delivery_tag;
        again = got->redelivered;
    } else {
        ck_assert_msg(client->method.id == AMQP_BASIC_DELIVER_METHOD,
                      "a delivery was expected, %s came", ace_method_name(client->method.id));
        deliver = client->method.decoded;
        tag = deliver->delivery_tag;
        again = deliver->redelivered;
    }
    ck_assert_msg(ace_bytes_equal_text(client->content->body, body), "%.*s came instead of %s",
                  (int)client->content->body.length, (const char *)client->content->body.data,
                  body);
    ck_assert_int_eq(again, redelivered);
    return tag;
}

/* --- headers --- */

amqp_table_t ace_wire_table(ace_wire_client *client, const char *name, ...)
{
    amqp_table_t table = {
        0, ace_arena_take(&client->arena, ARGUMENTS_MAX * sizeof(amqp_table_entry_t))};
    va_list rest;

    ck_assert_ptr_nonnull(table.entries);
    va_start(rest, name);
    for (; name; name = va_arg(rest, const char *)) {
        amqp_table_entry_t *entry = &table.entries[table.num_entries++];

        ck_assert_int_le(table.num_entries, ARGUMENTS_MAX);
        entry->key = amqp_cstring_bytes(name);
        switch (va_arg(rest, int)) {
        case 'i':
            entry->value.kind = AMQP_FIELD_KIND_I64;
            entry->value.value.i64 = va_arg(rest, int64_t);
            break;
        case 't':
            entry->value.kind = AMQP_FIELD_KIND_BOOLEAN;
            entry->value.value.boolean = va_arg(rest, int);
            break;
        default:
            entry->value.kind = AMQP_FIELD_KIND_UTF8;
            entry->value.value.bytes = amqp_cstring_bytes(va_arg(rest, const char *));
        }
    }
    va_end(rest);
    return table;
}

const amqp_field_value_t *ace_wire_header(const ace_wire_client *client, const char *name)
{
    if (!(client->content->properties->_flags & AMQP_BASIC_HEADERS_FLAG))
        return NULL;
    return ace_table_find(&client->content->properties->headers, name);
}

const char *ace_wire_text(ace_wire_client *client, const amqp_field_value_t *value)
{
    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(value->kind, AMQP_FIELD_KIND_UTF8);
    return ace_arena_text(&client->arena, value->value.bytes.bytes, value->value.bytes.len);
}
