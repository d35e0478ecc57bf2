/* The driver's side of docs/conformance.md: requests, their parameters, and answers. */
#ifndef CONFORMANCE_PROTOCOL_H
#define CONFORMANCE_PROTOCOL_H

#include <acemq/acemq.h>
#include <jansson.h>

/* A request under way. A verb returns its result, owned by whoever called it; NULL says that
 * refuse(), unsupported() or failed() was called. */
typedef struct driver_request {
    const json_t *with;
    json_t *answer;
} driver_request;

typedef json_t *(*verb_run)(driver_request *request);

typedef struct driver_verb {
    const char *name;
    verb_run run;
    /* the parameters it knows, with spaces around each */
    const char *parameters;
} driver_verb;

extern const driver_verb rule_verbs[], text_verbs[], body_verbs[], plan_verbs[], client_verbs[],
    consume_verbs[], claim_verbs[], ordered_verbs[], outbox_verbs[];

/* Answers an error of the library and frees it. */
json_t *failed(driver_request *request, acemq_error *error);
json_t *refuse(driver_request *request, const char *name, const char *message);
json_t *unsupported(driver_request *request, const char *why);

/* Parameters: NULL or `other` where it is absent, or null. */
const char *text_of(const driver_request *request, const char *name);
int64_t number_of(const driver_request *request, const char *name, int64_t other);
double fraction_of(const driver_request *request, const char *name, double other);
int flag_of(const driver_request *request, const char *name);
const json_t *member_of(const driver_request *request, const char *name);

/* The policy of a parameter: *policy is NULL for none. False when it does not read. */
int policy_of(driver_request *request, const char *name, acemq_policy **policy);
/* The table of a parameter, empty when absent. NULL when it does not read. */
acemq_table *table_of(driver_request *request, const json_t *value);

/* "body", or "bodyBase64" of an object; owned, freed with free(). Absent: empty. NULL when it is no
 * base64. */
void *body_of(const json_t *object, size_t *length);
void set_body(json_t *object, const void *data, size_t length);
/* The same for the member `name` whose value is base64. */
void *base64_of(const char *text, size_t *length);
void set_base64(json_t *object, const char *name, acemq_bytes bytes);

/* What the library says, as JSON. */
json_t *table_json(const acemq_table *table, int typed);
json_t *envelope_json(const acemq_envelope *envelope);
json_t *delivery_json(const acemq_delivery *delivery);

/* The one connection; NULL, and answered, when there is none. */
acemq_connection *client(driver_request *request);
void client_end(void);

/* The store named by `where`: kept until the next connect. NULL, and answered, when it does not
 * open. */
acemq_idempotency *claims_of(driver_request *request, const char *where);
void claims_end(void);

/* The message that the parameter "message" describes; NULL, and answered. */
acemq_message *message_of(driver_request *request);

#endif
