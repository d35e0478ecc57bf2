#include "command.h"
#include "json.h"
#include "options.h"
#include "output.h"

#include <acemq/time.h>

#include <inttypes.h>

static int run(const cli_call *call)
{
    acemq_error *error = NULL;
    int64_t seconds;
    int32_t nanoseconds;
    if (acemq_time_parse(call->arguments[0], &seconds, &nanoseconds, &error) != ACEMQ_OK) {
        cli_fail(error);
        return CLI_WRONG_USE;
    }
    if (!call->json) {
        printf("%" PRId64 " s and %" PRId32 " ns since 1970\n", seconds, nanoseconds);
        return CLI_DONE;
    }
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_integer(&json, "seconds", seconds);
    cli_json_member_integer(&json, "nanoseconds", nanoseconds);
    cli_json_end_object(&json);
    cli_json_end(&json);
    return CLI_DONE;
}

static const cli_option options[] = {{.name = NULL}};

const cli_command cli_command_time = {
    .name = "time",
    .usage = "TEXT",
    .summary = "Read an RFC 3339 time, strictly",
    .details =
        "Exact widths, real dates of the years 0001 to 9999, T and Z in capitals, an offset or Z,\n"
        "nothing before or after. What does not read was used wrongly: exit status 2.\n\n"
        "With --json: {\"seconds\", \"nanoseconds\"}; seconds since 1970 are the floor, "
        "nanoseconds\n"
        "0 to 999999999: half a second before 1970 is -1 and 500000000. Digits past the ninth are\n"
        "cut.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
