#!/usr/bin/python3
"""The outbox: orders that exist exactly when a transaction commits, and a relay that publishes them.

outbox [URL [STORE]]     without a URL: a broker inside this program
                         STORE: lmdb:PATH or postgresql://…; memory: when not given
"""

import sys

import acemq

QUEUE = "example.outbox"


def write_orders(outbox):
    """Here in a transaction of its own; outbox_statement_new() gives the INSERT for yours. No broker is needed."""
    for number in (1, 2, 3):
        order = acemq.message_json('{"id":%d}' % number)
        acemq.message_set_type(order, "order.placed")
        acemq.outbox_enqueue(outbox, "", QUEUE, order, 5 * acemq.SECOND)


def relay_orders(mq, outbox):
    relay = acemq.relay_start(mq, outbox)
    acemq.relay_drain(relay, 10 * acemq.SECOND)
    print(f"the relay published {acemq.relay_count(relay).published} orders")
    acemq.relay_stop(relay, 5 * acemq.SECOND)


def main():
    outbox = acemq.outbox_open(sys.argv[2] if len(sys.argv) > 2 else "memory:")
    mq = acemq.connect(sys.argv[1] if len(sys.argv) > 1 else "memory://example")
    topology = acemq.topology_new()
    acemq.topology_queue(topology, QUEUE, acemq.QUEUE_QUORUM, 1)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
    write_orders(outbox)
    pending = acemq.outbox_count(outbox, 5 * acemq.SECOND).pending
    print(f"{pending} orders are written, and not published yet")
    relay_orders(mq, outbox)
    acemq.connection_close(mq, 5 * acemq.SECOND)


main()
