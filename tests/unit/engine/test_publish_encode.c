#include "engine/publisher.h"
#include "wire/method.h"
#include "wire/plain_header.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX 131072u

static void compare(const char *exchange, const char *key, bool mandatory)
{
    static const amqp_basic_properties_t none = {0};
    amqp_basic_publish_t method = {.exchange = amqp_cstring_bytes(exchange),
                                   .routing_key = amqp_cstring_bytes(key),
                                   .mandatory = mandatory};
    ace_buffer expected = ACE_BUFFER_INIT;
    ace_publish publish = {0};
    ck_assert_int_eq(
        ace_method_write(&expected, 0, AMQP_BASIC_PUBLISH_METHOD, &method, FRAME_MAX, NULL),
        ACE_OK);
    ck_assert_int_eq(ace_publish_encode(&publish, exchange, key, mandatory, &none,
                                        (ace_bytes){NULL, 0}, FRAME_MAX, 0, NULL),
                     ACE_OK);
    ck_assert_uint_eq(publish.header, expected.length);
    ck_assert_mem_eq(publish.frames.data, expected.data, expected.length);
    ck_assert(ace_bytes_equal_text(publish.outstanding.exchange, exchange));
    ck_assert(ace_bytes_equal_text(publish.outstanding.routing_key, key));
    ace_publish_clear(&publish);
    ace_buffer_free(&expected);
}

/* rabbitmq-c's own bytes are the measure. */
START_TEST(a_publish_is_written_as_rabbitmq_c_writes_it)
{
    char name[256];
    char key[256];
    for (size_t length = 0; length <= 255; length++) {
        memset(name, 'x', sizeof name);
        memset(key, 'k', sizeof key);
        name[length] = '\0';
        key[255 - length] = '\0';
        compare(name, key, length % 2 == 0);
    }
}
END_TEST

START_TEST(a_name_of_256_bytes_is_refused_and_named)
{
    static const amqp_basic_properties_t none = {0};
    char longest[257];
    memset(longest, 'x', 256);
    longest[256] = '\0';
    for (int i = 0; i < 2; i++) {
        ace_publish publish = {0};
        ace_error *error = NULL;
        ck_assert_int_eq(ace_publish_encode(&publish, i == 0 ? longest : "", i == 0 ? "" : longest,
                                            true, &none, (ace_bytes){NULL, 0}, FRAME_MAX, 0,
                                            &error),
                         ACE_LIMIT);
        ck_assert_str_eq(ace_error_message(error),
                         i == 0 ? "exchange has 256 bytes, the limit is 255"
                                : "routing key has 256 bytes, the limit is 255");
        ace_error_free(error);
        ace_publish_clear(&publish);
    }
}
END_TEST

/* --- a plain publication, in one pass and in two --- */

typedef struct composed {
    char texts[9][3000];
    ace_envelope envelope;
    ace_publication publication;
} composed;

static ace_bytes random_text(char *to, size_t most)
{
    size_t length = rand() % 4 == 0 ? 0 : (size_t)rand() % (most + 1);
    for (size_t i = 0; i < length; i++) {
        to[i] = (char)(rand() % 300 == 0 ? rand() % 256 : 1 + rand() % 127);
    }
    to[length] = '\0';
    return (ace_bytes){(const uint8_t *)to, length};
}

static void compose(composed *made)
{
    size_t most = rand() % 20 == 0 ? 2900 : 60;
    size_t name = rand() % 40 == 0 ? 258 : 40;
    ace_envelope *envelope = &made->envelope;
    ace_envelope_init(envelope);
    envelope->id = random_text(made->texts[0], name);
    envelope->type = random_text(made->texts[1], most);
    envelope->correlation = random_text(made->texts[2], most);
    envelope->causation = random_text(made->texts[3], most);
    envelope->origin = random_text(made->texts[4], most);
    envelope->version = rand() % 30 - 1;
    envelope->attempt = 1 + rand() % 3;
    envelope->first_seen = rand() % 3 == 0 ? 0 : rand();
    (void)random_text(made->texts[7], name);
    (void)random_text(made->texts[8], name);
    made->publication = (ace_publication){.envelope = envelope,
                                          .content_type = random_text(made->texts[5], name),
                                          .reply_to = random_text(made->texts[6], name),
                                          .exchange = made->texts[7],
                                          .routing_key = made->texts[8],
                                          .transient = rand() % 2 == 0,
                                          .priority = rand() % 2 == 0 ? -1 : rand() % 260,
                                          .expiration = -1,
                                          .now = 1800000000000 + rand()};
}

