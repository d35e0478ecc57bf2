/* Making a consumer, and its end as an object. */
#include "engine/consumer_control.h"
#include "engine/consumer_state.h"
#include "engine/consumer_subscription.h"
#include "engine/settle.h"
#include "engine/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAVING 500 /* ms that a thread may take from its last delivery to its end */

void ace_consumer_options_init(ace_consumer_options *options)
{
    *options = (ace_consumer_options){
        .prefetch = ACE_PREFETCH_DEFAULT,
        .prefetch_bytes = ACE_PREFETCH_BYTES_DEFAULT,
        .acknowledgement_limit = ACE_ACK_TIMEOUT_DEFAULT,
        .claims = ACE_CLAIM_OPTIONS_INIT,
    };
}

static ace_code check_not_negative(const char *field, int64_t value, ace_error **error)
{
    if (value >= 0) {
        return ACE_OK;
    }
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "%s is %lld, the least is 0", field,
                             (long long)value);
    ace_error_field(error, field, 0);
    return code;
}

static ace_code check_options(const ace_consumer_options *options, ace_error **error)
{
    ace_code code = ACE_OK;
    if (options->queue == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "queue is NULL");
    }
    if ((code = ace_name_check("queue", ace_bytes_of(options->queue), error)) != ACE_OK ||
        (code = ace_prefetch_check(options->prefetch, error)) != ACE_OK ||
        (options->members != 0 && (code = ace_members_check(options->members, error)) != ACE_OK) ||
        (code = check_not_negative("prefetch bytes", options->prefetch_bytes, error)) != ACE_OK ||
        (code = check_not_negative("acknowledgement limit", options->acknowledgement_limit,
                                   error)) != ACE_OK) {
        return code;
    }
    if (options->retry != NULL && (code = ace_policy_check(options->retry, error)) != ACE_OK) {
        return code;
    }
    if (options->tag != NULL &&
        (code = ace_name_check("consumer tag", ace_bytes_of(options->tag), error)) != ACE_OK) {
        return code;
    }
    if (options->arguments != NULL &&
        (code = ace_table_sendable("arguments of the subscription", options->arguments, error)) !=
            ACE_OK) {
        return code;
    }
    return ace_base_name_check(options->queue, options->retry, error);
}

static char *made_up_tag(ace_random *random)
{
    ace_buffer tag = ACE_BUFFER_INIT;
    char uuid[ACE_UUID_LENGTH + 1];
    ace_uuid_v4(random, uuid);
    if (!ace_buffer_format(&tag, "acemq-%s", uuid)) {
        return NULL;
    }
    return ace_buffer_take_text(&tag);
}

