/*
 * What is counted and timed, under the names of section 15 of the contract. A registry serves any
 * number of connections; a connection that has none pays one look at a pointer.
 *
 * Every combination of labels is a series of its own. Of each metric there are at most as many as
 * the registry's limit: what would be one more counts with `_other` in the place of every label but
 * `outcome` and `where`, of which there are few. All functions are thread-safe.
 */
#ifndef ACE_ENGINE_METRICS_H
#define ACE_ENGINE_METRICS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/handle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACE_METRICS_MAGIC          ACE_MAGIC('M', 'T', 'R', 'C')
#define ACE_METRICS_SERIES_DEFAULT 1000
#define ACE_METRIC_LABELS          3 /* at most */

/* The labels of each, in their order, stand behind it. */
typedef enum ace_metric {
    ACE_METRIC_PUBLISH_TOTAL,          /* exchange, routing key, outcome */
    ACE_METRIC_PUBLISH_DURATION,       /* the same */
    ACE_METRIC_CONSUME_TOTAL,          /* queue, outcome */
    ACE_METRIC_CONSUME_DURATION,       /* the same */
    ACE_METRIC_CONSUME_ATTEMPTS,       /* queue */
    ACE_METRIC_CONSUME_IN_FLIGHT,      /* queue */
    ACE_METRIC_MESSAGES_RETRIED,       /* queue, where */
    ACE_METRIC_MESSAGES_DEAD_LETTERED, /* queue, outcome */
    ACE_METRIC_SET_ASIDE_FAILED,       /* queue, target */
    ACE_METRIC_RUNG_MISSING,           /* queue, rung */
    ACE_METRIC_OUTBOX_TOTAL,           /* outcome */
    ACE_METRIC_OUTBOX_LAG,             /* none; seconds that the oldest pending row has waited */
    ACE_METRIC_REQUEST_TOTAL,          /* exchange, routing key, outcome */
    ACE_METRIC_REQUEST_DURATION,       /* the same */
    ACE_METRICS,
} ace_metric;

typedef enum ace_metric_kind {
    ACE_METRIC_COUNTER = 1,
    ACE_METRIC_GAUGE = 2,
    ACE_METRIC_DURATION = 3,     /* seconds */
    ACE_METRIC_DISTRIBUTION = 4, /* of numbers without a unit */
} ace_metric_kind;

typedef struct ace_metric_label {
    const char *name; /* static, as the contract has it: "routing.key" */
    const char *value;
} ace_metric_label;

/* One observation, borrowed for the call. */
typedef struct acemq_observation {
    const char *name; /* static, as the contract has it */
    ace_metric_kind kind;
    double value; /* what a counter grew by; a gauge as it is now; a duration in seconds */
    size_t label_count;
    ace_metric_label labels[ACE_METRIC_LABELS];
} ace_observation;

typedef void ace_metrics_observer(const ace_observation *observation, void *user);

typedef struct acemq_metrics ace_metrics; /* counted */

/* One reference. `series_limit` is for each metric, from 1. `observer` may be NULL; it is called on
 * the thread that observes, without a lock, and `destructor` with the last reference. */
ace_code ace_metrics_new(size_t series_limit, ace_metrics_observer *observer, void *user,
                         void (*destructor)(void *user), ace_metrics **metrics, ace_error **error);
const ace_handle *ace_metrics_handle(const ace_metrics *metrics); /* NULL for NULL */
ace_metrics *ace_metrics_keep(ace_metrics *metrics);
void ace_metrics_release(ace_metrics *metrics); /* NULL is fine */

/* `labels` are as many as the metric has, in its order. A counter grows by `value`, a gauge changes
 * by it, of a duration (seconds) or a distribution it is one observation. `metrics` may be NULL.
 * Without memory for a new series the observation is lost, and counted. */
void ace_metrics_add(ace_metrics *metrics, ace_metric metric, const ace_bytes *labels,
                     double value);
/* A gauge is now `value`. */
void ace_metrics_set(ace_metrics *metrics, ace_metric metric, const ace_bytes *labels,
                     double value);
/* The same with texts, of which the metric has at most two. */
void ace_metrics_count(ace_metrics *metrics, ace_metric metric, const char *first,
                       const char *second, double value);

/* Prometheus' text format, appended. ACE_OUT_OF_MEMORY. */
ace_code ace_metrics_prometheus(ace_metrics *metrics, ace_buffer *text, ace_error **error);

/* Microseconds of the machine's monotonic clock: a duration is real time, whatever clock the
 * connection runs on. */
int64_t ace_metrics_now(void);

#endif
