/* Publishes that end after the call: by a callback, an event, or a receipt to wait on. */
#include "arguments.h"
#include "engine/waiter.h"
#include "publisher.h"

#include <stdatomic.h>
#include <stdlib.h>

#define RECEIPT_MAGIC ACE_MAGIC('R', 'C', 'P', 'T')

static ace_dispatch *take_dispatch(const ace_target *target, void (*done)(ace_publish *publish))
{
    ace_dispatch_pool *pool = &ace_client_of(target->connection)->dispatches;
    ace_dispatch *taken = ace_dispatch_take(pool);
    if (taken != NULL) {
        taken->pool = pool;
        taken->publish.done = done;
    }
    return taken;
}

/* When it does not begin, `done` is not called. */
static ace_code begin(ace_dispatch *dispatch, const ace_target *target,
                      const acemq_message *message, ace_error **error)
{
    ace_code code = ace_dispatch_begin(dispatch, target, message, error);
    if (code != ACE_OK) {
        ace_dispatch_put(dispatch->pool, dispatch);
    }
    return code;
}

static void call_back(ace_publish *publish)
{
    ace_dispatch *ended = ACE_RECORD(publish, ace_dispatch, publish);
    ace_outgoing_end(ended->outgoing, publish->code, publish->error);
    ended->outgoing = NULL;
    ended->callback((acemq_status)publish->code, publish->code == ACE_OK ? NULL : publish->error,
                    ended->user);
    ace_dispatch_put(ended->pool, ended);
}

