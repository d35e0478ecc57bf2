/* The table, or the JSON, in which `acemq demo` tells what happened. */
#ifndef CLI_DEMO_PRINT_H
#define CLI_DEMO_PRINT_H

#include "json.h"

#include <stdbool.h>
#include <stdint.h>

/* One line of it. */
typedef struct cli_demo_step {
    const char *what;
    const char *queue;
    const char *outcome;
    const char *meaning;
    int order;       /* 0: none of them */
    int32_t attempt; /* 0: none */
    const char *id;  /* NULL: none */
    bool ok;         /* as the story goes */
} cli_demo_step;

void cli_demo_print_head(cli_json *json, bool as_json, const char *policy);
void cli_demo_print_step(cli_json *json, bool as_json, const cli_demo_step *step);
void cli_demo_print_end(cli_json *json, bool as_json, bool ok);

#endif
