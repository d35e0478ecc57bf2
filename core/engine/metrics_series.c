#include "engine/metrics_series.h"

#include "base/utf8.h"
#include "contract/partition.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_VALUE 255 /* bytes; AMQP's short strings */
#define OVERFLOW      "_other"

typedef struct series_key {
    size_t length;
    char texts[ACE_METRIC_LABELS * (LONGEST_VALUE + 1)];
} series_key;

static void append_value(series_key *key, ace_bytes value)
{
    char *at = key->texts + key->length;
    size_t length = value.length < LONGEST_VALUE ? value.length : LONGEST_VALUE;
    if (length > 0) {
        memcpy(at, value.data, length);
    }
    at[length] = '\0';
    at[ace_utf8_cut(at, strlen(at), LONGEST_VALUE)] = '\0';
    ace_utf8_clean_line(at);
    key->length += strlen(at) + 1;
}

static void make_key(series_key *key, ace_metric metric, const ace_bytes *labels)
{
    key->length = 0;
    for (size_t i = 0; i < ace_metric_form_of(metric)->label_count; i++) {
        append_value(key, labels[i]);
    }
}

/* Few values each, and what an alarm looks at: these stay. */
static bool is_bounded(const char *label)
{
    return strcmp(label, "outcome") == 0 || strcmp(label, "where") == 0;
}

static void make_overflow_key(series_key *key, ace_metric metric, const ace_bytes *labels)
{
    const ace_metric_form *form = ace_metric_form_of(metric);
    key->length = 0;
    for (size_t i = 0; i < form->label_count; i++) {
        append_value(key, is_bounded(form->labels[i]) ? labels[i] : ace_bytes_of(OVERFLOW));
    }
}

static ace_series **chain_of(ace_metrics *metrics, ace_metric metric, const series_key *key)
{
    uint32_t hash = ace_fnv1a_32((ace_bytes){(const uint8_t *)key->texts, key->length});
    return &metrics->table[(hash + (uint32_t)metric * 31) % ACE_METRIC_TABLE];
}

static ace_series *look_up(ace_metrics *metrics, ace_metric metric, const series_key *key)
{
    for (ace_series *found = *chain_of(metrics, metric, key); found != NULL; found = found->next) {
        if (found->metric == metric && found->length == key->length &&
            memcmp(found->texts, key->texts, key->length) == 0) {
            return found;
        }
    }
    return NULL;
}

static ace_series *make_series(ace_metrics *metrics, ace_metric metric, const series_key *key)
{
    const ace_metric_form *form = ace_metric_form_of(metric);
    size_t bounds;
    (void)ace_metric_buckets(form->kind, &bounds);
    ace_series *made = calloc(1, sizeof *made + key->length);
    if (made == NULL) {
        return NULL;
    }
    if (bounds > 0 && (made->buckets = calloc(bounds + 1, sizeof *made->buckets)) == NULL) {
        free(made);
        return NULL;
    }
    made->metric = metric;
    made->length = key->length;
    memcpy(made->texts, key->texts, key->length);
    const char *at = made->texts;
    for (size_t i = 0; i < form->label_count; i++) {
        made->values[i] = at;
        at += strlen(at) + 1;
    }
    ace_series **chain = chain_of(metrics, metric, key);
    made->next = *chain;
    *chain = made;
    ace_list_append(&metrics->series[metric], &made->node);
    return made;
}

ace_series *ace_series_find(ace_metrics *metrics, ace_metric metric, const ace_bytes *labels)
{
    series_key key;
    make_key(&key, metric, labels);
    ace_series *found = look_up(metrics, metric, &key);
    if (found == NULL && metrics->series[metric].count >= metrics->limit) {
        make_overflow_key(&key, metric, labels);
        found = look_up(metrics, metric, &key);
    }
    return found != NULL ? found : make_series(metrics, metric, &key);
}

void ace_series_free_all(ace_metrics *metrics)
{
    for (int metric = 0; metric < ACE_METRICS; metric++) {
        ace_link_node *node;
        while ((node = ace_list_take_first(&metrics->series[metric])) != NULL) {
            ace_series *series = ACE_RECORD(node, ace_series, node);
            free(series->buckets);
            free(series);
        }
    }
}
