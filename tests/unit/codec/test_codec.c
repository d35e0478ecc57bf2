#include "codec/codec.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static ace_bytes text(const char *bytes)
{
    return ace_bytes_of(bytes);
}

typedef struct reads_row {
    const char *content_type;
    bool json, text, msgpack;
} reads_row;

static const reads_row reads_rows[] = {
    {"", true, false, false},
    {"application/json", true, false, false},
    {"Application/JSON", true, false, false},
    {"application/json; charset=utf-8", true, false, false},
    {"text/json", true, true, false},
    {"application/vnd.orders+json", true, false, false},
    {"application/vnd.orders+JSON; v=2", true, false, false},
    {"application/jsonp", false, false, false},
    {"text/plain", false, true, false},
    {"TEXT/Plain; charset=utf-8", false, true, false},
    {"text/csv", false, true, false},
    {"application/text", false, false, false},
    {"application/msgpack", false, false, true},
    {"application/x-msgpack", false, false, true},
    {"application/vnd.msgpack", false, false, true},
    {"application/vnd.msgpack; x=1", false, false, true},
    {"application/msgpack2", false, false, false},
    {"application/octet-stream", false, false, false},
    {"application/vnd.acemq.encrypted", false, false, false},
};

START_TEST(a_codec_reads_the_content_types_of_section_13)
{
    const reads_row *row = &reads_rows[_i];
    ace_bytes type = text(row->content_type);
    ck_assert_int_eq(ace_codec_reads(ace_codec_find("json"), type), row->json);
    ck_assert_int_eq(ace_codec_reads(ace_codec_find("text"), type), row->text);
    ck_assert_int_eq(ace_codec_reads(ace_codec_find("msgpack"), type), row->msgpack);
    ck_assert(ace_codec_reads(ace_codec_find("bytes"), type));
}
END_TEST

START_TEST(a_builtin_codec_reads_what_it_writes)
{
    static const char *const names[] = {"json", "text", "msgpack", "bytes"};
    static const char *const types[] = {"application/json", "text/plain; charset=utf-8",
                                        "application/msgpack", "application/octet-stream"};
    for (size_t i = 0; i < 4; i++) {
        const ace_codec *codec = ace_codec_find(names[i]);
        ck_assert_str_eq(ace_codec_name(codec), names[i]);
        ck_assert_str_eq(ace_codec_content_type(codec), types[i]);
        ck_assert(ace_codec_reads(codec, text(types[i])));
        ace_codec_retain(codec);
        ace_codec_release(codec);
        ace_codec_release(codec);
        ck_assert_ptr_eq(ace_codec_find(names[i]), codec);
    }
    ck_assert_ptr_null(ace_codec_find("JSON"));
    ck_assert_ptr_null(ace_codec_find(""));
    ck_assert_ptr_null(ace_codec_find(NULL));
    ace_codec_retain(NULL);
    ace_codec_release(NULL);
}
END_TEST

typedef struct body_row {
    const char *codec;
    const char *body;
    size_t length;
    bool decodes;
} body_row;

static const body_row body_rows[] = {
    {"text", "", 0, true},
    {"text", "zw\xc3\xb6lf \0 Euro", 12, true},
    {"text", "zw\xf6lf", 5, false},
    {"text", "\xed\xa0\x80", 3, false},
    {"bytes", "", 0, true},
    {"bytes", "\xff\xfe\0\x01", 4, true},
    {"json", "{\"id\": 7}", 9, true},
    {"json", "", 0, false},
    {"msgpack", "\x81\xa2id\x07", 5, true},
    {"msgpack", "", 0, false},
};

START_TEST(a_body_decodes_or_says_why_not)
{
    const body_row *row = &body_rows[_i];
    const ace_codec *codec = ace_codec_find(row->codec);
    ace_bytes body = {(const uint8_t *)row->body, row->length};
    ace_error *error = NULL;
    ace_code code = ace_codec_check(codec, text(ace_codec_content_type(codec)), body, &error);
    ck_assert_int_eq(code, row->decodes ? ACE_OK : ACE_DECODE);
    ck_assert_int_eq(ace_error_code(error), code);
    if (!row->decodes) {
        ck_assert_uint_gt(strlen(ace_error_message(error)), 10);
        ck_assert_int_eq(ace_codec_check(codec, text(ace_codec_content_type(codec)), body, NULL),
                         ACE_DECODE);
    }
    ace_error_free(error);
}
END_TEST

