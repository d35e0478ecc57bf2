#include "transport/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <string.h>

static ace_code explain_certificate(const ace_tls_failure *failure, long verdict, ace_error **error)
{
    const char *why = X509_verify_cert_error_string(verdict);
    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return ace_fail(error, ACE_TLS_NAME,
                        "TLS with %s: the broker's certificate is not for %s; connect by a name "
                        "that it holds, or give that as server_name",
                        failure->peer, failure->name);
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return ace_fail(error, ACE_TLS_EXPIRED,
                        "TLS with %s: %s; the broker needs a certificate of today, or this "
                        "machine's clock is wrong",
                        failure->peer, why);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED:
        return ace_fail(error, ACE_TLS_UNTRUSTED,
                        "TLS with %s: no trusted CA signed the broker's certificate (%s); give "
                        "its CA as ca_file, cacertfile in a URL",
                        failure->peer, why);
    default:
        return ace_fail(error, ACE_TLS, "TLS with %s: the broker's certificate is refused: %s",
                        failure->peer, why);
    }
}

static ace_code explain_client_certificate(const ace_tls_failure *failure, const char *why,
                                           ace_error **error)
{
    if (failure->certificate_given) {
        return ace_fail(error, ACE_TLS_CLIENT_CERTIFICATE,
                        "TLS with %s: the broker refuses our client certificate: %s", failure->peer,
                        why);
    }
    return ace_fail(error, ACE_TLS_CLIENT_CERTIFICATE,
                    "TLS with %s: the broker wants a client certificate (%s); give one as "
                    "certificate_file and key_file, certfile and keyfile in a URL",
                    failure->peer, why);
}

static ace_code explain_version(const ace_tls_failure *failure, ace_error **error)
{
    return ace_fail(error, ACE_TLS_VERSION,
                    "TLS with %s: the broker speaks no version of TLS from 1.2 on, which is the "
                    "least that is accepted",
                    failure->peer);
}

ace_code ace_tls_explain(const ace_tls_failure *failure, ace_error **error)
{
    const char *text = ERR_reason_error_string(failure->reason);
    const char *why = text == NULL ? "no reason was given" : text;
    switch (ERR_GET_REASON(failure->reason)) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return explain_certificate(failure, SSL_get_verify_result(failure->session), error);
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
        return explain_version(failure, error);
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        /* Versions before 1.3 have no word of their own for a certificate that is missing. */
        if (failure->certificate_asked) {
            return explain_client_certificate(failure, why, error);
        }
        break;
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
        return explain_client_certificate(failure, why, error);
    default:
        break;
    }
    return ace_fail(error, ACE_TLS, "TLS with %s failed: %s", failure->peer, why);
}

ace_code ace_tls_explain_hang_up(const ace_tls_failure *failure, ace_error **error)
{
    return explain_client_certificate(failure, "it hung up after the handshake", error);
}
