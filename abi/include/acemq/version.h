/**
 * @file version.h
 * Which library this is, and what it was built with.
 *
 * Threads: they may be called by any thread.
 */
#ifndef ACEMQ_VERSION_H
#define ACEMQ_VERSION_H

#include "common.h"

ACEMQ_BEGIN

/** The version of these headers, as numbers and as text. */
#define ACEMQ_VERSION_MAJOR 0
/** likewise */
#define ACEMQ_VERSION_MINOR 1
/** likewise */
#define ACEMQ_VERSION_PATCH 0
/** likewise */
#define ACEMQ_VERSION "0.1.0"

/** The version of the library that runs, such as "0.1.0"; static. */
ACEMQ_API const char *acemq_version(void);
/** The ABI's major version, the number in the shared library's name. */
ACEMQ_API int acemq_abi_version(void);
/**
 * The version of a library underneath: "rabbitmq-c", "jansson", "msgpack", "openssl", "lmdb".
 * Static; NULL where this build does not use it.
 * @param name any text; NULL is none
 */
ACEMQ_API const char *acemq_dependency_version(const char *name);
/** 1 when `feature` can be used: "memory", "json", "msgpack", "lmdb", "tls", and "postgres" where
 * libpq is installed; 0 for any other name. */
ACEMQ_API int acemq_has(const char *feature);

ACEMQ_END

#endif