START_TEST(the_reason_of_a_broken_text_has_its_position)
{
    ace_error *error = NULL;
    ace_bytes body = {(const uint8_t *)"zw\xf6lf", 5};
    ck_assert_int_eq(ace_codec_check(ace_codec_find("text"), text("text/plain"), body, &error),
                     ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error), "not UTF-8: byte 3 of 5 is 0xf6");
    ace_error_free(error);
}
END_TEST

START_TEST(a_content_type_that_the_codec_does_not_read_does_not_decode)
{
    ace_error *error = NULL;
    ck_assert_int_eq(
        ace_codec_check(ace_codec_find("json"), text("application/xml"), text("1"), &error),
        ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error),
                     "the json codec does not read the content type \"application/xml\"");
    ace_error_free(error);
    error = NULL;
    ck_assert_int_eq(ace_codec_check(ace_codec_find("text"), text(""), text("1"), &error),
                     ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error),
                     "the text codec does not read the content type \"\"");
    ace_error_free(error);
    ace_bytes none = {NULL, 0};
    ck_assert_int_eq(ace_codec_check(ace_codec_find("text"), none, text("1"), NULL), ACE_DECODE);
    ck_assert_int_eq(ace_codec_check(ace_codec_find("json"), none, text("1"), NULL), ACE_OK);
}
END_TEST

typedef struct application {
    int decoded;
    int dropped;
    int freed;
    ace_code answer;
    bool gives_reason;
    char content_type[64];
} application;

static ace_code decode_order(ace_bytes content_type, ace_bytes body, void **decoded, void *user,
                             ace_error **error)
{
    application *self = user;
    ck_assert_ptr_null(*decoded);
    ck_assert_uint_lt(content_type.length, sizeof self->content_type);
    memcpy(self->content_type, content_type.data, content_type.length);
    self->content_type[content_type.length] = '\0';
    self->decoded++;
    *decoded = ace_bytes_to_text(body);
    if (self->answer != ACE_OK && self->gives_reason) {
        return ace_fail(error, self->answer, "no order %s", (const char *)*decoded);
    }
    return self->answer;
}

static void drop_order(void *decoded, void *user)
{
    application *self = user;
    self->dropped++;
    free(decoded);
}

static void free_application(void *user)
{
    application *self = user;
    self->freed++;
}

static ace_codec *order_codec(application *self, const char *content_type)
{
    ace_codec_settings settings = {.name = "orders",
                                   .content_type = content_type,
                                   .decode = decode_order,
                                   .drop = drop_order,
                                   .user = self,
                                   .free_user = free_application};
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_codec_new(&settings, &codec, NULL), ACE_OK);
    return codec;
}

START_TEST(an_applications_codec_makes_an_object_and_drops_it)
{
    application self = {0};
    ace_codec *codec = order_codec(&self, "application/vnd.order; v=2");
    ck_assert_str_eq(ace_codec_name(codec), "orders");
    ck_assert_str_eq(ace_codec_content_type(codec), "application/vnd.order; v=2");
    ck_assert(ace_codec_reads(codec, text("Application/vnd.ORDER")));
    ck_assert(!ace_codec_reads(codec, text("application/vnd.orders")));
    ck_assert(!ace_codec_reads(codec, text("")));

    void *decoded = NULL;
    ck_assert_int_eq(
        ace_codec_decode(codec, text("application/vnd.order"), text("seven"), &decoded, NULL),
        ACE_OK);
    ck_assert_str_eq(decoded, "seven");
    ck_assert_str_eq(self.content_type, "application/vnd.order");
    ck_assert_int_eq(self.dropped, 0);
    ace_codec_drop(codec, decoded);
    ck_assert_int_eq(self.dropped, 1);
    ck_assert_int_eq(ace_codec_check(codec, text("application/vnd.order"), text("8"), NULL),
                     ACE_OK);
    ck_assert_int_eq(self.dropped, 2);
    ace_codec_retain(codec);
    ace_codec_release(codec);
    ck_assert_int_eq(self.freed, 0);
    ace_codec_release(codec);
    ck_assert_int_eq(self.freed, 1);
}
END_TEST

