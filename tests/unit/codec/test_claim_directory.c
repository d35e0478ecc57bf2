/* The claim check's directory: nothing outside it, nothing by halves, and every failure an error.
 */
#include "claim_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

START_TEST(files_have_the_bits_asked_for_whatever_the_mask_is)
{
    mode_t mask = umask(0777);
    ck_assert_int_eq(ace_claim_store_put(store, ace_bytes_of("a"), ace_bytes_of("1"), NULL),
                     ACE_OK);
    ace_claim_store *shared = NULL;
    ck_assert_int_eq(ace_claim_directory_open(folder, 0640, 10, &shared, NULL), ACE_OK);
    ck_assert_int_eq(ace_claim_store_put(shared, ace_bytes_of("b"), ace_bytes_of("2"), NULL),
                     ACE_OK);
    umask(mask);
    struct stat status;
    char path[80];
    snprintf(path, sizeof path, "%s/a", folder);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    snprintf(path, sizeof path, "%s/b", folder);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0640);
    ace_claim_store_release(shared);
}
END_TEST

START_TEST(an_object_over_the_limit_is_refused_both_ways)
{
    ace_claim_store *small = NULL;
    ace_buffer object = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_claim_directory_open(folder, 0600, 10, &small, NULL), ACE_OK);
    ck_assert_int_eq(ace_claim_store_put(small, ace_bytes_of("a"), filled(10), NULL), ACE_OK);
    ck_assert_int_eq(ace_claim_store_put(small, ace_bytes_of("b"), filled(11), NULL), ACE_LIMIT);
    ck_assert_int_eq(ace_claim_store_put(store, ace_bytes_of("c"), filled(11), NULL), ACE_OK);
    ck_assert_int_eq(ace_claim_store_get(small, ace_bytes_of("a"), &object, NULL), ACE_OK);
    ace_error *error = NULL;
    ck_assert_int_eq(ace_claim_store_get(small, ace_bytes_of("c"), &object, &error), ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error), "the object has 11 bytes, the limit is 10");
    ck_assert_uint_eq(object.length, 10);
    ck_assert_int_eq(list(NULL), 2);
    ace_error_free(error);
    ace_buffer_free(&object);
    ace_claim_store_release(small);
}
END_TEST

START_TEST(only_keys_name_files)
{
    static const char *const bad[] = {"", ".", "..", "../a", "a/b", ".a", "/etc/passwd", "a b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(ace_claim_store_put(store, ace_bytes_of(bad[i]), filled(1), NULL),
                         ACE_INVALID_ARGUMENT);
        ck_assert_int_eq(ace_claim_store_remove(store, ace_bytes_of(bad[i]), NULL),
                         ACE_INVALID_ARGUMENT);
    }
    ck_assert_int_eq(list(NULL), 0);
}
END_TEST

START_TEST(what_is_no_plain_file_is_not_followed)
{
    char path[80];
    ace_buffer object = ACE_BUFFER_INIT;
    snprintf(path, sizeof path, "%s/link", folder);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(ace_claim_store_get(store, ace_bytes_of("link"), &object, NULL), ACE_SYSTEM);
    snprintf(path, sizeof path, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(ace_claim_store_get(store, ace_bytes_of("pipe"), &object, NULL), ACE_SYSTEM);
    ck_assert_uint_eq(object.length, 0);
    ace_buffer_free(&object);
}
END_TEST

START_TEST(removing_is_fine_twice)
{
    ck_assert_int_eq(ace_claim_store_put(store, ace_bytes_of("a"), filled(5), NULL), ACE_OK);
    ck_assert_int_eq(ace_claim_store_remove(store, ace_bytes_of("a"), NULL), ACE_OK);
    ck_assert_int_eq(ace_claim_store_remove(store, ace_bytes_of("a"), NULL), ACE_OK);
    ck_assert_int_eq(list(NULL), 0);
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_an_error_and_never_a_missing_object)
{
    ace_claim_store *none = NULL;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_claim_directory_open("/nowhere/at/all", 0600, 10, &none, &error),
                     ACE_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "/nowhere/at/all"));
    ace_error_free(error);
    ck_assert_int_eq(rmdir(folder), 0);
    ace_codec *codec = claim_check(ace_codec_find("bytes"), 0);
    ck_assert_int_eq(check(codec, ace_bytes_of("\xac\x01\x01key"), NULL), ACE_SYSTEM);
    ace_buffer body = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(codec, filled(5), &body, NULL), ACE_SYSTEM);
    ck_assert_uint_eq(body.length, 0);
    ace_codec_release(codec);
}
END_TEST

/* Root may write anywhere, so that a child which is not root tries. */
static int try_in_read_only_directory(void)
{
    if (geteuid() == 0 && setuid(65534) != 0) {
        return 10;
    }
    ace_codec *codec = claim_check(ace_codec_find("bytes"), 0);
    ace_buffer body = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    if (ace_codec_encode(codec, filled(5), &body, &error) != ACE_SYSTEM) {
        return 11;
    }
    bool named = strstr(ace_error_message(error), folder) != NULL;
    ace_error_free(error);
    ace_codec_release(codec);
    return named && body.length == 0 ? 0 : 12;
}

START_TEST(a_read_only_directory_is_an_error)
{
    ck_assert_int_eq(chmod(folder, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(try_in_read_only_directory());
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    ck_assert_int_eq(list(NULL), 0);
}
END_TEST

START_TEST(a_directory_that_moves_is_followed)
{
    char moved[80];
    ck_assert_int_eq(ace_claim_store_put(store, ace_bytes_of("a"), filled(5), NULL), ACE_OK);
    snprintf(moved, sizeof moved, "%s.moved", folder);
    ck_assert_int_eq(rename(folder, moved), 0);
    ace_buffer object = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_claim_store_get(store, ace_bytes_of("a"), &object, NULL), ACE_OK);
    ck_assert_int_eq(rename(moved, folder), 0);
    ace_buffer_free(&object);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("claim directory");
    TCase *tcase = tcase_create("claim directory");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, files_have_the_bits_asked_for_whatever_the_mask_is);
    tcase_add_test(tcase, an_object_over_the_limit_is_refused_both_ways);
    tcase_add_test(tcase, only_keys_name_files);
    tcase_add_test(tcase, what_is_no_plain_file_is_not_followed);
    tcase_add_test(tcase, removing_is_fine_twice);
    tcase_add_test(tcase, a_directory_that_is_not_there_is_an_error_and_never_a_missing_object);
    tcase_add_test(tcase, a_read_only_directory_is_an_error);
    tcase_add_test(tcase, a_directory_that_moves_is_followed);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