acemq_status acemq_publisher_send_async(acemq_publisher *publisher, const char *routing_key,
                                        const acemq_message *message, int64_t timeout,
                                        acemq_publish_callback callback, void *user,
                                        acemq_error **error)
{
    ace_target target;
    ace_code code = ace_target_of_publisher(publisher, routing_key, timeout, &target, error);
    if (code == ACE_OK) {
        code = ace_argument_present(message, "message", error);
    }
    if (code == ACE_OK && callback == NULL) {
        code = ace_argument_present(NULL, "callback", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_dispatch *begun = take_dispatch(&target, call_back);
    if (begun == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    begun->callback = callback;
    begun->user = user;
    return (acemq_status)begin(begun, &target, message, error);
}

static void put_event(ace_publish *publish)
{
    ace_dispatch *ended = ACE_RECORD(publish, ace_dispatch, publish);
    /* Interceptors are told on the thread that takes the event, which may be the only one that they
     * can run on. */
    ace_outgoing_ended(ended->outgoing, publish->code, publish->error);
    ace_events_put(ended->events, &(ace_event){.kind = ACE_EVENT_CONFIRM,
                                               .number = (uint64_t)ended->token,
                                               .wait = -1,
                                               .source = "",
                                               .error = publish->error,
                                               .attachment = ended->outgoing,
                                               .attachment_release = ace_outgoing_tell});
    ended->outgoing = NULL;
    ace_dispatch_put(ended->pool, ended);
}

acemq_status acemq_publisher_submit(acemq_publisher *publisher, const char *routing_key,
                                    const acemq_message *message, int64_t timeout, int64_t token,
                                    acemq_error **error)
{
    ace_target target;
    ace_code code = ace_target_of_publisher(publisher, routing_key, timeout, &target, error);
    if (code == ACE_OK) {
        code = ace_argument_present(message, "message", error);
    }
    if (code == ACE_OK &&
        (ace_client_of(target.connection)->wanted & 1u << ACEMQ_EVENT_CONFIRM) == 0) {
        code = ace_fail(error, ACE_STATE, "the connection was opened without confirm events");
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_dispatch *begun = take_dispatch(&target, put_event);
    if (begun == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    begun->events = target.connection->events;
    begun->token = token;
    return (acemq_status)begin(begun, &target, message, error);
}

/* Of the receipt and of the publish, whichever ends last. */
typedef struct waited_dispatch {
    ace_dispatch dispatch;
    ace_waiter waiter;
    atomic_uint holders;
} waited_dispatch;

struct acemq_receipt {
    ace_handle handle;
    waited_dispatch *waited;
    ace_connection *connection; /* one reference */
    ace_cancel *cancel;         /* the same; may be NULL */
    atomic_bool busy;
};

static void let_go(waited_dispatch *waited)
{
    if (atomic_fetch_sub_explicit(&waited->holders, 1, memory_order_acq_rel) == 1) {
        ace_dispatch_clear(&waited->dispatch);
        ace_waiter_destroy(&waited->waiter);
        free(waited);
    }
}

static void complete(ace_publish *publish)
{
    waited_dispatch *waited = publish->user;
    ace_waiter_complete(&waited->waiter);
    let_go(waited);
}

static ace_code begin_waited(const ace_target *target, const acemq_message *message,
                             waited_dispatch **out, ace_error **error)
{
    waited_dispatch *waited = calloc(1, sizeof *waited);
    if (waited == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_waiter_init(&waited->waiter, error);
    if (code != ACE_OK) {
        free(waited);
        return code;
    }
    atomic_init(&waited->holders, 2);
    waited->dispatch.publish.done = complete;
    waited->dispatch.publish.user = waited;
    code = ace_dispatch_begin(&waited->dispatch, target, message, error);
    if (code != ACE_OK) {
        ace_waiter_destroy(&waited->waiter);
        free(waited);
        return code;
    }
    *out = waited;
    return ACE_OK;
}

acemq_status acemq_publisher_begin(acemq_publisher *publisher, const char *routing_key,
                                   const acemq_message *message, int64_t timeout,
                                   acemq_receipt **receipt, acemq_error **error)
{
    ace_target target;
    ace_code code = ace_target_of_publisher(publisher, routing_key, timeout, &target, error);
    if (code == ACE_OK) {
        code = ace_argument_present(message, "message", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(receipt, "receipt", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_receipt *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    code = begin_waited(&target, message, &made->waited, error);
    if (code != ACE_OK) {
        free(made);
        return (acemq_status)code;
    }
    made->connection = ace_connection_keep(target.connection);
    made->cancel = target.cancel == NULL ? NULL : ace_cancel_keep(target.cancel);
    atomic_init(&made->busy, false);
    ace_handle_init(&made->handle, RECEIPT_MAGIC);
    *receipt = made;
    return ACEMQ_OK;
}

static ace_code wait_for(acemq_receipt *receipt, int64_t timeout, ace_error **error)
{
    const ace_publish *publish = &receipt->waited->dispatch.publish;
    ace_publisher_hurry(receipt->connection->publisher);
    ace_code code =
        ace_waiter_wait(&receipt->waited->waiter, ace_deadline_after(timeout), receipt->cancel);
    switch (code) {
    case ACE_OK:
        ace_outgoing_end(receipt->waited->dispatch.outgoing, publish->code, publish->error);
        receipt->waited->dispatch.outgoing = NULL;
        return publish->code == ACE_OK ? ACE_OK
                                       : ace_error_move(error, ace_error_copy(publish->error));
    case ACE_CANCELLED:
        return ace_fail(error, code, "waiting was cancelled; the publish is still under way");
    default:
        return ace_fail(error, code, "the publish is still under way");
    }
}

acemq_status acemq_receipt_wait(acemq_receipt *receipt, int64_t timeout, acemq_error **error)
{
    ace_code code = ace_handle_check(receipt == NULL ? NULL : &receipt->handle, RECEIPT_MAGIC,
                                     "receipt", error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK && timeout > 0 && ace_loop_is_any_current()) {
        code = ace_fail(error, ACE_FROM_HANDLER,
                        "waiting for a publish would block a thread that may not wait");
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    if (atomic_exchange(&receipt->busy, true)) {
        return (acemq_status)ace_fail(error, ACE_WRONG_THREAD,
                                      "another thread waits for this receipt");
    }
    code = wait_for(receipt, timeout, error);
    atomic_store(&receipt->busy, false);
    return (acemq_status)code;
}

void acemq_receipt_free(acemq_receipt *receipt)
{
    if (receipt == NULL) {
        return;
    }
    /* In a child of fork nobody else is left to let go of it, and its locks are not to be touched.
     */
    if (ace_handle_is_foreign(&receipt->handle)) {
        ace_connection_release(receipt->connection);
        free(receipt);
        return;
    }
    if (ace_handle_release(&receipt->handle)) {
        let_go(receipt->waited);
        ace_connection_release(receipt->connection);
        ace_cancel_release(receipt->cancel);
        free(receipt);
    }
}
