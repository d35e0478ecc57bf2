#include "print_message.h"

#include "base64.h"
#include "json.h"
#include "output.h"
#include "utf8.h"

#include <acemq/codec.h>
#include <acemq/names.h>
#include <acemq/time.h>

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#define LONGEST_TEXT 1024

static void print_text(FILE *stream, const char *label, const char *text)
{
    if (text != NULL) {
        fprintf(stream, "  %-14s", label);
        cli_print_shown(stream, text, strlen(text), LONGEST_TEXT);
        fputc('\n', stream);
    }
}

static void print_time(FILE *stream, const char *label, int64_t milliseconds)
{
    char text[ACEMQ_TIME_SIZE];
    if (milliseconds > 0 && acemq_time_format(milliseconds, text, NULL) == ACEMQ_OK) {
        print_text(stream, label, text);
    }
}

static void print_headers(FILE *stream, const acemq_table *headers)
{
    char *text = NULL;
    if (acemq_table_count(headers) > 0 &&
        acemq_table_format_json(headers, 0, &text, NULL) == ACEMQ_OK) {
        print_text(stream, "headers", text);
    }
    acemq_free(text);
}

/* Line by line, so that the line breaks of the text are kept. */
static void print_lines(FILE *stream, const char *text, size_t length, size_t most)
{
    size_t left = length <= most ? length : cli_utf8_cut(text, length, most);
    bool is_cut = left < length;
    do {
        const char *end = left == 0 ? NULL : memchr(text, '\n', left);
        size_t width = end == NULL ? left : (size_t)(end - text);
        cli_print_shown(stream, text, width, SIZE_MAX);
        fputs(end == NULL && is_cut ? "...\n" : "\n", stream);
        text += width + (end == NULL ? 0 : 1);
        left -= width + (end == NULL ? 0 : 1);
    } while (left > 0);
}

static void print_base64(FILE *stream, acemq_bytes body, size_t most)
{
    size_t shown = body.length < most ? body.length : most;
    fputs("base64 ", stream);
    cli_base64_write(stream, body.data, shown);
    fputs(shown < body.length ? "...\n" : "\n", stream);
}

static void print_body(FILE *stream, const acemq_delivery *delivery, size_t most)
{
    acemq_bytes body = acemq_delivery_body(delivery);
    const char *type = acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE);
    char *json = NULL;
    if (body.length == 0) {
        return;
    }
    if (type != NULL && type[0] != '\0' && acemq_codec_reads("msgpack", type) != 0 &&
        acemq_msgpack_to_json(body, &json, NULL) == ACEMQ_OK) {
        print_lines(stream, json, strlen(json), most);
        acemq_free(json);
    } else if (cli_utf8_is_valid(body.data, body.length)) {
        print_lines(stream, body.data, body.length, most);
    } else {
        print_base64(stream, body, most);
    }
}

void cli_print_message(FILE *stream, const acemq_delivery *delivery, size_t most)
{
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    int64_t replayed_at = 0;
    (void)acemq_envelope_replayed_at(envelope, &replayed_at);
    flockfile(stream);
    fputs(cli_bold(stream), stream);
    cli_print_shown(stream, acemq_envelope_id(envelope), strlen(acemq_envelope_id(envelope)),
                    LONGEST_TEXT);
    fputs(cli_plain(stream), stream);
    fputs("  ", stream);
    cli_print_shown(stream, acemq_envelope_type(envelope), strlen(acemq_envelope_type(envelope)),
                    LONGEST_TEXT);
    fprintf(stream, "  attempt %" PRId32 "  %zu bytes\n", acemq_envelope_attempt(envelope),
            acemq_delivery_body(delivery).length);
    print_text(stream, "error", acemq_envelope_error(envelope));
    print_time(stream, "first seen", acemq_envelope_first_seen(envelope));
    if (strcmp(acemq_envelope_correlation(envelope), acemq_envelope_id(envelope)) != 0) {
        print_text(stream, "correlation", acemq_envelope_correlation(envelope));
    }
    print_text(stream, "causation", acemq_envelope_causation(envelope));
    print_text(stream, "origin", acemq_envelope_origin(envelope));
    print_text(stream, "replayed from", acemq_envelope_replayed_from(envelope));
    print_time(stream, "replayed at", replayed_at);
    print_text(stream, "content type",
               acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE));
    print_headers(stream, acemq_delivery_headers(delivery));
    print_body(stream, delivery, most);
    funlockfile(stream);
}
