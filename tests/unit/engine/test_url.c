#include "engine/url.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct sound {
    const char *text;
    const char *user;
    const char *password;
    const char *host;
    int port;
    const char *vhost;
} sound;

static const sound sounds[] = {
    {"amqp://h", "guest", "guest", "h", 5672, "/"},
    {"amqp://h/", "guest", "guest", "h", 5672, "/"},
    {"amqp://", "guest", "guest", "localhost", 5672, "/"},
    {"AMQP://h/v", "guest", "guest", "h", 5672, "v"},
    {"amqp://h/%2F", "guest", "guest", "h", 5672, "/"},
    {"amqp://h/%2Ffoo", "guest", "guest", "h", 5672, "/foo"},
    {"amqp://h/%2ffoo%2Fbar", "guest", "guest", "h", 5672, "/foo/bar"},
    {"amqp://u%40x:p%3A%2F%23@h:5673/v", "u@x", "p:/#", "h", 5673, "v"},
    {"amqp://u@h", "u", "guest", "h", 5672, "/"},
    {"amqp://u:@h", "u", "", "h", 5672, "/"},
    {"amqp://u:a:b@h", "u", "a:b", "h", 5672, "/"},
    {"amqp://u:a,b@h", "u", "a,b", "h", 5672, "/"},
    {"amqp://h:1", "guest", "guest", "h", 1, "/"},
    {"amqp://h:65535/x", "guest", "guest", "h", 65535, "x"},
    {"amqp://[::1]", "guest", "guest", "::1", 5672, "/"},
    {"amqp://u:p@[fe80::1%25eth0]:5673/v", "u", "p", "fe80::1%eth0", 5673, "v"},
    {"amqp://h/%C3%A9", "guest", "guest", "h", 5672, "\xC3\xA9"},
    {"amqp://h?heartbeat=5", "guest", "guest", "h", 5672, "/"},
};

START_TEST(a_sound_url_is_read)
{
    const sound *wanted = &sounds[_i];
    ace_url url;
    ace_error *error = NULL;
    ace_code code = ace_url_parse(wanted->text, &url, &error);
    ck_assert_msg(code == ACE_OK, "%s: %s", wanted->text, ace_error_message(error));
    ck_assert_int_eq(url.scheme, ACE_URL_AMQP);
    ck_assert_uint_eq(url.endpoint_count, 1);
    ck_assert_str_eq(url.user, wanted->user);
    /* A user without a password has none of ours. */
    bool no_password = strcmp(wanted->text, "amqp://u@h") == 0;
    ck_assert_str_eq(url.password, no_password ? "" : wanted->password);
    ck_assert_str_eq(url.endpoints[0].host, wanted->host);
    ck_assert_int_eq(url.endpoints[0].port, wanted->port);
    ck_assert_str_eq(url.vhost, wanted->vhost);
    ace_url_free(&url);
}
END_TEST

typedef struct unsound {
    const char *text;
    ace_code code;
    const char *says;
} unsound;

