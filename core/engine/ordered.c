#include "engine/ordered.h"

#include "contract/names.h"
#include "engine/consumer_order.h"
#include "engine/ordered_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDED_LOOK INT64_C(1000) /* ms between two looks whether the partitions have ended */

/* --- its making and its end as an object --- */

static void unref(ace_ordered *ordered)
{
    if (!ace_handle_release(&ordered->handle)) {
        return;
    }
    for (int32_t p = 0; p < ordered->count; p++) {
        free(ordered->partitions[p].id);
        ace_error_free(ordered->partitions[p].why);
    }
    ace_gaps_release(&ordered->gaps);
    ace_inbox_destroy(&ordered->handouts);
    ace_mutex_destroy(&ordered->mutex);
    free(ordered);
}

/* No handler of this partition can run any more. */
static void partition_ended(void *user)
{
    ace_ordered *ordered = ((ace_partition *)user)->ordered;
    if (atomic_fetch_sub(&ordered->handling, 1) == 1 && !atomic_load(&ordered->given_up) &&
        ordered->destructor != NULL) {
        ordered->destructor(ordered->user);
    }
}

static void partition_freed(void *user)
{
    unref(((ace_partition *)user)->ordered);
}

/* What nobody pulled goes back. */
static void end_handouts(ace_ordered *ordered)
{
    ace_list left;
    ace_link_node *node;
    ace_list_init(&left);
    ace_inbox_close(&ordered->handouts, NULL, &left);
    while ((node = ace_list_take_first(&left)) != NULL) {
        ace_delivery_free(ACE_RECORD(node, ace_delivery, queue));
    }
}

static void member_stop(ace_member *member)
{
    end_handouts(ACE_RECORD(member, ace_ordered, member));
}

static ace_code make(ace_connection *connection, const ace_ordered_options *options,
                     ace_ordered **out, ace_error **error)
{
    int32_t count = options->partitions;
    ace_ordered *ordered =
        calloc(1, sizeof *ordered + (size_t)count * sizeof ordered->partitions[0]);
    if (ordered == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_mutex_init(&ordered->mutex, error);
    if (code != ACE_OK) {
        free(ordered);
        return code;
    }
    code = ace_inbox_init(&ordered->handouts, options->consumer.handler != NULL, (unsigned)count,
                          error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&ordered->mutex);
        free(ordered);
        return code;
    }
    ace_handle_init(&ordered->handle, ACE_ORDERED_MAGIC);
    ordered->connection = connection;
    ordered->member = (ace_member){.stop = member_stop, .close = member_stop};
    ordered->failure = options->failure;
    ordered->handler = options->consumer.handler;
    ordered->user = options->consumer.user;
    ordered->destructor = options->consumer.destructor;
    ordered->count = count;
    ordered->has_policy = options->consumer.retry != NULL;
    if (ordered->has_policy) {
        ordered->policy = *options->consumer.retry;
        ordered->policy.threshold = 0; /* a wait in the broker would let others pass */
    }
    atomic_init(&ordered->handling, count);
    for (int32_t p = 0; p < count; p++) {
        ordered->partitions[p].ordered = ordered;
        ordered->partitions[p].index = p;
    }
    *out = ordered;
    return ACE_OK;
}

static ace_code open_partition(ace_connection *connection, const ace_ordered_options *options,
                               ace_partition *partition, int64_t deadline, ace_cancel *cancel,
                               ace_error **error)
{
    ace_ordered *ordered = partition->ordered;
    ace_consumer_options consumer = options->consumer;
    ace_name queue;
    ace_code code = ace_name_partition(options->consumer.queue, partition->index, &queue, error);
    if (code != ACE_OK) {
        return code;
    }
    consumer.queue = queue.text;
    consumer.retry = ordered->has_policy ? &ordered->policy : NULL;
    consumer.tag = NULL;
    consumer.prefetch = 1;
    consumer.members = 0;
    consumer.requeue_on_failure = false;
    consumer.claims.store = NULL; /* which would serve one queue alone */
    consumer.keeps_order = true;
    consumer.reviewer = ace_partition_review;
    consumer.handler = ace_partition_handle;
    consumer.user = partition;
    consumer.destructor = partition_ended;
    consumer.set_aside = ace_partition_set_aside;
    consumer.freed = partition_freed;
    ace_consumer *opened = NULL;
    ace_handle_retain(&ordered->handle);
    code = ace_consumer_open(connection, &consumer, deadline, cancel, &opened, error);
    if (code != ACE_OK) {
        unref(ordered);
        return code;
    }
    partition->consumer = opened;
    return ACE_OK;
}

