#include "engine/channel.h"

#include "engine/channel_record.h"
#include "wire/content.h"
#include "wire/method.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t earliest_deadline(const ace_channel *channel)
{
    int64_t earliest = ACE_NEVER;
    for (ace_link_node *node = ace_list_first(&channel->calls); node != NULL;
         node = ace_list_next(&channel->calls, node)) {
        const ace_call *call = ACE_RECORD(node, ace_call, node);
        earliest = call->deadline < earliest ? call->deadline : earliest;
    }
    return earliest;
}

void ace_channel_set_limit(ace_channel *channel)
{
    int64_t deadline = earliest_deadline(channel);
    if (deadline == ACE_NEVER) {
        ace_loop_timer_cancel(channel->link->loop, &channel->limit);
    } else if (!ace_loop_timer_set(channel->link->loop, &channel->limit, deadline)) {
        ace_error *error = NULL;
        ace_fail_memory(&error);
        ace_link_fail(channel->link, error);
    }
}

void ace_channel_fail_calls(ace_channel *channel, const ace_error *oldest, const ace_error *rest)
{
    const ace_error *error = oldest;
    ace_list calls;
    ace_list_init(&calls);
    ace_list_splice(&calls, &channel->calls);
    ace_loop_timer_cancel(channel->link->loop, &channel->limit);
    ace_link_node *node;
    while ((node = ace_list_take_first(&calls)) != NULL) {
        ace_call *call = ACE_RECORD(node, ace_call, node);
        call->done(call, NULL, NULL, error);
        error = rest;
    }
}

static ace_code not_open(amqp_method_number_t id, ace_error **error)
{
    return ace_fail(error, ACE_STATE, "%s: the channel is not open", ace_method_name(id));
}

ace_code ace_channel_write(ace_channel *channel, amqp_method_number_t id, const void *method,
                           ace_error **error)
{
    ace_link *link = channel->link;
    size_t before = link->output.length;
    ace_code code =
        ace_method_write(&link->output, channel->number, id, method, link->limits.frame_max, error);
    if (code == ACE_OK) {
        ace_link_added(link, before);
    }
    return code;
}

static ace_code begin_call(ace_channel *channel, ace_call *call, amqp_method_number_t id,
                           const void *method, ace_error **error)
{
    int64_t wait = call->wait > 0 ? call->wait : channel->link->settings->rpc_timeout;
    int64_t now = ace_loop_now(channel->link->loop);
    ace_code code = ace_channel_write(channel, id, method, error);
    if (code != ACE_OK) {
        return code;
    }
    call->request = id;
    call->channel = channel;
    call->deadline = wait > ACE_NEVER - now ? ACE_NEVER : now + wait;
    ace_list_append(&channel->calls, &call->node);
    ace_channel_set_limit(channel);
    return ACE_OK;
}

ace_code ace_channel_call(ace_channel *channel, ace_call *call, amqp_method_number_t id,
                          const void *method, ace_error **error)
{
    if (channel->state != ACE_CHANNEL_OPEN) {
        return not_open(id, error);
    }
    return begin_call(channel, call, id, method, error);
}

ace_code ace_channel_send(ace_channel *channel, amqp_method_number_t id, const void *method,
                          ace_error **error)
{
    if (channel->state != ACE_CHANNEL_OPEN) {
        return not_open(id, error);
    }
    return ace_channel_write(channel, id, method, error);
}

static void set_number(uint8_t *frame, uint16_t number)
{
    frame[1] = (uint8_t)(number >> 8);
    frame[2] = (uint8_t)(number & 0xff);
}

