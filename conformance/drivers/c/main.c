/* The library through its public C headers, spoken to in JSON lines (docs/conformance.md). */
#include "protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const driver_verb *const all[] = {rule_verbs,  text_verbs,    body_verbs,
                                         plan_verbs,  client_verbs,  consume_verbs,
                                         claim_verbs, ordered_verbs, outbox_verbs};
enum { groups = sizeof all / sizeof all[0] };

static void say(json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    if (!text || printf("%s\n", text) < 0 || fflush(stdout)) {
        exit(1);
    }
    free(text);
    json_decref(line);
}

static void say_hello(void)
{
    json_t *verbs = json_array();
    for (size_t group = 0; group < groups; group++) {
        for (const driver_verb *verb = all[group]; verb->name; verb++) {
            json_array_append_new(verbs, json_string(verb->name));
        }
    }
    say(json_pack("{s:{s:i,s:s,s:s,s:o}}", "hello", "protocol", 1, "name", "c", "version",
                  acemq_version(), "verbs", verbs));
}

static const driver_verb *verb_named(const char *name)
{
    for (size_t group = 0; name && group < groups; group++) {
        for (const driver_verb *verb = all[group]; verb->name; verb++) {
            if (strcmp(verb->name, name) == 0) {
                return verb;
            }
        }
    }
    return NULL;
}

/* The first parameter that the verb does not know. */
static const char *unknown_parameter(const driver_verb *verb, const json_t *with)
{
    const char *name;
    json_t *value;
    char wanted[66];
    json_object_foreach((json_t *)with, name, value)
    {
        snprintf(wanted, sizeof wanted, " %.63s ", name);
        if (!strstr(verb->parameters, wanted)) {
            return name;
        }
    }
    return NULL;
}

static void answer(const json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "do"));
    const driver_verb *verb = verb_named(name);
    driver_request request = {.with = json_object_get(line, "with")};
    json_t *result = NULL;
    char why[128];
    const char *stranger = verb ? unknown_parameter(verb, request.with) : NULL;
    if (!verb || stranger) {
        snprintf(why, sizeof why, "the %s %.80s is not known here", verb ? "parameter" : "verb",
                 verb   ? stranger
                 : name ? name
                        : "");
        unsupported(&request, why);
    } else {
        result = verb->run(&request);
    }
    if (!request.answer) {
        request.answer = json_pack("{s:o}", "ok", result ? result : json_object());
    }
    json_object_set(request.answer, "id", json_object_get(line, "id"));
    say(request.answer);
}

int main(void)
{
    char *text = NULL;
    size_t room = 0;
    say_hello();
    while (getline(&text, &room, stdin) > 0) {
        json_error_t at;
        json_t *line = json_loads(text, JSON_ALLOW_NUL, &at);
        if (!line) {
            fprintf(stderr, "a line that is no JSON: %s\n", at.text);
            return 1;
        }
        answer(line);
        json_decref(line);
    }
    free(text);
    client_end();
    return 0;
}