static const unsound unsounds[] = {
    {"", ACE_PARSE, "position 1: expected amqp://"},
    {"h:5672", ACE_PARSE, "expected amqp://"},
    {"http://h", ACE_PARSE, "expected amqp://"},
    {"amqp://h/%zz", ACE_PARSE, "position 10: % wants two hexadecimal digits"},
    {"amqp://h/%4", ACE_PARSE, "position 10"},
    {"amqp://h/%", ACE_PARSE, "position 10"},
    {"amqp://h/%00", ACE_PARSE, "zero byte"},
    {"amqp://u%00:p@h", ACE_PARSE, "zero byte"},
    {"amqp://h/%ff", ACE_PARSE, "UTF-8"},
    {"amqp://h:0", ACE_INVALID_ARGUMENT, "port must be a whole number from 1 to 65535"},
    {"amqp://h:65536", ACE_INVALID_ARGUMENT, "port"},
    {"amqp://h:99999999999", ACE_INVALID_ARGUMENT, "port"},
    {"amqp://h:-1", ACE_INVALID_ARGUMENT, "port"},
    {"amqp://h:+1", ACE_INVALID_ARGUMENT, "port"},
    {"amqp://h:", ACE_PARSE, "port"},
    {"amqp://:p@h", ACE_PARSE, "user is empty"},
    {"amqp://@h", ACE_PARSE, "user is empty"},
    {"amqp://[::1", ACE_PARSE, "IPv6"},
    {"amqp://[]", ACE_PARSE, "IPv6"},
    {"amqp://[::1]x", ACE_PARSE, "port after the host"},
    {"amqp://a,,b", ACE_PARSE, "position 10: a host of the list is empty"},
    {"amqp://a,", ACE_PARSE, "a host of the list is empty"},
    {"amqp://a:1,b:0", ACE_INVALID_ARGUMENT, "position 14: port"},
    {"amqp://a,[::1", ACE_PARSE, "IPv6"},
    {"amqp://a,b@c@d", ACE_PARSE, "%40"},
    {"amqp://h/a/b", ACE_PARSE, "%2F"},
    {"amqp://h /v", ACE_PARSE, "space"},
    {"amqp://h/v\n", ACE_PARSE, "control character"},
    {"amqp://h/v#x", ACE_PARSE, "%23"},
    {"amqp://h?heartbeat=65536", ACE_INVALID_ARGUMENT, "heartbeat"},
    {"amqp://h?heartbeat=", ACE_INVALID_ARGUMENT, "heartbeat"},
    {"amqp://h?heartbeat", ACE_INVALID_ARGUMENT, "heartbeat"},
    {"amqp://h?heartbeat=1&heartbeat=2", ACE_PARSE, "twice"},
    {"amqp://h?frame_max=4095", ACE_INVALID_ARGUMENT, "frame_max"},
    {"amqp://h?channel_max=0", ACE_INVALID_ARGUMENT, "channel_max"},
    {"amqp://h?connection_timeout=0", ACE_INVALID_ARGUMENT, "connection_timeout"},
    {"amqp://h?verify=verify_none", ACE_INVALID_ARGUMENT, "only behind amqps://"},
    {"amqp://h?cacertfile=/x", ACE_INVALID_ARGUMENT, "position 10: an option of TLS"},
    {"memory://h?cacertfile=/x", ACE_INVALID_ARGUMENT, "only behind amqps://"},
    {"amqps://h?verify=none", ACE_INVALID_ARGUMENT, "verify_peer or verify_none"},
    {"amqps://h?verify=verify_none&verify=verify_none", ACE_PARSE, "twice"},
    {"amqps://h?cacertfile=", ACE_INVALID_ARGUMENT, "wants a value"},
    {"amqps://h?cacertfile=/a&cacertfile=/b", ACE_PARSE, "twice"},
    {"amqps://h?fail_if_no_peer_cert=true", ACE_INVALID_ARGUMENT, "unknown option"},
    {"memory://", ACE_PARSE, "name"},
    {"memory://a:1", ACE_PARSE, "no port"},
};

START_TEST(an_unsound_url_is_refused_with_the_place)
{
    const unsound *wanted = &unsounds[_i];
    ace_url url;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_url_parse(wanted->text, &url, &error), wanted->code);
    ck_assert_msg(strstr(ace_error_message(error), wanted->says) != NULL, "%s: %s", wanted->text,
                  ace_error_message(error));
    ck_assert_ptr_null(url.user);
    ace_error_free(error);
}
END_TEST

/* Passwords as people paste them, not encoded. Whatever the parser takes the pieces for, no message
 * may show one of them. */
static const char *const leaks[] = {
    "amqp://user:hushhush@pass@host/v",
    "amqp://user:hush/hush@host/v",
    "amqp://user:12/hushhush@host",
    "amqp://user:12?hushhush@host",
    "amqp://user:12?hushhush=1@host",
    "amqp://user:hush?hush@host",
    "amqp://user:hush#hush@host",
    "amqp://user:hush hush@host",
    "amqp://user:hush%zzhush@host",
    "amqp://user:hushhush@host:99999",
    "amqp://user:hush[hush@host/v/w",
    "amqp://user:hushhush@a,b,",
    "amqps://user:hushhush@host?a",
    "amqp://user:hushhush@host?hush/hush@x=1",
    "amqp://user:%00hush@host",
    "amqp://user:hushhush",
    "memory://user:hushhush",
    "memory://user:hush/hush@name",
    "amqp://user:12?hushhush",
    "amqp://user:1,hush?hush@host",
    "amqps://h?password=%zzhush",
    "amqps://h?password=hush&password=hush",
    "amqps://h?hush=x",
    "amqps://h?verify=hush",
};

START_TEST(a_password_that_was_not_encoded_is_never_in_an_error)
{
    ace_url url;
    ace_error *error = NULL;
    ck_assert_int_ne(ace_url_parse(leaks[_i], &url, &error), ACE_OK);
    ck_assert_msg(strstr(ace_error_message(error), "hush") == NULL, "%s: %s", leaks[_i],
                  ace_error_message(error));
    ace_error_free(error);
}
END_TEST

