/*
 * Certificates for the tests, made anew for each run and good for a day: two CAs that know nothing
 * of each other, and what they signed. They lie in a folder of their own, as PEM.
 */
#ifndef ACEMQ_TESTS_CERTIFICATES_H
#define ACEMQ_TESTS_CERTIFICATES_H

#define CERTIFICATES_KEY_PASSWORD "s3same-op3n"

typedef struct certificates {
    char folder[64];
} certificates;

/*
 * ca.pem, other-ca.pem; the pairs NAME.pem and NAME.key: server (localhost, 127.0.0.1, ::1),
 * wrong-host (elsewhere.example), expired, future, unknown (good, but of the other CA), client,
 * other-client (of the other CA); locked.key, the client's key behind CERTIFICATES_KEY_PASSWORD.
 */
void certificates_make(certificates *made);
/* The path of a file in it; valid until the eighth call after this one. */
const char *certificates_path(const certificates *made, const char *file);
void certificates_remove(const certificates *made);

#endif
