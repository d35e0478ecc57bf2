/* The same measurements written straight on rabbitmq-c, as its examples do it. Each prints one line
 * of JSON. */
#ifndef BENCH_REFERENCE_H
#define BENCH_REFERENCE_H

#include "measure.h"

#include <amqp.h>
#include <amqp_framing.h>

#define REFERENCE_CHANNEL 1

void reference_publish(const bench_options *options);
void reference_consume(const bench_options *options);
void reference_latency(const bench_options *options);
/* `count` deliveries of the queue are kept unacknowledged. */
void reference_waiting(const bench_options *options);

/* `count` keys claimed one by one, each in a durable commit of its own. */
void reference_claims(const bench_options *options);

amqp_connection_state_t reference_connect(const bench_options *options);
void reference_disconnect(amqp_connection_state_t connection);
void reference_check(int status, const char *what);
/* Of the last call that waits for an answer. */
void reference_check_reply(amqp_connection_state_t connection, const char *what);

/* One publish through the default exchange, persistent and mandatory, with the headers that the
 * library writes. */
void reference_send(amqp_connection_state_t connection, const bench_options *options,
                    const unsigned char *body);
void reference_select_confirms(amqp_connection_state_t connection);
/* Waits for the broker's next confirm. */
amqp_basic_ack_t reference_take_confirm(amqp_connection_state_t connection);

#endif
