#include "engine/metrics_names.h"

#define PUBLISH_LABELS                                                                             \
    3,                                                                                             \
    {                                                                                              \
        "exchange", "routing.key", "outcome"                                                       \
    }

static const ace_metric_form forms[ACE_METRICS] = {
    [ACE_METRIC_PUBLISH_TOTAL] = {"acemq.publish.total", "acemq_publish_total",
                                  "Publishes that ended.", ACE_METRIC_COUNTER, PUBLISH_LABELS},
    [ACE_METRIC_PUBLISH_DURATION] = {"acemq.publish.duration", "acemq_publish_duration_seconds",
                                     "From handing a message over to its result.",
                                     ACE_METRIC_DURATION, PUBLISH_LABELS},
    [ACE_METRIC_CONSUME_TOTAL] = {"acemq.consume.total",
                                  "acemq_consume_total",
                                  "Deliveries that were settled.",
                                  ACE_METRIC_COUNTER,
                                  2,
                                  {"queue", "outcome"}},
    [ACE_METRIC_CONSUME_DURATION] = {"acemq.consume.duration",
                                     "acemq_consume_duration_seconds",
                                     "What a message's receiver took.",
                                     ACE_METRIC_DURATION,
                                     2,
                                     {"queue", "outcome"}},
    [ACE_METRIC_CONSUME_ATTEMPTS] = {"acemq.consume.attempts",
                                     "acemq_consume_attempts",
                                     "The attempt that each settled delivery was.",
                                     ACE_METRIC_DISTRIBUTION,
                                     1,
                                     {"queue"}},
    [ACE_METRIC_CONSUME_IN_FLIGHT] = {"acemq.consume.in.flight",
                                      "acemq_consume_in_flight",
                                      "Deliveries that are not settled, waits included.",
                                      ACE_METRIC_GAUGE,
                                      1,
                                      {"queue"}},
    [ACE_METRIC_MESSAGES_RETRIED] = {"acemq.messages.retried.total",
                                     "acemq_messages_retried_total",
                                     "Messages that will be tried again.",
                                     ACE_METRIC_COUNTER,
                                     2,
                                     {"queue", "where"}},
    [ACE_METRIC_MESSAGES_DEAD_LETTERED] = {"acemq.messages.dead.lettered.total",
                                           "acemq_messages_dead_lettered_total",
                                           "Messages that went to the dead letters or were parked.",
                                           ACE_METRIC_COUNTER,
                                           2,
                                           {"queue", "outcome"}},
    [ACE_METRIC_SET_ASIDE_FAILED] = {"acemq.messages.set.aside.failed",
                                     "acemq_messages_set_aside_failed_total",
                                     "Hops that failed and are repeated.",
                                     ACE_METRIC_COUNTER,
                                     2,
                                     {"queue", "target"}},
    [ACE_METRIC_RUNG_MISSING] = {"acemq.retry.rung.missing",
                                 "acemq_retry_rung_missing_total",
                                 "Hops to a rung that was not there.",
                                 ACE_METRIC_COUNTER,
                                 2,
                                 {"queue", "rung"}},
    [ACE_METRIC_OUTBOX_TOTAL] = {"acemq.outbox.total",
                                 "acemq_outbox_total",
                                 "Messages that the outbox relay dealt with.",
                                 ACE_METRIC_COUNTER,
                                 1,
                                 {"outcome"}},
    [ACE_METRIC_OUTBOX_LAG] = {"acemq.outbox.lag",
                               "acemq_outbox_lag_seconds",
                               "How long the oldest pending message has waited.",
                               ACE_METRIC_GAUGE,
                               0,
                               {NULL}},
    [ACE_METRIC_REQUEST_TOTAL] = {"acemq.request.total", "acemq_request_total",
                                  "Requests that ended.", ACE_METRIC_COUNTER, PUBLISH_LABELS},
    [ACE_METRIC_REQUEST_DURATION] = {"acemq.request.duration", "acemq_request_duration_seconds",
                                     "From a request to its reply.", ACE_METRIC_DURATION,
                                     PUBLISH_LABELS},
};

static const double seconds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                 0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
static const double numbers[] = {1, 2, 3, 4, 5, 10, 20, 50};

const ace_metric_form *ace_metric_form_of(ace_metric metric)
{
    return &forms[metric];
}

const double *ace_metric_buckets(ace_metric_kind kind, size_t *count)
{
    if (kind == ACE_METRIC_DURATION) {
        *count = sizeof seconds / sizeof *seconds;
        return seconds;
    }
    *count = kind == ACE_METRIC_DISTRIBUTION ? sizeof numbers / sizeof *numbers : 0;
    return numbers;
}
