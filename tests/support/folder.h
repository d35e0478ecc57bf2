/* A folder for one test, gone when the test's process ends. */
#ifndef ACEMQ_TESTS_FOLDER_H
#define ACEMQ_TESTS_FOLDER_H

#include <stddef.h>

/* Makes one in TMPDIR, or /tmp; fails the test when it cannot. */
const char *folder_make(void);
/* `{folder}/{name}`, kept until the process ends. */
const char *folder_path(const char *folder, const char *name);
void folder_remove(const char *folder);

#endif