ace_code ace_channel_publish(ace_channel *channel, ace_bytes frames, size_t header, ace_bytes body,
                             ace_error **error)
{
    if (channel->state != ACE_CHANNEL_OPEN) {
        return not_open(AMQP_BASIC_PUBLISH_METHOD, error);
    }
    ace_link *link = channel->link;
    uint32_t frame_max = link->limits.frame_max;
    size_t larger = header > frames.length - header ? header : frames.length - header;
    if (larger > frame_max) {
        ace_code code =
            ace_fail(error, ACE_LIMIT, "headers take a frame of %zu bytes, the limit is %" PRIu32,
                     larger, frame_max);
        ace_error_field(error, "headers", frame_max);
        return code;
    }
    size_t before = link->output.length;
    if (!ace_buffer_append(&link->output, frames.data, frames.length)) {
        return ace_fail_memory(error);
    }
    set_number(link->output.data + before, channel->number);
    set_number(link->output.data + before + header, channel->number);
    ace_code code = ace_frame_write_body(&link->output, channel->number, body, frame_max, error);
    if (code != ACE_OK) {
        link->output.length = before;
        return code;
    }
    ace_link_added_content(link, before);
    return ACE_OK;
}

static bool grow_slots(ace_link *link)
{
    size_t count = link->slot_count == 0 ? 16 : link->slot_count * 2;
    ace_channel_slot *slots = realloc(link->slots, count * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    memset(slots + link->slot_count, 0, (count - link->slot_count) * sizeof *slots);
    link->slots = slots;
    link->slot_count = count;
    return true;
}

static ace_code take_number(ace_channel *channel, ace_error **error)
{
    ace_link *link = channel->link;
    size_t number = 1;
    while (number < link->slot_count &&
           (link->slots[number].channel != NULL || link->slots[number].closing)) {
        number++;
    }
    if (number > link->limits.channel_max) {
        ace_code code = ace_fail(error, ACE_LIMIT, "all %u channels that %s allows are in use",
                                 link->limits.channel_max, link->place);
        ace_error_field(error, "channels", link->limits.channel_max);
        return code;
    }
    if (number >= link->slot_count && !grow_slots(link)) {
        return ace_fail_memory(error);
    }
    link->slots[number].channel = channel;
    channel->number = (uint16_t)number;
    return ACE_OK;
}

void ace_channel_give_number_back(ace_channel *channel)
{
    if (channel->number != 0) {
        channel->link->slots[channel->number].channel = NULL;
        channel->number = 0;
    }
}

void ace_channel_lose(ace_channel *channel, const ace_error *error, bool comes_back)
{
    if (!channel->dead && channel->handler.lost != NULL) {
        channel->handler.lost(channel, error, comes_back, channel->user);
    }
}

static void open_answered(ace_call *call, const amqp_method_t *reply, ace_content *content,
                          const ace_error *error)
{
    ace_channel *channel = ACE_RECORD(call, ace_channel, open);
    ace_content_free(content);
    if (reply == NULL || error != NULL) {
        return; /* whoever failed the call tells that the channel is lost */
    }
    channel->state = ACE_CHANNEL_OPEN;
    channel->openings++;
    if (channel->handler.opened != NULL) {
        channel->handler.opened(channel, channel->user);
    }
}

ace_code ace_channel_open(ace_channel *channel, ace_error **error)
{
    ace_code code = take_number(channel, error);
    if (code != ACE_OK) {
        channel->state = ACE_CHANNEL_BROKEN;
        return code;
    }
    amqp_channel_open_t open = {.out_of_band = {0, NULL}};
    channel->open = (ace_call){.done = open_answered};
    channel->state = ACE_CHANNEL_OPENING;
    code = begin_call(channel, &channel->open, AMQP_CHANNEL_OPEN_METHOD, &open, error);
    if (code != ACE_OK) {
        ace_channel_give_number_back(channel);
        channel->state = ACE_CHANNEL_BROKEN;
    }
    return code;
}

/* Channel.close goes out, and the number stays taken until it is answered. */
static void close_number(ace_channel *channel, uint16_t code, const char *text)
{
    if (channel->number == 0) {
        return;
    }
    amqp_channel_close_t close = {.reply_code = code,
                                  .reply_text = {strlen(text), (void *)(uintptr_t)text}};
    ace_error *error = NULL;
    uint16_t number = channel->number;
    if (ace_channel_write(channel, AMQP_CHANNEL_CLOSE_METHOD, &close, &error) != ACE_OK) {
        ace_link_fail(channel->link, error);
    }
    ace_channel_give_number_back(channel);
    channel->link->slots[number].closing = true;
    ace_assembly_reset(&channel->assembly);
}

static void limit_reached(ace_timer *timer)
{
    ace_channel *channel = ACE_RECORD(timer, ace_channel, limit);
    ace_error *error = channel->refusal;
    channel->refusal = NULL;
    if (error == NULL) {
        const ace_call *oldest = ACE_RECORD(ace_list_first(&channel->calls), ace_call, node);
        ace_fail(&error, ACE_TIMEOUT, "%s did not answer %s in time", channel->link->place,
                 ace_method_name(oldest->request));
        close_number(channel, 320, "no answer in time");
        channel->state = ACE_CHANNEL_BROKEN;
        ace_channel_fail_calls(channel, error, error);
    }
    ace_channel_lose(channel, error, false);
    ace_error_free(error);
}

ace_channel *ace_channel_new(ace_link *link, const ace_channel_handler *handler, void *user,
                             ace_error **error)
{
    if (link->state == ACE_LINK_CLOSING || link->state == ACE_LINK_CLOSED) {
        ace_fail(error, ACE_CLOSED, "the %s link was closed", link->role);
        return NULL;
    }
    ace_channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL) {
        ace_fail_memory(error);
        return NULL;
    }
    channel->link = link;
    channel->handler = *handler;
    channel->user = user;
    channel->limit.fire = limit_reached;
    ace_list_init(&channel->calls);
    uint64_t limit = link->settings->body_limit;
    ace_assembly_init(&channel->assembly,
                      limit > ACE_BODY_BYTES_CLAIMED ? limit : ACE_BODY_BYTES_CLAIMED);
    ace_assembly_keep(&channel->assembly, limit);
    if (link->state == ACE_LINK_OPEN && ace_channel_open(channel, error) != ACE_OK) {
        free(channel);
        return NULL;
    }
    ace_list_append(&link->channels, &channel->node);
    return channel;
}

