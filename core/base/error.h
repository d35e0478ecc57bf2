/*
 * Errors: one object says what failed, in which field, and against which limit.
 *
 * Every function of the core that can fail returns an ace_code (0 is success) and takes a last
 * parameter `ace_error **error`, which may be NULL. On failure, and only then, *error receives an
 * object the caller owns; on success it is left untouched. A function that is handed an error of a
 * callee passes it on as it is, or adds context with ace_error_prefix().
 */
#ifndef ACE_BASE_ERROR_H
#define ACE_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* The numbers are those of the public acemq_status; abi/src/error.c asserts it at compile time. */
typedef enum ace_code {
    ACE_OK = 0,

    /* The caller's own doing; nothing was sent. */
    ACE_INVALID_ARGUMENT = 1, /* a NULL where none may be, a value outside its range */
    ACE_LIMIT = 2,            /* a name, a header table or a body over its limit */
    ACE_PARSE = 3,            /* a text that does not read; the message has the position */
    ACE_RESERVED_HEADER = 4,  /* an x-acemq- header set by the application */
    ACE_STATE = 5,            /* the handle cannot do this now */
    ACE_CLOSED = 6,           /* the handle, or the parent it hangs on, was closed */
    ACE_FORKED = 7,           /* the handle belongs to the parent process */
    ACE_FROM_HANDLER = 8,     /* would deadlock when called from inside a handler */
    ACE_WRONG_THREAD = 9,     /* two threads inside a handle that allows one */
    ACE_SETTLED = 10,         /* the delivery was settled before */
    ACE_STALE = 11,           /* the delivery came before a reconnect; the broker redelivers it */
    ACE_UNSUPPORTED = 12,     /* this build or this broker cannot do it */

    /* The machine. */
    ACE_OUT_OF_MEMORY = 20,
    ACE_SYSTEM = 21, /* a system call failed; the message has its name and errno's text */

    /* Waiting. */
    ACE_TIMEOUT = 30,
    ACE_CANCELLED = 31, /* a cancel token fired, or the wait was woken */

    /* The way to the broker. */
    ACE_UNREACHABLE = 40,     /* no address answered, or the name does not resolve */
    ACE_LOGIN_REFUSED = 41,   /* user or password */
    ACE_VHOST_REFUSED = 42,   /* the virtual host is missing, or not this user's */
    ACE_CONNECTION_LOST = 43, /* the connection ended while the call was under way */
    ACE_PROTOCOL = 44,        /* the peer sent what AMQP 0-9-1 does not allow */

    /* The broker's answer to an operation. */
    ACE_ACCESS_REFUSED = 50, /* 403 */
    ACE_NOT_FOUND = 51,      /* 404 */
    ACE_LOCKED = 52,         /* 405 */
    ACE_DIFFERS = 53,        /* 406 on a declaration: the broker has it otherwise */
    ACE_CHANNEL_CLOSED = 54, /* any other code with which the broker closed the channel */

    /* Publishing (section 11 of the contract). */
    ACE_UNROUTABLE = 60,
    ACE_NACKED = 61,
    ACE_REFUSED = 62,         /* blocked, paused or over the outstanding limit: nothing was sent */
    ACE_UNKNOWN_OUTCOME = 63, /* sent, and no confirm came: it may or may not have arrived */

    /* Bodies. */
    ACE_DECODE = 70,

    /* Stores (sections 9 and 10): nothing was stored or changed. */
    ACE_STORE = 80,      /* damaged, of another layout, or it answered with an error */
    ACE_STORE_FULL = 81, /* no room is left */
    ACE_FENCED = 82,     /* the claim is not this token's any more */

    /* TLS. */
    ACE_TLS = 90,              /* the TLS handshake failed otherwise */
    ACE_TLS_NAME = 91,         /* the broker's certificate is for another host name */
    ACE_TLS_UNTRUSTED = 92,    /* no CA that is trusted here signed the broker's certificate */
    ACE_TLS_EXPIRED = 93,      /* a certificate of the broker has expired, or is not valid yet */
    ACE_TLS_PLAIN_SERVER = 94, /* what listens there does not speak TLS */
    ACE_TLS_WANTED = 95,       /* what listens there speaks TLS, and the URL says amqp:// */
    ACE_TLS_CLIENT_CERTIFICATE = 96, /* the broker wants a client certificate, or another one */
    ACE_TLS_VERSION = 97,            /* the broker speaks no TLS version from 1.2 on */
} ace_code;

typedef struct acemq_error ace_error;

/* Makes an error; the text is cut at 1023 bytes on a UTF-8 boundary and stays on one line. Returns
 * `code`, so that `return ace_fail(error, ACE_LIMIT, ...)` is the whole error path. Never fails:
 * where memory is gone it hands out a static object of that code, which ace_error_free() knows.
 * `error` may be NULL. */
ace_code ace_fail(ace_error **error, ace_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: "<what>: <text of error number>", ACE_SYSTEM
 * (ACE_OUT_OF_MEMORY for ENOMEM). */
ace_code ace_fail_system(ace_error **error, int error_number, const char *what);
ace_code ace_fail_memory(ace_error **error);

/* Names the field and the limit of the error in *error, for callers that read them apart from the
 * text. The strings are copied. Does nothing when error or *error is NULL. */
void ace_error_field(ace_error **error, const char *field, long long limit);

/* The AMQP reply code that caused the error; 0 where there is none. */
void ace_error_set_reply(ace_error **error, int reply_code);

/* Puts "<text>: " before the message. */
void ace_error_prefix(ace_error **error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Moves `from` into *to; frees `from` when `to` is NULL. Returns the code of `from`. */
ace_code ace_error_move(ace_error **to, ace_error *from);
ace_error *ace_error_copy(const ace_error *error); /* never NULL for a non-NULL error */
void ace_error_free(ace_error *error);             /* NULL is fine */

ace_code ace_error_code(const ace_error *error);
const char *ace_error_message(const ace_error *error);
const char *ace_error_name(const ace_error *error);       /* ace_code_name() of its code */
const char *ace_error_field_name(const ace_error *error); /* "" where none */
long long ace_error_limit(const ace_error *error);
int ace_error_reply(const ace_error *error);

/* A stable lower-case name: "invalid_argument", "login_refused", ... "ok" for 0. */
const char *ace_code_name(ace_code code);
bool ace_code_retriable(ace_code code); /* the same call may succeed later, unchanged */

#endif
