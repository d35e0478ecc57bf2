#include "acemq/replay.h"

#include "arguments.h"
#include "client.h"
#include "engine/waiter.h"
#include "patterns/replay.h"

#define FIRST_RELEASE        ACE_SIZE_UP_TO(acemq_replay_options, reserved)
#define RESULT_FIRST_RELEASE ACE_SIZE_UP_TO(acemq_replay_result, reserved)

_Static_assert((int)ACEMQ_DEAD_LETTERS == (int)ACE_DEAD_LETTERS &&
                   (int)ACEMQ_PARKED_LETTERS == (int)ACE_PARKED_LETTERS,
               "one numbering of the failure queues");

static const acemq_replay_options defaults = ACEMQ_REPLAY_OPTIONS_INIT;

acemq_status acemq_replay_options_init(acemq_replay_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code check_target(const acemq_connection *connection, const char *queue,
                             ace_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    return code == ACE_OK ? ace_argument_text(queue, "queue", error) : code;
}

acemq_status acemq_replay_pending(acemq_connection *connection, const char *queue,
                                  acemq_failure_queue source, int64_t timeout, uint64_t *pending,
                                  acemq_error **error)
{
    ace_code code = check_target(connection, queue, error);
    if (code == ACE_OK) {
        code = ace_argument_range((int64_t)source, ACEMQ_DEAD_LETTERS, ACEMQ_PARKED_LETTERS,
                                  "source", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(pending, "pending", error);
    }
    if (code == ACE_OK) {
        code = ace_replay_pending(connection, queue, (ace_failure_queue)source,
                                  ace_deadline_after(timeout), ace_client_cancel(connection, NULL),
                                  pending, error);
    }
    return (acemq_status)code;
}

static ace_code read_options(const acemq_replay_options *given, acemq_replay_options *options,
                             ace_error **error)
{
    *options = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    const struct {
        int64_t value;
        int64_t least;
        int64_t most;
        const char *name;
    } numbers[] = {
        {options->max, -1, INT64_MAX, "max"},
        {options->timeout, 0, INT64_MAX, "timeout"},
        {options->acknowledgement_limit, 0, INT64_MAX, "acknowledgement_limit"},
        {options->source, ACEMQ_DEAD_LETTERS, ACEMQ_PARKED_LETTERS, "source"},
        {options->keep_attempts, 0, 1, "keep_attempts"},
        {options->dry_run, 0, 1, "dry_run"},
        {options->reserved, 0, 0, "reserved"},
    };
    for (size_t i = 0; code == ACE_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        code = ace_argument_range(numbers[i].value, numbers[i].least, numbers[i].most,
                                  numbers[i].name, error);
    }
    return code == ACE_OK ? ace_argument_optional_text(options->id, "id", error) : code;
}

static bool filter(const ace_delivery *delivery, void *user)
{
    const acemq_replay_options *options = user;
    return options->filter(delivery, options->filter_user) != 0;
}

static ace_code replay(acemq_connection *connection, const char *queue,
                       acemq_replay_options *options, ace_replay_result *result, ace_error **error)
{
    ace_replay_options inner;
    ace_replay_options_init(&inner);
    inner.source = (ace_failure_queue)options->source;
    inner.id = options->id;
    inner.filter = options->filter == NULL ? NULL : filter;
    inner.filter_user = options;
    inner.progress = options->progress;
    inner.progress_user = options->progress_user;
    inner.cancel = ace_client_cancel(connection, options->cancel);
    inner.most = options->max;
    inner.timeout = options->timeout;
    inner.acknowledgement_limit = options->acknowledgement_limit;
    inner.keeping_attempts = options->keep_attempts != 0;
    inner.dry_run = options->dry_run != 0;
    return ace_replay(connection, queue, &inner, result, error);
}

acemq_status acemq_replay(acemq_connection *connection, const char *queue,
                          const acemq_replay_options *options, acemq_replay_result *result,
                          acemq_error **error)
{
    ace_replay_result reached = {0, 0, 0};
    acemq_replay_options read;
    ace_code code = check_target(connection, queue, error);
    if (code == ACE_OK) {
        code = read_options(options, &read, error);
    }
    if (code == ACE_OK && result != NULL) {
        const acemq_replay_result nothing = {sizeof nothing, 0, 0, 0, 0};
        code = ace_options_fill(result, result->size, &nothing, sizeof nothing,
                                RESULT_FIRST_RELEASE, "result", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    code = replay(connection, queue, &read, &reached, error);
    if (result != NULL) {
        result->replayed = reached.replayed;
        result->declined = reached.declined;
        result->left = reached.left;
    }
    return (acemq_status)code;
}
