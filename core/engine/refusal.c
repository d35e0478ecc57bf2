#include "engine/refusal.h"

#include <stddef.h>

bool ace_refusal_is_permanent(ace_code code)
{
    switch (code) {
    case ACE_LOGIN_REFUSED:
    case ACE_VHOST_REFUSED:
    case ACE_TLS:
    case ACE_TLS_NAME:
    case ACE_TLS_UNTRUSTED:
    case ACE_TLS_EXPIRED:
    case ACE_TLS_PLAIN_SERVER:
    case ACE_TLS_WANTED:
    case ACE_TLS_CLIENT_CERTIFICATE:
    case ACE_TLS_VERSION:
        return true;
    default:
        return false;
    }
}

ace_error *ace_refusal_prefer(ace_error *earlier, ace_error *later)
{
    if (earlier == NULL) {
        return later;
    }
    bool keeps_earlier = ace_refusal_is_permanent(ace_error_code(earlier)) &&
                         !ace_refusal_is_permanent(ace_error_code(later));
    ace_error_free(keeps_earlier ? later : earlier);
    return keeps_earlier ? earlier : later;
}

ace_error *ace_refusal_join(ace_error *earlier, ace_error *later)
{
    if (earlier == NULL) {
        return later;
    }
    const ace_error *chosen = ace_refusal_is_permanent(ace_error_code(earlier)) ? earlier : later;
    ace_error *joined = NULL;
    ace_fail(&joined, ace_error_code(chosen), "%s; %s", ace_error_message(earlier),
             ace_error_message(later));
    ace_error_field(&joined, ace_error_field_name(chosen), ace_error_limit(chosen));
    ace_error_set_reply(&joined, ace_error_reply(chosen));
    ace_error_free(earlier);
    ace_error_free(later);
    return joined;
}
