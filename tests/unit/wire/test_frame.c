/* Cutting bytes into frames, and writing frames. */
#include "samples.h"
#include "support/rounds.h"
#include "wire/big_endian.h"
#include "wire/frame.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ace_bytes text_of(const char *text)
{
    return (ace_bytes){(const uint8_t *)text, strlen(text)};
}

/* What a reader yielded, one line a frame, so that two runs can be compared. */
static void describe(ace_buffer *log, const ace_frame *frame)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < frame->payload.length; i++) {
        sum = (sum ^ frame->payload.data[i]) * 16777619u;
    }
    ck_assert(ace_buffer_format(log, "%d on %u: %zu bytes, %08x\n", frame->type, frame->channel,
                                frame->payload.length, sum));
}

static void drain(ace_frame_reader *reader, ace_buffer *log)
{
    ace_frame frame;
    ace_error *error = NULL;
    for (;;) {
        check_ok(ace_frame_next(reader, &frame, &error), error);
        if (frame.type == ACE_FRAME_NONE) {
            return;
        }
        describe(log, &frame);
    }
}

static void write_conversation(ace_buffer *bytes)
{
    uint64_t state = 42;
    uint8_t payload[9000];
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)sample_next(&state);
    }
    ace_write_u32(payload, 0x003C0028); /* basic.publish, so that the class fits the channel */
    ace_error *error = NULL;
    check_ok(ace_frame_write_protocol_header(bytes, &error), error);
    for (int i = 0; i < 40; i++) {
        ace_bytes some = {payload, 4 + sample_below(&state, 300)};
        check_ok(ace_frame_write(bytes, ACE_FRAME_METHOD, 1, some, 4096, &error), error);
        check_ok(ace_frame_write(bytes, ACE_FRAME_HEADER, 1, some, 4096, &error), error);
        some.length = sample_below(&state, sizeof payload);
        check_ok(ace_frame_write_body(bytes, 1, some, 4096, &error), error);
        check_ok(ace_frame_write_heartbeat(bytes, &error), error);
    }
}

static void read_in_pieces(const ace_buffer *bytes, uint64_t *state, uint32_t largest,
                           ace_buffer *log)
{
    ace_frame_reader reader;
    ace_error *error = NULL;
    ace_frame_reader_init(&reader, ACE_FRAME_SERVER);
    ace_frame_reader_set_max(&reader, 4096);
    for (size_t offset = 0; offset < bytes->length;) {
        size_t left = bytes->length - offset;
        size_t length = 1 + (largest > 1 ? sample_below(state, largest) : 0);
        length = length < left ? length : left;
        if (length % 2 == 0) {
            check_ok(ace_frame_reader_append(&reader, bytes->data + offset, length, &error), error);
        } else {
            size_t room;
            uint8_t *to = ace_frame_reader_room(&reader, length, &room);
            ck_assert_ptr_nonnull(to);
            ck_assert_uint_ge(room, length);
            memcpy(to, bytes->data + offset, length);
            ace_frame_reader_received(&reader, length);
        }
        offset += length;
        drain(&reader, log);
    }
    ck_assert_uint_eq(ace_frame_reader_pending(&reader), 0);
    ace_frame_reader_free(&reader);
}

