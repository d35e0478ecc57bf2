#include "child_environment.h"

#include <acemq/names.h>
#include <acemq/table.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST_VALUE ((size_t)64 * 1024) /* the kernel takes twice that in one variable */

static const char *const names[] = {
    "ACEMQ_ID",          "ACEMQ_TYPE",         "ACEMQ_VERSION",     "ACEMQ_ATTEMPT",
    "ACEMQ_CORRELATION", "ACEMQ_CAUSATION",    "ACEMQ_ORIGIN",      "ACEMQ_FIRST_SEEN",
    "ACEMQ_QUEUE",       "ACEMQ_EXCHANGE",     "ACEMQ_ROUTING_KEY", "ACEMQ_CONTENT_TYPE",
    "ACEMQ_REDELIVERED", "ACEMQ_REPLAY_COUNT", "ACEMQ_HEADERS",
};

#define NAME_COUNT (sizeof names / sizeof names[0])

/* True for the variables that are ours to set. */
static bool is_ours(const char *variable)
{
    for (size_t i = 0; i < NAME_COUNT; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(variable, names[i], length) == 0 && variable[length] == '=') {
            return true;
        }
    }
    return false;
}

typedef struct cli_building {
    char **variables;
    size_t count;
    bool failed;
} cli_building;

/* An absent value is an absent variable, and so is one that is too long for the kernel. */
static void add(cli_building *building, const char *name, const char *value)
{
    if (value == NULL || strlen(value) > LONGEST_VALUE) {
        return;
    }
    size_t size = strlen(name) + strlen(value) + 2;
    char *variable = malloc(size);
    if (variable == NULL) {
        building->failed = true;
        return;
    }
    snprintf(variable, size, "%s=%s", name, value);
    building->variables[building->count++] = variable;
}

static void add_number(cli_building *building, const char *name, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    add(building, name, text);
}

static void add_message(cli_building *building, const acemq_delivery *delivery)
{
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    char *headers = NULL;
    add(building, "ACEMQ_ID", acemq_envelope_id(envelope));
    add(building, "ACEMQ_TYPE", acemq_envelope_type(envelope));
    add_number(building, "ACEMQ_VERSION", acemq_envelope_version(envelope));
    add_number(building, "ACEMQ_ATTEMPT", acemq_envelope_attempt(envelope));
    add(building, "ACEMQ_CORRELATION", acemq_envelope_correlation(envelope));
    add(building, "ACEMQ_CAUSATION", acemq_envelope_causation(envelope));
    add(building, "ACEMQ_ORIGIN", acemq_envelope_origin(envelope));
    if (acemq_envelope_first_seen(envelope) > 0) {
        add_number(building, "ACEMQ_FIRST_SEEN", acemq_envelope_first_seen(envelope));
    }
    add(building, "ACEMQ_QUEUE", acemq_delivery_queue(delivery));
    add(building, "ACEMQ_EXCHANGE", acemq_delivery_exchange(delivery));
    add(building, "ACEMQ_ROUTING_KEY", acemq_delivery_routing_key(delivery));
    add(building, "ACEMQ_CONTENT_TYPE",
        acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE));
    add_number(building, "ACEMQ_REDELIVERED", acemq_delivery_redelivered(delivery));
    add_number(building, "ACEMQ_REPLAY_COUNT", acemq_envelope_replay_count(envelope));
    if (acemq_table_format_json(acemq_delivery_headers(delivery), 0, &headers, NULL) == ACEMQ_OK) {
        add(building, "ACEMQ_HEADERS", headers);
    }
    acemq_free(headers);
}

static size_t inherited_count(void)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    return count;
}

char **cli_environment(const acemq_delivery *delivery)
{
    cli_building building = {.count = 0};
    building.variables = calloc(inherited_count() + NAME_COUNT + 1, sizeof *building.variables);
    if (building.variables == NULL) {
        return NULL;
    }
    for (char **variable = environ; *variable != NULL; variable++) {
        if (!is_ours(*variable)) {
            char *copy = strdup(*variable);
            building.failed = building.failed || copy == NULL;
            building.variables[building.count] = copy;
            building.count += copy != NULL ? 1 : 0;
        }
    }
    add_message(&building, delivery);
    if (building.failed) {
        cli_environment_free(building.variables);
        return NULL;
    }
    return building.variables;
}

void cli_environment_free(char **environment)
{
    for (char **variable = environment; variable != NULL && *variable != NULL; variable++) {
        free(*variable);
    }
    free(environment);
}
