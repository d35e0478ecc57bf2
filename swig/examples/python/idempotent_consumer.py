#!/usr/bin/python3
"""Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is charged once.

idempotent_consumer [URL [STORE]]     without a URL: a broker inside this program
                                      STORE of the claims: lmdb:PATH or postgresql://…; memory: when not given
"""

import sys

import acemq

QUEUE = "example.once"


def publish(mq, order_id):
    """What tells two messages apart is their id; whoever sends again sends the same one."""
    order = acemq.message_text("one kilo of nails")
    acemq.message_set_id(order, order_id)
    acemq.publish(mq, QUEUE, order, 5 * acemq.SECOND)
    print(f"{order_id} is in its queue")


def publish_orders(mq):
    topology = acemq.topology_new()
    acemq.topology_queue(topology, QUEUE, acemq.QUEUE_QUORUM, 1)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
    for order_id in ("order-1", "order-1", "order-2"):
        publish(mq, order_id)


def consume(mq, claims):
    """Before an order is seen here its id is claimed; what was handled already is only acknowledged."""
    options = acemq.ConsumerOptions(idempotency=claims, prefetch=1)  # one after the other: the same story each time
    consumer = acemq.consumer_open(mq, QUEUE, options)
    for _ in range(2):
        order = acemq.consumer_next(consumer, 5 * acemq.SECOND)
        print(f"{acemq.envelope_id(acemq.delivery_envelope(order))}: charged")
        acemq.delivery_settle(order, acemq.ACCEPTED)
    acemq.consumer_drain(consumer, 5 * acemq.SECOND)
    counters = acemq.consumer_get_counters(consumer)
    print(f"{counters.acknowledged} were charged, {counters.duplicates} had been before")


def main():
    claims = acemq.idempotency_open(sys.argv[2] if len(sys.argv) > 2 else "memory:")
    mq = acemq.connect(sys.argv[1] if len(sys.argv) > 1 else "memory://example")
    publish_orders(mq)
    consume(mq, claims)
    acemq.connection_close(mq, 5 * acemq.SECOND)


main()
