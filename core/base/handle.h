/*
 * The start of every handle the public ABI gives out. It makes a wrong pointer, a handle of another
 * kind, one that was closed and one that belongs to the parent of this process an error instead of
 * a crash, and counts the references that keep a parent alive for its children.
 *
 * It is the first member of the handle's struct. All functions may be called from any thread, and
 * in a child after a fork.
 */
#ifndef ACE_BASE_HANDLE_H
#define ACE_BASE_HANDLE_H

#include "base/error.h"
#include "base/process.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A magic number that reads as text in a memory dump: ACE_MAGIC('C', 'O', 'N', 'S'). */
#define ACE_MAGIC(a, b, c, d)                                                                      \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

typedef struct ace_handle {
    atomic_uint magic; /* of the type; 0 once the last reference went */
    atomic_uint references;
    pid_t process;  /* the one that made it */
    uint64_t epoch; /* of that process */
    atomic_bool closed;
} ace_handle;

void ace_handle_init(ace_handle *handle, uint32_t magic); /* with one reference, open */
void ace_handle_retain(ace_handle *handle);
/* True when the last reference went: the caller frees what it was the start of. */
bool ace_handle_release(ace_handle *handle);

bool ace_handle_close(ace_handle *handle); /* true for the one call that closed it */
bool ace_handle_is_closed(const ace_handle *handle);
bool ace_handle_is_foreign(const ace_handle *handle); /* made by another process: we are a child */

/* ACE_OK when a call on the handle may go on. `kind` is its name in the messages, "consumer".
 * ACE_INVALID_ARGUMENT for NULL and for another magic, ACE_FORKED in a child, ACE_CLOSED. */
ace_code ace_handle_explain(const ace_handle *handle, uint32_t magic, const char *kind,
                            ace_error **error); /* for ace_handle_check(), which is fast */

static inline ace_code ace_handle_check(const ace_handle *handle, uint32_t magic, const char *kind,
                                        ace_error **error)
{
    bool is_sound = handle != NULL && atomic_load(&handle->magic) == magic && handle->epoch != 0 &&
                    handle->epoch == ace_process_epoch() && !atomic_load(&handle->closed);
    return is_sound ? ACE_OK : ace_handle_explain(handle, magic, kind, error);
}

/* The same for calls that are fine on a closed handle, such as reading its name. */
ace_code ace_handle_check_open_or_closed(const ace_handle *handle, uint32_t magic, const char *kind,
                                         ace_error **error);

#endif
