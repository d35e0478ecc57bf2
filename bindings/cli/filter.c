#include "filter.h"

#include "options.h"

#include <acemq/table.h>

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_PREFIX "header."

static const char *property_content_type(const acemq_delivery *delivery)
{
    return acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE);
}

static const struct {
    const char *field;
    const char *(*envelope)(const acemq_envelope *envelope);
    const char *(*delivery)(const acemq_delivery *delivery);
} fields[] = {
    {"id", acemq_envelope_id, NULL},
    {"type", acemq_envelope_type, NULL},
    {"correlation", acemq_envelope_correlation, NULL},
    {"causation", acemq_envelope_causation, NULL},
    {"origin", acemq_envelope_origin, NULL},
    {"error", acemq_envelope_error, NULL},
    {"contentType", NULL, property_content_type},
};

static const size_t field_count = sizeof fields / sizeof fields[0];

/* The field's index; field_count when it is none of them. `length` is that of its name. */
static size_t field_of(const char *filter, size_t length)
{
    size_t i = 0;
    while (i < field_count &&
           (strlen(fields[i].field) != length || strncmp(filter, fields[i].field, length) != 0)) {
        i++;
    }
    return i;
}

static bool is_header(const char *filter, size_t length)
{
    size_t prefix = strlen(HEADER_PREFIX);
    return length > prefix && strncmp(filter, HEADER_PREFIX, prefix) == 0;
}

bool cli_filters_check(const cli_call *call, const cli_list *filters)
{
    for (size_t i = 0; i < filters->count; i++) {
        const char *filter = filters->items[i];
        size_t length = strcspn(filter, "=");
        if (filter[length] == '\0' ||
            (!is_header(filter, length) && field_of(filter, length) == field_count)) {
            cli_wrong_use(call,
                          "--filter must be FIELD=PATTERN with FIELD one of id, type, correlation, "
                          "causation, origin, error, contentType and header.NAME, and not \"%s\"",
                          filter);
            return false;
        }
    }
    return true;
}

/* Not strndup(), which takes what it copies for a string: this has no NUL at its end. */
static char *copy_of(acemq_bytes bytes)
{
    char *text = malloc(bytes.length + 1);
    if (text != NULL) {
        memcpy(text, bytes.data, bytes.length);
        text[bytes.length] = '\0';
    }
    return text;
}

/* A header's value as text; owned. NULL for kinds that have none. */
static char *text_of(const acemq_value *value)
{
    acemq_bytes bytes;
    int64_t integer;
    double real;
    char text[40];
    if (acemq_value_bytes(value, &bytes)) {
        return copy_of(bytes);
    }
    if (acemq_value_kind(value) == ACEMQ_KIND_BOOL) {
        (void)acemq_value_integer(value, &integer);
        return strdup(integer != 0 ? "true" : "false");
    }
    if (acemq_value_integer(value, &integer)) {
        snprintf(text, sizeof text, "%" PRId64, integer);
        return strdup(text);
    }
    if (acemq_value_double(value, &real)) {
        snprintf(text, sizeof text, "%.15g", real);
        return strdup(text);
    }
    return NULL;
}

static bool header_matches(const char *filter, size_t length, const acemq_delivery *delivery)
{
    size_t prefix = strlen(HEADER_PREFIX);
    char *name = strndup(filter + prefix, length - prefix);
    const acemq_value *value =
        name == NULL ? NULL : acemq_table_get(acemq_delivery_headers(delivery), name);
    char *text = value == NULL ? NULL : text_of(value);
    bool matches = text != NULL && fnmatch(filter + length + 1, text, 0) == 0;
    free(text);
    free(name);
    return matches;
}

static bool matches(const char *filter, const acemq_delivery *delivery)
{
    size_t length = strcspn(filter, "=");
    if (is_header(filter, length)) {
        return header_matches(filter, length, delivery);
    }
    size_t i = field_of(filter, length);
    if (i == field_count) {
        return false;
    }
    const char *text = fields[i].envelope != NULL
                           ? fields[i].envelope(acemq_delivery_envelope(delivery))
                           : fields[i].delivery(delivery);
    return text != NULL && fnmatch(filter + length + 1, text, 0) == 0;
}

bool cli_filters_match(const cli_list *filters, const acemq_delivery *delivery)
{
    for (size_t i = 0; i < filters->count; i++) {
        if (!matches(filters->items[i], delivery)) {
            return false;
        }
    }
    return true;
}
