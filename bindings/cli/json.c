#include "json.h"

#include "base64.h"
#include "utf8.h"

#include <acemq/names.h>

#include <inttypes.h>
#include <string.h>

cli_json cli_json_stdout(void)
{
    return (cli_json){stdout, false};
}

static void begin_value(cli_json *json)
{
    if (json->comma) {
        fputc(',', json->out);
    }
    json->comma = true;
}

static void begin_container(cli_json *json, char bracket)
{
    begin_value(json);
    fputc(bracket, json->out);
    json->comma = false;
}

static void end_container(cli_json *json, char bracket)
{
    fputc(bracket, json->out);
    json->comma = true;
}

void cli_json_object(cli_json *json)
{
    begin_container(json, '{');
}

void cli_json_end_object(cli_json *json)
{
    end_container(json, '}');
}

void cli_json_array(cli_json *json)
{
    begin_container(json, '[');
}

void cli_json_end_array(cli_json *json)
{
    end_container(json, ']');
}

static void write_character(FILE *out, const char *character, size_t width)
{
    unsigned char first = (unsigned char)character[0];
    if (first == '"' || first == '\\') {
        fputc('\\', out);
    }
    if (first == '\n') {
        fputs("\\n", out);
    } else if (first < ' ' || first == 0x7f) {
        fprintf(out, "\\u%04x", first);
    } else {
        fwrite(character, 1, width, out);
    }
}

static void write_text(FILE *out, const char *text, size_t length)
{
    fputc('"', out);
    size_t at = 0;
    while (at < length) {
        size_t width = cli_utf8_character(text + at, length - at);
        if (width == 0) {
            fputs("\xef\xbf\xbd", out);
            at++;
            continue;
        }
        write_character(out, text + at, width);
        at += width;
    }
    fputc('"', out);
}

void cli_json_name(cli_json *json, const char *name)
{
    begin_value(json);
    write_text(json->out, name, strlen(name));
    fputc(':', json->out);
    json->comma = false;
}

void cli_json_bytes(cli_json *json, const void *text, size_t length)
{
    begin_value(json);
    write_text(json->out, text, length);
}

void cli_json_text(cli_json *json, const char *text)
{
    if (text == NULL) {
        cli_json_null(json);
    } else {
        cli_json_bytes(json, text, strlen(text));
    }
}

void cli_json_base64(cli_json *json, const void *bytes, size_t length)
{
    begin_value(json);
    fputc('"', json->out);
    cli_base64_write(json->out, bytes, length);
    fputc('"', json->out);
}

void cli_json_integer(cli_json *json, int64_t number)
{
    begin_value(json);
    fprintf(json->out, "%" PRId64, number);
}

void cli_json_unsigned(cli_json *json, uint64_t number)
{
    begin_value(json);
    fprintf(json->out, "%" PRIu64, number);
}

void cli_json_boolean(cli_json *json, bool value)
{
    begin_value(json);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_null(cli_json *json)
{
    begin_value(json);
    fputs("null", json->out);
}

void cli_json_table(cli_json *json, const acemq_table *table, bool typed)
{
    char *text = NULL;
    if (table != NULL && acemq_table_format_json(table, typed, &text, NULL) != ACEMQ_OK) {
        cli_json_null(json);
        return;
    }
    begin_value(json);
    fputs(text == NULL ? "{}" : text, json->out);
    acemq_free(text);
}

void cli_json_member_text(cli_json *json, const char *name, const char *text)
{
    cli_json_name(json, name);
    cli_json_text(json, text);
}

void cli_json_member_integer(cli_json *json, const char *name, int64_t number)
{
    cli_json_name(json, name);
    cli_json_integer(json, number);
}

void cli_json_member_unsigned(cli_json *json, const char *name, uint64_t number)
{
    cli_json_name(json, name);
    cli_json_unsigned(json, number);
}

void cli_json_end(cli_json *json)
{
    fputc('\n', json->out);
}
