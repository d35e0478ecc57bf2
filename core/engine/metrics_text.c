/* The registry as Prometheus reads it: text format 0.0.4. */
#include "engine/metrics_series.h"

#include <inttypes.h>
#include <string.h>

#define MOST_IN_MILLIONTHS 9e12 /* that an int64_t counts */

static bool write_escaped(ace_buffer *text, const char *value)
{
    bool ok = true;
    for (; ok && *value != '\0'; value++) {
        const char *escape = *value == '\\'   ? "\\\\"
                             : *value == '"'  ? "\\\""
                             : *value == '\n' ? "\\n"
                                              : NULL;
        ok = escape != NULL ? ace_buffer_append_text(text, escape)
                            : ace_buffer_append(text, value, 1);
    }
    return ok;
}

static bool write_label_name(ace_buffer *text, const char *name)
{
    bool ok = true;
    for (; ok && *name != '\0'; name++) {
        ok = ace_buffer_append(text, *name == '.' ? "_" : name, 1);
    }
    return ok;
}

/* The labels in braces, with that of a bucket last; nothing when there are none. */
static bool write_labels(ace_buffer *text, const ace_series *series, const char *bound)
{
    const ace_metric_form *form = ace_metric_form_of(series->metric);
    const char *separator = "{";
    bool ok = true;
    for (size_t i = 0; ok && i < form->label_count; i++) {
        ok = ace_buffer_append_text(text, separator) && write_label_name(text, form->labels[i]) &&
             ace_buffer_append_text(text, "=\"") && write_escaped(text, series->values[i]) &&
             ace_buffer_append_text(text, "\"");
        separator = ",";
    }
    if (ok && bound != NULL) {
        ok = ace_buffer_format(text, "%sle=\"%s\"", separator, bound);
        separator = ",";
    }
    return ok && (strcmp(separator, "{") == 0 || ace_buffer_append_text(text, "}"));
}

/* Not by printf's fractions, whose point is the locale's. Microseconds are as fine as it gets. */
static bool write_decimal(ace_buffer *text, double number)
{
    if (number > MOST_IN_MILLIONTHS || number < -MOST_IN_MILLIONTHS) {
        return ace_buffer_format(text, "%.0f", number);
    }
    int64_t millionths = (int64_t)(number * 1e6 + (number < 0 ? -0.5 : 0.5));
    int64_t whole = millionths / 1000000;
    int fraction = (int)(millionths % 1000000);
    if (fraction < 0) {
        fraction = -fraction;
    }
    if (fraction == 0) {
        return ace_buffer_format(text, "%" PRId64, whole);
    }
    int digits = 6;
    for (; fraction % 10 == 0; fraction /= 10) {
        digits--;
    }
    return ace_buffer_format(text, "%s%" PRId64 ".%0*d", number < 0 && whole == 0 ? "-" : "", whole,
                             digits, fraction);
}

static bool write_number(ace_buffer *text, double number)
{
    return ace_buffer_append_text(text, " ") && write_decimal(text, number) &&
           ace_buffer_append_text(text, "\n");
}

static bool write_bucket(ace_buffer *text, const ace_series *series, const char *bound,
                         uint64_t count)
{
    return ace_buffer_format(text, "%s_bucket", ace_metric_form_of(series->metric)->exposed) &&
           write_labels(text, series, bound) && ace_buffer_format(text, " %" PRIu64 "\n", count);
}

static bool write_histogram(ace_buffer *text, const ace_series *series)
{
    const ace_metric_form *form = ace_metric_form_of(series->metric);
    size_t bounds;
    const double *bound = ace_metric_buckets(form->kind, &bounds);
    uint64_t count = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < bounds; i++) {
        ace_buffer name = ACE_BUFFER_INIT;
        count += series->buckets[i];
        ok = write_decimal(&name, bound[i]) && ace_buffer_append(&name, "", 1) &&
             write_bucket(text, series, (const char *)name.data, count);
        ace_buffer_free(&name);
    }
    return ok && write_bucket(text, series, "+Inf", series->count) &&
           ace_buffer_format(text, "%s_sum", form->exposed) && write_labels(text, series, NULL) &&
           write_number(text, series->value) &&
           ace_buffer_format(text, "%s_count", form->exposed) && write_labels(text, series, NULL) &&
           ace_buffer_format(text, " %" PRIu64 "\n", series->count);
}

static bool write_series(ace_buffer *text, const ace_series *series)
{
    if (series->buckets != NULL) {
        return write_histogram(text, series);
    }
    return ace_buffer_append_text(text, ace_metric_form_of(series->metric)->exposed) &&
           write_labels(text, series, NULL) && write_number(text, series->value);
}

static bool write_metric(ace_buffer *text, const ace_metrics *metrics, ace_metric metric)
{
    const ace_metric_form *form = ace_metric_form_of(metric);
    const ace_list *list = &metrics->series[metric];
    const char *type = form->kind == ACE_METRIC_COUNTER ? "counter"
                       : form->kind == ACE_METRIC_GAUGE ? "gauge"
                                                        : "histogram";
    if (ace_list_empty(list)) {
        return true;
    }
    bool ok = ace_buffer_format(text, "# HELP %s %s\n# TYPE %s %s\n", form->exposed, form->help,
                                form->exposed, type);
    for (ace_link_node *node = ace_list_first(list); ok && node != NULL;
         node = ace_list_next(list, node)) {
        ok = write_series(text, ACE_RECORD(node, ace_series, node));
    }
    return ok;
}

ace_code ace_metrics_prometheus(ace_metrics *metrics, ace_buffer *text, ace_error **error)
{
    bool ok = true;
    ace_mutex_lock(&metrics->mutex);
    for (int metric = 0; ok && metric < ACE_METRICS; metric++) {
        ok = write_metric(text, metrics, (ace_metric)metric);
    }
    ace_mutex_unlock(&metrics->mutex);
    return ok ? ACE_OK : ace_fail_memory(error);
}
