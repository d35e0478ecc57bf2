/* What the metrics are called, and what each is labelled with. */
#ifndef ACE_ENGINE_METRICS_NAMES_H
#define ACE_ENGINE_METRICS_NAMES_H

#include "engine/metrics.h"

typedef struct ace_metric_form {
    const char *name;    /* of the contract */
    const char *exposed; /* Prometheus' name */
    const char *help;
    ace_metric_kind kind;
    size_t label_count;
    const char *labels[ACE_METRIC_LABELS];
} ace_metric_form;

const ace_metric_form *ace_metric_form_of(ace_metric metric);

/* Upper bounds of the buckets, ascending, without the last one that takes all. */
const double *ace_metric_buckets(ace_metric_kind kind, size_t *count);

#endif
