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
    const char *field;
    const char *message;
    bool is_shared; /* one of code_rows: nobody writes to it or frees it */
};

typedef struct own_error { /* what is allocated */
    ace_error error;       /* first, so that one is the other */
    char field[LONGEST_FIELD + 1];
    char message[LONGEST_MESSAGE + 1];
} own_error;

struct code_row {
    ace_code code;
    bool retriable;
    const char *name;
    ace_error bare; /* handed out where there is no memory for one of its own */
};

#define ROW_SAYING(code, retriable, name, message)                                                 \
    {                                                                                              \
        code, retriable, name,                                                                     \
        {                                                                                          \
            code, 0, 0, "", message, true                                                          \
        }                                                                                          \
    }
#define ROW(code, retriable, name)                                                                 \
    ROW_SAYING(code, retriable, name, name ": there is no memory to say more")

static struct code_row code_rows[] = {
    ROW(ACE_OK, false, "ok"),
    ROW(ACE_INVALID_ARGUMENT, false, "invalid_argument"),
    ROW(ACE_LIMIT, false, "limit"),
    ROW(ACE_PARSE, false, "parse"),
    ROW(ACE_RESERVED_HEADER, false, "reserved_header"),
    ROW(ACE_STATE, false, "state"),
    ROW(ACE_CLOSED, false, "closed"),
    ROW(ACE_FORKED, false, "forked"),
    ROW(ACE_FROM_HANDLER, false, "from_handler"),
    ROW(ACE_WRONG_THREAD, false, "wrong_thread"),
    ROW(ACE_SETTLED, false, "settled"),
    ROW(ACE_STALE, false, "stale"),
    ROW(ACE_UNSUPPORTED, false, "unsupported"),
    ROW_SAYING(ACE_OUT_OF_MEMORY, true, "out_of_memory", "out of memory"),
    ROW(ACE_SYSTEM, true, "system"),
    ROW(ACE_TIMEOUT, true, "timeout"),
    ROW(ACE_CANCELLED, true, "cancelled"),
    ROW(ACE_UNREACHABLE, true, "unreachable"),
    ROW(ACE_LOGIN_REFUSED, false, "login_refused"),
    ROW(ACE_VHOST_REFUSED, false, "vhost_refused"),
    ROW(ACE_CONNECTION_LOST, true, "connection_lost"),
    ROW(ACE_PROTOCOL, false, "protocol"),
    ROW(ACE_ACCESS_REFUSED, false, "access_refused"),
    ROW(ACE_NOT_FOUND, false, "not_found"),
    ROW(ACE_LOCKED, true, "locked"),
    ROW(ACE_DIFFERS, false, "differs"),
    ROW(ACE_CHANNEL_CLOSED, false, "channel_closed"),
    ROW(ACE_UNROUTABLE, false, "unroutable"),
    ROW(ACE_NACKED, true, "nacked"),
    ROW(ACE_REFUSED, true, "refused"),
    ROW(ACE_UNKNOWN_OUTCOME, true, "unknown_outcome"),
    ROW(ACE_DECODE, false, "decode"),
    ROW(ACE_STORE, true, "store"),
    ROW(ACE_STORE_FULL, true, "store_full"),
    ROW(ACE_FENCED, false, "fenced"),
    ROW(ACE_TLS, false, "tls"),
    ROW(ACE_TLS_NAME, false, "tls_name"),
    ROW(ACE_TLS_UNTRUSTED, false, "tls_untrusted"),
    ROW(ACE_TLS_EXPIRED, false, "tls_expired"),
    ROW(ACE_TLS_PLAIN_SERVER, false, "tls_plain_server"),
    ROW(ACE_TLS_WANTED, false, "tls_wanted"),
    ROW(ACE_TLS_CLIENT_CERTIFICATE, false, "tls_client_certificate"),
    ROW(ACE_TLS_VERSION, false, "tls_version"),
};

static struct code_row *row_of(ace_code code)
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
static void set_message(own_error *error, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void set_message(own_error *error, const char *format, va_list arguments)
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

/* NULL: no memory. */
static own_error *new_error(ace_code code)
{
    own_error *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->error.code = code;
        made->error.field = made->field;
        made->error.message = made->message;
    }
    return made;
}

static ace_error *bare_error(ace_code code)
{
    struct code_row *row = row_of(code);
    return row != NULL ? &row->bare : &row_of(ACE_OUT_OF_MEMORY)->bare;
}

/* NULL: none, or one that nobody may write to. */
static own_error *writable(ace_error *error)
{
    return error == NULL || error->is_shared ? NULL : (own_error *)(void *)error;
}

ace_code ace_fail(ace_error **error, ace_code code, const char *format, ...)
{
    if (error == NULL) {
        return code;
    }
    own_error *made = new_error(code);
    if (made == NULL) {
        *error = bare_error(code);
        return code;
    }
    va_list arguments;
    va_start(arguments, format);
    set_message(made, format, arguments);
    va_end(arguments);
    *error = &made->error;
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
        *error = bare_error(ACE_OUT_OF_MEMORY);
    }
    return ACE_OUT_OF_MEMORY;
}

void ace_error_field(ace_error **error, const char *field, long long limit)
{
    own_error *own = error == NULL ? NULL : writable(*error);
    if (own == NULL) {
        return;
    }
    size_t length = ace_utf8_cut(field, strlen(field), LONGEST_FIELD);
    memcpy(own->field, field, length);
    own->field[length] = '\0';
    own->error.limit = limit;
}

void ace_error_set_reply(ace_error **error, int reply_code)
{
    own_error *own = error == NULL ? NULL : writable(*error);
    if (own != NULL) {
        own->error.reply = reply_code;
    }
}

void ace_error_prefix(ace_error **error, const char *format, ...)
{
    own_error *own = error == NULL ? NULL : writable(*error);
    if (own == NULL) {
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
    int length = snprintf(text, sizeof text, "%s: %s", before, own->message);
    if (length < 0) {
        return;
    }
    size_t kept = ace_utf8_cut(text, (size_t)length, LONGEST_MESSAGE);
    memcpy(own->message, text, kept);
    own->message[kept] = '\0';
    ace_utf8_clean_line(own->message);
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
    own_error *copy = error->is_shared ? NULL : new_error(error->code);
    if (copy == NULL) {
        return bare_error(error->code);
    }
    const own_error *from = (const own_error *)(const void *)error;
    memcpy(copy->field, from->field, sizeof copy->field);
    memcpy(copy->message, from->message, sizeof copy->message);
    copy->error.limit = error->limit;
    copy->error.reply = error->reply;
    return &copy->error;
}

void ace_error_free(ace_error *error)
{
    free(writable(error));
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
