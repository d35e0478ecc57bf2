#include "engine/publisher_record.h"

static const char *outcome_of(ace_code code)
{
    switch (code) {
    case ACE_OK:
        return "confirmed";
    case ACE_UNROUTABLE:
        return "unroutable";
    case ACE_REFUSED:
        return "refused";
    default:
        return "failed";
    }
}

void ace_publisher_measure(ace_publisher *publisher, ace_metrics *metrics)
{
    atomic_store(&publisher->metrics, metrics);
}

void ace_publish_measure_begin(ace_publish *publish)
{
    bool measured =
        publish->lane != ACE_PUBLISH_HOP &&
        atomic_load_explicit(&publish->publisher->metrics, memory_order_acquire) != NULL;
    publish->submitted = measured ? ace_metrics_now() : 0;
}

void ace_publish_measure_end(const ace_publish *publish)
{
    if (publish->submitted == 0) {
        return;
    }
    ace_metrics *metrics = atomic_load(&publish->publisher->metrics);
    ace_bytes labels[] = {publish->outstanding.exchange, publish->outstanding.routing_key,
                          ace_bytes_of(outcome_of(publish->code))};
    ace_metrics_add(metrics, ACE_METRIC_PUBLISH_TOTAL, labels, 1);
    ace_metrics_add(metrics, ACE_METRIC_PUBLISH_DURATION, labels,
                    (double)(ace_metrics_now() - publish->submitted) / 1e6);
}

void ace_publisher_measure_unsent(ace_publisher *publisher, const char *exchange,
                                  const char *routing_key, ace_code code)
{
    ace_bytes labels[] = {ace_bytes_of(exchange), ace_bytes_of(routing_key),
                          ace_bytes_of(outcome_of(code))};
    ace_metrics_add(atomic_load(&publisher->metrics), ACE_METRIC_PUBLISH_TOTAL, labels, 1);
}