/* Closes what is open, so that nothing of the caller's runs; none has until now. */
static void give_up(ace_ordered *ordered)
{
    ace_connection_remove(ordered->connection, &ordered->member);
    atomic_store(&ordered->given_up, true);
    for (int32_t p = 0; p < ordered->count; p++) {
        ace_consumer_release(ordered->partitions[p].consumer);
    }
    unref(ordered);
}

ace_code ace_ordered_open(ace_connection *connection, const ace_ordered_options *options,
                          int64_t deadline, ace_cancel *cancel, ace_ordered **out,
                          ace_error **error)
{
    if (options->partitions < 1 || options->partitions > ACE_PARTITIONS_MAX) {
        ace_code code =
            ace_fail(error, ACE_LIMIT, "partitions is %" PRId32 ", the limits are 1 and %d",
                     options->partitions, ACE_PARTITIONS_MAX);
        ace_error_field(error, "partitions", ACE_PARTITIONS_MAX);
        return code;
    }
    ace_ordered *ordered = NULL;
    ace_code code = make(connection, options, &ordered, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_connection_add(connection, &ordered->member, error);
    for (int32_t p = 0; code == ACE_OK && p < ordered->count; p++) {
        code =
            open_partition(connection, options, &ordered->partitions[p], deadline, cancel, error);
    }
    if (code != ACE_OK) {
        give_up(ordered);
        return code;
    }
    atomic_store(&ordered->ready, true);
    for (int32_t p = 0; p < ordered->count; p++) {
        ace_inbox_stir(&ordered->partitions[p].consumer->inbox);
    }
    *out = ordered;
    return ACE_OK;
}

/* --- pulling --- */

/* By itself, since the connection is gone for good: *why is replaced then. */
static bool has_ended(ace_ordered *ordered, ace_error **why)
{
    ace_inbox *inbox = &ordered->partitions[0].consumer->inbox;
    ace_mutex_lock(&inbox->mutex);
    bool ended = inbox->closed && inbox->why != NULL;
    if (ended) {
        ace_error_free(*why);
        *why = ace_error_copy(inbox->why);
    }
    ace_mutex_unlock(&inbox->mutex);
    return ended;
}

ace_code ace_ordered_next(ace_ordered *ordered, int64_t deadline, ace_cancel *cancel,
                          ace_delivery **delivery, ace_error **error)
{
    if (ordered->handler != NULL) {
        return ace_fail(error, ACE_STATE, "the handler takes the messages");
    }
    if (ace_loop_is_any_current() && deadline > ace_deadline_after(0)) {
        return ace_fail(error, ACE_FROM_HANDLER,
                        "waiting for a message would block a thread that may not wait");
    }
    for (;;) {
        ace_delivery *view = NULL;
        ace_error *why = NULL;
        int64_t look = ace_deadline_after(ENDED_LOOK);
        ace_code code = ace_inbox_take(&ordered->handouts, deadline < look ? deadline : look,
                                       cancel, &view, &why);
        if (code == ACE_TIMEOUT && look < deadline && !has_ended(ordered, &why)) {
            ace_error_free(why);
            continue;
        }
        if (code != ACE_OK) {
            return ace_error_move(error, why);
        }
        ace_inbox_let_go(&ordered->handouts, view); /* its original is held by its partition */
        if (!ace_consumer_is_stale(view->consumer, view)) {
            *delivery = view;
            return ACE_OK;
        }
        ace_delivery_unref(view);
    }
}

void ace_ordered_wake(ace_ordered *ordered)
{
    ace_inbox_wake(&ordered->handouts);
}

int ace_ordered_descriptor(const ace_ordered *ordered)
{
    return ordered->handouts.descriptor;
}

/* --- while it runs --- */

int32_t ace_ordered_partitions(const ace_ordered *ordered)
{
    return ordered->count;
}

static ace_code check_open(const ace_ordered *ordered, ace_error **error)
{
    return ace_handle_is_closed(&ordered->handle)
               ? ace_fail(error, ACE_CLOSED, "the ordered consumer is closed")
               : ACE_OK;
}

ace_code ace_ordered_pause(ace_ordered *ordered, ace_error **error)
{
    ace_code code = check_open(ordered, error);
    for (int32_t p = 0; code == ACE_OK && p < ordered->count; p++) {
        code = ace_consumer_pause(ordered->partitions[p].consumer, error);
    }
    return code;
}

static ace_code resume_one(ace_partition *partition, ace_error **error)
{
    ace_ordered *ordered = partition->ordered;
    ace_mutex_lock(&ordered->mutex);
    partition->halted = false;
    ace_error_free(partition->why);
    partition->why = NULL;
    ace_mutex_unlock(&ordered->mutex);
    return ace_consumer_resume(partition->consumer, error);
}

ace_code ace_ordered_resume(ace_ordered *ordered, int32_t partition, ace_error **error)
{
    ace_code code = check_open(ordered, error);
    if (code == ACE_OK && (partition < -1 || partition >= ordered->count)) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT,
                        "partition is %" PRId32 ", it must be -1 to %" PRId32, partition,
                        ordered->count - 1);
        ace_error_field(error, "partition", ordered->count - 1);
    }
    int32_t first = partition < 0 ? 0 : partition;
    int32_t last = partition < 0 ? ordered->count - 1 : partition;
    for (int32_t p = first; code == ACE_OK && p <= last; p++) {
        code = resume_one(&ordered->partitions[p], error);
    }
    return code;
}

