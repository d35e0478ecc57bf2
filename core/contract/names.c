#include "contract/names.h"

#include "base/utf8.h"
#include "contract/ladder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RETRY_INFIX    ".retry."
#define DURABLE_SUFFIX ".durable"

void ace_delay_format(int64_t milliseconds, bool whole_seconds, char out[ACE_DURATION_LENGTH])
{
    if (whole_seconds) {
        milliseconds -= milliseconds % 1000;
    }
    if (milliseconds <= 0) {
        memcpy(out, "0s", 3);
        return;
    }
    ace_duration_format(milliseconds, out);
}

static ace_code derive(const char *queue, const char *suffix, ace_name *out, ace_error **error)
{
    size_t length = strlen(queue);
    size_t added = strlen(suffix);
    if (length > ACE_NAME_MAX - added) {
        ace_fail(error, ACE_LIMIT, "queue name %.40s...%s has %zu bytes, the limit is %d", queue,
                 suffix, length + added, ACE_NAME_MAX);
        ace_error_field(error, "queue name", ACE_NAME_MAX);
        return ACE_LIMIT;
    }
    memcpy(out->text, queue, length);
    memcpy(out->text + length, suffix, added + 1);
    return ACE_OK;
}

ace_code ace_name_dead_letter(const char *queue, ace_name *out, ace_error **error)
{
    return derive(queue, ACE_SUFFIX_DEAD_LETTER, out, error);
}

ace_code ace_name_parked(const char *queue, ace_name *out, ace_error **error)
{
    return derive(queue, ACE_SUFFIX_PARKED, out, error);
}

ace_code ace_name_rung(const char *queue, int64_t wait, const ace_policy *policy, ace_name *out,
                       ace_error **error)
{
    char delay[ACE_DURATION_LENGTH];
    char suffix[ACE_DURATION_LENGTH + sizeof RETRY_INFIX + sizeof DURABLE_SUFFIX];
    ace_delay_format(wait, policy->whole_second_names, delay);
    snprintf(suffix, sizeof suffix, RETRY_INFIX "%s%s", delay,
             policy->durable_rungs ? DURABLE_SUFFIX : "");
    return derive(queue, suffix, out, error);
}

ace_code ace_name_partition(const char *name, int32_t partition, ace_name *out, ace_error **error)
{
    char suffix[16];
    snprintf(suffix, sizeof suffix, ".%" PRId32, partition);
    return derive(name, suffix, out, error);
}

ace_code ace_base_name_check(const char *queue, const ace_policy *policy, ace_error **error)
{
    if (queue[0] == '\0') {
        ace_fail(error, ACE_INVALID_ARGUMENT, "queue name is empty");
        ace_error_field(error, "queue name", 1);
        return ACE_INVALID_ARGUMENT;
    }
    ace_code code = ace_name_check("queue name", ace_bytes_of(queue), error);
    ace_name derived;
    if (code == ACE_OK) {
        code = ace_name_parked(queue, &derived, error);
    }
    if (code != ACE_OK || policy == NULL) {
        return code;
    }
    ace_ladder ladder = ACE_LADDER_INIT;
    code = ace_ladder_build(queue, policy, &ladder, error);
    ace_ladder_release(&ladder);
    return code;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t width = strlen(suffix);
    return length > width && memcmp(name + length - width, suffix, width) == 0;
}

bool ace_name_is_failure_queue(const char *queue)
{
    return ends_in(queue, ACE_SUFFIX_DEAD_LETTER) || ends_in(queue, ACE_SUFFIX_PARKED);
}

void ace_origin_default(const char *host, ace_name *out)
{
    bool known = host != NULL && host[0] != '\0' && ace_utf8_is_valid(host, strlen(host));
    snprintf(out->text, sizeof out->text, "acemq@%s", known ? host : "unknown");
}

bool ace_header_is_reserved(ace_bytes name)
{
    const size_t width = sizeof ACE_RESERVED_PREFIX - 1;
    return name.length >= width && memcmp(name.data, ACE_RESERVED_PREFIX, width) == 0;
}
