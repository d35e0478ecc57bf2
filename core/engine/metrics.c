#include "engine/metrics.h"

#include "engine/metrics_series.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

ace_code ace_metrics_new(size_t series_limit, ace_metrics_observer *observer, void *user,
                         void (*destructor)(void *user), ace_metrics **out, ace_error **error)
{
    ace_metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_mutex_init(&metrics->mutex, error);
    if (code != ACE_OK) {
        free(metrics);
        return code;
    }
    ace_handle_init(&metrics->handle, ACE_METRICS_MAGIC);
    metrics->limit = series_limit == 0 ? 1 : series_limit;
    metrics->observer = observer;
    metrics->user = user;
    metrics->destructor = destructor;
    for (int metric = 0; metric < ACE_METRICS; metric++) {
        ace_list_init(&metrics->series[metric]);
    }
    *out = metrics;
    return ACE_OK;
}

const ace_handle *ace_metrics_handle(const ace_metrics *metrics)
{
    return metrics == NULL ? NULL : &metrics->handle;
}

ace_metrics *ace_metrics_keep(ace_metrics *metrics)
{
    ace_handle_retain(&metrics->handle);
    return metrics;
}

void ace_metrics_release(ace_metrics *metrics)
{
    if (metrics == NULL || !ace_handle_release(&metrics->handle)) {
        return;
    }
    if (metrics->destructor != NULL) {
        metrics->destructor(metrics->user);
    }
    ace_series_free_all(metrics);
    ace_mutex_destroy(&metrics->mutex);
    free(metrics);
}

static void put_into_bucket(ace_series *series, ace_metric_kind kind, double value)
{
    size_t count;
    const double *bounds = ace_metric_buckets(kind, &count);
    size_t i = 0;
    while (i < count && value > bounds[i]) {
        i++;
    }
    series->buckets[i]++;
}

/* With the lock held. Returns what an observer is told. */
static double apply(ace_series *series, ace_metric_kind kind, double value, bool absolute)
{
    series->count++;
    series->value = absolute ? value : series->value + value;
    if (series->buckets != NULL) {
        put_into_bucket(series, kind, value);
    }
    return kind == ACE_METRIC_GAUGE ? series->value : value;
}

static void tell(const ace_metrics *metrics, const ace_series *series, double value)
{
    const ace_metric_form *form = ace_metric_form_of(series->metric);
    ace_observation observation = {
        .name = form->name, .kind = form->kind, .value = value, .label_count = form->label_count};
    for (size_t i = 0; i < form->label_count; i++) {
        observation.labels[i] = (ace_metric_label){form->labels[i], series->values[i]};
    }
    metrics->observer(&observation, metrics->user);
}

static void observe(ace_metrics *metrics, ace_metric metric, const ace_bytes *labels, double value,
                    bool absolute)
{
    if (metrics == NULL) {
        return;
    }
    double told = 0;
    ace_mutex_lock(&metrics->mutex);
    ace_series *series = ace_series_find(metrics, metric, labels);
    if (series != NULL) {
        told = apply(series, ace_metric_form_of(metric)->kind, value, absolute);
    } else {
        metrics->lost++;
    }
    ace_mutex_unlock(&metrics->mutex);
    if (series != NULL && metrics->observer != NULL) {
        tell(metrics, series, told); /* what it is told of a series never changes */
    }
}

void ace_metrics_add(ace_metrics *metrics, ace_metric metric, const ace_bytes *labels, double value)
{
    observe(metrics, metric, labels, value, false);
}

void ace_metrics_set(ace_metrics *metrics, ace_metric metric, const ace_bytes *labels, double value)
{
    observe(metrics, metric, labels, value, true);
}

void ace_metrics_count(ace_metrics *metrics, ace_metric metric, const char *first,
                       const char *second, double value)
{
    ace_bytes labels[ACE_METRIC_LABELS] = {ace_bytes_of(first), ace_bytes_of(second), {NULL, 0}};
    observe(metrics, metric, labels, value, false);
}

int64_t ace_metrics_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
