#include "acemq/ordered.h"

#include "arguments.h"
#include "client.h"
#include "consumer.h"
#include "engine/ordered.h"
#include "engine/waiter.h"
#include "work.h"

#include <stdlib.h>

#define FIRST_RELEASE ACE_SIZE_UP_TO(acemq_ordered_options, failure)

_Static_assert((int)ACEMQ_ORDER_STOP == (int)ACE_ORDER_STOP &&
                   (int)ACEMQ_ORDER_RETRY_IN_PLACE == (int)ACE_ORDER_RETRY_IN_PLACE &&
                   (int)ACEMQ_ORDER_SKIP == (int)ACE_ORDER_SKIP,
               "one numbering of what follows a failure");

static const acemq_ordered_options defaults = ACEMQ_ORDERED_OPTIONS_INIT;

acemq_status acemq_ordered_options_init(acemq_ordered_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code read_options(const acemq_connection *connection, const char *name,
                             const acemq_ordered_options *given, acemq_ordered_options *options,
                             acemq_consumer_options *consumer, ace_error **error)
{
    *options = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_consume_read(connection, name, options->consumer, consumer, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->partitions, 1, ACE_PARTITIONS_MAX, "partitions", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->failure, ACEMQ_ORDER_STOP, ACEMQ_ORDER_SKIP, "failure",
                                  error);
    }
    if (code == ACE_OK && consumer->idempotency != NULL) {
        code = ace_fail(error, ACE_UNSUPPORTED,
                        "ordered consuming takes no idempotency store: a store serves one queue");
        ace_error_field(error, "idempotency", 0);
    }
    return code;
}