START_TEST(a_stream_reads_the_same_in_any_pieces)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    write_conversation(&bytes);
    ace_buffer whole = ACE_BUFFER_INIT;
    uint64_t state = 7;
    read_in_pieces(&bytes, &state, (uint32_t)bytes.length * 2, &whole);
    ck_assert_uint_gt(whole.length, 0);
    static const uint32_t largest[] = {1, 2, 7, 8, 9, 100, 4096, 70000};
    for (size_t i = 0; i < sizeof largest / sizeof largest[0]; i++) {
        ace_buffer log = ACE_BUFFER_INIT;
        read_in_pieces(&bytes, &state, largest[i], &log);
        ck_assert_uint_eq(log.length, whole.length);
        ck_assert_mem_eq(log.data, whole.data, whole.length);
        ace_buffer_free(&log);
    }
    ace_buffer_free(&whole);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(a_stream_reads_the_same_cut_at_every_byte)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    static const uint8_t start[] = {0, 10, 0, 10, 'a', 'b', 'c'};
    check_ok(
        ace_frame_write(&bytes, ACE_FRAME_METHOD, 0, (ace_bytes){start, sizeof start}, 0, &error),
        error);
    check_ok(ace_frame_write_heartbeat(&bytes, &error), error);
    check_ok(ace_frame_write_body(&bytes, 9, text_of("body"), 4096, &error), error);
    for (size_t cut = 0; cut <= bytes.length; cut++) {
        ace_buffer log = ACE_BUFFER_INIT;
        ace_frame_reader reader;
        ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
        check_ok(ace_frame_reader_append(&reader, bytes.data, cut, &error), error);
        drain(&reader, &log);
        check_ok(ace_frame_reader_append(&reader, bytes.data + cut, bytes.length - cut, &error),
                 error);
        drain(&reader, &log);
        char *text = ace_buffer_take_text(&log);
        ck_assert_ptr_nonnull(strstr(text, "1 on 0: 7 bytes"));
        ck_assert_ptr_nonnull(strstr(text, "8 on 0: 0 bytes"));
        ck_assert_ptr_nonnull(strstr(text, "3 on 9: 4 bytes"));
        free(text);
        ace_frame_reader_free(&reader);
    }
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(frames_have_the_bytes_of_the_specification)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(ace_frame_write_protocol_header(&bytes, &error), error);
    check_ok(ace_frame_write_heartbeat(&bytes, &error), error);
    check_ok(ace_frame_write(&bytes, ACE_FRAME_BODY, 0x1234, text_of("hi"), 4096, &error), error);
    static const uint8_t expected[] = {'A', 'M', 'Q',  'P', 0,    0,    9, 1, 8, 0, 0,   0,   0,
                                       0,   0,   0xCE, 3,   0x12, 0x34, 0, 0, 0, 2, 'h', 'i', 0xCE};
    ck_assert_uint_eq(bytes.length, sizeof expected);
    ck_assert_mem_eq(bytes.data, expected, sizeof expected);
    ace_buffer_free(&bytes);
}
END_TEST

/* Bodies of n frames exactly, one byte less and one byte more. */
static void check_body(size_t length, uint32_t frame_max, size_t frames)
{
    uint8_t *body = malloc(length + 1);
    ck_assert_ptr_nonnull(body);
    for (size_t i = 0; i < length; i++) {
        body[i] = (uint8_t)(i * 31 + i / 251);
    }
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(ace_frame_write_body(&bytes, 3, (ace_bytes){body, length}, frame_max, &error), error);
    ck_assert_uint_eq(bytes.length, length + 8 * frames);
    ck_assert_uint_eq(bytes.length, ace_frame_body_size(length, frame_max));
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    reader.opened = true;
    ace_frame_reader_set_max(&reader, frame_max);
    check_ok(ace_frame_reader_append(&reader, bytes.data, bytes.length, &error), error);
    size_t offset = 0;
    for (size_t i = 0; i < frames; i++) {
        ace_frame frame;
        check_ok(ace_frame_next(&reader, &frame, &error), error);
        ck_assert_int_eq(frame.type, ACE_FRAME_BODY);
        ck_assert_uint_le(frame.payload.length, frame_max - 8);
        ck_assert_mem_eq(frame.payload.data, body + offset, frame.payload.length);
        offset += frame.payload.length;
    }
    ck_assert_uint_eq(offset, length);
    ck_assert_uint_eq(ace_frame_reader_pending(&reader), 0);
    ace_frame_reader_free(&reader);
    ace_buffer_free(&bytes);
    free(body);
}

START_TEST(bodies_around_whole_frames_are_split_and_arrive_whole)
{
    static const uint32_t maxima[] = {4096, 4097, 131072};
    for (size_t i = 0; i < sizeof maxima / sizeof maxima[0]; i++) {
        size_t payload = maxima[i] - 8;
        check_body(0, maxima[i], 0);
        check_body(1, maxima[i], 1);
        for (size_t n = 1; n <= 3; n++) {
            check_body(n * payload - 1, maxima[i], n);
            check_body(n * payload, maxima[i], n);
            check_body(n * payload + 1, maxima[i], n + 1);
        }
    }
    size_t large = 8 * 1024 * 1024;
    check_body(large, 131072, (large + 131063) / 131064);
}
END_TEST

START_TEST(a_payload_over_the_limit_is_refused_and_leaves_the_buffer)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    uint8_t payload[4089] = {0, 60, 0, 40};
    check_ok(ace_frame_write_heartbeat(&bytes, &error), error);
    check_ok(ace_frame_write(&bytes, ACE_FRAME_METHOD, 1, (ace_bytes){payload, 4088}, 4096, &error),
             error);
    size_t before = bytes.length;
    ck_assert_int_eq(
        ace_frame_write(&bytes, ACE_FRAME_METHOD, 1, (ace_bytes){payload, 4089}, 4096, &error),
        ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error), "the payload has 4089 bytes, one frame holds 4088");
    ck_assert_int_eq(ace_error_limit(error), 4088);
    ck_assert_uint_eq(bytes.length, before);
    ace_error_free(error);
    ace_buffer_free(&bytes);
}
END_TEST

