#include "engine/settle_acks.h"

static bool send_ack(ace_channel *channel, uint64_t tag, bool multiple)
{
    amqp_basic_ack_t ack = {.delivery_tag = tag, .multiple = multiple};
    /* A channel that is not open is gone, and its tags with it. */
    return ace_channel_send(channel, AMQP_BASIC_ACK_METHOD, &ack, NULL) != ACE_OUT_OF_MEMORY;
}

/* One acknowledgement for all below `lowest`. */
static bool flush_covered(ace_acks *acks, ace_channel *channel, uint64_t lowest)
{
    uint64_t highest = 0;
    size_t covered = 0;
    for (size_t i = 0; i < acks->count; i++) {
        uint64_t tag = acks->tags[i];
        if (tag < lowest) {
            covered++;
            highest = tag > highest ? tag : highest;
        }
    }
    if (covered == 0) {
        return true;
    }
    if (!send_ack(channel, highest, covered > 1)) {
        return false;
    }
    size_t kept = 0;
    for (size_t i = 0; i < acks->count; i++) {
        if (acks->tags[i] >= lowest) {
            acks->tags[kept++] = acks->tags[i];
        }
    }
    acks->count = kept;
    return true;
}

bool ace_acks_flush(ace_acks *acks, ace_channel *channel, uint64_t lowest)
{
    if (!flush_covered(acks, channel, lowest)) {
        return false;
    }
    while (acks->count > 0) {
        if (!send_ack(channel, acks->tags[acks->count - 1], false)) {
            return false;
        }
        acks->count--;
    }
    return true;
}
