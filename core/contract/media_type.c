#include "contract/media_type.h"

#include <string.h>

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

/* Not tolower(), which follows the locale of the program we are in. */
static uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte - 'A' + 'a') : byte;
}

static bool same(ace_bytes text, const char *in_lower_case)
{
    if (text.length != strlen(in_lower_case)) {
        return false;
    }
    for (size_t i = 0; i < text.length; i++) {
        if (lower(text.data[i]) != (uint8_t)in_lower_case[i]) {
            return false;
        }
    }
    return true;
}

ace_bytes ace_media_type_essence(ace_bytes content_type)
{
    size_t end = 0;
    while (end < content_type.length && content_type.data[end] != ';') {
        end++;
    }
    size_t start = 0;
    while (start < end && is_space(content_type.data[start])) {
        start++;
    }
    while (end > start && is_space(content_type.data[end - 1])) {
        end--;
    }
    if (start == end) {
        return (ace_bytes){NULL, 0};
    }
    return (ace_bytes){content_type.data + start, end - start};
}

static bool matches_suffix(ace_bytes essence, const char *suffix)
{
    size_t width = strlen(suffix);
    if (essence.length <= width || memchr(essence.data, '/', essence.length) == NULL) {
        return false;
    }
    return same((ace_bytes){essence.data + essence.length - width, width}, suffix);
}

static bool matches_family(ace_bytes essence, const char *pattern, size_t width)
{
    char family[64];
    if (width >= sizeof family || essence.length <= width) {
        return false;
    }
    memcpy(family, pattern, width);
    family[width] = '\0';
    return same((ace_bytes){essence.data, width}, family);
}

bool ace_media_type_matches(ace_bytes content_type, const char *pattern)
{
    ace_bytes essence = ace_media_type_essence(content_type);
    size_t width = strlen(pattern);
    if (strcmp(pattern, "*") == 0) {
        return true;
    }
    if (pattern[0] == '+') {
        return matches_suffix(essence, pattern);
    }
    if (width >= 2 && strcmp(pattern + width - 2, "/*") == 0) {
        return matches_family(essence, pattern, width - 1);
    }
    return same(essence, pattern);
}

static bool matches_any(ace_bytes content_type, const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ace_media_type_matches(content_type, patterns[i])) {
            return true;
        }
    }
    return false;
}

bool ace_media_type_is_json(ace_bytes content_type)
{
    static const char *const patterns[] = {"application/json", "text/json", "+json", ""};
    return matches_any(content_type, patterns, sizeof patterns / sizeof patterns[0]);
}

bool ace_media_type_is_text(ace_bytes content_type)
{
    return ace_media_type_matches(content_type, "text/*");
}

bool ace_media_type_is_msgpack(ace_bytes content_type)
{
    static const char *const patterns[] = {"application/msgpack", "application/x-msgpack",
                                           "application/vnd.msgpack"};
    return matches_any(content_type, patterns, sizeof patterns / sizeof patterns[0]);
}

bool ace_media_type_is_encrypted(ace_bytes content_type)
{
    return ace_media_type_matches(content_type, "application/vnd.acemq.encrypted");
}
