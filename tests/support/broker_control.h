/*
 * The private RabbitMQ of the test run, through packaging/broker: stopping and starting it, and
 * looking behind AMQP with rabbitmqctl. The program is the one ACEMQ_TEST_BROKER_CONTROL names; a
 * test that needs it fails without it.
 */
#ifndef ACEMQ_TESTS_BROKER_CONTROL_H
#define ACEMQ_TESTS_BROKER_CONTROL_H

#include <jansson.h>

/* Runs the control program with these arguments, NULL last. Its standard output, which the caller
 * frees; the test fails when it does. */
char *broker_control(const char *first, ...) __attribute__((sentinel));
/* rabbitmqctl, likewise. */
char *broker_control_ctl(const char *first, ...) __attribute__((sentinel));
/* rabbitmqctl with --formatter json, parsed; released with json_decref(). */
json_t *broker_control_json(const char *first, ...) __attribute__((sentinel));

/* What was declared is on the disk from here on. RabbitMQ writes it some time after it answered, so
 * that a kill may take a binding, or a queue, that is only seconds old. */
void broker_control_keep_declared(void);

/* Queues whose names start with `prefix`: an array of objects name, type, durable, arguments, the
 * last an array of [name, AMQP type, value]. */
json_t *broker_control_queues(const char *prefix);
/* The bindings of those queues, those of the default exchange left out: source_name,
 * destination_name, routing_key. */
json_t *broker_control_bindings(const char *prefix);
/* Deletes queues and exchanges by prefix. Outside a test: a failure is only told. */
void broker_control_delete(const char *prefix);

#endif
