/*
 * A topology held against the broker, and declared there. AMQP can only be asked whether a name is
 * there, and a declaration that is equal to what is there changes nothing, while one that differs
 * is refused with one argument named: that is all a comparison can know. Bindings cannot be read at
 * all.
 */
#ifndef ACE_PATTERNS_TOPOLOGY_APPLY_H
#define ACE_PATTERNS_TOPOLOGY_APPLY_H

#include "contract/plan.h"
#include "engine/connection.h"

/* The numbers are those of the public acemq_plan_state. */
typedef enum ace_finding_state {
    ACE_FINDING_UNKNOWN = 0, /* a binding, or not reached */
    ACE_FINDING_CREATE = 1,  /* was not there */
    ACE_FINDING_PRESENT = 2,
    ACE_FINDING_DIFFERS = 3,
} ace_finding_state;

/* One for each declaration of the plan, in its order. */
typedef struct ace_finding {
    ace_finding_state state;
    char *argument; /* the three are owned; NULL where the broker does not tell */
    char *ours;
    char *theirs;
} ace_finding;

typedef struct ace_findings {
    ace_finding *items;
    size_t count;
} ace_findings;

#define ACE_FINDINGS_INIT                                                                          \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

/* `count` unknown ones. ACE_OUT_OF_MEMORY. */
ace_code ace_findings_init(ace_findings *findings, size_t count, ace_error **error);
void ace_findings_release(ace_findings *findings); /* leaves an empty one */

/* Compares and changes nothing. What differs is a finding, not an error. Errors: those of
 * ace_session_call(), with the declaration's title in front. `findings` is filled as far as it
 * got. */
ace_code ace_topology_compare(ace_connection *connection, const ace_plan *plan, int64_t deadline,
                              ace_cancel *cancel, ace_findings *findings, ace_error **error);

/* Declares all that can be declared. ACE_DIFFERS when something is there otherwise (the first such
 * object, with argument, ours and theirs, is in the message); what comes after it is declared all
 * the same. Any other error ends it where it stands. */
ace_code ace_topology_apply(ace_connection *connection, const ace_plan *plan, int64_t deadline,
                            ace_cancel *cancel, ace_findings *findings, ace_error **error);

#endif
