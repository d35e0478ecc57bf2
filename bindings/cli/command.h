/* A command: what it takes, what it does, and what --help says of it. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses, the same for every command. */
enum {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_WRONG_USE = 2,
};

/* The texts of an option that may be given several times. The items point into the command line. */
typedef struct cli_list {
    const char **items;
    size_t count;
} cli_list;

typedef enum cli_option_kind {
    CLI_FLAG,     /* target: bool */
    CLI_TEXT,     /* target: const char *, not empty */
    CLI_ANY_TEXT, /* target: const char *, may be empty */
    CLI_TEXTS,    /* target: cli_list */
    CLI_INTEGER,  /* target: int64_t, from least to most */
    CLI_DURATION, /* target: int64_t milliseconds, from least to most */
    CLI_CHOICE,   /* target: const char *, one of choices */
    CLI_POLICY,   /* target: acemq_policy *, owned by the target */
} cli_option_kind;

/* An option. A table of them ends with one whose name is NULL. The target holds the default. */
typedef struct cli_option {
    const char *name;  /* with its two dashes */
    const char *value; /* what --help calls its value; NULL for a flag */
    const char *help;
    cli_option_kind kind;
    void *target;
    int64_t least;
    int64_t most;
    const char *choices; /* parted by | */
} cli_option;

typedef struct cli_command cli_command;

/* A command as it was called. */
typedef struct cli_call {
    const cli_command *command;
    const char **arguments; /* what is not an option, in its order */
    size_t count;
    const char *url;
    const char *url_file;
    bool json;
} cli_call;

struct cli_command {
    const char *name;
    const char *usage;   /* of its arguments, such as "QUEUE [FILE]" */
    const char *summary; /* one line, for the list of commands */
    const char *details; /* for --help, below the options: ends with a newline */
    const cli_option *options;
    size_t least; /* arguments */
    size_t most;
    int (*run)(const cli_call *call);
};

extern const cli_command cli_command_version;
extern const cli_command cli_command_demo;
extern const cli_command cli_command_schedule;
extern const cli_command cli_command_time;
extern const cli_command cli_command_envelope;
extern const cli_command cli_command_publish;
extern const cli_command cli_command_consume;
extern const cli_command cli_command_pending;
extern const cli_command cli_command_peek;
extern const cli_command cli_command_replay;
extern const cli_command cli_command_dead;
extern const cli_command cli_command_topology;
extern const cli_command cli_command_broker;
extern const cli_command cli_command_idempotency;
extern const cli_command cli_command_schema;
extern const cli_command cli_command_top;
extern const cli_command cli_command_relay;
extern const cli_command cli_command_outbox;

#endif
