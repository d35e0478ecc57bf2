#include "command.h"
static int run(const cli_call *call)
{
    (void)call;
    return CLI_FAILED;
}
static const cli_option options[] = {{.name = NULL}};
const cli_command cli_command_demo = {
    .name = "demo", .usage = "", .summary = "x", .details = "", .options = options, .run = run};
