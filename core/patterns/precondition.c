#include "patterns/precondition.h"

#include <string.h>

static ace_bytes between(const char *from, const char *to)
{
    return (ace_bytes){(const uint8_t *)from, (size_t)(to - from)};
}

/* "the value 'v' of type 't'", "'v'" or "none"; the value may hold anything, quotes too. */
static ace_bytes read_value(const char *from, const char *to, ace_bytes *type)
{
    static const char long_form[] = "the value '";
    static const char of_type[] = "' of type '";
    *type = (ace_bytes){NULL, 0};
    const char *last = to > from ? to - 1 : to;
    if ((size_t)(to - from) > sizeof long_form - 1 &&
        memcmp(from, long_form, sizeof long_form - 1) == 0) {
        const char *start = from + sizeof long_form - 1;
        for (const char *at = last; at >= start; at--) {
            if ((size_t)(to - at) >= sizeof of_type &&
                memcmp(at, of_type, sizeof of_type - 1) == 0) {
                *type = between(at + sizeof of_type - 1, last);
                return between(start, at);
            }
        }
    }
    if (to - from >= 2 && *from == '\'' && *last == '\'') {
        return between(from + 1, last);
    }
    return between(from, to);
}

/* The last place where `needle` stands: names that hold it come before. */
static const char *find_last(const char *text, const char *needle)
{
    const char *found = NULL;
    for (const char *at = strstr(text, needle); at != NULL; at = strstr(at + 1, needle)) {
        found = at;
    }
    return found;
}

bool ace_precondition_read(const char *text, ace_precondition *out)
{
    static const char opening[] = "inequivalent arg '";
    static const char received[] = "': received "; /* behind the name of the vhost */
    static const char current[] = " but current is ";
    const char *at = strstr(text, opening);
    if (at == NULL) {
        return false;
    }
    const char *argument = at + sizeof opening - 1;
    const char *argument_end = strstr(argument, "' for ");
    const char *theirs = find_last(argument, current);
    if (argument_end == NULL || theirs == NULL) {
        return false;
    }
    const char *ours = strstr(argument_end, received);
    if (ours == NULL || ours > theirs) {
        return false;
    }
    const char *end = theirs + strlen(theirs);
    ace_bytes our_type;
    out->argument = between(argument, argument_end);
    out->ours = read_value(ours + sizeof received - 1, theirs, &our_type);
    out->theirs = read_value(theirs + sizeof current - 1, end, &out->their_type);
    return true;
}
