#include "acemq/version.h"

#include "store/postgres_library.h"

#include <amqp.h>
#include <jansson.h>
#include <lmdb.h>
#include <msgpack.h>
#include <openssl/crypto.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define LMDB_VERSION    TEXT(MDB_VERSION_MAJOR) "." TEXT(MDB_VERSION_MINOR) "." TEXT(MDB_VERSION_PATCH)

const char *acemq_version(void)
{
    return ACEMQ_VERSION;
}

int acemq_abi_version(void)
{
    return ACEMQ_VERSION_MAJOR;
}

const char *acemq_dependency_version(const char *name)
{
    if (name == NULL) {
        return NULL;
    }
    if (strcmp(name, "rabbitmq-c") == 0) {
        return amqp_version();
    }
    if (strcmp(name, "jansson") == 0) {
        return JANSSON_VERSION;
    }
    if (strcmp(name, "lmdb") == 0) {
        return LMDB_VERSION;
    }
    if (strcmp(name, "msgpack") == 0) {
        return msgpack_version();
    }
    if (strcmp(name, "openssl") == 0) {
        return OpenSSL_version(OPENSSL_VERSION_STRING);
    }
    return NULL;
}

int acemq_has(const char *feature)
{
    static const char *const features[] = {"memory", "json", "msgpack", "lmdb", "tls"};
    for (size_t i = 0; feature != NULL && i < sizeof features / sizeof features[0]; i++) {
        if (strcmp(features[i], feature) == 0) {
            return 1;
        }
    }
    return feature != NULL && strcmp(feature, "postgres") == 0 && ace_postgres_library_present();
}
