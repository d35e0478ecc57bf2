/*
 * What the two programs share: their command line, their clocks, and the line of JSON they print.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_WARM_UP 200 /* messages before the clock starts, where publishing is measured */

typedef struct bench_options {
    const char *what; /* publish, consume, … */
    const char *url;
    const char *queue;
    long count;    /* messages, or consumers */
    long window;   /* publishes outstanding */
    long prefetch; /* deliveries unacknowledged */
    long size;     /* bytes of a body */
    long seconds;  /* how long what is idle is watched */
    long threads;  /* that claim */
} bench_options;

/* Exits with status 2 and says why when the command line is wrong. */
bench_options bench_read_options(int count, char **arguments);

/* Exits with status 1. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

int64_t bench_now(void); /* ns, monotonic */

/* Time and processor time since a moment. */
typedef struct bench_span {
    int64_t began;     /* ns */
    int64_t processor; /* ns, of all threads of this process */
} bench_span;

bench_span bench_begin(void);
/* Prints {"count", "seconds", "processor"}. */
void bench_report_span(const bench_span *span, long count);

/* What the process holds at a moment. */
typedef struct bench_footprint {
    int64_t resident; /* bytes */
    long threads;
    bench_span span;
} bench_footprint;

bench_footprint bench_footprint_now(void);
/* Prints {"count", "bytes", "threads", "seconds", "processor"}: how much more the process holds
 * than `before`, its threads, and what it used since `watched`. */
void bench_report_footprint(const bench_footprint *before, const bench_footprint *watched,
                            long count);

/* Sorts and prints {"count", "median", "p99"} of times in ns, as µs. */
void bench_report_times(int64_t *times, long count);

/* A new folder on a disk: below ACEMQ_BENCH_FOLDER, else /var/tmp. A file system in memory is
 * refused. */
void bench_make_folder(char *folder, size_t size);
void bench_remove_folder(const char *folder);

/* A body that is no run of one byte. Freed by the caller. */
unsigned char *bench_body(size_t size);

#endif
