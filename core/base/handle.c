#include "base/handle.h"

#include <unistd.h>

void ace_handle_init(ace_handle *handle, uint32_t magic)
{
    atomic_init(&handle->magic, magic);
    atomic_init(&handle->references, 1);
    atomic_init(&handle->closed, false);
    handle->process = getpid();
    handle->epoch = ace_process_epoch();
}

void ace_handle_retain(ace_handle *handle)
{
    atomic_fetch_add_explicit(&handle->references, 1, memory_order_relaxed);
}

bool ace_handle_release(ace_handle *handle)
{
    /* Whoever frees it must see all that the other holders wrote before they let go. */
    if (atomic_fetch_sub_explicit(&handle->references, 1, memory_order_acq_rel) != 1) {
        return false;
    }
    atomic_store(&handle->magic, 0);
    return true;
}

bool ace_handle_close(ace_handle *handle)
{
    return !atomic_exchange(&handle->closed, true);
}

bool ace_handle_is_closed(const ace_handle *handle)
{
    return atomic_load(&handle->closed);
}

bool ace_handle_is_foreign(const ace_handle *handle)
{
    uint64_t epoch = ace_process_epoch();
    return epoch == 0 ? handle->process != getpid() : handle->epoch != epoch;
}

ace_code ace_handle_check_open_or_closed(const ace_handle *handle, uint32_t magic, const char *kind,
                                         ace_error **error)
{
    if (handle == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s is NULL", kind);
    }
    if (atomic_load(&handle->magic) != magic) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s is not a %s, or was freed", kind, kind);
    }
    if (ace_handle_is_foreign(handle)) {
        return ace_fail(error, ACE_FORKED,
                        "%s belongs to process %ld, which forked this process %ld", kind,
                        (long)handle->process, (long)getpid());
    }
    return ACE_OK;
}

ace_code ace_handle_explain(const ace_handle *handle, uint32_t magic, const char *kind,
                            ace_error **error)
{
    ace_code code = ace_handle_check_open_or_closed(handle, magic, kind, error);
    if (code == ACE_OK && ace_handle_is_closed(handle)) {
        return ace_fail(error, ACE_CLOSED, "%s is closed", kind);
    }
    return code;
}
