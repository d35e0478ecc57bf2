#include "measure.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    exit(1);
}

static void wrong_use(const char *text)
{
    (void)fprintf(stderr, "%s\n", text);
    exit(2);
}

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 0) {
        wrong_use("a number of 0 or more is wanted");
    }
    return value;
}

bench_options bench_read_options(int count, char **arguments)
{
    if (count < 2) {
        wrong_use("what to measure is missing");
    }
    bench_options options = {.what = arguments[1],
                             .url = getenv("ACEMQ_TEST_URL"),
                             .queue = "acemq.bench",
                             .count = 1000,
                             .window = 1000,
                             .prefetch = 300,
                             .threads = 1,
                             .size = 256,
                             .seconds = 5};
    const struct {
        const char *name;
        const char **text;
        long *number;
    } known[] = {
        {"--url", &options.url, NULL},           {"--queue", &options.queue, NULL},
        {"--count", NULL, &options.count},       {"--window", NULL, &options.window},
        {"--prefetch", NULL, &options.prefetch}, {"--threads", NULL, &options.threads},
        {"--size", NULL, &options.size},         {"--seconds", NULL, &options.seconds},
    };
    for (int i = 2; i < count; i += 2) {
        size_t at = 0;
        while (at < sizeof known / sizeof *known && strcmp(known[at].name, arguments[i]) != 0) {
            at++;
        }
        if (at == sizeof known / sizeof *known || i + 1 == count) {
            wrong_use("an option is unknown or has no value");
        }
        if (known[at].text != NULL) {
            *known[at].text = arguments[i + 1];
        } else {
            *known[at].number = number(arguments[i + 1]);
        }
    }
    if (options.url == NULL) {
        wrong_use("neither --url nor ACEMQ_TEST_URL is given");
    }
    return options;
}

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    if (clock_gettime(id, &now) != 0) {
        bench_fail("clock_gettime failed");
    }
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

bench_span bench_begin(void)
{
    return (bench_span){bench_now(), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

static double seconds(int64_t nanoseconds)
{
    return (double)nanoseconds / 1e9;
}

void bench_report_span(const bench_span *span, long count)
{
    bench_span end = bench_begin();
    (void)printf("{\"count\": %ld, \"seconds\": %.6f, \"processor\": %.6f}\n", count,
                 seconds(end.began - span->began), seconds(end.processor - span->processor));
}

static int64_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    int64_t all;
    int64_t pages;
    if (file == NULL || fscanf(file, "%" SCNd64 " %" SCNd64, &all, &pages) != 2) {
        bench_fail("/proc/self/statm cannot be read");
    }
    (void)fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static long threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL) {
        bench_fail("/proc/self/task cannot be read");
    }
    long count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return count;
}

bench_footprint bench_footprint_now(void)
{
    /* What was freed and not given back would hide what comes. */
    (void)malloc_trim(0);
    return (bench_footprint){resident(), threads(), bench_begin()};
}

void bench_report_footprint(const bench_footprint *before, const bench_footprint *watched,
                            long count)
{
    bench_footprint now = bench_footprint_now();
    (void)printf("{\"count\": %ld, \"bytes\": %" PRId64
                 ", \"threads\": %ld, \"seconds\": %.6f, \"processor\": %.6f}\n",
                 count, now.resident - before->resident, now.threads,
                 seconds(now.span.began - watched->span.began),
                 seconds(now.span.processor - watched->span.processor));
}

static int in_order(const void *left, const void *right)
{
    int64_t first = *(const int64_t *)left;
    int64_t second = *(const int64_t *)right;
    return (first > second) - (first < second);
}

void bench_report_times(int64_t *times, long count)
{
    qsort(times, (size_t)count, sizeof *times, in_order);
    (void)printf("{\"count\": %ld, \"median\": %.3f, \"p99\": %.3f}\n", count,
                 (double)times[count / 2] / 1e3, (double)times[count * 99 / 100] / 1e3);
}

unsigned char *bench_body(size_t size)
{
    unsigned char *body = malloc(size + 1);
    if (body == NULL) {
        bench_fail("no memory for a body");
    }
    for (size_t i = 0; i < size; i++) {
        body[i] = (unsigned char)('a' + i % 26);
    }
    return body;
}