void ace_channel_reopen(ace_channel *channel)
{
    if (channel->dead || channel->refusal != NULL ||
        (channel->state != ACE_CHANNEL_BROKEN && channel->state != ACE_CHANNEL_DOWN)) {
        return;
    }
    if (channel->link->state != ACE_LINK_OPEN) {
        channel->state = ACE_CHANNEL_DOWN;
        return;
    }
    if (ace_channel_open(channel, &channel->refusal) != ACE_OK) {
        /* Told from the loop, since the caller may be in the middle of being told. */
        (void)ace_loop_timer_set(channel->link->loop, &channel->limit,
                                 ace_loop_now(channel->link->loop));
    }
}

void ace_channel_close(ace_channel *channel)
{
    if (channel == NULL || channel->dead) {
        return;
    }
    ace_link *link = channel->link;
    channel->dead = true;
    ace_list_remove(&link->channels, &channel->node);
    ace_list_append(&link->graveyard, &channel->node);
    ace_loop_defer(link->loop, &link->burial);
    close_number(channel, 200, "goodbye");
    channel->state = ACE_CHANNEL_BROKEN;
    ace_error *error = NULL;
    ace_fail(&error, ACE_CLOSED, "the channel was closed");
    ace_channel_fail_calls(channel, error, error);
    ace_error_free(error);
    ace_error_free(channel->refusal);
    channel->refusal = NULL;
    ace_loop_timer_cancel(link->loop, &channel->limit);
    ace_assembly_reset(&channel->assembly);
}

void ace_channel_keep_bodies(ace_channel *channel, uint64_t largest)
{
    ace_assembly_keep(&channel->assembly, largest);
}

ace_link *ace_channel_link(const ace_channel *channel)
{
    return channel->link;
}

bool ace_channel_is_open(const ace_channel *channel)
{
    return channel->state == ACE_CHANNEL_OPEN;
}

uint16_t ace_channel_number(const ace_channel *channel)
{
    return channel->number;
}

uint64_t ace_channel_opening(const ace_channel *channel)
{
    return channel->openings;
}

uint64_t ace_channel_queued(const ace_channel *channel)
{
    return channel->link->queued;
}
