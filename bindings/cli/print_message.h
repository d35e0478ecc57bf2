/* A message for the eyes of a person. */
#ifndef CLI_PRINT_MESSAGE_H
#define CLI_PRINT_MESSAGE_H

#include <acemq/delivery.h>

#include <stdio.h>

/* Id, type, attempt, headers and at most `most` bytes of the body. What a terminal would take for a
 * command is shown as dots. */
void cli_print_message(FILE *stream, const acemq_delivery *delivery, size_t most);

#endif
