#include "engine/settings.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct wrong {
    const char *field;
    void (*spoil)(ace_settings *settings);
} wrong;

#define SPOIL(name, assignment)                                                                    \
    static void name(ace_settings *settings)                                                       \
    {                                                                                              \
        settings->assignment;                                                                      \
    }

SPOIL(spoil_heartbeat, heartbeat = -2)
SPOIL(spoil_long_heartbeat, heartbeat = 65536)
SPOIL(spoil_connect, connect_timeout = 0)
SPOIL(spoil_rpc, rpc_timeout = -1)
SPOIL(spoil_confirm, confirm_timeout = 0)
SPOIL(spoil_channels, channel_max = 65536)
SPOIL(spoil_frames, frame_max = 4095)
SPOIL(spoil_initial, reconnect_initial = 0)
SPOIL(spoil_limit, reconnect_limit = 499)
SPOIL(spoil_jitter, reconnect_jitter = 1.01)
SPOIL(spoil_jitter_nan, reconnect_jitter = NAN)
SPOIL(spoil_outstanding, outstanding_limit = 0)
SPOIL(spoil_file, credentials = ACE_CREDENTIALS_FILE)
SPOIL(spoil_environment, credentials = ACE_CREDENTIALS_ENVIRONMENT)
SPOIL(spoil_callback, credentials = ACE_CREDENTIALS_ON_DEMAND)

static const wrong wrongs[] = {
    {"heartbeat", spoil_heartbeat},
    {"heartbeat", spoil_long_heartbeat},
    {"connect timeout", spoil_connect},
    {"rpc timeout", spoil_rpc},
    {"confirm timeout", spoil_confirm},
    {"channel max", spoil_channels},
    {"frame max", spoil_frames},
    {"reconnect initial wait", spoil_initial},
    {"reconnect longest wait", spoil_limit},
    {"reconnect jitter", spoil_jitter},
    {"reconnect jitter", spoil_jitter_nan},
    {"outstanding limit", spoil_outstanding},
    {"credentials path", spoil_file},
    {"user variable", spoil_environment},
    {"credentials callback", spoil_callback},
};

START_TEST(a_setting_out_of_range_is_refused_by_name)
{
    ace_settings settings;
    ace_error *error = NULL;
    ace_settings_init(&settings);
    ck_assert_int_eq(ace_settings_check(&settings, NULL), ACE_OK);
    wrongs[_i].spoil(&settings);
    ck_assert_int_eq(ace_settings_check(&settings, &error), ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_field_name(error), wrongs[_i].field);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), wrongs[_i].field));
    ace_error_free(error);
}
END_TEST

START_TEST(a_name_of_256_bytes_is_refused_with_its_limit)
{
    ace_settings settings;
    ace_error *error = NULL;
    char name[257];
    memset(name, 'n', 256);
    name[256] = '\0';
    ace_settings_init(&settings);
    settings.name = name;
    ck_assert_int_eq(ace_settings_check(&settings, &error), ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "256 bytes, the limit is 255"));
    ace_error_free(error);
    name[255] = '\0';
    ck_assert_int_eq(ace_settings_check(&settings, NULL), ACE_OK);
}
END_TEST

START_TEST(the_url_s_options_go_over_the_settings)
{
    ace_settings settings;
    ace_url url;
    ace_settings_init(&settings);
    ck_assert_int_eq(settings.heartbeat, 60);
    ck_assert_int_eq(settings.outstanding_limit, 1000);
    ck_assert_int_eq(ace_url_parse("amqp://h?heartbeat=0&frame_max=8192", &url, NULL), ACE_OK);
    ace_settings_apply_url(&settings, &url);
    ck_assert_int_eq(settings.heartbeat, 0);
    ck_assert_int_eq(settings.frame_max, 8192);
    ck_assert_int_eq(settings.channel_max, 2047);
    ck_assert_int_eq(settings.connect_timeout, 10000);
    ace_url_free(&url);
}
END_TEST

START_TEST(a_copy_keeps_its_own_strings)
{
    ace_settings settings;
    ace_settings copy;
    char name[] = "orders";
    ace_settings_init(&settings);
    settings.name = name;
    ck_assert_int_eq(ace_settings_copy(&settings, &copy, NULL), ACE_OK);
    name[0] = 'X';
    ck_assert_str_eq(copy.name, "orders");
    ck_assert_ptr_eq(copy.clock, ace_clock_system());
    ck_assert_ptr_eq(copy.random, ace_random_system());
    ace_settings_free(&copy);
}
END_TEST

