/* Conditions on messages, such as 'header.x-tenant=acme' and 'type=order.*'. */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include "command.h"

#include <acemq/delivery.h>

/* What --help says of them. */
#define CLI_FILTER_HELP                                                                            \
    "A filter is FIELD=PATTERN; FIELD is id, type, correlation, causation, origin, error,\n"       \
    "contentType or header.NAME. In PATTERN * stands for anything, ? for one character and\n"      \
    "[abc] for one of these. Several filters: all must hold. What is absent matches none.\n"

/* False, and said why, when one of the conditions is none. */
bool cli_filters_check(const cli_call *call, const cli_list *filters);

/* True when all hold. */
bool cli_filters_match(const cli_list *filters, const acemq_delivery *delivery);

#endif
