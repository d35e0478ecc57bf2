#include "engine/declare.h"

#include <amqp_framing.h>
#include <stdlib.h>

static void step(ace_declarer *declarer);

static void end(ace_deferral *deferral)
{
    ace_declarer *declarer = ACE_RECORD(deferral, ace_declarer, end);
    declarer->running = false;
    ace_channel_close(declarer->channel);
    declarer->channel = NULL;
    if (declarer->missing.length > 0) {
        ace_error_free(declarer->error);
        declarer->error = NULL;
        (void)ace_fail(&declarer->error, ACE_NOT_FOUND, "missing, and declare is verify: %.*s",
                       (int)declarer->missing.length, (const char *)declarer->missing.data);
        ace_error_set_reply(&declarer->error, AMQP_NOT_FOUND);
    }
    declarer->done(declarer);
}

/* Never at once: the channel may be in the middle of telling what became of it. */
static void end_later(ace_declarer *declarer)
{
    ace_loop_defer(ace_link_loop(declarer->link), &declarer->end);
}

static bool is_interruption(ace_code code)
{
    return code == ACE_CONNECTION_LOST || code == ACE_TIMEOUT || code == ACE_CLOSED ||
           code == ACE_OUT_OF_MEMORY || code == ACE_STATE || code == ACE_LIMIT;
}

static void keep_first(ace_declarer *declarer, ace_error *error)
{
    if (declarer->error == NULL) {
        declarer->error = error;
    } else {
        ace_error_free(error);
    }
}

static void note_missing(ace_declarer *declarer, const ace_declaration *item)
{
    ace_buffer *missing = &declarer->missing;
    size_t before = missing->length;
    if ((before > 0 && !ace_buffer_append_text(missing, ", ")) ||
        !ace_declaration_title(item, missing)) {
        missing->length = before; /* named or not, the first refusal is kept */
    }
}

static void refuse_source(ace_declarer *declarer, const ace_error *why)
{
    ace_error *error = NULL;
    if (ace_error_code(why) == ACE_NOT_FOUND) {
        (void)ace_fail(&error, ACE_NOT_FOUND,
                       "queue %s does not exist, and a consumer never declares its source",
                       declarer->source);
        ace_error_set_reply(&error, ace_error_reply(why));
    } else {
        error = ace_error_copy(why);
        ace_error_prefix(&error, "queue %s", declarer->source);
    }
    keep_first(declarer, error);
}

static void refuse_item(ace_declarer *declarer, const ace_error *why)
{
    const ace_declaration *item = &declarer->plan->items[declarer->next];
    declarer->refused[declarer->next] = true;
    if (declarer->verify && ace_error_code(why) == ACE_NOT_FOUND) {
        note_missing(declarer, item);
    }
    ace_buffer title = ACE_BUFFER_INIT;
    ace_error *error = ace_error_copy(why);
    if (ace_declaration_title(item, &title)) {
        ace_error_prefix(&error, "%s %.*s", declarer->verify ? "looking for" : "declaring",
                         (int)title.length, (const char *)title.data);
    }
    ace_buffer_free(&title);
    keep_first(declarer, error);
}

/* True when there is a next one to try. */
static bool refused(ace_declarer *declarer, const ace_error *why)
{
    if (is_interruption(ace_error_code(why))) {
        declarer->interrupted = true;
        keep_first(declarer, ace_error_copy(why));
        return false;
    }
    if (!declarer->source_found) {
        refuse_source(declarer, why);
        return false;
    }
    refuse_item(declarer, why);
    declarer->next++;
    return declarer->verify || declarer->go_on;
}

static void answered(ace_call *call, const amqp_method_t *reply, ace_content *content,
                     const ace_error *error)
{
    ace_declarer *declarer = ACE_RECORD(call, ace_declarer, call);
    (void)reply;
    (void)content;
    if (!declarer->running) {
        return; /* its channel is being closed */
    }
    if (error != NULL) {
        /* The channel goes with it; what comes next is decided once that is told. */
        declarer->next = refused(declarer, error) ? declarer->next : declarer->plan->count;
        return;
    }
    if (!declarer->source_found) {
        declarer->source_found = true;
    } else {
        declarer->next++;
    }
    step(declarer);
}

static ace_code send_queue(ace_declarer *declarer, const ace_declaration *item, ace_error **error)
{
    amqp_queue_declare_t declare = {
        .queue = amqp_cstring_bytes(item->name),
        .passive = declarer->verify,
        .durable = item->durable,
        .exclusive = item->exclusive,
        .auto_delete = item->auto_delete,
        .arguments = item->arguments,
    };
    return ace_channel_call(declarer->channel, &declarer->call, AMQP_QUEUE_DECLARE_METHOD, &declare,
                            error);
}