static void read_from(const ace_settings *settings, ace_code code, const char *user,
                      const char *password, const char *says)
{
    ace_url url;
    ace_credentials credentials;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_url_parse("amqp://of_url:in_url@h", &url, NULL), ACE_OK);
    ck_assert_int_eq(ace_settings_credentials(settings, &url, &credentials, &error), code);
    if (code == ACE_OK) {
        ck_assert_str_eq(credentials.user, user);
        ck_assert_str_eq(credentials.password, password);
    } else {
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), says));
        ck_assert_ptr_null(strstr(ace_error_message(error), "hush"));
        ck_assert_ptr_null(credentials.user);
        ck_assert_ptr_null(credentials.password);
    }
    ace_credentials_free(&credentials);
    ace_error_free(error);
    ace_url_free(&url);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(credentials_come_from_url_file_environment_or_callback)
{
    ace_settings settings;
    char path[] = "/tmp/acemq-credentials-XXXXXX";
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    ace_settings_init(&settings);
    read_from(&settings, ACE_OK, "of_url", "in_url", NULL);

    settings.credentials = ACE_CREDENTIALS_FILE;
    settings.credentials_path = path;
    write_file(path, "svc\nhush hush\n");
    read_from(&settings, ACE_OK, "svc", "hush hush", NULL);
    write_file(path, "svc\r\nhush\r\n");
    read_from(&settings, ACE_OK, "svc", "hush", NULL);
    write_file(path, "svc\nhush");
    read_from(&settings, ACE_OK, "svc", "hush", NULL);
    write_file(path, "hush\n");
    read_from(&settings, ACE_LOGIN_REFUSED, NULL, NULL, path);
    write_file(path, "");
    read_from(&settings, ACE_LOGIN_REFUSED, NULL, NULL, "line 1");
    ck_assert_int_eq(unlink(path), 0);
    read_from(&settings, ACE_LOGIN_REFUSED, NULL, NULL, path);

    settings.credentials = ACE_CREDENTIALS_ENVIRONMENT;
    settings.user_variable = "ACEMQ_TEST_USER";
    settings.password_variable = "ACEMQ_TEST_PASSWORD";
    setenv("ACEMQ_TEST_USER", "env", 1);
    unsetenv("ACEMQ_TEST_PASSWORD");
    read_from(&settings, ACE_LOGIN_REFUSED, NULL, NULL, "ACEMQ_TEST_PASSWORD");
    setenv("ACEMQ_TEST_PASSWORD", "hush", 1);
    read_from(&settings, ACE_OK, "env", "hush", NULL);
}
END_TEST

static ace_code give_half(ace_credentials *credentials, void *user, ace_error **error)
{
    (void)user;
    (void)error;
    credentials->user = strdup("only");
    return ACE_OK;
}

static ace_code give_too_much(ace_credentials *credentials, void *user, ace_error **error)
{
    (void)user;
    (void)error;
    credentials->user = strdup("only");
    credentials->password = malloc(3000);
    memset(credentials->password, 'x', 2999);
    credentials->password[2999] = '\0';
    return ACE_OK;
}

START_TEST(a_callback_that_gives_half_or_too_much_is_refused)
{
    ace_settings settings;
    ace_settings_init(&settings);
    settings.credentials = ACE_CREDENTIALS_ON_DEMAND;
    settings.ask = give_half;
    read_from(&settings, ACE_LOGIN_REFUSED, NULL, NULL, "callback");
    settings.ask = give_too_much;
    read_from(&settings, ACE_LIMIT, NULL, NULL, "1024");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tcase = tcase_create("settings");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_setting_out_of_range_is_refused_by_name, 0,
                        (int)(sizeof wrongs / sizeof wrongs[0]));
    tcase_add_test(tcase, a_name_of_256_bytes_is_refused_with_its_limit);
    tcase_add_test(tcase, the_url_s_options_go_over_the_settings);
    tcase_add_test(tcase, a_copy_keeps_its_own_strings);
    tcase_add_test(tcase, credentials_come_from_url_file_environment_or_callback);
    tcase_add_test(tcase, a_callback_that_gives_half_or_too_much_is_refused);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
