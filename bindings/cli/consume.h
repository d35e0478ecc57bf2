/* The running of `acemq consume`: one consumer, shared by a thread for each member. */
#ifndef CLI_CONSUME_H
#define CLI_CONSUME_H

#include <acemq/consumer.h>

#include <stdbool.h>

typedef struct cli_consume_settings {
    const char *queue;
    const char *command; /* NULL: messages are printed */
    bool to_stderr;      /* where they are printed */
    int64_t members;
    int64_t most; /* messages; 0: no limit */
    int64_t idle; /* ms without work after which it ends; -1: never */
    acemq_consumer_options options;
} cli_consume_settings;

/* Consumes until the user wants an end, there was nothing to do for `idle`, `most` messages were
 * handled, or it fails, which is said on standard error: false then. What is not settled by then
 * went back. *counters are those of all members together, set in any case. */
bool cli_consume(acemq_connection *mq, const cli_consume_settings *settings,
                 acemq_consumer_counters *counters);

#endif
