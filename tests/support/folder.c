#include "support/folder.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS 64
#define PATHS   256

static char folders[FOLDERS][256];
static size_t folder_count;
static pid_t owner;
static char paths[PATHS][512];
static size_t path_count;

void folder_remove(const char *folder)
{
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(listing)) != NULL) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct stat what;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (lstat(path, &what) == 0 && S_ISDIR(what.st_mode)) {
            folder_remove(path);
        } else {
            (void)unlink(path);
        }
    }
    (void)closedir(listing);
    (void)rmdir(folder);
}

static void remove_all(void)
{
    for (size_t i = 0; i < folder_count && owner == getpid(); i++) {
        folder_remove(folders[i]);
    }
}

const char *folder_make(void)
{
    ck_assert_uint_lt(folder_count, FOLDERS);
    if (folder_count == 0 || owner != getpid()) {
        folder_count = 0;
        owner = getpid();
        ck_assert_int_eq(atexit(remove_all), 0);
    }
    const char *root = getenv("TMPDIR");
    char *folder = folders[folder_count];
    (void)snprintf(folder, sizeof folders[0], "%s/acemq-test-XXXXXX",
                   root == NULL || root[0] == '\0' ? "/tmp" : root);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    folder_count++;
    return folder;
}

const char *folder_path(const char *folder, const char *name)
{
    ck_assert_uint_lt(path_count, PATHS);
    char *path = paths[path_count++];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}
