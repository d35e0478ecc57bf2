/* For clang-tidy alone, which sees one source file at a time: the functions that make an error
 * return the code they are given, never ACE_OK, so what follows a failure is not what follows a
 * success; and a handle that was checked is not NULL. */
#include "base/error.h"
#include "base/handle.h"

#define ace_fail(error, code, ...) ((void)ace_fail(error, code, __VA_ARGS__), (code))
#define ace_fail_system(error, number, what)                                                       \
    ((void)ace_fail_system(error, number, what), ACE_SYSTEM)
#define ace_fail_memory(error) ((void)ace_fail_memory(error), ACE_OUT_OF_MEMORY)
#define ace_handle_check(handle, magic, kind, error)                                               \
    ((handle) == NULL ? ACE_INVALID_ARGUMENT : ace_handle_check(handle, magic, kind, error))
