#include "contract/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t milliseconds;
};

/* "ms" stands before "m", which is its beginning. */
static const struct unit units[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static ace_code expected(ace_error **error, size_t position, const char *what)
{
    return ace_fail(error, ACE_PARSE, "position %zu: expected %s", position + 1, what);
}

static ace_code too_long(ace_error **error, size_t position)
{
    ace_fail(error, ACE_LIMIT,
             "position %zu: the duration is over the limit of %" PRId64 " milliseconds",
             position + 1, INT64_MAX);
    ace_error_field(error, "duration", INT64_MAX);
    return ACE_LIMIT;
}

static const struct unit *unit_at(const char *text, size_t length, size_t position)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t width = strlen(units[i].name);
        if (length - position >= width && memcmp(text + position, units[i].name, width) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

ace_code ace_duration_scan(const char *text, size_t length, size_t *position, int64_t *milliseconds,
                           ace_error **error)
{
    size_t start = *position;
    size_t at = start;
    int64_t number = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
        int digit = text[at] - '0';
        if (number > (INT64_MAX - digit) / 10) {
            return too_long(error, start);
        }
        number = number * 10 + digit;
    }
    if (at == start) {
        return expected(error, start, "a duration such as 500ms, 10s, 5m, 2h, 1d or 0");
    }
    const struct unit *unit = unit_at(text, length, at);
    if (unit == NULL && at == start + 1 && number == 0) {
        *position = at;
        *milliseconds = 0;
        return ACE_OK;
    }
    if (unit == NULL) {
        return expected(error, at, "a unit: ms, s, m, h or d");
    }
    if (number > INT64_MAX / unit->milliseconds) {
        return too_long(error, start);
    }
    *position = at + strlen(unit->name);
    *milliseconds = number * unit->milliseconds;
    return ACE_OK;
}

ace_code ace_duration_parse(const char *text, size_t length, int64_t *milliseconds,
                            ace_error **error)
{
    size_t position = 0;
    int64_t value = 0;
    ace_code code = ace_duration_scan(text, length, &position, &value, error);
    if (code == ACE_OK && position < length) {
        code = expected(error, position, "the end of the duration");
    }
    if (code != ACE_OK) {
        ace_error_prefix(error, "duration");
        return code;
    }
    *milliseconds = value;
    return ACE_OK;
}

void ace_duration_format(int64_t milliseconds, char out[ACE_DURATION_LENGTH])
{
    if (milliseconds <= 0) {
        memcpy(out, "0", 2);
        return;
    }
    const struct unit *unit = &units[0];
    for (size_t i = 1; i < 4; i++) {
        if (milliseconds % units[i].milliseconds == 0) {
            unit = &units[i];
        }
    }
    snprintf(out, ACE_DURATION_LENGTH, "%" PRId64 "%s", milliseconds / unit->milliseconds,
             unit->name);
}