/* Reads `data` and expects the failure, twice, since a failed reader stays failed. */
static void check_refused(ace_frame_side side, bool opened, const void *data, size_t length,
                          const char *message)
{
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, side);
    reader.opened = opened;
    ace_error *error = NULL;
    check_ok(ace_frame_reader_append(&reader, data, length, &error), error);
    for (int i = 0; i < 2; i++) {
        ace_frame frame;
        ck_assert_int_eq(ace_frame_next(&reader, &frame, &error), ACE_PROTOCOL);
        ck_assert_int_eq(frame.type, ACE_FRAME_NONE);
        ck_assert_str_eq(ace_error_message(error), message);
        ace_error_free(error);
        error = NULL;
        ck_assert_int_eq(ace_frame_next(&reader, &frame, NULL), ACE_PROTOCOL);
    }
    ace_frame_reader_free(&reader);
}

#define CHECK_REFUSED(side, opened, message, ...)                                                  \
    do {                                                                                           \
        static const uint8_t bytes[] = {__VA_ARGS__};                                              \
        check_refused(side, opened, bytes, sizeof bytes, message);                                 \
    } while (0)

START_TEST(malformed_frames_are_refused_with_what_was_wrong)
{
    CHECK_REFUSED(ACE_FRAME_CLIENT, true, "unknown frame type 4", 4);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true, "a frame on channel 1 ends with 0xcd instead of 0xce", 3,
                  0, 1, 0, 0, 0, 1, 'x', 0xCD);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true,
                  "a frame on channel 2 claims 131065 bytes of payload, the limit is 131064", 3, 0,
                  2, 0, 1, 0xFF, 0xF9);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true,
                  "a frame on channel 2 claims 4294967295 bytes of payload, the limit is 131064", 3,
                  0, 2, 0xFF, 0xFF, 0xFF, 0xFF);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true,
                  "a heartbeat on channel 1 with 0 bytes, not empty on channel 0", 8, 0, 1, 0, 0, 0,
                  0, 0xCE);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true,
                  "a heartbeat on channel 0 with 1 bytes, not empty on channel 0", 8, 0, 0, 0, 0, 0,
                  1, 0, 0xCE);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true, "a header frame on channel 0", 2, 0, 0, 0, 0, 0, 0, 0xCE);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true, "a body frame on channel 0", 3, 0, 0, 0, 0, 0, 0, 0xCE);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true, "a method frame of 3 bytes, at least 4 are needed", 1, 0,
                  0, 0, 0, 0, 3, 0, 10, 0, 0xCE);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true, "a method of class 10 on channel 1", 1, 0, 1, 0, 0, 0, 4,
                  0, 10, 0, 51, 0xCE);
    CHECK_REFUSED(ACE_FRAME_CLIENT, true, "a method of class 20 on channel 0", 1, 0, 0, 0, 0, 0, 4,
                  0, 20, 0, 11, 0xCE);
}
END_TEST

START_TEST(what_does_not_speak_amqp_is_told_apart)
{
    CHECK_REFUSED(ACE_FRAME_CLIENT, false,
                  "the broker refuses AMQP 0-9-1; it offers 0.1.0.0 instead", 'A', 'M', 'Q', 'P', 0,
                  1, 0, 0);
    CHECK_REFUSED(ACE_FRAME_CLIENT, false,
                  "the peer does not speak AMQP 0-9-1: its first byte is 0x48", 'H', 'T', 'T', 'P');
    CHECK_REFUSED(ACE_FRAME_SERVER, false, "the client does not speak AMQP: its first byte is 0x47",
                  'G');
    CHECK_REFUSED(ACE_FRAME_SERVER, false, "the client asks for AMQP 1.1.0.9, not 0.0.9.1", 'A',
                  'M', 'Q', 'P', 1, 1, 0, 9);
    CHECK_REFUSED(ACE_FRAME_SERVER, false, "the client does not speak AMQP: its first byte is 0x41",
                  'A', 'M', 'Q', 'X');
}
END_TEST