static ace_code encode_in_two(ace_publish *publish, const ace_publication *publication,
                              bool mandatory, ace_bytes body, uint32_t frame_max, ace_error **error)
{
    ace_head head = ACE_HEAD_INIT;
    ace_code code = ace_publication_build(publication, &head, error);
    if (code == ACE_OK) {
        code = ace_publish_encode(publish, publication->exchange, publication->routing_key,
                                  mandatory, &head.properties, body, frame_max, 50, error);
    }
    ace_head_release(&head);
    return code;
}

static void same_place(ace_bytes a, const ace_publish *in, ace_bytes b, const ace_publish *other)
{
    ck_assert_uint_eq(a.length, b.length);
    ck_assert_int_eq(a.data == NULL, b.data == NULL);
    if (a.data != NULL) {
        ck_assert_int_eq(a.data - in->frames.data, b.data - other->frames.data);
    }
}

static void same_record(const ace_publish *a, const ace_publish *b)
{
    ck_assert_uint_eq(a->header, b->header);
    ck_assert_uint_eq(a->heads, b->heads);
    ck_assert_uint_eq(a->frames.length, b->frames.length);
    ck_assert_mem_eq(a->frames.data, b->frames.data, b->frames.length);
    ck_assert_ptr_eq(a->body.data, b->body.data);
    ck_assert_uint_eq(a->body.length, b->body.length);
    ck_assert_int_eq(a->outstanding.mandatory, b->outstanding.mandatory);
    ck_assert_uint_eq(a->outstanding.body_size, b->outstanding.body_size);
    same_place(a->outstanding.exchange, a, b->outstanding.exchange, b);
    same_place(a->outstanding.routing_key, a, b->outstanding.routing_key, b);
    same_place(a->outstanding.message_id, a, b->outstanding.message_id, b);
    same_place(a->outstanding.properties, a, b->outstanding.properties, b);
}

/* Also what is refused, and in which words. */
START_TEST(a_plain_publication_is_encoded_as_any_other)
{
    static composed made;
    int taken = 0;
    srand(1);
    for (int round = 0; round < 20000; round++) {
        compose(&made);
        ace_bytes body = {(const uint8_t *)made.texts[8], (size_t)rand() % 52};
        uint32_t frame_max = rand() % 2 == 0 ? 4096 : FRAME_MAX;
        bool mandatory = rand() % 2 == 0;
        ace_publish one = {0};
        ace_publish two = {0};
        ace_error *error = NULL;
        ace_error *expected = NULL;
        ace_code code =
            encode_in_two(&two, &made.publication, mandatory, body, frame_max, &expected);
        ck_assert(ace_publication_is_plain(&made.publication));
        ck_assert_int_eq(ace_publish_encode_publication(&one, &made.publication, mandatory, body,
                                                        frame_max, 50, &error),
                         code);
        if (code == ACE_OK) {
            same_record(&one, &two);
            taken++;
        } else {
            ck_assert_str_eq(ace_error_message(error), ace_error_message(expected));
        }
        ace_error_free(error);
        ace_error_free(expected);
        ace_publish_clear(&one);
        ace_publish_clear(&two);
    }
    ck_assert_int_gt(taken, 5000);
    ck_assert_int_lt(taken, 19000);
}
END_TEST

/* Each of these takes the longer way, which this one must not forget. */
START_TEST(what_is_not_plain_is_not_taken_for_it)
{
    static const ace_bytes step = {(const uint8_t *)"ship", 4};
    ace_envelope envelope;
    ace_envelope_init(&envelope);
    ace_publication publication = {.envelope = &envelope, .expiration = -1, .priority = -1};
    ck_assert(ace_publication_is_plain(&publication));
    publication.expiration = 0;
    ck_assert(!ace_publication_is_plain(&publication));
    publication.expiration = -1;
    ace_table headers = ACE_TABLE_INIT;
    publication.headers = &headers.table;
    ck_assert(ace_publication_is_plain(&publication));
    ck_assert_int_eq(ace_table_set_int64(&headers, "x-tenant", 7, NULL), ACE_OK);
    ck_assert(!ace_publication_is_plain(&publication));
    publication.headers = NULL;
    ace_table_release(&headers);
    envelope.error = step;
    ck_assert(!ace_publication_is_plain(&publication));
    envelope.error.length = 0;
    envelope.claim = step;
    ck_assert(!ace_publication_is_plain(&publication));
    envelope.claim.length = 0;
    envelope.route = &step;
    envelope.route_length = 1;
    ck_assert(!ace_publication_is_plain(&publication));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publish encode");
    TCase *tests = tcase_create("encode");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_publish_is_written_as_rabbitmq_c_writes_it);
    tcase_add_test(tests, a_name_of_256_bytes_is_refused_and_named);
    tcase_add_test(tests, a_plain_publication_is_encoded_as_any_other);
    tcase_add_test(tests, what_is_not_plain_is_not_taken_for_it);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
