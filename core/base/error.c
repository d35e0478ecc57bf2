#include "base/error.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_MESSAGE 1023
#define LONGEST_FIELD   63

struct acemq_error {
    ace_code code;
    int reply;
    long long limit;
    char field[LONGEST_FIELD + 1];
    char message[LONGEST_MESSAGE + 1];
};

/* Handed out where there is no memory for another. Nobody writes to it. */
static ace_error out_of_memory = {.code = ACE_OUT_OF_MEMORY, .message = "out of memory"};

struct code_row {
    ace_code code;
    bool retriable;
    const char *name;
};

static const struct code_row code_rows[] = {
    {ACE_OK, false, "ok"},
    {ACE_INVALID_ARGUMENT, false, "invalid_argument"},
    {ACE_LIMIT, false, "limit"},
    {ACE_PARSE, false, "parse"},
    {ACE_RESERVED_HEADER, false, "reserved_header"},
    {ACE_STATE, false, "state"},
    {ACE_CLOSED, false, "closed"},
    {ACE_FORKED, false, "forked"},
    {ACE_FROM_HANDLER, false, "from_handler"},
    {ACE_WRONG_THREAD, false, "wrong_thread"},
    {ACE_SETTLED, false, "settled"},
    {ACE_STALE, false, "stale"},
    {ACE_UNSUPPORTED, false, "unsupported"},
    {ACE_OUT_OF_MEMORY, true, "out_of_memory"},
    {ACE_SYSTEM, true, "system"},
    {ACE_TIMEOUT, true, "timeout"},
    {ACE_CANCELLED, true, "cancelled"},
    {ACE_UNREACHABLE, true, "unreachable"},
    {ACE_LOGIN_REFUSED, false, "login_refused"},
    {ACE_VHOST_REFUSED, false, "vhost_refused"},
    {ACE_CONNECTION_LOST, true, "connection_lost"},
    {ACE_PROTOCOL, false, "protocol"},
    {ACE_ACCESS_REFUSED, false, "access_refused"},
    {ACE_NOT_FOUND, false, "not_found"},
    {ACE_LOCKED, true, "locked"},
    {ACE_DIFFERS, false, "differs"},
    {ACE_CHANNEL_CLOSED, false, "channel_closed"},
    {ACE_UNROUTABLE, false, "unroutable"},
    {ACE_NACKED, true, "nacked"},
    {ACE_REFUSED, true, "refused"},
    {ACE_UNKNOWN_OUTCOME, true, "unknown_outcome"},
    {ACE_DECODE, false, "decode"},
};

static const struct code_row *row_of(ace_code code)
{
    for (size_t i = 0; i < sizeof code_rows / sizeof code_rows[0]; i++) {
        if (code_rows[i].code == code) {
            return &code_rows[i];
        }
    }
    return NULL;
}

const char *ace_code_name(ace_code code)
{
    const struct code_row *row = row_of(code);
    return row == NULL ? "unknown" : row->name;
}

bool ace_code_retriable(ace_code code)
{
    const struct code_row *row = row_of(code);
    return row != NULL && row->retriable;
}

/* Formats in a larger space than the limit, so that the cut sees whether a code point goes over it.
 */
static void set_message(ace_error *error, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void set_message(ace_error *error, const char *format, va_list arguments)
{
    char text[LONGEST_MESSAGE + 8];
    int formatted = vsnprintf(text, sizeof text, format, arguments);
    if (formatted < 0) {
        text[0] = '\0';
    }
    size_t length = ace_utf8_cut(text, strlen(text), LONGEST_MESSAGE);
    memcpy(error->message, text, length);
    error->message[length] = '\0';
    ace_utf8_clean_line(error->message);
}

static ace_error *new_error(ace_code code)
{
    ace_error *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return &out_of_memory;
    }
    made->code = code;
    return made;
}

static bool is_writable(const ace_error *error)
{
    return error != NULL && error != &out_of_memory;
}

ace_code ace_fail(ace_error **error, ace_code code, const char *format, ...)
{
    if (error == NULL) {
        return code;
    }
    ace_error *made = new_error(code);
    if (is_writable(made)) {
        va_list arguments;
        va_start(arguments, format);
        set_message(made, format, arguments);
        va_end(arguments);
    }
    *error = made;
    return code;
}

ace_code ace_fail_system(ace_error **error, int error_number, const char *what)
{
    char space[128];
    const char *text = strerror_r(error_number, space, sizeof space);
    ace_code code = error_number == ENOMEM ? ACE_OUT_OF_MEMORY : ACE_SYSTEM;
    return ace_fail(error, code, "%s: %s", what, text);
}

ace_code ace_fail_memory(ace_error **error)
{
    if (error != NULL) {
        *error = &out_of_memory;
    }
    return ACE_OUT_OF_MEMORY;
}

void ace_error_field(ace_error **error, const char *field, long long limit)
{
    if (error == NULL || !is_writable(*error)) {
        return;
    }
    size_t length = ace_utf8_cut(field, strlen(field), LONGEST_FIELD);
    memcpy((*error)->field, field, length);
    (*error)->field[length] = '\0';
    (*error)->limit = limit;
}

void ace_error_set_reply(ace_error **error, int reply_code)
{
    if (error != NULL && is_writable(*error)) {
        (*error)->reply = reply_code;
    }
}

void ace_error_prefix(ace_error **error, const char *format, ...)
{
    if (error == NULL || !is_writable(*error)) {
        return;
    }
    char before[LONGEST_MESSAGE + 8];
    va_list arguments;
    va_start(arguments, format);
    int formatted = vsnprintf(before, sizeof before, format, arguments);
    va_end(arguments);
    if (formatted < 0) {
        return;
    }
    char text[2 * sizeof before + 2];
    int length = snprintf(text, sizeof text, "%s: %s", before, (*error)->message);
    if (length < 0) {
        return;
    }
    size_t kept = ace_utf8_cut(text, (size_t)length, LONGEST_MESSAGE);
    memcpy((*error)->message, text, kept);
    (*error)->message[kept] = '\0';
    ace_utf8_clean_line((*error)->message);
}

ace_code ace_error_move(ace_error **to, ace_error *from)
{
    ace_code code = ace_error_code(from);
    if (to == NULL) {
        ace_error_free(from);
    } else if (from != NULL) {
        *to = from;
    }
    return code;
}

ace_error *ace_error_copy(const ace_error *error)
{
    if (error == NULL) {
        return NULL;
    }
    ace_error *copy = new_error(error->code);
    if (is_writable(copy)) {
        *copy = *error;
    }
    return copy;
}

void ace_error_free(ace_error *error)
{
    if (is_writable(error)) {
        free(error);
    }
}

ace_code ace_error_code(const ace_error *error)
{
    return error == NULL ? ACE_OK : error->code;
}

const char *ace_error_message(const ace_error *error)
{
    return error == NULL ? "" : error->message;
}

const char *ace_error_name(const ace_error *error)
{
    return ace_code_name(ace_error_code(error));
}

const char *ace_error_field_name(const ace_error *error)
{
    return error == NULL ? "" : error->field;
}

long long ace_error_limit(const ace_error *error)
{
    return error == NULL ? 0 : error->limit;
}

int ace_error_reply(const ace_error *error)
{
    return error == NULL ? 0 : error->reply;
}
