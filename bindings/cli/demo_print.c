#include "demo_print.h"

#include "output.h"

#include <inttypes.h>

#define ROW "%-48s %-13s %7s  %s"

void cli_demo_print_head(cli_json *json, bool as_json, const char *policy)
{
    if (as_json) {
        cli_json_object(json);
        cli_json_name(json, "steps");
        cli_json_array(json);
        return;
    }
    printf("Four orders, and a consumer with the retry policy %s.\n\n", policy);
    printf("%s" ROW "%s\n", cli_bold(stdout), "what", "outcome", "attempt", "queue",
           cli_plain(stdout));
}

static void write_step(cli_json *json, const cli_demo_step *step)
{
    cli_json_object(json);
    cli_json_member_text(json, "what", step->what);
    cli_json_member_text(json, "queue", step->queue);
    cli_json_member_text(json, "outcome", step->outcome);
    cli_json_name(json, "order");
    if (step->order > 0) {
        cli_json_integer(json, step->order);
    } else {
        cli_json_null(json);
    }
    cli_json_name(json, "attempt");
    if (step->attempt > 0) {
        cli_json_integer(json, step->attempt);
    } else {
        cli_json_null(json);
    }
    cli_json_member_text(json, "id", step->id);
    cli_json_member_text(json, "meaning", step->meaning);
    cli_json_name(json, "ok");
    cli_json_boolean(json, step->ok);
    cli_json_end_object(json);
}

static void print_step(const cli_demo_step *step)
{
    char attempt[16] = "";
    if (step->attempt > 0) {
        snprintf(attempt, sizeof attempt, "%" PRId32, step->attempt);
    }
    const char *colour = step->ok ? cli_green(stdout) : cli_red(stdout);
    printf("%s" ROW "%s\n", colour, step->what, step->outcome, attempt, step->queue,
           cli_plain(stdout));
    printf("  %s%s\n", step->ok ? "" : "NOT AS THE STORY GOES: ", step->meaning);
}

void cli_demo_print_step(cli_json *json, bool as_json, const cli_demo_step *step)
{
    if (as_json) {
        write_step(json, step);
    } else {
        print_step(step);
    }
    (void)fflush(stdout); /* told as it happens */
}

void cli_demo_print_end(cli_json *json, bool as_json, bool ok)
{
    if (!as_json) {
        printf("\n%s\n", ok ? "All of it happened as it should: no order was lost, and the one "
                              "that cannot be read is kept for a person."
                            : "Something did not happen as it should.");
        return;
    }
    cli_json_end_array(json);
    cli_json_name(json, "ok");
    cli_json_boolean(json, ok);
    cli_json_end_object(json);
    cli_json_end(json);
}
