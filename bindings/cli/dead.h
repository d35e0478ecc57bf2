/* `acemq dead`: what its actions share. */
#ifndef CLI_DEAD_H
#define CLI_DEAD_H

#include "command.h"

#include <acemq/connection.h>
#include <acemq/names.h>

/* Dead letters that were read from a file. */
typedef struct cli_import cli_import;

typedef struct cli_dead {
    const cli_call *call;
    acemq_connection *mq;
    const char *queue;                   /* whose dead letters they are */
    char failure_queue[ACEMQ_NAME_SIZE]; /* where they lie */
    const char *file;                    /* NULL: standard input or output */
    cli_import *import;                  /* owned; NULL but for import */
} cli_dead;

/* All lines of the file. Owned, freed with cli_import_free(). NULL, and said why, with *status an
 * exit status, when one of them does not read: nothing of it is published then. */
cli_import *cli_import_read(const cli_call *call, const char *file, int *status);
/* Publishes them into the failure queue. An exit status. */
int cli_import_publish(const cli_dead *dead);
void cli_import_free(cli_import *import);

#endif