START_TEST(options_are_read)
{
    ace_url url;
    ck_assert_int_eq(ace_url_parse("amqp://h/v?heartbeat=0&connection_timeout=2500&channel_max=4"
                                   "&frame_max=4096",
                                   &url, NULL),
                     ACE_OK);
    ck_assert_int_eq(url.heartbeat, 0);
    ck_assert_int_eq(url.connection_timeout, 2500);
    ck_assert_int_eq(url.channel_max, 4);
    ck_assert_int_eq(url.frame_max, 4096);
    ace_url_free(&url);
    ck_assert_int_eq(ace_url_parse("amqp://h", &url, NULL), ACE_OK);
    ck_assert_int_eq(url.heartbeat, -1);
    ck_assert_int_eq(url.frame_max, -1);
    ace_url_free(&url);
}
END_TEST

START_TEST(several_hosts_are_read_each_with_its_port)
{
    static const struct {
        const char *text;
        const char *place;
        const char *redacted;
    } lists[] = {
        {"amqp://u:p@a,b,c:5673/v", "a:5672,b:5672,c:5673", "amqp://u@a:5672,b:5672,c:5673/v"},
        {"amqp://u:p,q@a:1,[::1],[fe80::1]:2", "a:1,[::1]:5672,[fe80::1]:2",
         "amqp://u@a:1,[::1]:5672,[fe80::1]:2/%2F"},
        {"amqps://u@a,b:1", "a:5671,b:1", "amqps://u@a:5671,b:1/%2F"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        ace_url url;
        char place[64];
        ck_assert_int_eq(ace_url_parse(lists[i].text, &url, NULL), ACE_OK);
        ace_url_place(&url, place, sizeof place);
        ck_assert_str_eq(place, lists[i].place);
        char *redacted = ace_url_redacted(&url);
        ck_assert_str_eq(redacted, lists[i].redacted);
        free(redacted);
        char cut[6];
        ace_url_place(&url, cut, sizeof cut);
        ck_assert_uint_le(strlen(cut), 5);
        ace_url_free(&url);
    }
}
END_TEST

START_TEST(more_than_64_hosts_are_too_many)
{
    char text[256] = "amqp://h";
    ace_url url;
    ace_error *error = NULL;
    for (int i = 1; i < 64; i++) {
        strcat(text, ",h");
    }
    ck_assert_int_eq(ace_url_parse(text, &url, NULL), ACE_OK);
    ck_assert_uint_eq(url.endpoint_count, 64);
    ace_url_free(&url);
    strcat(text, ",h");
    ck_assert_int_eq(ace_url_parse(text, &url, &error), ACE_LIMIT);
    ck_assert_int_eq(ace_error_limit(error), 64);
    ace_error_free(error);
}
END_TEST

START_TEST(the_options_of_tls_are_read)
{
    ace_url url;
    ck_assert_int_eq(ace_url_parse("amqps://h?cacertfile=/etc/ca%20x.pem&certfile=c&keyfile=k"
                                   "&password=p%26%40&verify=verify_none"
                                   "&server_name_indication=broker.example",
                                   &url, NULL),
                     ACE_OK);
    ck_assert_int_eq(url.scheme, ACE_URL_AMQPS);
    ck_assert_int_eq(url.endpoints[0].port, 5671);
    ck_assert_str_eq(url.ca_file, "/etc/ca x.pem");
    ck_assert_str_eq(url.certificate_file, "c");
    ck_assert_str_eq(url.key_file, "k");
    ck_assert_str_eq(url.key_password, "p&@");
    ck_assert_str_eq(url.server_name, "broker.example");
    ck_assert_int_eq(url.verify, 0);
    ace_url_free(&url);
    ck_assert_int_eq(
        ace_url_parse("amqps://h?server_name_indication=disable&verify=verify_peer", &url, NULL),
        ACE_OK);
    ck_assert_str_eq(url.server_name, "");
    ck_assert_int_eq(url.verify, 1);
    ck_assert_ptr_null(url.ca_file);
    ace_url_free(&url);
    ck_assert_int_eq(ace_url_parse("amqps://h", &url, NULL), ACE_OK);
    ck_assert_int_eq(url.verify, -1);
    ace_url_free(&url);
}
END_TEST

START_TEST(a_memory_broker_has_a_name)
{
    ace_url url;
    char place[64];
    ck_assert_int_eq(ace_url_parse("memory://orders%20of%20today", &url, NULL), ACE_OK);
    ck_assert_int_eq(url.scheme, ACE_URL_MEMORY);
    ck_assert_str_eq(url.memory_name, "orders of today");
    ck_assert_uint_eq(url.endpoint_count, 0);
    ace_url_place(&url, place, sizeof place);
    ck_assert_str_eq(place, "memory://orders of today");
    ace_url_free(&url);
    ck_assert_int_eq(ace_url_parse("memory://u:p@name/v", &url, NULL), ACE_OK);
    ck_assert_str_eq(url.user, "u");
    ck_assert_str_eq(url.vhost, "v");
    ck_assert_str_eq(url.memory_name, "name");
    ace_url_free(&url);
}
END_TEST

START_TEST(the_redacted_form_reads_back_and_has_no_password)
{
    ace_url url;
    ace_url again;
    char place[64];
    ck_assert_int_eq(ace_url_parse("amqp://u%40x:hush@[::1]:5673/%2Ffoo", &url, NULL), ACE_OK);
    char *text = ace_url_redacted(&url);
    ck_assert_str_eq(text, "amqp://u%40x@[::1]:5673/%2Ffoo");
    ck_assert_int_eq(ace_url_parse(text, &again, NULL), ACE_OK);
    ck_assert_str_eq(again.user, url.user);
    ck_assert_str_eq(again.vhost, url.vhost);
    ace_url_place(&url, place, sizeof place);
    ck_assert_str_eq(place, "[::1]:5673");
    free(text);
    ace_url_free(&url);
    ace_url_free(&again);
}
END_TEST

START_TEST(the_redacted_form_encodes_the_host_too)
{
    static const char *const texts[] = {"amqp://guest@a%2Fb:5672/%2F",
                                        "amqp://guest@[fe80::1%25eth0]:1/v"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ace_url url;
        ck_assert_int_eq(ace_url_parse(texts[i], &url, NULL), ACE_OK);
        char *text = ace_url_redacted(&url);
        ck_assert_str_eq(text, texts[i]);
        free(text);
        ace_url_free(&url);
    }
}
END_TEST

START_TEST(a_password_with_a_question_mark_is_not_quoted_as_an_option)
{
    ace_url url;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_url_parse("amqp://u:1?hush&x@h:5672/", &url, &error), ACE_PARSE);
    ck_assert_ptr_null(strstr(ace_error_message(error), "hush"));
    ace_error_free(error);
}
END_TEST

