#include "contract/policy_text.h"

#include "contract/duration.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_FACTOR 1100 /* the smallest double has 1074 digits behind the point */

typedef struct reader {
    const char *text;
    size_t length;
    size_t position;
    ace_error **error;
} reader;

static ace_code expected_at(reader *in, size_t position, const char *what)
{
    return ace_fail(in->error, ACE_PARSE, "position %zu: expected %s", position + 1, what);
}

static ace_code expected(reader *in, const char *what)
{
    return expected_at(in, in->position, what);
}

static bool take(reader *in, const char *word)
{
    size_t width = strlen(word);
    if (in->length - in->position < width || memcmp(in->text + in->position, word, width) != 0) {
        return false;
    }
    in->position += width;
    return true;
}

static ace_code need(reader *in, const char *word)
{
    if (take(in, word)) {
        return ACE_OK;
    }
    char what[16];
    snprintf(what, sizeof what, "'%s'", word);
    return expected(in, what);
}

static ace_code need_comma(reader *in)
{
    ace_code code = need(in, ",");
    while (code == ACE_OK && take(in, " ")) {
    }
    return code;
}

static bool is_digit(const reader *in, size_t position)
{
    return position < in->length && in->text[position] >= '0' && in->text[position] <= '9';
}

static ace_code read_attempts(reader *in, int32_t *attempts)
{
    size_t start = in->position;
    int64_t value = 0;
    for (; is_digit(in, in->position) && value <= INT32_MAX; in->position++) {
        value = value * 10 + (in->text[in->position] - '0');
    }
    if (in->position == start || value < 1 || value > INT32_MAX) {
        return expected_at(in, start, "a number of attempts from 1 to 2147483647");
    }
    *attempts = (int32_t)value;
    return ACE_OK;
}

static ace_code read_duration(reader *in, int64_t *milliseconds)
{
    return ace_duration_scan(in->text, in->length, &in->position, milliseconds, in->error);
}

static ace_code read_initial(reader *in, int64_t *milliseconds)
{
    size_t start = in->position;
    ace_code code = read_duration(in, milliseconds);
    if (code == ACE_OK && *milliseconds == 0) {
        return expected_at(in, start, "a wait above 0");
    }
    return code;
}

static ace_code read_cap(reader *in, int64_t *milliseconds)
{
    if (take(in, "none")) {
        *milliseconds = 0;
        return ACE_OK;
    }
    return read_duration(in, milliseconds);
}

/* strtod() and printf() follow the locale of the program we are in; factors never do. */
static double number_of(const char *digits)
{
    double value = NAN;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain != (locale_t)0) {
        value = strtod_l(digits, NULL, plain);
        freelocale(plain);
    }
    return value;
}

static ace_code read_factor(reader *in, double least, double most, const char *what, double *factor)
{
    size_t start = in->position;
    size_t at = start;
    while (is_digit(in, at)) {
        at++;
    }
    if (at == start) {
        return expected(in, what);
    }
    if (at < in->length && in->text[at] == '.') {
        if (!is_digit(in, at + 1)) {
            return expected_at(in, at + 1, "a digit");
        }
        at++;
        while (is_digit(in, at)) {
            at++;
        }
    }
    ace_bytes spelled = {(const uint8_t *)in->text + start, at - start};
    char *digits = ace_bytes_to_text(spelled);
    if (digits == NULL) {
        return ace_fail_memory(in->error);
    }
    double value = number_of(digits);
    free(digits);
    if (!isfinite(value) || value < least || value > most) {
        return expected(in, what);
    }
    in->position = at;
    *factor = value;
    return ACE_OK;
}

enum suffix {
    GIVE_UP_AFTER,
    THRESHOLD,
    JITTER,
    MULTIPLIER,
    WHOLE_SECOND_NAMES,
    DURABLE_RUNGS,
    SUFFIX_COUNT,
};

static const char *const suffix_names[SUFFIX_COUNT] = {
    ".giveUpAfter(", ".threshold(",        ".jitter(",
    ".multiplier(",  ".wholeSecondNames(", ".durableRungs(",
};

static ace_code read_suffix_value(reader *in, enum suffix suffix, ace_policy *policy)
{
    switch (suffix) {
    case GIVE_UP_AFTER:
        return read_duration(in, &policy->max_age);
    case THRESHOLD:
        return read_duration(in, &policy->threshold);
    case JITTER:
        return read_factor(in, 0, 1, "a factor from 0 to 1", &policy->jitter);
    case MULTIPLIER:
        return read_factor(in, 1, HUGE_VAL, "a factor from 1", &policy->multiplier);
    case WHOLE_SECOND_NAMES:
        policy->whole_second_names = true;
        return ACE_OK;
    case DURABLE_RUNGS:
    default:
        policy->durable_rungs = true;
        return ACE_OK;
    }
}

static ace_code read_suffix(reader *in, bool seen[SUFFIX_COUNT], ace_policy *policy)
{
    size_t start = in->position;
    for (int i = 0; i < SUFFIX_COUNT; i++) {
        if (!take(in, suffix_names[i])) {
            continue;
        }
        if (seen[i]) {
            return expected_at(in, start, "each suffix at most once");
        }
        seen[i] = true;
        ace_code code = read_suffix_value(in, (enum suffix)i, policy);
        return code == ACE_OK ? need(in, ")") : code;
    }
    return expected_at(in, start,
                       "the end, or one of .giveUpAfter( .threshold( .jitter( .multiplier( "
                       ".wholeSecondNames() .durableRungs()");
}

