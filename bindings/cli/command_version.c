#include "command.h"
#include "json.h"
#include "output.h"

#include <acemq/version.h>

static const struct {
    const char *member;
    const char *name;
} dependencies[] = {
    {"rabbitmqC", "rabbitmq-c"},
    {"openssl", "openssl"},
    {"lmdb", "lmdb"},
    {"msgpack", "msgpack"},
};

static void print_json(void)
{
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_text(&json, "library", acemq_version());
    cli_json_member_integer(&json, "abi", acemq_abi_version());
    for (size_t i = 0; i < sizeof dependencies / sizeof dependencies[0]; i++) {
        cli_json_member_text(&json, dependencies[i].member,
                             acemq_dependency_version(dependencies[i].name));
    }
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static int run(const cli_call *call)
{
    if (call->json) {
        print_json();
        return CLI_DONE;
    }
    printf("acemq %s, ABI %d\n", acemq_version(), acemq_abi_version());
    for (size_t i = 0; i < sizeof dependencies / sizeof dependencies[0]; i++) {
        const char *version = acemq_dependency_version(dependencies[i].name);
        printf("  %-12s %s\n", dependencies[i].name, version == NULL ? "not used" : version);
    }
    return CLI_DONE;
}

static const cli_option options[] = {{.name = NULL}};

const cli_command cli_command_version = {
    .name = "version",
    .usage = "",
    .summary = "Print the versions of the library and of what is under it",
    .details = "With --json: {\"library\", \"abi\", \"rabbitmqC\", \"openssl\", \"lmdb\", "
               "\"msgpack\"};\nwhat this build does not use is null.\n",
    .options = options,
    .run = run,
};
