/* Valid conversations with bytes changed at random, some hundred thousand times: whatever arrives,
 * it is read or refused, and the sanitizers find nothing. Seeds are fixed, so that a failure comes
 * back. */
#include "samples.h"
#include "support/rounds.h"
#include "wire/assembly.h"
#include "wire/big_endian.h"
#include "wire/content.h"
#include "wire/frame.h"
#include "wire/method.h"
#include "wire/table_measure.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define CONVERSATIONS 40
#define MUTATIONS     5000

typedef struct outcome {
    unsigned read;
    unsigned refused;
    unsigned faults;
    unsigned contents;
} outcome;

static void write_random_conversation(uint64_t *state, amqp_pool_t *pool, ace_buffer *bytes)
{
    size_t count;
    const ace_method_layout *layouts = ace_method_layouts(&count);
    ace_error *error = NULL;
    for (int i = 0; i < 4; i++) {
        const ace_method_layout *layout = &layouts[sample_below(state, (uint32_t)count)];
        uint16_t channel = ACE_METHOD_CLASS(layout->id) == 10 ? 0 : 1;
        if (ace_method_has_content(layout->id)) {
            continue;
        }
        void *method = sample_method(state, pool, layout);
        check_ok(ace_method_write(bytes, channel, layout->id, method, 131072, &error), error);
    }
    static const amqp_method_number_t carriers[] = {
        AMQP_BASIC_DELIVER_METHOD, AMQP_BASIC_PUBLISH_METHOD, AMQP_BASIC_GET_OK_METHOD,
        AMQP_BASIC_RETURN_METHOD};
    amqp_method_number_t id = carriers[sample_below(state, 4)];
    void *method = sample_method(state, pool, ace_method_layout_of(id));
    amqp_basic_properties_t properties;
    sample_properties(state, pool, &properties);
    amqp_bytes_t body = sample_bytes(state, pool, sample_below(state, 4) == 0 ? 9000 : 200);
    check_ok(ace_content_write(bytes, 1, id, method, &properties, (ace_bytes){body.bytes, body.len},
                               4096 * (1 + sample_below(state, 2)), &error),
             error);
}

static void read_content(ace_content *content, outcome *seen)
{
    seen->contents++;
    seen->faults += content->fault != NULL;
    /* What was read can be written again; measuring it walks all of it. */
    size_t size;
    if (ace_content_measure(content->properties, 0, &size, NULL) != ACE_OK) {
        ck_abort_msg("a decoded content cannot be measured");
    }
    uint8_t sum = 0;
    for (size_t i = 0; i < content->body.length; i++) {
        sum = (uint8_t)(sum + content->body.data[i]);
    }
    seen->read += sum & 1;
    ace_content_free(content);
}

static ace_code read_frame(const ace_frame *frame, amqp_pool_t *pool, ace_assembly *assembly,
                           outcome *seen)
{
    if (frame->type == ACE_FRAME_METHOD) {
        amqp_method_t method;
        ace_code code = ace_method_decode(frame->payload, pool, &method, NULL);
        size_t size;
        if (code == ACE_OK &&
            ace_method_measure(method.id, method.decoded, 0, &size, NULL) != ACE_OK) {
            ck_abort_msg("a decoded method cannot be measured");
        }
    } else if (frame->type == ACE_FRAME_HEADER) {
        uint64_t size;
        amqp_basic_properties_t *properties;
        ace_content_decode_header(frame->payload, pool, &size, &properties, NULL);
    }
    ace_content *done;
    ace_code code = ace_assembly_take(assembly, frame, &done, NULL);
    if (done != NULL) {
        read_content(done, seen);
    }
    return code;
}

/* Each frame lies in memory of its own size, so that a read past its end is one past the memory. */
static ace_code read_exact(const ace_frame *frame, amqp_pool_t *pool, ace_assembly *assembly,
                           outcome *seen)
{
    size_t length = frame->payload.length;
    uint8_t *exact = malloc(length > 0 ? length : 1);
    if (length > 0) {
        memcpy(exact, frame->payload.data, length);
    }
    ace_frame copy = {frame->type, frame->channel, {exact, length}};
    ace_code code = read_frame(&copy, pool, assembly, seen);
    free(exact);
    return code;
}

static void read_all(const ace_buffer *bytes, outcome *seen)
{
    amqp_pool_t pool;
    init_amqp_pool(&pool, 1024);
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    reader.opened = true;
    ace_assembly assembly;
    ace_assembly_init(&assembly, 1 << 20);
    ace_code code = ace_frame_reader_append(&reader, bytes->data, bytes->length, NULL);
    ace_frame frame = {.type = ACE_FRAME_BODY};
    while (code == ACE_OK && frame.type != ACE_FRAME_NONE) {
        code = ace_frame_next(&reader, &frame, NULL);
        if (code == ACE_OK && frame.type != ACE_FRAME_NONE) {
            code = read_exact(&frame, &pool, &assembly, seen);
        }
    }
    if (code == ACE_OUT_OF_MEMORY) {
        ck_abort_msg("out of memory over a few bytes");
    }
    seen->refused += code != ACE_OK;
    ace_assembly_reset(&assembly);
    ace_frame_reader_free(&reader);
    empty_amqp_pool(&pool);
}