START_TEST(a_protocol_header_yields_once_and_only_at_a_server)
{
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_SERVER);
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(ace_frame_write_protocol_header(&bytes, &error), error);
    check_ok(ace_frame_reader_append(&reader, bytes.data, bytes.length, &error), error);
    ace_frame frame;
    check_ok(ace_frame_next(&reader, &frame, &error), error);
    ck_assert_int_eq(frame.type, ACE_FRAME_PROTOCOL_HEADER);
    ck_assert_uint_eq(frame.payload.length, 8);
    check_ok(ace_frame_reader_append(&reader, bytes.data, bytes.length, &error), error);
    ck_assert_int_eq(ace_frame_next(&reader, &frame, &error), ACE_PROTOCOL);
    ck_assert_str_eq(ace_error_message(error), "unknown frame type 65");
    ace_error_free(error);
    ace_frame_reader_free(&reader);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(the_negotiated_limit_is_kept_within_its_range)
{
    ck_assert_uint_eq(ace_frame_payload_max(0), INT32_MAX - 8);
    ck_assert_uint_eq(ace_frame_payload_max(UINT32_MAX), INT32_MAX - 8);
    ck_assert_uint_eq(ace_frame_payload_max(1), 4088);
    ck_assert_uint_eq(ace_frame_payload_max(4096), 4088);
    ck_assert_uint_eq(ace_frame_payload_max(131072), 131064);
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    ck_assert_uint_eq(reader.frame_max, 131072);
    ace_frame_reader_set_max(&reader, 1);
    ck_assert_uint_eq(reader.frame_max, 4096);
    ace_frame_reader_set_max(&reader, 0);
    ck_assert_uint_eq(reader.frame_max, INT32_MAX);
    ace_frame_reader_free(&reader);
}
END_TEST

/* Moving the rest to the front after every frame would move 4 * 10^12 bytes here, for minutes; the
 * time limit of this test is what fails then. */
START_TEST(many_small_frames_in_one_buffer_are_read_in_linear_time)
{
    size_t count = (size_t)rounds(1000000);
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    for (size_t i = 0; i < count; i++) {
        check_ok(ace_frame_write_heartbeat(&bytes, &error), error);
    }
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    reader.opened = true;
    check_ok(ace_frame_reader_append(&reader, bytes.data, bytes.length, &error), error);
    size_t seen = 0;
    ace_frame frame;
    for (;;) {
        check_ok(ace_frame_next(&reader, &frame, &error), error);
        if (frame.type == ACE_FRAME_NONE) {
            break;
        }
        /* A byte arrives while frames are left: this is where the buffer could be moved. */
        if (seen < count) {
            check_ok(ace_frame_reader_append(&reader, bytes.data + seen % 8, 1, &error), error);
        }
        seen++;
    }
    ck_assert_uint_eq(seen, count + count / 8);
    ace_frame_reader_free(&reader);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(memory_that_one_large_frame_needed_is_given_back)
{
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    ace_frame_reader_set_max(&reader, 0);
    reader.opened = true;
    size_t length = 4 * 1024 * 1024;
    uint8_t *body = calloc(1, length);
    ck_assert_ptr_nonnull(body);
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(ace_frame_write_body(&bytes, 1, (ace_bytes){body, length}, 0, &error), error);
    check_ok(ace_frame_reader_append(&reader, bytes.data, bytes.length, &error), error);
    ace_frame frame;
    check_ok(ace_frame_next(&reader, &frame, &error), error);
    ck_assert_uint_eq(frame.payload.length, length);
    size_t room;
    ck_assert_ptr_nonnull(ace_frame_reader_room(&reader, 1, &room));
    ck_assert_uint_le(reader.bytes.capacity, 1024 * 1024);
    ace_frame_reader_free(&reader);
    ace_buffer_free(&bytes);
    free(body);
}
END_TEST

static Suite *frame_suite(void)
{
    Suite *suite = suite_create("frame");
    TCase *reading = tcase_create("frame");
    tcase_set_timeout(reading, 60);
    tcase_add_test(reading, a_stream_reads_the_same_in_any_pieces);
    tcase_add_test(reading, a_stream_reads_the_same_cut_at_every_byte);
    tcase_add_test(reading, frames_have_the_bytes_of_the_specification);
    tcase_add_test(reading, bodies_around_whole_frames_are_split_and_arrive_whole);
    tcase_add_test(reading, a_payload_over_the_limit_is_refused_and_leaves_the_buffer);
    tcase_add_test(reading, malformed_frames_are_refused_with_what_was_wrong);
    tcase_add_test(reading, what_does_not_speak_amqp_is_told_apart);
    tcase_add_test(reading, a_protocol_header_yields_once_and_only_at_a_server);
    tcase_add_test(reading, the_negotiated_limit_is_kept_within_its_range);
    tcase_add_test(reading, memory_that_one_large_frame_needed_is_given_back);
    suite_add_tcase(suite, reading);
    TCase *time = tcase_create("time");
    tcase_set_timeout(time, 60);
    tcase_add_test(time, many_small_frames_in_one_buffer_are_read_in_linear_time);
    suite_add_tcase(suite, time);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(frame_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
