#include "json_members.h"

#include <stdio.h>
#include <string.h>

typedef struct cli_scan {
    const char *text;
    size_t length;
    size_t at;
} cli_scan;

static char next(const cli_scan *scan)
{
    return scan->at < scan->length ? scan->text[scan->at] : '\0';
}

static void skip_blanks(cli_scan *scan)
{
    while (next(scan) != '\0' && strchr(" \t\r\n", next(scan)) != NULL) {
        scan->at++;
    }
}

static bool skip(cli_scan *scan, char expected)
{
    skip_blanks(scan);
    if (next(scan) != expected) {
        return false;
    }
    scan->at++;
    return true;
}

static bool skip_string(cli_scan *scan)
{
    if (!skip(scan, '"')) {
        return false;
    }
    while (scan->at < scan->length && scan->text[scan->at] != '"') {
        scan->at += scan->text[scan->at] == '\\' ? 2 : 1;
    }
    return skip(scan, '"');
}

/* Up to the comma or the bracket that ends a value, which stays. */
static bool skip_value(cli_scan *scan)
{
    size_t depth = 0;
    size_t start = scan->at;
    while (scan->at < scan->length) {
        char here = scan->text[scan->at];
        if (depth == 0 && (here == ',' || here == '}' || here == ']')) {
            break;
        }
        if (here == '"') {
            if (!skip_string(scan)) {
                return false;
            }
            continue;
        }
        depth += here == '{' || here == '[' ? 1 : 0;
        depth -= here == '}' || here == ']' ? 1 : 0;
        scan->at++;
    }
    return depth == 0 && scan->at > start;
}

/* One member; *value is where its value stands. */
static bool read_member(cli_scan *scan, acemq_bytes *name, acemq_bytes *value)
{
    skip_blanks(scan);
    size_t name_start = scan->at;
    if (!skip_string(scan)) {
        return false;
    }
    *name = (acemq_bytes){scan->text + name_start + 1, scan->at - name_start - 2};
    if (!skip(scan, ':')) {
        return false;
    }
    skip_blanks(scan);
    size_t start = scan->at;
    if (!skip_value(scan)) {
        return false;
    }
    *value = (acemq_bytes){scan->text + start, scan->at - start};
    return true;
}

static bool is_name(acemq_bytes found, const char *name)
{
    return found.length == strlen(name) && memcmp(found.data, name, found.length) == 0;
}

static bool is_null(acemq_bytes value)
{
    const char *text = value.data;
    size_t length = value.length;
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
        length--;
    }
    return length == 4 && memcmp(text, "null", 4) == 0;
}

bool cli_json_member(acemq_bytes json, const char *name, acemq_bytes *value, cli_fault *fault)
{
    cli_scan scan = {json.data, json.length, 0};
    bool good = skip(&scan, '{');
    *value = (acemq_bytes){NULL, 0};
    fault->text[0] = '\0';
    skip_blanks(&scan);
    bool more = good && next(&scan) != '}';
    while (good && more) {
        acemq_bytes found_name;
        acemq_bytes found;
        good = read_member(&scan, &found_name, &found);
        if (good && is_name(found_name, name) && !is_null(found)) {
            *value = found;
        }
        more = good && skip(&scan, ',');
    }
    good = good && skip(&scan, '}');
    skip_blanks(&scan);
    if (!good || scan.at < scan.length) {
        snprintf(fault->text, sizeof fault->text, "byte %zu: expected a JSON object", scan.at + 1);
        return false;
    }
    return true;
}

acemq_table *cli_json_member_table(acemq_bytes json, const char *name, cli_fault *fault)
{
    acemq_bytes value;
    acemq_table *table = NULL;
    acemq_error *error = NULL;
    if (!cli_json_member(json, name, &value, fault)) {
        return NULL;
    }
    if (value.data == NULL) {
        value = (acemq_bytes){"{}", 2};
    }
    if (acemq_table_parse_json(value.data, value.length, &table, &error) != ACEMQ_OK) {
        snprintf(fault->text, sizeof fault->text, "%s: %s", name, acemq_error_message(error));
        acemq_error_free(error);
        return NULL;
    }
    return table;
}

json_t *cli_json_member_value(acemq_bytes json, const char *name, cli_fault *fault)
{
    acemq_bytes value;
    if (!cli_json_member(json, name, &value, fault) || value.data == NULL) {
        return NULL;
    }
    json_error_t error;
    json_t *read = json_loadb(value.data, value.length,
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (read == NULL) {
        snprintf(fault->text, sizeof fault->text, "%s: %s", name, error.text);
    }
    return read;
}
