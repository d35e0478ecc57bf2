#include "patterns/declare.h"

#include "contract/table.h"
#include "engine/waiter.h"

#include <time.h>

#define PATIENCE 500  /* ms without a message that came back */
#define POLLING  10   /* ms */
#define LONGEST  5000 /* ms, since nobody can cancel it */

static amqp_bytes_t name_of(const char *text)
{
    return ace_bytes_to_amqp(ace_bytes_of(text));
}

ace_code ace_declare_queue_passively(ace_session *session, const char *queue, uint64_t *ready,
                                     uint64_t *consumers, int64_t deadline, ace_cancel *cancel,
                                     ace_error **error)
{
    amqp_queue_declare_t declare = {.queue = name_of(queue), .passive = 1};
    ace_reply reply;
    ace_code code = ace_session_call(session, AMQP_QUEUE_DECLARE_METHOD, &declare, &reply, deadline,
                                     cancel, error);
    if (code != ACE_OK) {
        return code;
    }
    if (ready != NULL) {
        *ready = reply.message_count;
    }
    if (consumers != NULL) {
        *consumers = reply.consumer_count;
    }
    return ACE_OK;
}

static void pause_for(long milliseconds)
{
    struct timespec wait = {0, milliseconds * 1000000};
    (void)nanosleep(&wait, NULL);
}

static void await_ready(ace_session *session, const char *queue, uint64_t expected,
                        int64_t deadline)
{
    uint64_t most = 0;
    int64_t patient_until = ace_deadline_after(PATIENCE);
    for (;;) {
        uint64_t ready = 0;
        if (ace_declare_queue_passively(session, queue, &ready, NULL, deadline, NULL, NULL) !=
                ACE_OK ||
            ready >= expected) {
            return;
        }
        int64_t now = ace_deadline_after(0);
        if (ready > most) {
            most = ready;
            patient_until = ace_deadline_after(PATIENCE);
        }
        /* Where it does not grow, somebody else takes from it. */
        if (now >= patient_until || now >= deadline) {
            return;
        }
        pause_for(POLLING);
    }
}

void ace_declare_give_back(ace_session *session, ace_link *link, const char *queue,
                           uint64_t expected, int64_t deadline)
{
    ace_session_free(session);
    ace_session *observer = NULL;
    int64_t longest = ace_deadline_after(LONGEST);
    deadline = deadline < longest ? deadline : longest;
    /* Where the connection was lost everything went back with it. */
    if (ace_link_is_open(link) && ace_session_new(link, &observer, NULL) == ACE_OK) {
        await_ready(observer, queue, expected, deadline);
    }
    ace_session_free(observer);
}

static ace_code send_exchange(ace_session *session, const ace_declaration *declaration,
                              bool passive, int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    amqp_exchange_declare_t declare = {.exchange = name_of(declaration->name),
                                       .type = name_of(declaration->type),
                                       .passive = passive,
                                       .durable = declaration->durable,
                                       .auto_delete = declaration->auto_delete,
                                       .internal = declaration->internal,
                                       .arguments = declaration->arguments};
    return ace_session_call(session, AMQP_EXCHANGE_DECLARE_METHOD, &declare, NULL, deadline, cancel,
                            error);
}

static ace_code send_queue(ace_session *session, const ace_declaration *declaration,
                           int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    amqp_queue_declare_t declare = {.queue = name_of(declaration->name),
                                    .durable = declaration->durable,
                                    .exclusive = declaration->exclusive,
                                    .auto_delete = declaration->auto_delete,
                                    .arguments = declaration->arguments};
    return ace_session_call(session, AMQP_QUEUE_DECLARE_METHOD, &declare, NULL, deadline, cancel,
                            error);
}

static ace_code send_binding(ace_session *session, const ace_declaration *declaration,
                             int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    amqp_queue_bind_t bind = {.queue = name_of(declaration->name),
                              .exchange = name_of(declaration->exchange),
                              .routing_key = name_of(declaration->key),
                              .arguments = declaration->arguments};
    return ace_session_call(session, AMQP_QUEUE_BIND_METHOD, &bind, NULL, deadline, cancel, error);
}

ace_code ace_declare_passively(ace_session *session, const ace_declaration *declaration,
                               int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    if (declaration->kind == ACE_DECLARE_EXCHANGE) {
        return send_exchange(session, declaration, true, deadline, cancel, error);
    }
    return ace_declare_queue_passively(session, declaration->name, NULL, NULL, deadline, cancel,
                                       error);
}

ace_code ace_declare(ace_session *session, const ace_declaration *declaration, int64_t deadline,
                     ace_cancel *cancel, ace_error **error)
{
    switch (declaration->kind) {
    case ACE_DECLARE_EXCHANGE:
        return send_exchange(session, declaration, false, deadline, cancel, error);
    case ACE_DECLARE_QUEUE:
        return send_queue(session, declaration, deadline, cancel, error);
    case ACE_DECLARE_BINDING:
    default:
        return send_binding(session, declaration, deadline, cancel, error);
    }
}