/* A place to change: every other time among the first bytes of some frame, where the lengths are.
 */
static size_t choose_place(uint64_t *state, const ace_buffer *bytes)
{
    if (sample_below(state, 2) == 0) {
        return sample_below(state, (uint32_t)bytes->length);
    }
    size_t start = 0;
    for (uint32_t skip = sample_below(state, 6); skip > 0; skip--) {
        size_t next =
            start + 8 + (start + 7 < bytes->length ? ace_read_u32(bytes->data + start + 3) : 0);
        start = next < bytes->length ? next : 0;
    }
    size_t place = start + 7 + sample_below(state, 40);
    return place < bytes->length ? place : start;
}

/* One to four changes: a bit, a byte, a byte of some meaning, a run of bytes copied elsewhere. */
static void mutate(uint64_t *state, ace_buffer *bytes)
{
    static const uint8_t telling[] = {0, 1, 2, 3, 0x7F, 0x80, 0xFF, 'A', 'F', 'S', 'U', 'L', 'd'};
    uint32_t changes = 1 + sample_below(state, 4);
    for (uint32_t i = 0; i < changes; i++) {
        uint8_t *at = bytes->data + choose_place(state, bytes);
        switch (sample_below(state, 4)) {
        case 0:
            *at = (uint8_t)(*at ^ (1u << sample_below(state, 8)));
            break;
        case 1:
            *at = (uint8_t)sample_next(state);
            break;
        case 2:
            *at = telling[sample_below(state, sizeof telling)];
            break;
        default: {
            size_t length = 1 + sample_below(state, 16);
            size_t from = sample_below(state, (uint32_t)bytes->length);
            size_t room = bytes->length - (size_t)(at - bytes->data);
            length = length < room ? length : room;
            length = length < bytes->length - from ? length : bytes->length - from;
            memmove(at, bytes->data + from, length);
            break;
        }
        }
    }
}

START_TEST(mutated_conversations_are_read_or_refused)
{
    uint64_t state = 0x9E3779B97F4A7C15u + (uint64_t)_i;
    int mutations = rounds(MUTATIONS);
    outcome seen = {0};
    for (int conversation = 0; conversation < CONVERSATIONS / 4; conversation++) {
        amqp_pool_t pool;
        init_amqp_pool(&pool, 4096);
        ace_buffer valid = ACE_BUFFER_INIT;
        write_random_conversation(&state, &pool, &valid);
        ace_buffer changed = ACE_BUFFER_INIT;
        for (int i = 0; i < mutations; i++) {
            ace_buffer_clear(&changed);
            if (!ace_buffer_append(&changed, valid.data, valid.length)) {
                ck_abort_msg("no memory");
            }
            mutate(&state, &changed);
            read_all(&changed, &seen);
        }
        ace_buffer_free(&changed);
        ace_buffer_free(&valid);
        empty_amqp_pool(&pool);
    }
    /* The test reaches what it is about: all three ends come up often. */
    ck_assert_uint_gt(seen.refused, (unsigned)mutations);
    ck_assert_uint_gt(seen.contents, (unsigned)mutations);
    ck_assert_uint_gt(seen.faults, (unsigned)rounds(100));
}
END_TEST

/* The same for the property list alone, where a change always hits. */
START_TEST(mutated_header_frames_are_read_or_refused)
{
    uint64_t state = 77 + (uint64_t)_i;
    amqp_pool_t pool;
    init_amqp_pool(&pool, 4096);
    unsigned read = 0;
    for (int i = 0, last = rounds(25000); i < last; i++) {
        amqp_basic_properties_t properties;
        sample_properties(&state, &pool, &properties);
        ace_buffer bytes = ACE_BUFFER_INIT;
        ace_error *error = NULL;
        check_ok(ace_content_write_header(&bytes, 1, &properties, 1, 0, &error), error);
        mutate(&state, &bytes);
        size_t length = bytes.length - 8;
        uint8_t *exact = malloc(length);
        memcpy(exact, bytes.data + 7, length);
        uint64_t size;
        amqp_basic_properties_t *got;
        read += ace_content_decode_header((ace_bytes){exact, length}, &pool, &size, &got, NULL) ==
                ACE_OK;
        free(exact);
        ace_buffer_free(&bytes);
        recycle_amqp_pool(&pool);
    }
    ck_assert_uint_gt(read, (unsigned)rounds(1000));
    ck_assert_uint_lt(read, (unsigned)rounds(24000));
    empty_amqp_pool(&pool);
}
END_TEST

static Suite *mutation_suite(void)
{
    Suite *suite = suite_create("mutation");
    TCase *mutated = tcase_create("mutation");
    tcase_set_timeout(mutated, 240);
    tcase_add_loop_test(mutated, mutated_conversations_are_read_or_refused, 0, 4);
    tcase_add_loop_test(mutated, mutated_header_frames_are_read_or_refused, 0, 4);
    suite_add_tcase(suite, mutated);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(mutation_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
