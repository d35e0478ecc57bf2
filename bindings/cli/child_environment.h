/* What a command is told about its message, as environment variables. */
#ifndef CLI_CHILD_ENVIRONMENT_H
#define CLI_CHILD_ENVIRONMENT_H

#include <acemq/delivery.h>

/* Our own environment with the message's ACEMQ_ variables instead of those of that name, ending
 * with NULL. Owned, freed with cli_environment_free(); NULL when memory is gone. */
char **cli_environment(const acemq_delivery *delivery);
void cli_environment_free(char **environment);

#endif
