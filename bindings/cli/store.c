#include "store.h"

#include "output.h"

#include <string.h>
#include <unistd.h>

bool cli_store_is_there(const char *store)
{
    static const char prefix[] = "lmdb:";
    size_t length = sizeof prefix - 1;
    if (strncmp(store, prefix, length) != 0 || access(store + length, F_OK) == 0) {
        return true;
    }
    (void)cli_fail_text(acemq_status_name(ACEMQ_E_NOT_FOUND),
                        "there is no store at %s, and looking makes none", store + length);
    return false;
}
