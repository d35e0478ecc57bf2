#include "acemq/group.h"

#include "arguments.h"
#include "client.h"
#include "consumer.h"
#include "engine/group.h"
#include "engine/waiter.h"
#include "work.h"

#include <stdlib.h>

#define FIRST_RELEASE ACE_SIZE_UP_TO(acemq_group_options, members)

static const acemq_group_options defaults = ACEMQ_GROUP_OPTIONS_INIT;

acemq_status acemq_group_options_init(acemq_group_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

/* What was given, checked; `options->consumer` points to `consumer` afterwards. */
static ace_code read_options(const acemq_connection *connection, const char *queue,
                             const acemq_group_options *given, acemq_group_options *options,
                             acemq_consumer_options *consumer, ace_error **error)
{
    *options = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_consume_read(connection, queue, options->consumer, consumer, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->drain_budget, 0, INT64_MAX, "drain_budget", error);
    }
    if (code == ACE_OK && (options->members < 1 || options->members > ACE_MEMBERS_MOST)) {
        code = ace_fail(error, ACE_LIMIT, "members is %lld, the limits are 1 and %d",
                        (long long)options->members, ACE_MEMBERS_MOST);
        ace_error_field(error, "members", ACE_MEMBERS_MOST);
    }
    return code;
}

static ace_code open_group(acemq_connection *connection, const char *queue,
                           const acemq_group_options *given, ace_pushed *handler,
                           acemq_group **group, ace_error **error)
{
    acemq_group_options read;
    acemq_consumer_options consumer;
    ace_policy policy;
    ace_consumer_options options;
    ace_code code = read_options(connection, queue, given, &read, &consumer, error);
    if (code == ACE_OK) {
        code = ace_argument_present(group, "group", error);
    }
    if (code == ACE_OK) {
        code =
            ace_consume_translate(connection, queue, &consumer, handler, &policy, &options, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    options.members = (int32_t)read.members;
    return ace_group_open(connection, &options, read.drain_budget,
                          ace_deadline_after(consumer.timeout), options.cancel, group, error);
}

acemq_status acemq_group_consume(acemq_connection *connection, const char *queue,
                                 const acemq_group_options *options, acemq_handler handler,
                                 void *user, acemq_destructor destructor, acemq_group **group,
                                 acemq_error **error)
{
    if (handler == NULL) {
        return (acemq_status)ace_argument_present(NULL, "handler", error);
    }
    ace_pushed *pushed = ace_pushed_new(handler, user, destructor);
    if (pushed == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    ace_code code = open_group(connection, queue, options, pushed, group, error);
    if (code != ACE_OK) {
        free(pushed);
    }
    return (acemq_status)code;
}

acemq_status acemq_group_open(acemq_connection *connection, const char *queue,
                              const acemq_group_options *options, acemq_group **group,
                              acemq_error **error)
{
    return (acemq_status)open_group(connection, queue, options, NULL, group, error);
}

/* The first member of every group is its handle. */
static const ace_handle *handle_of(const acemq_group *group)
{
    return (const ace_handle *)(const void *)group;
}

static ace_code check(const acemq_group *group, ace_error **error)
{
    return ace_handle_check(handle_of(group), ACE_GROUP_MAGIC, "group", error);
}

/* Of what reads; NULL: it cannot be read. */
static ace_consumer *readable(const acemq_group *group, ace_error **error)
{
    return ace_handle_check_open_or_closed(handle_of(group), ACE_GROUP_MAGIC, "group", error) ==
                   ACE_OK
               ? ace_group_consumer(group)
               : NULL;
}

acemq_status acemq_group_next(acemq_group *group, int64_t timeout, acemq_delivery **delivery,
                              acemq_error **error)
{
    ace_code code = check(group, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(delivery, "delivery", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_cancel *cancel = ace_consumer_cancel(ace_group_consumer(group));
    code = ace_cancel_check(cancel, error);
    if (code == ACE_OK) {
        code = ace_consumer_next(ace_group_consumer(group), ace_deadline_after(timeout), cancel,
                                 delivery, error);
    }
    return (acemq_status)code;
}

void acemq_group_wake(acemq_group *group)
{
    ace_consumer *consumer = readable(group, NULL);
    if (consumer != NULL) {
        ace_consumer_wake(consumer);
    }
}

int acemq_group_fd(const acemq_group *group)
{
    const ace_consumer *consumer = readable(group, NULL);
    return consumer == NULL ? -1 : ace_consumer_descriptor(consumer);
}

acemq_status acemq_group_scale(acemq_group *group, int64_t members, acemq_error **error)
{
    ace_code code = check(group, error);
    return (acemq_status)(code == ACE_OK ? ace_group_scale(group, members, error) : code);
}

int64_t acemq_group_members(const acemq_group *group)
{
    const ace_consumer *consumer = readable(group, NULL);
    return consumer == NULL ? 0 : ace_consumer_members(consumer);
}

acemq_status acemq_group_set_prefetch(acemq_group *group, int64_t prefetch, acemq_error **error)
{
    ace_code code = check(group, error);
    return (acemq_status)(code == ACE_OK ? ace_consumer_set_prefetch(ace_group_consumer(group),
                                                                     prefetch, error)
                                         : code);
}

int64_t acemq_group_prefetch(const acemq_group *group)
{
    const ace_consumer *consumer = readable(group, NULL);
    return consumer == NULL ? 0 : ace_consumer_prefetch(consumer);
}

acemq_status acemq_group_pause(acemq_group *group, acemq_error **error)
{
    ace_code code = check(group, error);
    return (acemq_status)(code == ACE_OK ? ace_consumer_pause(ace_group_consumer(group), error)
                                         : code);
}

acemq_status acemq_group_resume(acemq_group *group, acemq_error **error)
{
    ace_code code = check(group, error);
    return (acemq_status)(code == ACE_OK ? ace_consumer_resume(ace_group_consumer(group), error)
                                         : code);
}

int acemq_group_paused(const acemq_group *group)
{
    const ace_consumer *consumer = readable(group, NULL);
    return consumer != NULL && ace_consumer_is_paused(consumer);
}

acemq_status acemq_group_drain(acemq_group *group, int64_t timeout, int *finished,
                               acemq_work **left, acemq_error **error)
{
    if (finished != NULL) {
        *finished = 0;
    }
    if (left != NULL) {
        *left = NULL;
    }
    ace_code code = check(group, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_work work = {0};
    code = ace_group_drain(group, ace_deadline_after(timeout),
                           ace_consumer_cancel(ace_group_consumer(group)), &work, error);
    if (code == ACE_OK && finished != NULL) {
        *finished = 1;
    }
    (void)ace_work_to_public(&work, false, left, NULL);
    return (acemq_status)code;
}

acemq_status acemq_group_get_work(const acemq_group *group, acemq_work **work, acemq_error **error)
{
    if (work == NULL) {
        return (acemq_status)ace_argument_present(NULL, "work", error);
    }
    ace_error *why = NULL;
    ace_consumer *consumer = readable(group, &why);
    if (consumer == NULL) {
        return (acemq_status)ace_error_move(error, why);
    }
    ace_work listed = {0};
    ace_consumer_list_work(consumer, &listed);
    return (acemq_status)ace_work_to_public(&listed, true, work, error);
}

acemq_status acemq_group_close(acemq_group *group, acemq_error **error)
{
    ace_code code = check(group, error);
    return (acemq_status)(code == ACE_OK ? ace_group_close(group, error) : code);
}

void acemq_group_free(acemq_group *group)
{
    ace_group_release(group);
}

acemq_status acemq_group_get_counters(const acemq_group *group, acemq_consumer_counters *counters,
                                      acemq_error **error)
{
    if (counters == NULL) {
        return (acemq_status)ace_argument_present(NULL, "counters", error);
    }
    ace_error *why = NULL;
    const ace_consumer *consumer = readable(group, &why);
    if (consumer == NULL) {
        return (acemq_status)ace_error_move(error, why);
    }
    ace_consumer_counters counted;
    ace_consumer_count(consumer, &counted);
    return (acemq_status)ace_counters_to_public(&counted, counters, error);
}

int acemq_group_subscribed(const acemq_group *group)
{
    const ace_consumer *consumer = readable(group, NULL);
    return consumer != NULL && ace_consumer_is_subscribed(consumer);
}
