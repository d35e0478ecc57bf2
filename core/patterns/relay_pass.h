/* One pass of a relay: lease rows, publish them, say what became of them. */
#ifndef ACE_PATTERNS_RELAY_PASS_H
#define ACE_PATTERNS_RELAY_PASS_H

#include "patterns/relay.h"

typedef enum ace_relay_outcome {
    ACE_RELAY_IDLE,     /* there was nothing, or not a whole batch */
    ACE_RELAY_MORE,     /* a whole batch was published */
    ACE_RELAY_BACK_OFF, /* broker or store are not to be had */
} ace_relay_outcome;

typedef struct ace_relay_pass {
    ace_connection *connection;
    ace_outbox *outbox;
    const ace_relay_options *options;
    ace_cancel *cancel; /* cuts it off */
    ace_relay_counts counts;
} ace_relay_pass;

/* Waits, or until the token is fired. */
void ace_relay_nap(int64_t wait, ace_cancel *cancel);

ace_relay_outcome ace_relay_pass_run(ace_relay_pass *pass);

#endif
