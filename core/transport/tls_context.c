#include "transport/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Why the library could not use a file; NULL: errno says it. */
static const char *reason_of(unsigned long number)
{
    if (number == 0) {
        return "it cannot be used";
    }
    if (ERR_GET_LIB(number) == ERR_LIB_SYS) {
        return NULL;
    }
    bool has_none =
        ERR_GET_LIB(number) == ERR_LIB_OSSL_DECODER ||
        (ERR_GET_LIB(number) == ERR_LIB_PEM && ERR_GET_REASON(number) == PEM_R_NO_START_LINE);
    if (has_none) {
        return "it holds nothing of that kind in PEM";
    }
    const char *reason = ERR_reason_error_string(number);
    return reason == NULL ? "it cannot be used" : reason;
}

static ace_code fail_file(const char *field, const char *path, ace_error **error)
{
    char space[128];
    unsigned long number = ERR_peek_error();
    const char *reason = reason_of(number);
    if (reason == NULL) {
        reason = strerror_r(ERR_GET_REASON(number), space, sizeof space);
    }
    ERR_clear_error();
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "%s %s: %s", field, path, reason);
    ace_error_field(error, field, 0);
    return code;
}

typedef struct key_password {
    const char *text; /* NULL: none */
    bool asked;       /* the key is encrypted */
} key_password;

/* Without this the library would ask at the terminal. */
static int give_key_password(char *buffer, int size, int writing, void *user)
{
    (void)writing;
    key_password *password = user;
    size_t length = password->text == NULL ? 0 : strlen(password->text);
    password->asked = true;
    if (length == 0 || length > (size_t)size) {
        return -1;
    }
    memcpy(buffer, password->text, length);
    return (int)length;
}

static ace_code fail_key(const key_password *password, const char *path, ace_error **error)
{
    if (!password->asked || ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509) {
        return fail_file("key_file", path, error);
    }
    ERR_clear_error();
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "key_file %s: %s", path,
                             password->text == NULL ? "it wants a password (key_password)"
                                                    : "key_password does not open it");
    ace_error_field(error, "key_password", 0);
    return code;
}

static ace_code load_authorities(SSL_CTX *library, const ace_tls_options *options,
                                 ace_error **error)
{
    if (options->ca_file == NULL && options->ca_folder == NULL) {
        return SSL_CTX_set_default_verify_paths(library) == 1 ? ACE_OK : ace_fail_memory(error);
    }
    if (options->ca_file != NULL && SSL_CTX_load_verify_file(library, options->ca_file) != 1) {
        return fail_file("ca_file", options->ca_file, error);
    }
    if (options->ca_folder == NULL) {
        return ACE_OK;
    }
    struct stat status;
    int problem = stat(options->ca_folder, &status) < 0 ? errno
                  : S_ISDIR(status.st_mode)             ? 0
                                                        : ENOTDIR;
    if (problem != 0) {
        char space[128];
        ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "ca_folder %s: %s",
                                 options->ca_folder, strerror_r(problem, space, sizeof space));
        ace_error_field(error, "ca_folder", 0);
        return code;
    }
    return SSL_CTX_load_verify_dir(library, options->ca_folder) == 1
               ? ACE_OK
               : fail_file("ca_folder", options->ca_folder, error);
}

static ace_code load_certificate(SSL_CTX *library, const ace_tls_options *options,
                                 ace_error **error)
{
    const char *certificate = options->certificate_file;
    const char *key = options->key_file == NULL ? certificate : options->key_file;
    if (certificate == NULL) {
        if (key == NULL) {
            return ACE_OK;
        }
        ace_fail(error, ACE_INVALID_ARGUMENT, "key_file is given without certificate_file");
        ace_error_field(error, "certificate_file", 0);
        return ACE_INVALID_ARGUMENT;
    }
    key_password password = {.text = options->key_password};
    SSL_CTX_set_default_passwd_cb(library, give_key_password);
    SSL_CTX_set_default_passwd_cb_userdata(library, &password);
    ace_code code = ACE_OK;
    if (SSL_CTX_use_certificate_chain_file(library, certificate) != 1) {
        code = fail_file("certificate_file", certificate, error);
    } else if (SSL_CTX_use_PrivateKey_file(library, key, SSL_FILETYPE_PEM) != 1) {
        code = fail_key(&password, key, error);
    }
    SSL_CTX_set_default_passwd_cb(library, NULL);
    SSL_CTX_set_default_passwd_cb_userdata(library, NULL);
    return code;
}

static ace_code configure(ace_tls_context *context, const ace_tls_options *options,
                          ace_error **error)
{
    SSL_CTX *library = context->library;
    if (SSL_CTX_set_min_proto_version(library, TLS1_2_VERSION) != 1) {
        return ace_fail_memory(error);
    }
    SSL_CTX_set_options(library, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(library, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(library, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(library, options->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    ace_code code = options->verify ? load_authorities(library, options, error) : ACE_OK;
    return code == ACE_OK ? load_certificate(library, options, error) : code;
}

ace_code ace_tls_context_new(const ace_tls_options *options, ace_tls_context **out,
                             ace_error **error)
{
    /* A thread of ours may be inside the library when the program ends: it must not be taken down
     * under it. */
    (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    ERR_clear_error();
    ace_tls_context *context = calloc(1, sizeof *context);
    if (context == NULL) {
        return ace_fail_memory(error);
    }
    context->library = SSL_CTX_new(TLS_client_method());
    context->has_certificate = options->certificate_file != NULL;
    context->server_name = options->server_name == NULL ? NULL : strdup(options->server_name);
    ace_code code = ACE_OK;
    if (context->library == NULL ||
        (options->server_name != NULL && context->server_name == NULL)) {
        code = ace_fail_memory(error);
    } else {
        code = configure(context, options, error);
    }
    ERR_clear_error();
    if (code != ACE_OK) {
        ace_tls_context_free(context);
        return code;
    }
    *out = context;
    return ACE_OK;
}

void ace_tls_context_free(ace_tls_context *context)
{
    if (context != NULL) {
        SSL_CTX_free(context->library);
        free(context->server_name);
        free(context);
    }
}
