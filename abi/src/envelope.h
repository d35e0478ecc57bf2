/* The envelope handle of the ABI: every text of the core's envelope with a NUL behind it. */
#ifndef ACE_DOOR_ENVELOPE_H
#define ACE_DOOR_ENVELOPE_H

#include "acemq/envelope.h"
#include "base/arena.h"
#include "contract/envelope.h"

struct acemq_envelope {
    ace_arena arena;       /* owns the texts */
    ace_envelope envelope; /* whole, also where a text holds a NUL; each text has a NUL behind it */
};

/* A copy; owned, freed with acemq_envelope_free(). */
ace_code ace_envelope_to_public(const ace_envelope *from, acemq_envelope **out, ace_error **error);

#endif