static ace_code read_fixed(reader *in, ace_policy *policy)
{
    *policy = ace_policy_fixed(1, 0);
    ace_code code = read_attempts(in, &policy->max_attempts);
    if (code == ACE_OK) {
        code = need_comma(in);
    }
    if (code == ACE_OK) {
        code = read_initial(in, &policy->initial);
    }
    return code == ACE_OK ? need(in, ")") : code;
}

static ace_code read_exponential(reader *in, ace_policy *policy)
{
    *policy = ace_policy_exponential(1, 0, 0);
    ace_code code = read_attempts(in, &policy->max_attempts);
    if (code == ACE_OK) {
        code = need_comma(in);
    }
    if (code == ACE_OK) {
        code = read_initial(in, &policy->initial);
    }
    if (code == ACE_OK) {
        code = need_comma(in);
    }
    if (code == ACE_OK) {
        code = read_cap(in, &policy->max_delay);
    }
    return code == ACE_OK ? need(in, ")") : code;
}

static ace_code read_factory(reader *in, ace_policy *policy)
{
    if (take(in, "none")) {
        *policy = ace_policy_none();
        return take(in, "(") ? need(in, ")") : ACE_OK;
    }
    if (take(in, "fixed(")) {
        return read_fixed(in, policy);
    }
    if (take(in, "exponential(")) {
        return read_exponential(in, policy);
    }
    return expected(in, "none, fixed( or exponential(");
}

ace_code ace_policy_parse(const char *text, size_t length, ace_policy *policy, ace_error **error)
{
    reader in = {text, length, 0, error};
    ace_policy read = ace_policy_none();
    bool seen[SUFFIX_COUNT] = {false};
    ace_code code = read_factory(&in, &read);
    while (code == ACE_OK && in.position < length) {
        code = read_suffix(&in, seen, &read);
    }
    if (code == ACE_OK) {
        code = ace_policy_check(&read, error);
    }
    if (code != ACE_OK) {
        ace_error_prefix(error, "policy text");
        if (code == ACE_PARSE) {
            ace_error_field(error, "policy", 0);
        }
        return code;
    }
    *policy = read;
    return ACE_OK;
}

static bool differs(double a, double b)
{
    return a < b || a > b;
}

/* The shortest plain decimal that reads as the same number. */
static bool append_factor(ace_buffer *out, double factor)
{
    char digits[LONGEST_FACTOR + 320];
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return false;
    }
    locale_t before = uselocale(plain);
    for (int precision = 0; precision < LONGEST_FACTOR; precision++) {
        snprintf(digits, sizeof digits, "%.*f", precision, factor + 0.0); /* -0 becomes 0 */
        if (!differs(strtod(digits, NULL), factor)) {
            break;
        }
    }
    uselocale(before);
    freelocale(plain);
    return ace_buffer_append_text(out, digits);
}

static bool append_suffix_duration(ace_buffer *out, enum suffix suffix, int64_t milliseconds)
{
    char duration[ACE_DURATION_LENGTH];
    ace_duration_format(milliseconds, duration);
    return ace_buffer_append_text(out, suffix_names[suffix]) &&
           ace_buffer_append_text(out, duration) && ace_buffer_append_text(out, ")");
}

static bool append_suffix_factor(ace_buffer *out, enum suffix suffix, double factor)
{
    return ace_buffer_append_text(out, suffix_names[suffix]) && append_factor(out, factor) &&
           ace_buffer_append_text(out, ")");
}

static bool append_suffix_flag(ace_buffer *out, enum suffix suffix)
{
    return ace_buffer_append_text(out, suffix_names[suffix]) && ace_buffer_append_text(out, ")");
}

/* Appends the factory and tells, in *defaults, what the text without suffixes would mean. */
static bool append_factory(ace_buffer *out, const ace_policy *policy, ace_policy *defaults)
{
    char initial[ACE_DURATION_LENGTH];
    char cap[ACE_DURATION_LENGTH];
    ace_duration_format(policy->initial, initial);
    ace_duration_format(policy->max_delay, cap);
    if (policy->initial == 0 && policy->max_delay == 0) {
        *defaults = ace_policy_none();
        return ace_buffer_append_text(out, "none");
    }
    if (policy->max_delay == 0 && !(policy->multiplier > 1)) {
        *defaults = ace_policy_fixed(policy->max_attempts, policy->initial);
        return ace_buffer_format(out, "fixed(%" PRId32 ", %s)", policy->max_attempts, initial);
    }
    *defaults = ace_policy_exponential(policy->max_attempts, policy->initial, policy->max_delay);
    return ace_buffer_format(out, "exponential(%" PRId32 ", %s, %s)", policy->max_attempts, initial,
                             cap);
}

ace_code ace_policy_format(const ace_policy *policy, ace_buffer *out, ace_error **error)
{
    size_t before = out->length;
    ace_policy defaults;
    bool good = append_factory(out, policy, &defaults);
    if (good && policy->max_age != defaults.max_age) {
        good = append_suffix_duration(out, GIVE_UP_AFTER, policy->max_age);
    }
    if (good && policy->threshold != defaults.threshold) {
        good = append_suffix_duration(out, THRESHOLD, policy->threshold);
    }
    if (good && differs(policy->jitter, defaults.jitter)) {
        good = append_suffix_factor(out, JITTER, policy->jitter);
    }
    if (good && differs(policy->multiplier, defaults.multiplier)) {
        good = append_suffix_factor(out, MULTIPLIER, policy->multiplier);
    }
    if (good && policy->whole_second_names) {
        good = append_suffix_flag(out, WHOLE_SECOND_NAMES);
    }
    if (good && policy->durable_rungs) {
        good = append_suffix_flag(out, DURABLE_RUNGS);
    }
    if (!good) {
        out->length = before;
        return ace_fail_memory(error);
    }
    return ACE_OK;
}
