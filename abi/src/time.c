#include "acemq/time.h"

#include "arguments.h"
#include "base/time.h"

#include <string.h>

_Static_assert(ACEMQ_TIME_SIZE == ACE_TIME_LENGTH + 1, "room for a time and its NUL");

acemq_status acemq_time_parse(const char *text, int64_t *seconds, int32_t *nanoseconds,
                              acemq_error **error)
{
    ace_code code = ace_argument_present(text, "text", error);
    if (code == ACE_OK) {
        code = ace_argument_present(seconds, "seconds", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(nanoseconds, "nanoseconds", error);
    }
    ace_instant instant;
    if (code == ACE_OK) {
        code = ace_time_parse(text, strlen(text), &instant, error);
    }
    if (code == ACE_OK) {
        *seconds = instant.seconds;
        *nanoseconds = instant.nanoseconds;
    }
    return (acemq_status)code;
}

acemq_status acemq_time_format(int64_t epoch_milliseconds, char out[ACEMQ_TIME_SIZE],
                               acemq_error **error)
{
    ace_code code = ace_argument_present(out, "out", error);
    if (code == ACE_OK && !ace_time_format(epoch_milliseconds, out)) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "%lld ms is outside the years 0001 to 9999",
                        (long long)epoch_milliseconds);
        ace_error_field(error, "epoch_milliseconds", 0);
    }
    return (acemq_status)code;
}
