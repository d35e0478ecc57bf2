#include "measure.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Nothing is durable in memory: a number from there says nothing. */
static void demand_disk(const char *folder)
{
    struct statfs where;
    if (statfs(folder, &where) != 0) {
        bench_fail("%s cannot be looked at", folder);
    }
    if (where.f_type == TMPFS_MAGIC || where.f_type == RAMFS_MAGIC) {
        (void)rmdir(folder);
        bench_fail("%s lies in memory: name a folder on a disk in ACEMQ_BENCH_FOLDER", folder);
    }
}

void bench_make_folder(char *folder, size_t size)
{
    const char *root = getenv("ACEMQ_BENCH_FOLDER");
    (void)snprintf(folder, size, "%s/acemq-bench-XXXXXX",
                   root == NULL || root[0] == '\0' ? "/var/tmp" : root);
    if (mkdtemp(folder) == NULL) {
        bench_fail("%s cannot be made", folder);
    }
    demand_disk(folder);
}

void bench_remove_folder(const char *folder)
{
    static const char *const files[] = {"data.mdb", "lock.mdb"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}
