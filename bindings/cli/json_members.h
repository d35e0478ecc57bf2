/* The members of a JSON object that was read, each as the text it is. Header tables are read by the
 * library, which takes integers that a JSON library does not. */
#ifndef CLI_JSON_MEMBERS_H
#define CLI_JSON_MEMBERS_H

#include <acemq/table.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* What is wrong with a document, fit to print. */
typedef struct cli_fault {
    char text[512];
} cli_fault;

/* Looks for the member `name` of the object that `json` is and no more than that: what stands
 * inside its values is not judged. False, with the fault, when it is no object. *value is borrowed
 * from `json`; NULL when there is no such member, or it is null. */
bool cli_json_member(acemq_bytes json, const char *name, acemq_bytes *value, cli_fault *fault);

/* The member as a header table, an empty one when it is absent. Owned; NULL with the fault. */
acemq_table *cli_json_member_table(acemq_bytes json, const char *name, cli_fault *fault);

/* The member as a value of any other kind. Owned; NULL when it is absent, or with a fault whose
 * text is not empty. */
json_t *cli_json_member_value(acemq_bytes json, const char *name, cli_fault *fault);

#endif