static ace_code send_exchange(ace_declarer *declarer, const ace_declaration *item,
                              ace_error **error)
{
    amqp_exchange_declare_t declare = {
        .exchange = amqp_cstring_bytes(item->name),
        .type = amqp_cstring_bytes(item->type),
        .passive = declarer->verify,
        .durable = item->durable,
        .auto_delete = item->auto_delete,
        .internal = item->internal,
        .arguments = item->arguments,
    };
    return ace_channel_call(declarer->channel, &declarer->call, AMQP_EXCHANGE_DECLARE_METHOD,
                            &declare, error);
}

static ace_code send_binding(ace_declarer *declarer, const ace_declaration *item, ace_error **error)
{
    amqp_queue_bind_t bind = {
        .queue = amqp_cstring_bytes(item->name),
        .exchange = amqp_cstring_bytes(item->exchange),
        .routing_key = amqp_cstring_bytes(item->key),
        .arguments = item->arguments,
    };
    return ace_channel_call(declarer->channel, &declarer->call, AMQP_QUEUE_BIND_METHOD, &bind,
                            error);
}

static ace_code send_source(ace_declarer *declarer, ace_error **error)
{
    amqp_queue_declare_t declare = {
        .queue = amqp_cstring_bytes(declarer->source),
        .passive = 1,
    };
    return ace_channel_call(declarer->channel, &declarer->call, AMQP_QUEUE_DECLARE_METHOD, &declare,
                            error);
}

static ace_code send_next(ace_declarer *declarer, ace_error **error)
{
    declarer->call.done = answered;
    if (!declarer->source_found) {
        return send_source(declarer, error);
    }
    const ace_declaration *item = &declarer->plan->items[declarer->next];
    switch (item->kind) {
    case ACE_DECLARE_EXCHANGE:
        return send_exchange(declarer, item, error);
    case ACE_DECLARE_QUEUE:
        return send_queue(declarer, item, error);
    case ACE_DECLARE_BINDING:
        break;
    }
    return send_binding(declarer, item, error);
}

static bool is_left_out(const ace_declarer *declarer)
{
    return declarer->verify && declarer->source_found &&
           declarer->plan->items[declarer->next].kind == ACE_DECLARE_BINDING;
}

static void step(ace_declarer *declarer)
{
    while (declarer->next < declarer->plan->count || !declarer->source_found) {
        if (is_left_out(declarer)) {
            declarer->next++;
            continue;
        }
        ace_error *error = NULL;
        if (send_next(declarer, &error) == ACE_OK) {
            return;
        }
        /* Nothing was sent, and the channel is as it was. */
        bool more = refused(declarer, error);
        ace_error_free(error);
        if (!more) {
            break;
        }
    }
    end_later(declarer);
}

static void opened(ace_channel *channel, void *user)
{
    ace_declarer *declarer = user;
    (void)channel;
    declarer->opened = true;
    step(declarer);
}

static void lost(ace_channel *channel, const ace_error *error, bool comes_back, void *user)
{
    ace_declarer *declarer = user;
    /* A refusal, or an interrupted call, told why; a channel that does not even open is neither. */
    bool settled = declarer->error != NULL && declarer->opened;
    if (!settled || comes_back) {
        declarer->interrupted = true;
        keep_first(declarer, ace_error_copy(error));
        end_later(declarer);
        return;
    }
    if (declarer->interrupted || declarer->next >= declarer->plan->count) {
        end_later(declarer);
        return;
    }
    declarer->opened = false;
    ace_channel_reopen(channel);
}

ace_code ace_declarer_start(ace_declarer *declarer, ace_error **error)
{
    static const ace_channel_handler handler = {.opened = opened, .lost = lost};
    ace_declarer_reset(declarer);
    if (declarer->plan->count > 0) {
        declarer->refused = calloc(declarer->plan->count, sizeof *declarer->refused);
        if (declarer->refused == NULL) {
            return ace_fail_memory(error);
        }
    }
    declarer->interrupted = false;
    declarer->opened = false;
    declarer->next = 0;
    declarer->source_found = declarer->source == NULL;
    declarer->end.run = end;
    declarer->channel = ace_channel_new(declarer->link, &handler, declarer, error);
    if (declarer->channel == NULL) {
        return error == NULL ? ACE_STATE : ace_error_code(*error);
    }
    declarer->running = true;
    return ACE_OK;
}

void ace_declarer_reset(ace_declarer *declarer)
{
    if (declarer->running) {
        declarer->running = false;
        ace_loop_undefer(ace_link_loop(declarer->link), &declarer->end);
        ace_channel_close(declarer->channel);
        declarer->channel = NULL;
    }
    ace_error_free(declarer->error);
    declarer->error = NULL;
    free(declarer->refused);
    declarer->refused = NULL;
    ace_buffer_free(&declarer->missing);
}
