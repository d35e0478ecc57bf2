/*
 * A program that never heard of AceMQ: rabbitmq-c's own client, which sends whatever header table
 * it is given, also what our door refuses to send.
 */
#ifndef ACEMQ_TESTS_TRIAL_FOREIGN_H
#define ACEMQ_TESTS_TRIAL_FOREIGN_H

#include <amqp.h>

/* Connects to 127.0.0.1:`port`, publishes one message through the default exchange, and hangs up
 * once the broker has taken it. `properties` NULL: none. */
void trial_foreign_publish(int port, const char *user, const char *password, const char *queue,
                           const amqp_basic_properties_t *properties, const char *body);

#endif
