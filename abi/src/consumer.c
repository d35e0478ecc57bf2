#include "consumer.h"

#include "arguments.h"
#include "client.h"
#include "engine/consumer.h"
#include "engine/waiter.h"
#include "policy.h"
#include "store/idempotency.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_RELEASE          ACE_SIZE_UP_TO(acemq_consumer_options, reserved_claims)
#define COUNTERS_FIRST_RELEASE ACE_SIZE_UP_TO(acemq_consumer_counters, unconfirmed)

static const acemq_consumer_options defaults = ACEMQ_CONSUMER_OPTIONS_INIT;

acemq_status acemq_consumer_options_init(acemq_consumer_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_outcome handle(ace_delivery *delivery, void *user)
{
    const ace_pushed *given = user;
    return (ace_outcome)given->handler(delivery, given->user);
}

static void free_pushed(void *user)
{
    ace_pushed *given = user;
    if (given->destructor != NULL) {
        given->destructor(given->user);
    }
    free(given);
}

static ace_code check_options(const acemq_consumer_options *options, ace_error **error)
{
    const struct {
        int64_t value;
        int64_t least;
        int64_t most;
        const char *name;
    } numbers[] = {
        {options->timeout, 0, INT64_MAX, "timeout"},
        {options->prefetch_bytes, 0, INT64_MAX, "prefetch_bytes"},
        {options->acknowledgement_limit, 0, INT64_MAX, "acknowledgement_limit"},
        {options->declare, ACEMQ_DECLARE_YES, ACEMQ_DECLARE_VERIFY, "declare"},
        {options->requeue_on_failure, 0, 1, "requeue_on_failure"},
        {options->exclusive, 0, 1, "exclusive"},
        {options->renew, 0, 1, "renew"},
        {options->lease, 1, ACE_CLAIM_LEASE_MAX, "lease"},
        {options->put_back_wait, 1, ACE_CLAIM_LEASE_MAX, "put_back_wait"},
        {options->reserved_claims, 0, 0, "reserved_claims"},
    };
    ace_code code = ace_argument_optional_text(options->tag, "tag", error);
    for (size_t i = 0; code == ACE_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        code = ace_argument_range(numbers[i].value, numbers[i].least, numbers[i].most,
                                  numbers[i].name, error);
    }
    if (code == ACE_OK && options->idempotency != NULL) {
        code = ace_handle_check((const ace_handle *)(const void *)options->idempotency,
                                ACE_IDEMPOTENCY_MAGIC, "idempotency", error);
    }
    return code == ACE_OK ? ace_prefetch_check(options->prefetch, error) : code;
}

ace_pushed *ace_pushed_new(acemq_handler handler, void *user, acemq_destructor destructor)
{
    ace_pushed *made = malloc(sizeof *made);
    if (made != NULL) {
        *made = (ace_pushed){handler, user, destructor};
    }
    return made;
}

ace_code ace_consume_read(const acemq_connection *connection, const char *queue,
                          const acemq_consumer_options *given, acemq_consumer_options *options,
                          ace_error **error)
{
    *options = defaults;
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_text(queue, "queue", error);
    }
    if (code == ACE_OK && given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    return code == ACE_OK ? check_options(options, error) : code;
}

ace_code ace_consume_translate(const acemq_connection *connection, const char *queue,
                               const acemq_consumer_options *read, ace_pushed *handler,
                               ace_policy *policy, ace_consumer_options *options, ace_error **error)
{
    ace_code code = ace_policy_from_public(read->retry, policy, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_consumer_options_init(options);
    options->queue = queue;
    options->retry = read->retry == NULL ? NULL : policy;
    options->codec = read->codec;
    options->arguments = read->arguments == NULL ? NULL : &read->arguments->table;
    options->tag = read->tag;
    options->prefetch = read->prefetch;
    options->prefetch_bytes = read->prefetch_bytes;
    options->acknowledgement_limit = read->acknowledgement_limit;
    options->verify = read->declare == ACEMQ_DECLARE_VERIFY;
    options->requeue_on_failure = read->requeue_on_failure != 0;
    options->exclusive = read->exclusive != 0;
    options->claims = (ace_claim_options){.store = read->idempotency,
                                          .lease = read->lease,
                                          .put_back_wait = read->put_back_wait,
                                          .renews = read->renew != 0,
                                          .key = read->claim_key,
                                          .key_user = read->claim_key_user};
    options->cancel = ace_client_cancel(connection, read->cancel);
    if (handler != NULL) {
        options->handler = handle;
        options->user = handler;
        options->destructor = free_pushed;
    }
    return ACE_OK;
}

static ace_code read_options(const acemq_connection *connection, const char *queue,
                             const acemq_consumer_options *given, acemq_consumer_options *options,
                             acemq_consumer **consumer, ace_error **error)
{
    ace_code code = ace_consume_read(connection, queue, given, options, error);
    return code == ACE_OK ? ace_argument_present(consumer, "consumer", error) : code;
}

static ace_code open_consumer(acemq_connection *connection, const char *queue,
                              const acemq_consumer_options *read, ace_pushed *handler,
                              acemq_consumer **consumer, ace_error **error)
{
    ace_policy policy;
    ace_consumer_options options;
    ace_code code =
        ace_consume_translate(connection, queue, read, handler, &policy, &options, error);
    if (code != ACE_OK) {
        return code;
    }
    return ace_consumer_open(connection, &options, ace_deadline_after(read->timeout),
                             options.cancel, consumer, error);
}

acemq_status acemq_consume(acemq_connection *connection, const char *queue,
                           const acemq_consumer_options *options, acemq_handler handler, void *user,
                           acemq_destructor destructor, acemq_consumer **consumer,
                           acemq_error **error)
{
    acemq_consumer_options read;
    ace_code code = read_options(connection, queue, options, &read, consumer, error);
    if (code == ACE_OK && handler == NULL) {
        code = ace_argument_present(NULL, "handler", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_pushed *given = ace_pushed_new(handler, user, destructor);
    if (given == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    code = open_consumer(connection, queue, &read, given, consumer, error);
    if (code != ACE_OK) {
        free(given);
    }
    return (acemq_status)code;
}

acemq_status acemq_consumer_open(acemq_connection *connection, const char *queue,
                                 const acemq_consumer_options *options, acemq_consumer **consumer,
                                 acemq_error **error)
{
    acemq_consumer_options read;
    ace_code code = read_options(connection, queue, options, &read, consumer, error);
    if (code == ACE_OK) {
        code = open_consumer(connection, queue, &read, NULL, consumer, error);
    }
    return (acemq_status)code;
}

/* The first member of every consumer is its handle. */
static const ace_handle *handle_of(const acemq_consumer *consumer)
{
    return (const ace_handle *)(const void *)consumer;
}

static ace_code check(const acemq_consumer *consumer, ace_error **error)
{
    return ace_handle_check(handle_of(consumer), ACE_CONSUMER_MAGIC, "consumer", error);
}

/* For what reads, and for what a closed consumer still has to hand out. */
static ace_code check_known(const acemq_consumer *consumer, ace_error **error)
{
    return ace_handle_check_open_or_closed(handle_of(consumer), ACE_CONSUMER_MAGIC, "consumer",
                                           error);
}

acemq_status acemq_consumer_next(acemq_consumer *consumer, int64_t timeout,
                                 acemq_delivery **delivery, acemq_error **error)
{
    ace_code code = check(consumer, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(delivery, "delivery", error);
    }
    if (code == ACE_OK) {
        code = ace_cancel_check(ace_consumer_cancel(consumer), error);
    }
    if (code == ACE_OK) {
        code = ace_consumer_next(consumer, ace_deadline_after(timeout),
                                 ace_consumer_cancel(consumer), delivery, error);
    }
    return (acemq_status)code;
}

void acemq_consumer_wake(acemq_consumer *consumer)
{
    if (check_known(consumer, NULL) == ACE_OK) {
        ace_consumer_wake(consumer);
    }
}

int acemq_consumer_fd(const acemq_consumer *consumer)
{
    return check_known(consumer, NULL) == ACE_OK ? ace_consumer_descriptor(consumer) : -1;
}

acemq_status acemq_consumer_drain(acemq_consumer *consumer, int64_t timeout, int *finished,
                                  acemq_error **error)
{
    if (finished != NULL) {
        *finished = 0;
    }
    ace_code code = check(consumer, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_consumer_drain(consumer, ace_deadline_after(timeout),
                                  ace_consumer_cancel(consumer), error);
    }
    if (code == ACE_OK && finished != NULL) {
        *finished = 1;
    }
    return (acemq_status)code;
}

acemq_status acemq_consumer_close(acemq_consumer *consumer, acemq_error **error)
{
    ace_code code = check(consumer, error);
    return (acemq_status)(code == ACE_OK ? ace_consumer_close(consumer, error) : code);
}

void acemq_consumer_free(acemq_consumer *consumer)
{
    ace_consumer_release(consumer);
}

acemq_status acemq_consumer_get_counters(const acemq_consumer *consumer,
                                         acemq_consumer_counters *counters, acemq_error **error)
{
    ace_code code = check_known(consumer, error);
    if (code == ACE_OK) {
        code = ace_argument_present(counters, "counters", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_consumer_counters counted;
    ace_consumer_count(consumer, &counted);
    return (acemq_status)ace_counters_to_public(&counted, counters, error);
}

ace_code ace_counters_to_public(const ace_consumer_counters *counted,
                                acemq_consumer_counters *counters, ace_error **error)
{
    acemq_consumer_counters known = {.acknowledged = counted->acknowledged,
                                     .rejected = counted->rejected,
                                     .retried = counted->retried,
                                     .dead_lettered = counted->dead_lettered,
                                     .parked = counted->parked,
                                     .duplicates = counted->duplicates,
                                     .in_flight = counted->in_flight,
                                     .waiting = counted->waiting,
                                     .delivered = counted->delivered,
                                     .hops_failed = counted->hops_failed,
                                     .rungs_missing = counted->rungs_missing,
                                     .in_progress = counted->in_progress,
                                     .store_failures = counted->store_failures,
                                     .fenced = counted->fenced,
                                     .unconfirmed = counted->unconfirmed};
    return ace_options_fill(counters, counters->size, &known, sizeof known, COUNTERS_FIRST_RELEASE,
                            "counters", error);
}

int acemq_consumer_subscribed(const acemq_consumer *consumer)
{
    return check_known(consumer, NULL) == ACE_OK && ace_consumer_is_subscribed(consumer);
}

acemq_status acemq_consumer_pause(acemq_consumer *consumer, acemq_error **error)
{
    ace_code code = check(consumer, error);
    return (acemq_status)(code == ACE_OK ? ace_consumer_pause(consumer, error) : code);
}

acemq_status acemq_consumer_resume(acemq_consumer *consumer, acemq_error **error)
{
    ace_code code = check(consumer, error);
    return (acemq_status)(code == ACE_OK ? ace_consumer_resume(consumer, error) : code);
}

int acemq_consumer_paused(const acemq_consumer *consumer)
{
    return check_known(consumer, NULL) == ACE_OK && ace_consumer_is_paused(consumer);
}

acemq_status acemq_consumer_set_prefetch(acemq_consumer *consumer, int64_t prefetch,
                                         acemq_error **error)
{
    ace_code code = check(consumer, error);
    return (acemq_status)(code == ACE_OK ? ace_consumer_set_prefetch(consumer, prefetch, error)
                                         : code);
}

int64_t acemq_consumer_prefetch(const acemq_consumer *consumer)
{
    return check_known(consumer, NULL) == ACE_OK ? ace_consumer_prefetch(consumer) : 0;
}

acemq_status acemq_consumer_get_work(const acemq_consumer *consumer, acemq_work **work,
                                     acemq_error **error)
{
    ace_code code = check_known(consumer, error);
    if (code == ACE_OK) {
        code = ace_argument_present(work, "work", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_work listed = {0};
    /* What is listed does not change by being listed; its lock does. */
    ace_consumer_list_work((ace_consumer *)(uintptr_t)consumer, &listed);
    return (acemq_status)ace_work_to_public(&listed, true, work, error);
}
