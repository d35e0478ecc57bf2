/* The policy handle of the ABI: the core's plain value, and the error that its builder kept. */
#ifndef ACE_DOOR_POLICY_H
#define ACE_DOOR_POLICY_H

#include "acemq/policy.h"
#include "contract/policy.h"

struct acemq_policy {
    ace_policy policy;
    ace_error *error; /* the first; NULL */
};

/* The value inside, checked; `policy` may be NULL: *out stays as it is then. */
ace_code ace_policy_from_public(const acemq_policy *policy, ace_policy *out, ace_error **error);

#endif