START_TEST(an_applications_codec_passes_its_failure_on)
{
    application self = {.answer = ACE_DECODE, .gives_reason = true};
    ace_codec *codec = order_codec(&self, NULL);
    ck_assert_str_eq(ace_codec_content_type(codec), "application/octet-stream");
    ck_assert(ace_codec_reads(codec, text("")));
    ck_assert(ace_codec_reads(codec, text("image/png")));
    ace_error *error = NULL;
    void *decoded = &self;
    ck_assert_int_eq(ace_codec_decode(codec, text(""), text("9"), &decoded, &error), ACE_DECODE);
    ck_assert_ptr_null(decoded);
    ck_assert_str_eq(ace_error_message(error), "no order 9");
    ace_error_free(error);
    ck_assert_int_eq(ace_codec_check(codec, text(""), text("9"), NULL), ACE_DECODE);

    self.answer = ACE_TIMEOUT;
    self.gives_reason = false;
    error = NULL;
    ck_assert_int_eq(ace_codec_check(codec, text(""), text("9"), &error), ACE_TIMEOUT);
    ck_assert_str_eq(ace_error_message(error), "the orders codec gave no reason");
    ck_assert_int_eq(ace_error_code(error), ACE_TIMEOUT);
    ace_error_free(error);
    ck_assert_int_eq(self.decoded, 3);
    ck_assert_int_eq(self.dropped, 3);
    ace_codec_release(codec);
}
END_TEST

static bool reads_images(ace_bytes content_type, void *user)
{
    (void)user;
    return content_type.length > 6 && memcmp(content_type.data, "image/", 6) == 0;
}

START_TEST(a_codec_without_a_decoder_takes_every_body)
{
    ace_codec_settings settings = {
        .name = "images", .content_type = "image/png", .reads = reads_images};
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_codec_new(&settings, &codec, NULL), ACE_OK);
    void *decoded = &settings;
    ck_assert_int_eq(ace_codec_decode(codec, text("image/gif"), text("GIF8"), &decoded, NULL),
                     ACE_OK);
    ck_assert_ptr_null(decoded);
    ck_assert_int_eq(ace_codec_check(codec, text("video/mpeg"), text("x"), NULL), ACE_DECODE);
    ace_codec_release(codec);
}
END_TEST

static void expect_refused(const char *name, const char *content_type, ace_code wanted,
                           const char *message)
{
    ace_codec_settings settings = {.name = name, .content_type = content_type};
    ace_codec *codec = NULL;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_codec_new(&settings, &codec, &error), wanted);
    ck_assert_str_eq(ace_error_message(error), message);
    ck_assert_ptr_null(codec);
    ace_error_free(error);
    ck_assert_int_eq(ace_codec_new(&settings, &codec, NULL), wanted);
}

START_TEST(a_codec_with_a_bad_name_or_type_is_refused_by_field)
{
    char name[65] = {0};
    char type[257] = {0};
    memset(name, 'n', 64);
    memset(type, 't', 256);
    expect_refused(NULL, "a/b", ACE_INVALID_ARGUMENT, "codec name is NULL");
    expect_refused("", "a/b", ACE_INVALID_ARGUMENT, "codec name is empty");
    expect_refused(name, "a/b", ACE_LIMIT, "codec name has 64 bytes, the limit is 63");
    expect_refused("a b", "a/b", ACE_INVALID_ARGUMENT,
                   "codec name has the byte 0x20; letters, digits and - . _ are allowed");
    expect_refused("ok", "", ACE_INVALID_ARGUMENT, "codec content type is empty");
    expect_refused("ok", type, ACE_LIMIT, "codec content type has 256 bytes, the limit is 255");
    expect_refused("ok", "a/b\r\n", ACE_INVALID_ARGUMENT,
                   "codec content type has the control character 0x0d");
    name[63] = '\0';
    type[255] = '\0';
    ace_codec_settings longest = {.name = name, .content_type = type};
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_codec_new(&longest, &codec, NULL), ACE_OK);
    ck_assert_uint_eq(strlen(ace_codec_content_type(codec)), 255);
    ace_codec_release(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec codec");
    TCase *tests = tcase_create("codec");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_codec_reads_the_content_types_of_section_13, 0,
                        (int)(sizeof reads_rows / sizeof reads_rows[0]));
    tcase_add_test(tests, a_builtin_codec_reads_what_it_writes);
    tcase_add_loop_test(tests, a_body_decodes_or_says_why_not, 0,
                        (int)(sizeof body_rows / sizeof body_rows[0]));
    tcase_add_test(tests, the_reason_of_a_broken_text_has_its_position);
    tcase_add_test(tests, a_content_type_that_the_codec_does_not_read_does_not_decode);
    tcase_add_test(tests, an_applications_codec_makes_an_object_and_drops_it);
    tcase_add_test(tests, an_applications_codec_passes_its_failure_on);
    tcase_add_test(tests, a_codec_without_a_decoder_takes_every_body);
    tcase_add_test(tests, a_codec_with_a_bad_name_or_type_is_refused_by_field);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
