#include "store.h"

#include "output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cli_store_is_there(const char *store)
{
    static const char prefix[] = "lmdb:";
    size_t length = sizeof prefix - 1;
    char file[4096]; /* a folder without it is no store yet */
    if (strncmp(store, prefix, length) != 0 ||
        snprintf(file, sizeof file, "%s/data.mdb", store + length) >= (int)sizeof file ||
        access(file, F_OK) == 0) {
        return true;
    }
    (void)cli_fail_text(acemq_status_name(ACEMQ_E_NOT_FOUND),
                        "there is no store at %s, and looking makes none", store + length);
    return false;
}