bool ace_ordered_is_paused(const ace_ordered *ordered)
{
    for (int32_t p = 0; p < ordered->count; p++) {
        if (!ace_consumer_is_paused(ordered->partitions[p].consumer)) {
            return false;
        }
    }
    return true;
}

bool ace_ordered_is_subscribed(const ace_ordered *ordered)
{
    for (int32_t p = 0; p < ordered->count; p++) {
        const ace_consumer *consumer = ordered->partitions[p].consumer;
        if (!ace_consumer_is_subscribed(consumer) && !ace_consumer_is_paused(consumer)) {
            return false;
        }
    }
    return true;
}

bool ace_ordered_is_halted(ace_ordered *ordered, int32_t partition, ace_error **why)
{
    if (partition < 0 || partition >= ordered->count) {
        return false;
    }
    ace_mutex_lock(&ordered->mutex);
    bool halted = ordered->partitions[partition].halted;
    if (halted && why != NULL) {
        *why = ace_error_copy(ordered->partitions[partition].why);
    }
    ace_mutex_unlock(&ordered->mutex);
    return halted;
}

void ace_gaps_release(ace_gaps *gaps)
{
    for (size_t i = 0; i < gaps->count; i++) {
        free(gaps->items[i].id);
        free(gaps->items[i].reason);
    }
    free(gaps->items);
    *gaps = (ace_gaps){.items = NULL};
}

