/* A policy as text: "exponential(5, 10s, 5m).giveUpAfter(2m)" (section 5, "Policy text"). */
#ifndef ACE_CONTRACT_POLICY_TEXT_H
#define ACE_CONTRACT_POLICY_TEXT_H

#include "base/buffer.h"
#include "contract/policy.h"

/* Reads the whole of `text` and checks the policy. ACE_PARSE: "policy text, position 12: expected a
 * duration"; positions count bytes from 1. ACE_LIMIT for a value outside its range. */
ace_code ace_policy_parse(const char *text, size_t length, ace_policy *policy, ace_error **error);

/* Appends the canonical text: factory, then suffixes in the contract's order, defaults left out.
 * Parsing it gives an equal policy. ACE_OUT_OF_MEMORY alone; the policy must be valid. */
ace_code ace_policy_format(const ace_policy *policy, ace_buffer *out, ace_error **error);

#endif
