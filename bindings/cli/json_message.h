/* Whole messages as JSON: envelopes, properties, bodies. */
#ifndef CLI_JSON_MESSAGE_H
#define CLI_JSON_MESSAGE_H

#include "json.h"
#include "json_members.h"

#include <acemq/delivery.h>
#include <acemq/message.h>

/* The members of an envelope; an absent one is null. */
void cli_json_envelope(cli_json *json, const acemq_envelope *envelope);

/* A message as `acemq peek` prints it: {"envelope", "headers", "properties", and "body" or
 * "bodyBase64"}. */
void cli_json_delivery(cli_json *json, const acemq_delivery *delivery);

/* A message as `acemq dead export` writes it, with every header in its type: {"properties",
 * "headers", and "body" or "bodyBase64"}. */
void cli_json_export(cli_json *json, const acemq_delivery *delivery);

/* The message of such an object, to be published as it lay in its queue. Owned; NULL with the
 * fault. */
acemq_message *cli_json_import(acemq_bytes object, cli_fault *fault);

#endif
