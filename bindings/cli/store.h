/* Stores, where a command only looks. */
#ifndef CLI_STORE_H
#define CLI_STORE_H

#include <stdbool.h>

/* Opening an LMDB store makes one where none is. False, with the error printed, where this would.
 */
bool cli_store_is_there(const char *store);

#endif
