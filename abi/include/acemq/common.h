/**
 * @file common.h
 * What every other header needs: how symbols are marked, durations, and views of bytes.
 *
 * Conventions that hold for the whole library:
 * - Text is UTF-8. A `const char *` is NUL-terminated; what may hold a NUL is an acemq_bytes.
 * - Durations and timeouts are `int64_t` milliseconds. A timeout of 0 does not wait; ACEMQ_FOREVER
 * waits without a limit; a negative one is refused.
 * - *owned*: the caller frees it with the function named. *borrowed until X*: the library's; read
 * it until X happens. *copied*: the caller may free its own copy as soon as the call returns.
 * - Every call that can fail returns an acemq_status and takes `acemq_error **error` last (see
 * error.h).
 * - What many calls can answer is listed only where something else may be expected:
 * ACEMQ_E_INVALID_ARGUMENT for a NULL where none may be and for a value outside its range,
 * ACEMQ_E_CLOSED, ACEMQ_E_FORKED, ACEMQ_E_OUT_OF_MEMORY.
 * - What is given to a call is read while it lasts; what is kept of it is copied, unless it says
 * otherwise.
 * - Every `_options_init(pointer, size)` does what the macro of its name does: it fills the struct
 * with the defaults. `size` is its sizeof, as the caller knows it; ACEMQ_E_INVALID_ARGUMENT for one
 * smaller than the first release's.
 * - What is read from a handle and not said to be owned (a text, a view, a table, another handle)
 * is borrowed until that handle is changed or freed.
 * - Which threads may call a function is said at it, else at the handles that it takes, else at the
 * head of its header.
 * - Every `_free` function takes NULL.
 * - A handle used in a child after fork(2) fails with ACEMQ_E_FORKED; freeing it there closes the
 * child's copies of its descriptors and does nothing else.
 *
 * What a parameter of these names means, unless its function says otherwise:
 * - `error`: receives an owned error when the call fails; may be NULL
 * - `timeout`: in milliseconds; 0 does not wait, ACEMQ_FOREVER has no limit
 * - `options`: NULL for the defaults; copied
 * - `user`: handed to each callback
 * - `destructor`: called once with `user` when nothing can call with it any more; may be NULL
 * - `index`: from 0, below the count
 * - `queue`: its name, UTF-8 of up to 255 bytes
 * - `exchange`: its name, UTF-8 of up to 255 bytes; an empty one is the default exchange
 * - `routing_key`: UTF-8 of up to 255 bytes
 * - `name`: of what is set or asked for; copied
 * - `length`: in bytes, of what stands before it
 */
#ifndef ACEMQ_COMMON_H
#define ACEMQ_COMMON_H

#include <stddef.h>
#include <stdint.h>

/** @cond */
#ifdef __cplusplus
#define ACEMQ_BEGIN extern "C" {
#define ACEMQ_END   }
#else
#define ACEMQ_BEGIN
#define ACEMQ_END
#endif

#if defined(__GNUC__)
#define ACEMQ_API __attribute__((visibility("default")))
#else
#define ACEMQ_API
#endif
/** @endcond */

/** Durations, in milliseconds. */
#define ACEMQ_MILLISECOND INT64_C(1)
#define ACEMQ_SECOND      INT64_C(1000)     /**< likewise */
#define ACEMQ_MINUTE      INT64_C(60000)    /**< likewise */
#define ACEMQ_HOUR        INT64_C(3600000)  /**< likewise */
#define ACEMQ_DAY         INT64_C(86400000) /**< likewise */
/** As a timeout: wait without a limit. */
#define ACEMQ_FOREVER INT64_MAX

/** A view of bytes that somebody else owns; the function that returns one says until when. Frozen.
 */
typedef struct acemq_bytes {
    /** NULL where there are none */
    const void *data;
    /** how many there are */
    size_t length;
} acemq_bytes;

/** Frees what a `void *user` points to, once nothing of the library can call with it any more. */
typedef void (*acemq_destructor)(void *user);

#endif
