/**
 * @file broker.h
 * The memory broker: AMQP 0-9-1 for tests, no kinder than RabbitMQ. Nothing is kept.
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_BROKER_H
#define ACEMQ_BROKER_H

#include "error.h"

ACEMQ_BEGIN

/** A broker with a thread of its own. Thread-safe. Owned, freed with acemq_broker_free(), which
 * ends its connections. */
typedef struct acemq_broker acemq_broker;

/** Starts one that nobody is connected to. Errors: ACEMQ_E_OUT_OF_MEMORY, ACEMQ_E_SYSTEM. */
ACEMQ_API acemq_status acemq_broker_start(acemq_broker **broker, acemq_error **error);
/**
 * Listens on a TCP port, for any AMQP client; user `guest`, password `guest`, vhost `/`.
 * @param port  0: any free one
 * @param bound receives the port; may be NULL
 * @param host  an address of this machine, such as 127.0.0.1
 * Errors: ACEMQ_E_SYSTEM (the address is taken, …), ACEMQ_E_INVALID_ARGUMENT.
 */
ACEMQ_API acemq_status acemq_broker_listen(acemq_broker *broker, const char *host, int port,
                                           int *bound, acemq_error **error);
/** Ends it and its connections. NULL is fine. */
ACEMQ_API void acemq_broker_free(acemq_broker *broker);

ACEMQ_END

#endif
