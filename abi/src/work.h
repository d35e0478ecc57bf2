/* The list of messages in hand, as the ABI hands it out. */
#ifndef ACE_DOOR_WORK_H
#define ACE_DOOR_WORK_H

#include "acemq/work.h"
#include "engine/work.h"

/* Takes the list over and leaves an empty one. An empty list is NULL unless `even_empty`. `out` may
 * be NULL. */
ace_code ace_work_to_public(ace_work *work, bool even_empty, acemq_work **out, ace_error **error);

#endif