START_TEST(names_over_their_limit_are_refused_by_field)
{
    char text[400];
    ace_url url;
    ace_error *error = NULL;
    memcpy(text, "amqp://h/", 9);
    memset(text + 9, 'v', 256);
    text[9 + 256] = '\0';
    ck_assert_int_eq(ace_url_parse(text, &url, &error), ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "virtual host has 256 bytes"));
    ck_assert_str_eq(ace_error_field_name(error), "virtual host");
    ck_assert_int_eq(ace_error_limit(error), 255);
    ace_error_free(error);
    text[9 + 255] = '\0';
    ck_assert_int_eq(ace_url_parse(text, &url, NULL), ACE_OK);
    ck_assert_uint_eq(strlen(url.vhost), 255);
    ace_url_free(&url);
    ck_assert_int_eq(ace_url_parse(NULL, &url, NULL), ACE_INVALID_ARGUMENT);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

int main(void)
{
    Suite *suite = suite_create("url");
    TCase *tcase = tcase_create("parse");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_sound_url_is_read, 0, COUNT(sounds));
    tcase_add_loop_test(tcase, an_unsound_url_is_refused_with_the_place, 0, COUNT(unsounds));
    tcase_add_loop_test(tcase, a_password_that_was_not_encoded_is_never_in_an_error, 0,
                        COUNT(leaks));
    tcase_add_test(tcase, options_are_read);
    tcase_add_test(tcase, several_hosts_are_read_each_with_its_port);
    tcase_add_test(tcase, more_than_64_hosts_are_too_many);
    tcase_add_test(tcase, the_options_of_tls_are_read);
    tcase_add_test(tcase, a_memory_broker_has_a_name);
    tcase_add_test(tcase, the_redacted_form_reads_back_and_has_no_password);
    tcase_add_test(tcase, the_redacted_form_encodes_the_host_too);
    tcase_add_test(tcase, a_password_with_a_question_mark_is_not_quoted_as_an_option);
    tcase_add_test(tcase, names_over_their_limit_are_refused_by_field);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
