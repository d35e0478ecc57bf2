/* Telling a child of fork from its parent, for less than a system call. */
#ifndef ACE_BASE_PROCESS_H
#define ACE_BASE_PROCESS_H

#include <stdint.h>

/* A number of this process, drawn when it is first asked for; a child of fork(2) or clone(2) draws
 * its own. Not in a child that shares our memory, as of vfork(2). 0: this kernel cannot tell. Any
 * thread. */
uint64_t ace_process_epoch(void);

#endif
