/* The series behind a registry. With its lock held, but for what a series never changes. */
#ifndef ACE_ENGINE_METRICS_SERIES_H
#define ACE_ENGINE_METRICS_SERIES_H

#include "base/list.h"
#include "base/thread.h"
#include "engine/metrics_names.h"

#define ACE_METRIC_TABLE 1024 /* chains */

typedef struct ace_series {
    struct ace_series *next; /* in its chain */
    ace_link_node node;      /* among those of its metric, in the order they came */
    ace_metric metric;
    size_t length; /* of the texts, each with its NUL */
    const char *values[ACE_METRIC_LABELS];
    double value; /* of a counter or a gauge; the sum of the others */
    uint64_t count;
    uint64_t *buckets; /* one more than there are bounds; NULL for counters and gauges */
    char texts[];
} ace_series;

struct acemq_metrics {
    ace_handle handle;
    ace_mutex mutex;
    size_t limit;
    ace_metrics_observer *observer;
    void *user;
    void (*destructor)(void *user);
    ace_series *table[ACE_METRIC_TABLE];
    ace_list series[ACE_METRICS];
    uint64_t lost; /* observations */
};

/* NULL: no memory. */
ace_series *ace_series_find(ace_metrics *metrics, ace_metric metric, const ace_bytes *labels);
void ace_series_free_all(ace_metrics *metrics);

#endif
