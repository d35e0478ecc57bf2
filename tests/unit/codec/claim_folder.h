/* A folder of its own for each test, with a store in it. */
#ifndef ACEMQ_TESTS_CLAIM_FOLDER_H
#define ACEMQ_TESTS_CLAIM_FOLDER_H

#include "codec/claim_check.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static ace_claim_store *store;

static inline void set_up(void)
{
    strcpy(folder, "/tmp/acemq-claims-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(
        ace_claim_directory_open(folder, ACE_CLAIM_FILE_MODE, ACE_CLAIM_OBJECT_MAX, &store, NULL),
        ACE_OK);
}

/* Calls `each` with every name in the folder but "." and ".."; returns how many. */
static inline int list(void (*each)(const char *path))
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return -1;
    }
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char path[400];
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            count++;
            if (each != NULL) {
                each(path);
            }
        }
    }
    closedir(directory);
    return count;
}

static inline void delete_file(const char *path)
{
    (void)unlink(path);
}

static inline void tear_down(void)
{
    ace_claim_store_release(store);
    (void)list(delete_file);
    (void)rmdir(folder);
}

static inline ace_codec *claim_check(const ace_codec *inner, uint64_t threshold)
{
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_codec_claim_check(inner, store, threshold, NULL, &codec, NULL), ACE_OK);
    return codec;
}

static inline ace_bytes view(const ace_buffer *buffer)
{
    return (ace_bytes){buffer->data, buffer->length};
}

static inline ace_bytes filled(size_t length)
{
    static uint8_t bytes[70000];
    memset(bytes, 'x', sizeof bytes);
    return (ace_bytes){bytes, length};
}

static inline ace_code check(const ace_codec *codec, ace_bytes body, ace_error **error)
{
    return ace_codec_check(codec, ace_bytes_of(ace_codec_content_type(codec)), body, error);
}

#endif
