/* The inside of a channel, shared by channel.c (opening, calls, sending) and channel_input.c (what
 * the broker sends, and what becomes of the channels when the link opens and is lost). Loop's
 * thread only. */
#ifndef ACE_ENGINE_CHANNEL_RECORD_H
#define ACE_ENGINE_CHANNEL_RECORD_H

#include "engine/channel.h"
#include "engine/link_record.h"
#include "wire/assembly.h"

typedef enum ace_channel_state {
    ACE_CHANNEL_DOWN,    /* waits for the link */
    ACE_CHANNEL_OPENING, /* channel.open went out */
    ACE_CHANNEL_OPEN,
    ACE_CHANNEL_BROKEN, /* closed by the broker or for want of an answer; waits for its user */
} ace_channel_state;

struct ace_channel {
    ace_link *link;
    ace_link_node node; /* of the link's channels, or of its graveyard */
    ace_channel_handler handler;
    void *user;
    ace_channel_state state;
    bool dead;    /* closed by its user: memory that is still to be freed */
    bool visited; /* by the round through all channels that is under way */
    uint16_t number;
    uint64_t openings;
    ace_list calls; /* in the order of sending, which is that of the answers */
    ace_timer limit;
    ace_call open;
    ace_error *refusal; /* why it could not be opened, to be told soon */
    ace_assembly assembly;
};

ace_code ace_channel_open(ace_channel *channel, ace_error **error);
ace_code ace_channel_write(ace_channel *channel, amqp_method_number_t id, const void *method,
                           ace_error **error);
void ace_channel_give_number_back(ace_channel *channel);
/* The first call gets `oldest`, the others `rest`; both are borrowed. */
void ace_channel_fail_calls(ace_channel *channel, const ace_error *oldest, const ace_error *rest);
void ace_channel_set_limit(ace_channel *channel); /* of the call that is due first */
void ace_channel_lose(ace_channel *channel, const ace_error *error, bool comes_back);

#endif
