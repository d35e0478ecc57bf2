#include "metrics.h"

#include "arguments.h"
#include "client.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_RELEASE ACE_SIZE_UP_TO(acemq_metrics_options, destructor)
#define SERIES_MOST   1000000

static const acemq_metrics_options defaults = ACEMQ_METRICS_OPTIONS_INIT;

_Static_assert((int)ACEMQ_METRIC_COUNTER == (int)ACE_METRIC_COUNTER &&
                   (int)ACEMQ_METRIC_GAUGE == (int)ACE_METRIC_GAUGE &&
                   (int)ACEMQ_METRIC_DURATION == (int)ACE_METRIC_DURATION &&
                   (int)ACEMQ_METRIC_DISTRIBUTION == (int)ACE_METRIC_DISTRIBUTION,
               "one numbering of the kinds of metrics");

acemq_status acemq_metrics_options_init(acemq_metrics_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

const char *acemq_observation_name(const acemq_observation *observation)
{
    return observation == NULL ? "" : observation->name;
}

acemq_metric_kind acemq_observation_kind(const acemq_observation *observation)
{
    return observation == NULL ? (acemq_metric_kind)0 : (acemq_metric_kind)observation->kind;
}

double acemq_observation_value(const acemq_observation *observation)
{
    return observation == NULL ? 0 : observation->value;
}

size_t acemq_observation_label_count(const acemq_observation *observation)
{
    return observation == NULL ? 0 : observation->label_count;
}

const char *acemq_observation_label(const acemq_observation *observation, size_t index)
{
    return index < acemq_observation_label_count(observation) ? observation->labels[index].name
                                                              : NULL;
}

const char *acemq_observation_label_value(const acemq_observation *observation, size_t index)
{
    return index < acemq_observation_label_count(observation) ? observation->labels[index].value
                                                              : NULL;
}

static ace_code check(const acemq_metrics *metrics, ace_error **error)
{
    return ace_handle_check(ace_metrics_handle(metrics), ACE_METRICS_MAGIC, "metrics", error);
}

acemq_status acemq_metrics_new(const acemq_metrics_options *options, acemq_metrics **metrics,
                               acemq_error **error)
{
    acemq_metrics_options read = defaults;
    ace_code code = ace_argument_present(metrics, "metrics", error);
    if (code == ACE_OK && options != NULL) {
        code = ace_options_read(options, sizeof read, FIRST_RELEASE, &read, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.series_limit, 1, SERIES_MOST, "series_limit", error);
    }
    if (code == ACE_OK) {
        code = ace_metrics_new((size_t)read.series_limit, read.observer, read.user, read.destructor,
                               metrics, error);
    }
    return (acemq_status)code;
}

void acemq_metrics_free(acemq_metrics *metrics)
{
    if (metrics != NULL && !ace_handle_is_foreign(ace_metrics_handle(metrics))) {
        ace_metrics_release(metrics);
    }
}

acemq_status acemq_metrics_watch(acemq_metrics *metrics, acemq_connection *connection,
                                 acemq_error **error)
{
    ace_code code = check(metrics, error);
    if (code == ACE_OK) {
        code = ace_connection_check(connection, error);
    }
    if (code == ACE_OK) {
        code = ace_connection_measure(connection, metrics, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_metrics_prometheus(acemq_metrics *metrics, char **text, acemq_error **error)
{
    ace_code code = check(metrics, error);
    if (code == ACE_OK) {
        code = ace_argument_present(text, "text", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_buffer written = ACE_BUFFER_INIT;
    code = ace_metrics_prometheus(metrics, &written, error);
    if (code == ACE_OK && (*text = ace_buffer_take_text(&written)) == NULL) {
        code = ace_fail_memory(error);
    }
    ace_buffer_free(&written);
    return (acemq_status)code;
}

/* --- as events --- */

typedef struct kept_observation {
    acemq_observation observation;
    char texts[];
} kept_observation;

static void *keep(const ace_observation *observation)
{
    size_t size = 0;
    for (size_t i = 0; i < observation->label_count; i++) {
        size += strlen(observation->labels[i].value) + 1;
    }
    kept_observation *kept = malloc(sizeof *kept + size);
    if (kept == NULL) {
        return NULL;
    }
    kept->observation = *observation;
    char *at = kept->texts;
    for (size_t i = 0; i < observation->label_count; i++) {
        size_t length = strlen(observation->labels[i].value) + 1;
        memcpy(at, observation->labels[i].value, length);
        kept->observation.labels[i].value = at;
        at += length;
    }
    return kept;
}

/* `user` is the queue of the one connection that this registry watches, which ends after all that
 * it observes. */
static void put_event(const ace_observation *observation, void *user)
{
    void *kept = keep(observation);
    if (kept != NULL) {
        ace_events_put(user, &(ace_event){.kind = ACE_EVENT_METRIC,
                                          .wait = -1,
                                          .source = "",
                                          .attachment = kept,
                                          .attachment_release = free});
    }
}

ace_code ace_metrics_by_event(ace_connection *connection, ace_error **error)
{
    ace_metrics *metrics = NULL;
    ace_code code = ace_metrics_new(ACE_METRICS_SERIES_DEFAULT, put_event, connection->events, NULL,
                                    &metrics, error);
    if (code == ACE_OK) {
        code = ace_connection_measure(connection, metrics, error);
    }
    ace_metrics_release(metrics);
    return code;
}
