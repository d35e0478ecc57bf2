/* The measurements through the library's public interface. Each prints one line of JSON. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "measure.h"

#include <acemq/acemq.h>

/* An empty, durable queue, and `count` messages in it. */
void ours_fill(const bench_options *options);
void ours_publish(const bench_options *options);
void ours_consume(const bench_options *options);
/* From the call that publishes a message to the handler that gets it, one at a time. */
void ours_latency(const bench_options *options);
/* `count` messages of the queue failed and wait in the consumer for their next attempt. */
void ours_waiting(const bench_options *options);
/* `count` consumers with nothing to do. */
void ours_consumers(const bench_options *options);

/* `threads` claim `count` keys in an LMDB store. Prints {"count", "seconds", "commits"}. */
void ours_claims(const bench_options *options);

/* Exits with the error's text when there is one. */
void ours_check(acemq_status status, acemq_error *const *error);
acemq_connection *ours_connect(const bench_options *options, long outstanding);
acemq_publisher *ours_publisher(acemq_connection *connection, const bench_options *options);
void ours_disconnect(acemq_connection *connection);

#endif
