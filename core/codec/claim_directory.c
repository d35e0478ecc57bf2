/* Objects as files. A key has no slash and no leading dot, so that it is a file's name as it is,
 * and never that of a temporary file, which begins with a dot. */
#include "codec/claim_store.h"

#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_NAME (ACE_UUID_LENGTH + sizeof "..partial")

typedef struct directory {
    int descriptor;
    mode_t mode;
    uint64_t largest;
    char path[];
} directory;

static ace_code fail(const directory *self, const char *what, ace_error **error)
{
    int number = errno;
    ace_code code = ace_fail_system(error, number, what);
    ace_error_prefix(error, "claim store %s", self->path);
    return code;
}

static ace_code check_size(const directory *self, uint64_t size, ace_error **error)
{
    if (size <= self->largest) {
        return ACE_OK;
    }
    ace_fail(error, ACE_LIMIT, "the object has %" PRIu64 " bytes, the limit is %" PRIu64, size,
             self->largest);
    ace_error_field(error, "object", (long long)self->largest);
    return ACE_LIMIT;
}

static bool write_all(int file, ace_bytes object)
{
    size_t done = 0;
    while (done < object.length) {
        ssize_t written = write(file, object.data + done, object.length - done);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            done += (size_t)written;
        }
    }
    return true;
}

static ace_code write_temporary(const directory *self, const char *name, ace_bytes object,
                                ace_error **error)
{
    int file = openat(self->descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      self->mode);
    if (file < 0) {
        return fail(self, "create", error);
    }
    ace_code code = ACE_OK;
    /* The bits asked for, whatever the process's mask is. */
    if (fchmod(file, self->mode) != 0) {
        code = fail(self, "chmod", error);
    } else if (!write_all(file, object)) {
        code = fail(self, "write", error);
    } else if (fsync(file) != 0) {
        code = fail(self, "fsync", error);
    }
    if (close(file) != 0 && code == ACE_OK && errno != EINTR) {
        code = fail(self, "close", error);
    }
    return code;
}

static ace_code put(const char *key, ace_bytes object, void *user, ace_error **error)
{
    const directory *self = user;
    ace_code code = check_size(self, object.length, error);
    if (code != ACE_OK) {
        return code;
    }
    char unique[ACE_UUID_LENGTH + 1];
    char name[TEMPORARY_NAME];
    ace_uuid_v4(ace_random_system(), unique);
    (void)snprintf(name, sizeof name, ".%s.partial", unique);
    code = write_temporary(self, name, object, error);
    if (code == ACE_OK && renameat(self->descriptor, name, self->descriptor, key) != 0) {
        code = fail(self, "rename", error);
    }
    if (code != ACE_OK) {
        (void)unlinkat(self->descriptor, name, 0);
        return code;
    }
    return fsync(self->descriptor) == 0 ? ACE_OK : fail(self, "fsync of the directory", error);
}

static ace_code read_all(const directory *self, int file, size_t size, ace_buffer *object,
                         ace_error **error)
{
    uint8_t *room = ace_buffer_extend(object, size + 1);
    if (room == NULL) {
        return ace_fail_memory(error);
    }
    size_t done = 0;
    while (done <= size) {
        ssize_t got = read(file, room + done, size + 1 - done);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            return fail(self, "read", error);
        }
        if (got > 0) {
            done += (size_t)got;
        }
    }
    object->length -= 1;
    if (done != size) {
        return ace_fail(error, ACE_SYSTEM, "claim store %s: an object changed while it was read",
                        self->path);
    }
    return ACE_OK;
}

/* An object is missing only from a directory that is there. */
static ace_code fail_open(const directory *self, const char *key, ace_error **error)
{
    struct stat status;
    if (errno != ENOENT) {
        return fail(self, "open", error);
    }
    if (fstat(self->descriptor, &status) != 0) {
        return fail(self, "fstat", error);
    }
    if (status.st_nlink == 0) {
        return ace_fail(error, ACE_SYSTEM, "claim store %s: the directory was deleted", self->path);
    }
    return ace_fail(error, ACE_NOT_FOUND, "the claim store has no object %s", key);
}

static ace_code get(const char *key, ace_buffer *object, void *user, ace_error **error)
{
    const directory *self = user;
    /* Without blocking, should somebody have put a pipe there. */
    int file = openat(self->descriptor, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return fail_open(self, key, error);
    }
    struct stat status;
    ace_code code;
    if (fstat(file, &status) != 0) {
        code = fail(self, "fstat", error);
    } else if (!S_ISREG(status.st_mode)) {
        code = ace_fail(error, ACE_SYSTEM, "claim store %s: %s is not a file", self->path, key);
    } else {
        code = check_size(self, (uint64_t)status.st_size, error);
    }
    if (code == ACE_OK) {
        code = read_all(self, file, (size_t)status.st_size, object, error);
    }
    (void)close(file);
    return code;
}

static ace_code remove_object(const char *key, void *user, ace_error **error)
{
    const directory *self = user;
    if (unlinkat(self->descriptor, key, 0) == 0 || errno == ENOENT) {
        return ACE_OK;
    }
    return fail(self, "unlink", error);
}

static void close_directory(void *user)
{
    directory *self = user;
    (void)close(self->descriptor);
    free(self);
}

ace_code ace_claim_directory_open(const char *path, unsigned mode, uint64_t largest,
                                  ace_claim_store **out, ace_error **error)
{
    size_t length = strlen(path);
    directory *self = malloc(sizeof *self + length + 1);
    if (self == NULL) {
        return ace_fail_memory(error);
    }
    memcpy(self->path, path, length + 1);
    self->mode = (mode_t)mode;
    self->largest = largest;
    self->descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->descriptor < 0) {
        ace_code code = fail(self, "open", error);
        free(self);
        return code;
    }
    ace_claim_store_calls calls = {.put = put,
                                   .get = get,
                                   .remove = remove_object,
                                   .user = self,
                                   .free_user = close_directory};
    ace_code code = ace_claim_store_new(&calls, out, error);
    if (code != ACE_OK) {
        close_directory(self);
    }
    return code;
}
