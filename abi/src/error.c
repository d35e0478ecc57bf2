#include "acemq/error.h"

#include "base/error.h"

/* A number that differs would turn one error into another on its way out. */
#define SAME_CODE(name)                                                                            \
    _Static_assert((int)ACEMQ_E_##name == (int)ACE_##name, "ACEMQ_E_" #name " is not ACE_" #name)
_Static_assert((int)ACEMQ_OK == (int)ACE_OK, "ACEMQ_OK is not ACE_OK");
SAME_CODE(INVALID_ARGUMENT);
SAME_CODE(LIMIT);
SAME_CODE(PARSE);
SAME_CODE(RESERVED_HEADER);
SAME_CODE(STATE);
SAME_CODE(CLOSED);
SAME_CODE(FORKED);
SAME_CODE(FROM_HANDLER);
SAME_CODE(WRONG_THREAD);
SAME_CODE(SETTLED);
SAME_CODE(STALE);
SAME_CODE(UNSUPPORTED);
SAME_CODE(OUT_OF_MEMORY);
SAME_CODE(SYSTEM);
SAME_CODE(TIMEOUT);
SAME_CODE(CANCELLED);
SAME_CODE(UNREACHABLE);
SAME_CODE(LOGIN_REFUSED);
SAME_CODE(VHOST_REFUSED);
SAME_CODE(CONNECTION_LOST);
SAME_CODE(PROTOCOL);
SAME_CODE(ACCESS_REFUSED);
SAME_CODE(NOT_FOUND);
SAME_CODE(LOCKED);
SAME_CODE(DIFFERS);
SAME_CODE(CHANNEL_CLOSED);
SAME_CODE(UNROUTABLE);
SAME_CODE(NACKED);
SAME_CODE(REFUSED);
SAME_CODE(UNKNOWN_OUTCOME);
SAME_CODE(DECODE);
SAME_CODE(STORE);
SAME_CODE(STORE_FULL);
SAME_CODE(FENCED);
SAME_CODE(TLS);
SAME_CODE(TLS_NAME);
SAME_CODE(TLS_UNTRUSTED);
SAME_CODE(TLS_EXPIRED);
SAME_CODE(TLS_PLAIN_SERVER);
SAME_CODE(TLS_WANTED);
SAME_CODE(TLS_CLIENT_CERTIFICATE);
SAME_CODE(TLS_VERSION);

acemq_status acemq_error_code(const acemq_error *error)
{
    return error == NULL ? ACEMQ_OK : (acemq_status)ace_error_code(error);
}

const char *acemq_error_name(const acemq_error *error)
{
    return error == NULL ? ace_code_name(ACE_OK) : ace_error_name(error);
}

const char *acemq_error_message(const acemq_error *error)
{
    return error == NULL ? "" : ace_error_message(error);
}

const char *acemq_error_field(const acemq_error *error)
{
    return error == NULL ? "" : ace_error_field_name(error);
}

int64_t acemq_error_limit(const acemq_error *error)
{
    return error == NULL ? 0 : (int64_t)ace_error_limit(error);
}

int acemq_error_reply_code(const acemq_error *error)
{
    return error == NULL ? 0 : ace_error_reply(error);
}

int acemq_error_is_retriable(const acemq_error *error)
{
    return error != NULL && ace_code_retriable(ace_error_code(error));
}

int acemq_error_is_fatal(const acemq_error *error)
{
    switch (acemq_error_code(error)) {
    case ACEMQ_E_INVALID_ARGUMENT:
    case ACEMQ_E_LIMIT:
    case ACEMQ_E_PARSE:
    case ACEMQ_E_RESERVED_HEADER:
    case ACEMQ_E_CLOSED:
    case ACEMQ_E_FORKED:
    case ACEMQ_E_FROM_HANDLER:
    case ACEMQ_E_SETTLED:
    case ACEMQ_E_UNSUPPORTED:
    case ACEMQ_E_LOGIN_REFUSED:
    case ACEMQ_E_VHOST_REFUSED:
    case ACEMQ_E_PROTOCOL:
    case ACEMQ_E_ACCESS_REFUSED:
    case ACEMQ_E_NOT_FOUND:
    case ACEMQ_E_DIFFERS:
    case ACEMQ_E_DECODE:
    case ACEMQ_E_FENCED:
    case ACEMQ_E_TLS:
    case ACEMQ_E_TLS_NAME:
    case ACEMQ_E_TLS_UNTRUSTED:
    case ACEMQ_E_TLS_EXPIRED:
    case ACEMQ_E_TLS_PLAIN_SERVER:
    case ACEMQ_E_TLS_WANTED:
    case ACEMQ_E_TLS_CLIENT_CERTIFICATE:
    case ACEMQ_E_TLS_VERSION:
        return 1;
    default:
        return 0;
    }
}

int acemq_error_is_timeout(const acemq_error *error)
{
    return acemq_error_code(error) == ACEMQ_E_TIMEOUT;
}

int acemq_error_is_unroutable(const acemq_error *error)
{
    return acemq_error_code(error) == ACEMQ_E_UNROUTABLE;
}

int acemq_error_is_refused(const acemq_error *error)
{
    return acemq_error_code(error) == ACEMQ_E_REFUSED;
}

acemq_error *acemq_error_copy(const acemq_error *error)
{
    return error == NULL ? NULL : ace_error_copy(error);
}

void acemq_error_free(acemq_error *error)
{
    ace_error_free(error);
}

const char *acemq_status_name(acemq_status status)
{
    return ace_code_name((ace_code)status);
}
