/* The way to the broker: which URL, and a client that tells in the log what happens to it. */
#ifndef CLI_CONNECT_H
#define CLI_CONNECT_H

#include "command.h"

#include <acemq/connection.h>

/* What a connection may take to be made, and what a call of a command may take. */
#define CLI_CONNECT_TIMEOUT (10 * ACEMQ_SECOND)
#define CLI_CALL_TIMEOUT    (30 * ACEMQ_SECOND)

/* --url, else --url-file, else ACEMQ_URL, else the broker of this machine. Owned, freed with
 * free(); NULL when it cannot be read, which is said on standard error then. */
char *cli_url(const cli_call *call);

/* Connects, with Ctrl-C ending every blocking call. CLI_DONE, or CLI_FAILED and said why. */
int cli_connect(const cli_call *call, acemq_connection **mq);

/* The same with the URL given. `timeout` is for all of it; errors are handed over. */
acemq_status cli_connect_to(const cli_call *call, const char *url, int64_t timeout,
                            acemq_connection **mq, acemq_error **error);

/* Closes in an orderly way and frees. NULL is fine. */
void cli_disconnect(acemq_connection *mq);
/* The same, and a broker that does not answer is waited for no longer than that, in ms. */
void cli_disconnect_within(acemq_connection *mq, int64_t timeout);

#endif
