#include "support/certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOUR 3600L
#define DAY  (24 * HOUR)

static const char *const files[] = {
    "ca.pem",     "ca.key",           "other-ca.pem",     "other-ca.key", "server.pem",
    "server.key", "wrong-host.pem",   "wrong-host.key",   "expired.pem",  "expired.key",
    "future.pem", "future.key",       "unknown.pem",      "unknown.key",  "client.pem",
    "client.key", "other-client.pem", "other-client.key", "locked.key",
};

typedef struct pair {
    X509 *certificate;
    EVP_PKEY *key;
} pair;

typedef struct wish {
    const char *name;  /* of the files */
    const char *names; /* that it is for; NULL: a client's. "": a CA */
    long from;         /* seconds from now */
    long until;
} wish;

static void must(int holds, const char *what)
{
    if (holds <= 0) {
        fprintf(stderr, "certificates: %s failed\n", what);
        abort();
    }
}

const char *certificates_path(const certificates *made, const char *file)
{
    static _Thread_local char paths[8][128];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", made->folder, file);
    return path;
}

static void extend(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    must(extension != NULL && X509_add_ext(certificate, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

static pair make_pair(const wish *wanted, const pair *issuer)
{
    static long serial = 1;
    pair made = {X509_new(), EVP_EC_gen("P-256")};
    must(made.certificate != NULL && made.key != NULL, "making a pair");
    const pair *signer = issuer == NULL ? &made : issuer;
    X509 *certificate = made.certificate;
    X509_NAME *name = X509_get_subject_name(certificate);
    must(X509_set_version(certificate, 2), "version");
    must(ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++), "serial number");
    must(X509_gmtime_adj(X509_getm_notBefore(certificate), wanted->from) != NULL, "dates");
    must(X509_gmtime_adj(X509_getm_notAfter(certificate), wanted->until) != NULL, "dates");
    must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)wanted->name,
                                    -1, -1, 0),
         "subject");
    must(X509_set_issuer_name(certificate, X509_get_subject_name(signer->certificate)), "issuer");
    must(X509_set_pubkey(certificate, made.key), "public key");
    bool is_ca = wanted->names != NULL && wanted->names[0] == '\0';
    extend(certificate, signer->certificate, NID_basic_constraints,
           is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (is_ca) {
        extend(certificate, signer->certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else if (wanted->names != NULL) {
        extend(certificate, signer->certificate, NID_subject_alt_name, wanted->names);
    }
    must(X509_sign(certificate, signer->key, EVP_sha256()), "signing");
    return made;
}

static FILE *create(const certificates *made, const char *name, const char *ending)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s%s", name, ending);
    FILE *out = fopen(certificates_path(made, file), "we");
    must(out != NULL, file);
    return out;
}

static void write_key(const certificates *made, const char *name, EVP_PKEY *key,
                      const char *password)
{
    FILE *out = create(made, name, ".key");
    must(PEM_write_PKCS8PrivateKey(out, key, password == NULL ? NULL : EVP_aes_128_cbc(), password,
                                   password == NULL ? 0 : (int)strlen(password), NULL, NULL),
         "writing a key");
    must(fclose(out) == 0, "writing a key");
}

static void write_pair(const certificates *made, const char *name, const pair *written)
{
    FILE *out = create(made, name, ".pem");
    must(PEM_write_X509(out, written->certificate), "writing a certificate");
    must(fclose(out) == 0, "writing a certificate");
    write_key(made, name, written->key, NULL);
}

static void free_pair(pair *freed)
{
    X509_free(freed->certificate);
    EVP_PKEY_free(freed->key);
}

static pair make_ca(const certificates *made, const char *name)
{
    pair ca = make_pair(&(wish){name, "", -HOUR, DAY}, NULL);
    write_pair(made, name, &ca);
    return ca;
}

void certificates_make(certificates *made)
{
    static const char here[] = "DNS:localhost,IP:127.0.0.1,IP:::1";
    static const wish signed_ones[] = {
        {"server", here, -HOUR, DAY},      {"wrong-host", "DNS:elsewhere.example", -HOUR, DAY},
        {"expired", here, -2 * DAY, -DAY}, {"future", here, DAY, 2 * DAY},
        {"client", NULL, -HOUR, DAY},
    };
    static const wish others[] = {{"unknown", here, -HOUR, DAY},
                                  {"other-client", NULL, -HOUR, DAY}};
    (void)snprintf(made->folder, sizeof made->folder, "/tmp/acemq-certificates.XXXXXX");
    must(mkdtemp(made->folder) != NULL, "making a folder");
    must(chmod(made->folder, 0755) == 0, "making a folder");
    pair ca = make_ca(made, "ca");
    pair other_ca = make_ca(made, "other-ca");
    for (size_t i = 0; i < sizeof signed_ones / sizeof signed_ones[0]; i++) {
        pair one = make_pair(&signed_ones[i], &ca);
        write_pair(made, signed_ones[i].name, &one);
        if (strcmp(signed_ones[i].name, "client") == 0) {
            write_key(made, "locked", one.key, CERTIFICATES_KEY_PASSWORD);
        }
        free_pair(&one);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        pair one = make_pair(&others[i], &other_ca);
        write_pair(made, others[i].name, &one);
        free_pair(&one);
    }
    free_pair(&ca);
    free_pair(&other_ca);
}

void certificates_remove(const certificates *made)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)unlink(certificates_path(made, files[i]));
    }
    (void)rmdir(made->folder);
}
