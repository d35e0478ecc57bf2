/* Changing a consumer while it runs: what its making shares with that. */
#ifndef ACE_ENGINE_CONSUMER_CONTROL_H
#define ACE_ENGINE_CONSUMER_CONTROL_H

#include "engine/consumer_state.h"

ace_code ace_members_check(int64_t members, ace_error **error); /* ACE_LIMIT */
/* The contents that it may hold: one prefetch, or that of all members. */
uint16_t ace_consumer_most(const ace_consumer *consumer);

#endif