ace_code ace_ordered_gaps(ace_ordered *ordered, ace_gaps *gaps, ace_error **error)
{
    *gaps = (ace_gaps){.items = NULL};
    bool good = true;
    ace_mutex_lock(&ordered->mutex);
    gaps->all = ordered->gaps.all;
    if (ordered->gaps.count > 0) {
        gaps->items = calloc(ordered->gaps.count, sizeof *gaps->items);
        good = gaps->items != NULL;
    }
    for (size_t i = 0; good && i < ordered->gaps.count; i++) {
        ace_gap *copy = &gaps->items[gaps->count++];
        *copy = ordered->gaps.items[i];
        copy->id = strdup(copy->id);
        copy->reason = strdup(copy->reason);
        good = copy->id != NULL && copy->reason != NULL;
    }
    ace_mutex_unlock(&ordered->mutex);
    if (!good) {
        ace_gaps_release(gaps);
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

void ace_ordered_count(const ace_ordered *ordered, ace_consumer_counters *sum)
{
    *sum = (ace_consumer_counters){.acknowledged = 0};
    for (int32_t p = 0; p < ordered->count; p++) {
        ace_consumer_counters one;
        ace_consumer_count(ordered->partitions[p].consumer, &one);
        sum->acknowledged += one.acknowledged;
        sum->rejected += one.rejected;
        sum->retried += one.retried;
        sum->dead_lettered += one.dead_lettered;
        sum->parked += one.parked;
        sum->duplicates += one.duplicates;
        sum->in_flight += one.in_flight;
        sum->waiting += one.waiting;
        sum->delivered += one.delivered;
        sum->hops_failed += one.hops_failed;
        sum->rungs_missing += one.rungs_missing;
    }
}

void ace_ordered_list_work(ace_ordered *ordered, ace_work *work)
{
    for (int32_t p = 0; p < ordered->count; p++) {
        ace_consumer_list_work(ordered->partitions[p].consumer, work);
    }
}

ace_cancel *ace_ordered_cancel(const ace_ordered *ordered)
{
    return ace_consumer_cancel(ordered->partitions[0].consumer);
}

/* --- its end --- */

static bool is_from_inside(const ace_ordered *ordered)
{
    bool inside = ace_loop_is_any_current();
    for (int32_t p = 0; p < ordered->count && !inside; p++) {
        inside = ace_consumer_is_current(ordered->partitions[p].consumer);
    }
    return inside;
}

static void stop_now(void *user)
{
    ace_consumer_stop(user);
}

ace_code ace_ordered_drain(ace_ordered *ordered, int64_t deadline, ace_cancel *cancel,
                           ace_error **error)
{
    if (is_from_inside(ordered)) {
        return ace_fail(error, ACE_FROM_HANDLER,
                        "draining waits for the handler that is asking for it");
    }
    ace_code code = check_open(ordered, error);
    /* All at once, and only then one after the other: the deadline is one for all. */
    for (int32_t p = 0; code == ACE_OK && p < ordered->count; p++) {
        ace_consumer *consumer = ordered->partitions[p].consumer;
        (void)ace_loop_call(consumer->loop, stop_now, consumer);
    }
    if (code == ACE_OK) {
        end_handouts(ordered);
    }
    for (int32_t p = 0; (code == ACE_OK || code == ACE_TIMEOUT) && p < ordered->count; p++) {
        ace_error *why = NULL;
        ace_code one = ace_consumer_drain(ordered->partitions[p].consumer, deadline, cancel, &why);
        if (one != ACE_OK && code == ACE_OK) {
            code = ace_error_move(error, why);
        } else {
            ace_error_free(why);
        }
    }
    return code;
}

ace_code ace_ordered_close(ace_ordered *ordered, ace_error **error)
{
    if (!ace_handle_close(&ordered->handle)) {
        return ace_fail(error, ACE_CLOSED, "the ordered consumer is closed");
    }
    for (int32_t p = 0; p < ordered->count; p++) {
        (void)ace_consumer_close(ordered->partitions[p].consumer, NULL);
    }
    end_handouts(ordered);
    return ACE_OK;
}

void ace_ordered_release(ace_ordered *ordered)
{
    if (ordered == NULL) {
        return;
    }
    if (ace_handle_is_foreign(&ordered->handle)) {
        for (int32_t p = 0; p < ordered->count; p++) {
            ace_consumer_release(ordered->partitions[p].consumer);
        }
        if (ordered->handouts.descriptor >= 0) {
            (void)close(ordered->handouts.descriptor);
            ordered->handouts.descriptor = -1;
        }
        return;
    }
    (void)ace_ordered_close(ordered, NULL);
    ace_connection_remove(ordered->connection, &ordered->member);
    for (int32_t p = 0; p < ordered->count; p++) {
        ace_consumer_release(ordered->partitions[p].consumer);
    }
    unref(ordered);
}