static ace_code copy_options(ace_consumer *consumer, const ace_consumer_options *options,
                             ace_error **error)
{
    bool tagged = options->tag != NULL && options->tag[0] != '\0';
    consumer->queue = strdup(options->queue);
    consumer->tag =
        tagged ? strdup(options->tag) : made_up_tag(consumer->connection->settings.random);
    if (consumer->queue == NULL || consumer->tag == NULL) {
        return ace_fail_memory(error);
    }
    consumer->has_policy = options->retry != NULL;
    if (consumer->has_policy) {
        consumer->policy = *options->retry;
    }
    ace_codec_retain(options->codec);
    consumer->codec = options->codec;
    atomic_init(&consumer->prefetch, (unsigned)options->prefetch);
    atomic_init(&consumer->members, (unsigned)options->members);
    consumer->most = ace_consumer_most(consumer);
    consumer->byte_limit = (uint64_t)options->prefetch_bytes;
    consumer->hold_limit =
        options->acknowledgement_limit == 0 ? ACE_NEVER : options->acknowledgement_limit / 6 * 5;
    consumer->verify = options->verify;
    consumer->requeue_on_failure = options->requeue_on_failure;
    consumer->exclusive = options->exclusive;
    consumer->keeps_order = options->keeps_order;
    consumer->reviewer = options->reviewer;
    consumer->handler = options->handler;
    consumer->user = options->user;
    consumer->destructor = options->destructor;
    consumer->set_aside = options->set_aside;
    consumer->cancel = options->cancel == NULL ? NULL : ace_cancel_keep(options->cancel);
    const ace_policy *policy = consumer->has_policy ? &consumer->policy : NULL;
    ace_code code = ace_ladder_build(consumer->queue, policy, &consumer->ladder, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_plan_consumer(consumer->queue, policy, &consumer->plan, error);
    if (code != ACE_OK) {
        return code;
    }
    return options->arguments == NULL
               ? ACE_OK
               : ace_table_set_all(&consumer->arguments, options->arguments, error);
}

static void warn_of_long_waits(ace_consumer *consumer, int64_t limit)
{
    int64_t wait = consumer->has_policy ? ace_policy_longest_wait_here(&consumer->policy) : 0;
    if (limit == 0 || wait <= limit) {
        return;
    }
    char wait_text[ACE_DURATION_LENGTH];
    char limit_text[ACE_DURATION_LENGTH];
    char hold_text[ACE_DURATION_LENGTH];
    ace_delay_format(wait, false, wait_text);
    ace_delay_format(limit, false, limit_text);
    ace_delay_format(consumer->hold_limit, false, hold_text);
    ace_consumer_log(consumer, ACE_LOG_WARNING,
                     "a wait of %s is held here, and the broker lets a delivery be unacknowledged "
                     "for %s: it will be cut to %s; a threshold of %s would leave such waits to "
                     "the broker",
                     wait_text, limit_text, hold_text, limit_text);
}

static void free_parts(ace_consumer *consumer)
{
    ace_claims_free(&consumer->claims);
    ace_hops_free(consumer);
    ace_plan_release(&consumer->plan);
    ace_ladder_release(&consumer->ladder);
    ace_table_release(&consumer->arguments);
    ace_codec_release(consumer->codec);
    ace_cancel_release(consumer->cancel);
    free(consumer->queue);
    free(consumer->tag);
}

/* --- as a member of its connection --- */

static void run_stop(void *user)
{
    ace_consumer_stop(user);
}

/* What is settled has left when the caller goes on, who may end the process. */
static void run_flush(void *user)
{
    ace_consumer *consumer = user;
    ace_settle_flush(consumer);
    ace_link_flush(consumer->consuming);
}

static void run_detach(void *user)
{
    ace_consumer_detach(user);
}

/* On the loop, or here when the loop has ended and nobody else can be inside. */
static void on_loop(ace_consumer *consumer, void (*run)(void *user))
{
    if (!ace_loop_call(consumer->loop, run, consumer)) {
        run(consumer);
    }
}

static void destroy_user(ace_consumer *consumer)
{
    ace_inbox *inbox = &consumer->inbox;
    /* A thread that has handled its last is about to end. Where handlers still run, the last of
     * them sees to it. */
    if (!ace_loop_is_any_current()) {
        int64_t deadline = ace_deadline_after(LEAVING);
        (void)ace_inbox_await(inbox, ace_inbox_has_only_handlers, inbox, deadline, NULL);
    }
    ace_mutex_lock(&inbox->mutex);
    bool due = ace_inbox_take_destructor(inbox, 0);
    ace_mutex_unlock(&inbox->mutex);
    if (due && consumer->destructor != NULL) {
        consumer->destructor(consumer->user);
    }
}

static void member_stop(ace_member *member)
{
    on_loop(ACE_RECORD(member, ace_consumer, member), run_stop);
}

static bool all_settled(void *user)
{
    const ace_consumer *consumer = user;
    return atomic_load(&consumer->in_flight) == 0;
}

/* All that is left is with its receivers: what they have judged is settled. */
static bool settled_but_for_receivers(void *user)
{
    const ace_consumer *consumer = user;
    return atomic_load(&consumer->in_flight) <= atomic_load(&consumer->inbox.taken);
}

static bool member_drain(ace_member *member, int64_t deadline)
{
    ace_consumer *consumer = ACE_RECORD(member, ace_consumer, member);
    bool waits = atomic_load(&consumer->members) > 0 || consumer->keeps_order;
    return ace_inbox_await(&consumer->inbox, waits ? all_settled : settled_but_for_receivers,
                           consumer, deadline, NULL) == ACE_OK;
}

static void member_close(ace_member *member)
{
    ace_consumer *consumer = ACE_RECORD(member, ace_consumer, member);
    on_loop(consumer, run_detach);
    destroy_user(consumer);
}

static void member_report(ace_member *member, ace_work *left)
{
    ace_consumer_list_work(ACE_RECORD(member, ace_consumer, member), left);
}

static void member_health(ace_member *member, ace_health_report *report)
{
    ace_consumer_health health;
    ace_consumer_health_of(ACE_RECORD(member, ace_consumer, member), &health);
    ace_health_add(report, &health);
}

static bool member_is_current(ace_member *member)
{
    return ace_consumer_is_current(ACE_RECORD(member, ace_consumer, member));
}

bool ace_consumer_is_current(const ace_consumer *consumer)
{
    return ace_worker_consumer() == consumer;
}

/* --- its making --- */

static ace_code make(ace_connection *connection, const ace_consumer_options *options,
                     ace_consumer **out, ace_error **error)
{
    ace_consumer *consumer = calloc(1, sizeof *consumer);
    if (consumer == NULL) {
        return ace_fail_memory(error);
    }
    consumer->connection = connection;
    consumer->consuming = connection->consuming;
    consumer->publishing = connection->publishing;
    consumer->loop = ace_link_loop(connection->consuming);
    consumer->member = (ace_member){.stop = member_stop,
                                    .drain = member_drain,
                                    .close = member_close,
                                    .report = member_report,
                                    .is_current = member_is_current,
                                    .health = member_health};
    ace_list_init(&consumer->deliveries);
    consumer->staffing.fire = ace_consumer_staffing_due;
    ace_settle_init(consumer);
    ace_code code = copy_options(consumer, options, error);
    if (code == ACE_OK) {
        code = ace_hops_init(consumer, error);
    }
    if (code == ACE_OK) {
        code = ace_claims_init(&consumer->claims, &options->claims, consumer->queue, error);
    }
    if (code == ACE_OK) {
        unsigned receivers = options->members > 0 ? (unsigned)options->members : 1;
        code = ace_inbox_init(&consumer->inbox, options->handler != NULL, receivers, error);
    }
    if (code != ACE_OK) {
        free_parts(consumer);
        free(consumer);
        return code;
    }
    ace_handle_init(&consumer->handle, ACE_CONSUMER_MAGIC);
    ace_connection_keep(connection);
    *out = consumer;
    return ACE_OK;
}

static void run_start(void *user)
{
    ace_opening *opening = user;
    ace_consumer *consumer = opening->consumer;
    if (consumer->stopping) { /* its connection began to close in between */
        (void)ace_fail(&opening->error, ACE_CLOSED, "the connection was closed");
        ace_waiter_complete(&opening->waiter);
        return;
    }
    consumer->waiting_opener = opening;
    ace_subscription_start(consumer);
}

/* From here on nobody waits. What did not answer until now is not wanted any more. */
static void run_end_opening(void *user)
{
    ace_consumer *consumer = user;
    if (consumer->waiting_opener != NULL) {
        consumer->waiting_opener = NULL;
        ace_consumer_stop(consumer);
    }
}

static ace_code await_subscription(ace_consumer *consumer, int64_t deadline, ace_cancel *cancel,
                                   ace_error **error)
{
    ace_opening opening = {.consumer = consumer};
    ace_code code = ace_waiter_init(&opening.waiter, error);
    if (code != ACE_OK) {
        return code;
    }
    if (!ace_loop_call(consumer->loop, run_start, &opening)) {
        code = ace_fail(error, ACE_CLOSED, "the connection is closed");
    } else {
        code = ace_waiter_wait(&opening.waiter, deadline, cancel);
        on_loop(consumer, run_end_opening);
        if (opening.error != NULL) {
            code = ace_error_move(error, opening.error);
        } else if (!opening.subscribed) {
            code = ace_fail(error, code, "consuming queue %s: %s", consumer->queue,
                            code == ACE_TIMEOUT ? "no answer in time" : "cancelled");
        } else {
            code = ACE_OK; /* in the last moment */
        }
    }
    ace_waiter_destroy(&opening.waiter);
    return code;
}

ace_code ace_consumer_open(ace_connection *connection, const ace_consumer_options *options,
                           int64_t deadline, ace_cancel *cancel, ace_consumer **out,
                           ace_error **error)
{
    ace_code code = check_options(options, error);
    if (code != ACE_OK) {
        return code;
    }
    if (ace_loop_is_current(ace_link_loop(connection->consuming)) ||
        ace_loop_is_current(ace_link_loop(connection->publishing))) {
        return ace_fail(error, ACE_FROM_HANDLER, "not from a thread of the library");
    }
    ace_consumer *consumer = NULL;
    code = make(connection, options, &consumer, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_connection_add(connection, &consumer->member, error);
    if (code == ACE_OK) {
        warn_of_long_waits(consumer, options->acknowledgement_limit);
        code = await_subscription(consumer, deadline, cancel, error);
    }
    if (code != ACE_OK) {
        ace_consumer_release(consumer);
        return code;
    }
    consumer->freed = options->freed;
    *out = consumer;
    return ACE_OK;
}

/* --- its end --- */

static void delete (void *user)
{
    ace_consumer *consumer = user;
    ace_connection *connection = consumer->connection;
    ace_connection_remove(connection, &consumer->member);
    ace_inbox_destroy(&consumer->inbox);
    free_parts(consumer);
    void (*freed)(void *user) = consumer->freed;
    void *freed_user = consumer->user;
    free(consumer);
    if (freed != NULL) {
        freed(freed_user);
    }
    ace_connection_release(connection);
}

void ace_consumer_unref(ace_consumer *consumer)
{
    if (!ace_handle_release(&consumer->handle)) {
        return;
    }
    if (!ace_loop_is_current(consumer->loop) &&
        !ace_loop_is_current(ace_link_loop(consumer->publishing))) {
        delete (consumer);
        return;
    }
    /* The user let go while something was still on its way, and a loop was the last to hold it.
     * Deleting may wait for the connection, which a loop never may. */
    ace_thread thread;
    if (ace_thread_start(&thread, "acemq-end", delete, consumer, NULL) == ACE_OK) {
        (void)pthread_detach(thread.id);
    }
    /* Without a thread it stays where it is: a leak, and nothing worse. */
}

ace_code ace_consumer_close(ace_consumer *consumer, ace_error **error)
{
    if (!ace_handle_close(&consumer->handle)) {
        return ace_fail(error, ACE_CLOSED, "the consumer is closed");
    }
    on_loop(consumer, run_stop);
    (void)ace_loop_call(consumer->loop, run_flush, consumer);
    destroy_user(consumer);
    return ACE_OK;
}

void ace_consumer_release(ace_consumer *consumer)
{
    if (consumer == NULL) {
        return;
    }
    if (ace_handle_is_foreign(&consumer->handle)) {
        if (consumer->inbox.descriptor >= 0) {
            (void)close(consumer->inbox.descriptor);
            consumer->inbox.descriptor = -1;
        }
        return;
    }
    (void)ace_consumer_close(consumer, NULL);
    ace_consumer_unref(consumer);
}

ace_code ace_consumer_drain(ace_consumer *consumer, int64_t deadline, ace_cancel *cancel,
                            ace_error **error)
{
    if (ace_consumer_is_current(consumer)) {
        return ace_fail(error, ACE_FROM_HANDLER,
                        "draining waits for the handler that is asking for it");
    }
    if (ace_loop_is_any_current()) {
        return ace_fail(error, ACE_FROM_HANDLER, "draining would block a thread that may not wait");
    }
    if (ace_handle_is_closed(&consumer->handle)) {
        return ace_fail(error, ACE_CLOSED, "the consumer is closed");
    }
    on_loop(consumer, run_stop);
    ace_code code = ace_inbox_await(&consumer->inbox, all_settled, consumer, deadline, cancel);
    (void)ace_loop_call(consumer->loop, run_flush, consumer);
    destroy_user(consumer);
    if (code == ACE_OK) {
        return ACE_OK;
    }
    ace_work work = {0};
    ace_buffer text = ACE_BUFFER_INIT;
    ace_consumer_list_work(consumer, &work);
    bool some = work.count + work.missed > 0 && ace_buffer_format(&text, "; ");
    char *named = some && ace_work_describe(&work, &text) ? ace_buffer_take_text(&text) : NULL;
    code =
        ace_fail(error, code, "draining queue %s: %s, %llu messages are not settled%s",
                 consumer->queue, code == ACE_TIMEOUT ? "time is up" : "cancelled",
                 (unsigned long long)atomic_load(&consumer->in_flight), named == NULL ? "" : named);
    free(named);
    ace_buffer_free(&text);
    ace_work_release(&work);
    return code;
}
