/**
 * @file error.h
 * What a call can answer, and the object that says why.
 *
 * Threads: a function that takes no error may be called by any thread.
 */
#ifndef ACEMQ_ERROR_H
#define ACEMQ_ERROR_H

#include "common.h"

ACEMQ_BEGIN

/** What a call answers: 0, or one of the codes below. The numbers are part of the ABI. */
typedef int acemq_status;

enum {
    ACEMQ_OK = 0,

    /* The caller's own doing; nothing was sent. */
    ACEMQ_E_INVALID_ARGUMENT = 1, /**< a NULL where none may be, a value outside its range */
    ACEMQ_E_LIMIT = 2,            /**< a name, a header table or a body over its limit */
    ACEMQ_E_PARSE = 3,            /**< a text that does not read; the message has the position */
    ACEMQ_E_RESERVED_HEADER = 4,  /**< an `x-acemq-` header set by the application (section 2) */
    ACEMQ_E_STATE = 5,            /**< the handle cannot do this now */
    ACEMQ_E_CLOSED = 6,           /**< the handle, or the parent it hangs on, was closed */
    ACEMQ_E_FORKED = 7,           /**< the handle belongs to the parent process */
    ACEMQ_E_FROM_HANDLER = 8,     /**< would wait for the handler it is called from */
    ACEMQ_E_WRONG_THREAD = 9,     /**< two threads inside a handle that allows one */
    ACEMQ_E_SETTLED = 10,         /**< the delivery was settled before */
    ACEMQ_E_STALE = 11,       /**< the delivery came before a reconnect; it is delivered again */
    ACEMQ_E_UNSUPPORTED = 12, /**< this build, or this broker, cannot do it */

    /* The machine. */
    ACEMQ_E_OUT_OF_MEMORY = 20,
    ACEMQ_E_SYSTEM = 21, /**< a system call failed */

    /* Waiting. */
    ACEMQ_E_TIMEOUT = 30,
    ACEMQ_E_CANCELLED = 31, /**< a cancel token fired, or the wait was woken */

    /* The way to the broker. */
    ACEMQ_E_UNREACHABLE = 40,     /**< no address answered, or the host name does not resolve */
    ACEMQ_E_LOGIN_REFUSED = 41,   /**< wrong user or password */
    ACEMQ_E_VHOST_REFUSED = 42,   /**< the virtual host is missing, or not this user's */
    ACEMQ_E_CONNECTION_LOST = 43, /**< the connection ended while the call was under way */
    ACEMQ_E_PROTOCOL = 44,        /**< the peer sent what AMQP 0-9-1 does not allow */

    /* The broker's answer to an operation. */
    ACEMQ_E_ACCESS_REFUSED = 50, /**< 403 */
    ACEMQ_E_NOT_FOUND = 51,      /**< 404 */
    ACEMQ_E_LOCKED = 52,         /**< 405 */
    ACEMQ_E_DIFFERS = 53,        /**< 406: the broker has the queue or exchange otherwise */
    ACEMQ_E_CHANNEL_CLOSED = 54, /**< any other code with which the broker closed the channel */

    /* Publishing (section 11). */
    ACEMQ_E_UNROUTABLE = 60, /**< no queue took it */
    ACEMQ_E_NACKED = 61,     /**< the broker declined it */
    /** blocked, paused, over the outstanding limit, or by an interceptor; nothing was sent */
    ACEMQ_E_REFUSED = 62,
    ACEMQ_E_UNKNOWN_OUTCOME = 63, /**< sent, but not confirmed: it may or may not have arrived */

    /* Bodies (section 13). */
    ACEMQ_E_DECODE = 70,

    /* Stores (sections 9 and 10); nothing was stored or changed. */
    ACEMQ_E_STORE = 80,      /**< damaged, of another layout, or it answered with an error */
    ACEMQ_E_STORE_FULL = 81, /**< no room is left */
    ACEMQ_E_FENCED = 82,     /**< the claim was taken over, released, or is confirmed already */

    /* TLS, on the way to the broker. */
    ACEMQ_E_TLS = 90,           /**< the TLS handshake failed otherwise */
    ACEMQ_E_TLS_NAME = 91,      /**< the broker's certificate is for another host name */
    ACEMQ_E_TLS_UNTRUSTED = 92, /**< no CA that is trusted here signed the broker's certificate */
    ACEMQ_E_TLS_EXPIRED = 93,   /**< a certificate of the broker has expired, or is not valid yet */
    ACEMQ_E_TLS_PLAIN_SERVER = 94, /**< what listens there does not speak TLS */
    ACEMQ_E_TLS_WANTED = 95,       /**< what listens there speaks TLS, and the URL says amqp:// */
    ACEMQ_E_TLS_CLIENT_CERTIFICATE =
        96,                  /**< the broker wants a client certificate, or another one */
    ACEMQ_E_TLS_VERSION = 97 /**< the broker speaks no TLS version from 1.2 on */
};

/**
 * An error: owned by whoever received it through `acemq_error **error`, freed with
 * acemq_error_free(). It is an immutable value: any thread may read it.
 *
 * A function writes *error only when it fails, and then never NULL, memory gone included. Passing
 * NULL for `error` is fine when the status is enough. Do not pass the address of a pointer that
 * holds an error already: it would leak.
 */
typedef struct acemq_error acemq_error;

ACEMQ_API acemq_status acemq_error_code(const acemq_error *error); /**< ACEMQ_OK for NULL */
/** A stable lower-case name such as `login_refused`; static. */
ACEMQ_API const char *acemq_error_name(const acemq_error *error);
/** One line fit for an exception or a terminal, at most 1023 bytes; borrowed until the error is
 * freed. It never holds a password. */
ACEMQ_API const char *acemq_error_message(const acemq_error *error);
/** The argument, option, property or header at fault, or ""; borrowed until the error is freed. */
ACEMQ_API const char *acemq_error_field(const acemq_error *error);
/** The limit that was passed, in the field's own unit; 0 where there is none. */
ACEMQ_API int64_t acemq_error_limit(const acemq_error *error);
/** The AMQP reply code (312, 404, 406, …) behind the error; 0 where there is none. */
ACEMQ_API int acemq_error_reply_code(const acemq_error *error);

/** 1 when the same call, unchanged, may succeed later. */
ACEMQ_API int acemq_error_is_retriable(const acemq_error *error);
/** 1 when repeating is useless: bad input, a refused login, a queue that differs. */
ACEMQ_API int acemq_error_is_fatal(const acemq_error *error);
/** 1 for ACEMQ_E_TIMEOUT. */
ACEMQ_API int acemq_error_is_timeout(const acemq_error *error);
/** 1 for ACEMQ_E_UNROUTABLE. */
ACEMQ_API int acemq_error_is_unroutable(const acemq_error *error);
/** 1 for ACEMQ_E_REFUSED. */
ACEMQ_API int acemq_error_is_refused(const acemq_error *error);

/** A copy the caller owns; NULL for NULL. */
ACEMQ_API acemq_error *acemq_error_copy(const acemq_error *error);
/** Frees it; NULL is fine. */
ACEMQ_API void acemq_error_free(acemq_error *error);

/**
 * The stable name of a code, `unknown` for a number that is none; static.
 * @param status any number
 */
ACEMQ_API const char *acemq_status_name(acemq_status status);

ACEMQ_END

#endif