static ace_code open_ordered(acemq_connection *connection, const char *name,
                             const acemq_ordered_options *given, ace_pushed *handler,
                             acemq_ordered **ordered, ace_error **error)
{
    acemq_ordered_options read;
    acemq_consumer_options consumer;
    ace_policy policy;
    ace_ordered_options options;
    ace_code code = read_options(connection, name, given, &read, &consumer, error);
    if (code == ACE_OK) {
        code = ace_argument_present(ordered, "ordered", error);
    }
    if (code == ACE_OK) {
        code = ace_consume_translate(connection, name, &consumer, handler, &policy,
                                     &options.consumer, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    options.partitions = (int32_t)read.partitions;
    options.failure = (ace_order_failure)read.failure;
    return ace_ordered_open(connection, &options, ace_deadline_after(consumer.timeout),
                            options.consumer.cancel, ordered, error);
}

acemq_status acemq_ordered_consume(acemq_connection *connection, const char *name,
                                   const acemq_ordered_options *options, acemq_handler handler,
                                   void *user, acemq_destructor destructor, acemq_ordered **ordered,
                                   acemq_error **error)
{
    if (handler == NULL) {
        return (acemq_status)ace_argument_present(NULL, "handler", error);
    }
    ace_pushed *pushed = ace_pushed_new(handler, user, destructor);
    if (pushed == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    ace_code code = open_ordered(connection, name, options, pushed, ordered, error);
    if (code != ACE_OK) {
        free(pushed);
    }
    return (acemq_status)code;
}

acemq_status acemq_ordered_open(acemq_connection *connection, const char *name,
                                const acemq_ordered_options *options, acemq_ordered **ordered,
                                acemq_error **error)
{
    return (acemq_status)open_ordered(connection, name, options, NULL, ordered, error);
}

/* The first member of every ordered consumer is its handle. */
static ace_code check(const acemq_ordered *ordered, ace_error **error)
{
    return ace_handle_check((const ace_handle *)(const void *)ordered, ACE_ORDERED_MAGIC, "ordered",
                            error);
}

static ace_code check_known(const acemq_ordered *ordered, ace_error **error)
{
    return ace_handle_check_open_or_closed((const ace_handle *)(const void *)ordered,
                                           ACE_ORDERED_MAGIC, "ordered", error);
}

acemq_status acemq_ordered_next(acemq_ordered *ordered, int64_t timeout, acemq_delivery **delivery,
                                acemq_error **error)
{
    ace_code code = check(ordered, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(delivery, "delivery", error);
    }
    if (code == ACE_OK) {
        code = ace_cancel_check(ace_ordered_cancel(ordered), error);
    }
    if (code == ACE_OK) {
        code = ace_ordered_next(ordered, ace_deadline_after(timeout), ace_ordered_cancel(ordered),
                                delivery, error);
    }
    return (acemq_status)code;
}

void acemq_ordered_wake(acemq_ordered *ordered)
{
    if (check_known(ordered, NULL) == ACE_OK) {
        ace_ordered_wake(ordered);
    }
}

int acemq_ordered_fd(const acemq_ordered *ordered)
{
    return check_known(ordered, NULL) == ACE_OK ? ace_ordered_descriptor(ordered) : -1;
}

acemq_status acemq_ordered_pause(acemq_ordered *ordered, acemq_error **error)
{
    ace_code code = check(ordered, error);
    return (acemq_status)(code == ACE_OK ? ace_ordered_pause(ordered, error) : code);
}

acemq_status acemq_ordered_resume(acemq_ordered *ordered, int64_t partition, acemq_error **error)
{
    ace_code code = check(ordered, error);
    if (code == ACE_OK) {
        code = ace_argument_range(partition, -1, ace_ordered_partitions(ordered) - 1, "partition",
                                  error);
    }
    return (acemq_status)(code == ACE_OK ? ace_ordered_resume(ordered, (int32_t)partition, error)
                                         : code);
}

int acemq_ordered_paused(const acemq_ordered *ordered)
{
    return check_known(ordered, NULL) == ACE_OK && ace_ordered_is_paused(ordered);
}

int acemq_ordered_subscribed(const acemq_ordered *ordered)
{
    return check_known(ordered, NULL) == ACE_OK && ace_ordered_is_subscribed(ordered);
}

int acemq_ordered_halted(const acemq_ordered *ordered, int64_t partition, acemq_error **why)
{
    if (why != NULL) {
        *why = NULL;
    }
    if (check_known(ordered, NULL) != ACE_OK || partition < 0 ||
        partition >= ace_ordered_partitions(ordered)) {
        return 0;
    }
    /* What is asked does not change by being asked; its lock does. */
    return ace_ordered_is_halted((ace_ordered *)(uintptr_t)ordered, (int32_t)partition, why);
}

acemq_status acemq_ordered_drain(acemq_ordered *ordered, int64_t timeout, int *finished,
                                 acemq_work **left, acemq_error **error)
{
    if (finished != NULL) {
        *finished = 0;
    }
    if (left != NULL) {
        *left = NULL;
    }
    ace_code code = check(ordered, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_work work = {0};
    code =
        ace_ordered_drain(ordered, ace_deadline_after(timeout), ace_ordered_cancel(ordered), error);
    if (code == ACE_OK && finished != NULL) {
        *finished = 1;
    }
    if (code == ACE_TIMEOUT || code == ACE_CANCELLED) {
        ace_ordered_list_work(ordered, &work);
    }
    (void)ace_work_to_public(&work, false, left, NULL);
    return (acemq_status)code;
}

acemq_status acemq_ordered_close(acemq_ordered *ordered, acemq_error **error)
{
    ace_code code = check(ordered, error);
    return (acemq_status)(code == ACE_OK ? ace_ordered_close(ordered, error) : code);
}

void acemq_ordered_free(acemq_ordered *ordered)
{
    ace_ordered_release(ordered);
}

acemq_status acemq_ordered_get_counters(const acemq_ordered *ordered,
                                        acemq_consumer_counters *counters, acemq_error **error)
{
    ace_code code = check_known(ordered, error);
    if (code == ACE_OK) {
        code = ace_argument_present(counters, "counters", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_consumer_counters sum;
    ace_ordered_count(ordered, &sum);
    return (acemq_status)ace_counters_to_public(&sum, counters, error);
}

/* --- gaps --- */

struct acemq_gaps {
    ace_gaps gaps;
};

acemq_status acemq_ordered_get_gaps(const acemq_ordered *ordered, acemq_gaps **gaps,
                                    acemq_error **error)
{
    ace_code code = check_known(ordered, error);
    if (code == ACE_OK) {
        code = ace_argument_present(gaps, "gaps", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_gaps *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    code = ace_ordered_gaps((ace_ordered *)(uintptr_t)ordered, &made->gaps, error);
    if (code != ACE_OK) {
        free(made);
        return (acemq_status)code;
    }
    *gaps = made;
    return ACEMQ_OK;
}

size_t acemq_gaps_count(const acemq_gaps *gaps)
{
    return gaps == NULL ? 0 : gaps->gaps.count;
}

uint64_t acemq_gaps_total(const acemq_gaps *gaps)
{
    return gaps == NULL ? 0 : gaps->gaps.all;
}

static const ace_gap *gap_at(const acemq_gaps *gaps, size_t index)
{
    static const ace_gap none = {.partition = -1, .id = "", .reason = ""};
    return index < acemq_gaps_count(gaps) ? &gaps->gaps.items[index] : &none;
}

int64_t acemq_gaps_partition(const acemq_gaps *gaps, size_t index)
{
    return gap_at(gaps, index)->partition;
}

const char *acemq_gaps_id(const acemq_gaps *gaps, size_t index)
{
    return gap_at(gaps, index)->id;
}

const char *acemq_gaps_reason(const acemq_gaps *gaps, size_t index)
{
    return gap_at(gaps, index)->reason;
}

int64_t acemq_gaps_time(const acemq_gaps *gaps, size_t index)
{
    return gap_at(gaps, index)->time;
}

int acemq_gaps_parked(const acemq_gaps *gaps, size_t index)
{
    return gap_at(gaps, index)->parked;
}

void acemq_gaps_free(acemq_gaps *gaps)
{
    if (gaps != NULL) {
        ace_gaps_release(&gaps->gaps);
        free(gaps);
    }
}
