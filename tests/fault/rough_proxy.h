/*
 * A proxy between clients and a broker that knows nothing of AMQP, and treats the stream of bytes
 * as networks do. Thread-safe.
 */
#ifndef ACEMQ_TESTS_FAULT_ROUGH_PROXY_H
#define ACEMQ_TESTS_FAULT_ROUGH_PROXY_H

#include "plan.h"

typedef struct rough_proxy rough_proxy;

/* Listens on a port of 127.0.0.1 that the kernel chooses, and hands what comes to 127.0.0.1:`port`.
 * Ends the process when it cannot. */
rough_proxy *rough_proxy_start(int port);
int rough_proxy_port(const rough_proxy *proxy);
int rough_proxy_lost(rough_proxy *proxy); /* lines in a black hole that both ends still hold */

/* One of the faults up to FAULT_DUMB. What lasts is over by itself. */
void rough_proxy_fault(rough_proxy *proxy, const fault *one);
/* The weather is fair from now on: what is cut or lost stays so. */
void rough_proxy_heal(rough_proxy *proxy);
/* Cuts every line, joins and frees. */
void rough_proxy_stop(rough_proxy *proxy);

#endif
