#!/usr/bin/python3
"""Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does not exist.

publish [URL]     without a URL: a broker inside this program
"""

import sys

import acemq


def declare_orders(mq):
    """A durable queue, with the place where its dead letters will lie. Declaring again is fine."""
    topology = acemq.topology_new()
    acemq.topology_queue(topology, "example.orders", acemq.QUEUE_QUORUM, 1)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)


def publish_order(mq, queue, number):
    order = acemq.message_json('{"id":%d}' % number)  # what is wrong with it, publishing tells
    acemq.message_set_type(order, "order.placed")
    acemq.message_set_header(order, "shop", "north")
    acemq.publish(mq, queue, order, 5 * acemq.SECOND)


def main():
    mq = acemq.connect(sys.argv[1] if len(sys.argv) > 1 else "memory://example")
    declare_orders(mq)
    for number in (1, 2, 3):
        publish_order(mq, "example.orders", number)
        print(f"order {number} is in its queue, confirmed")
    try:
        publish_order(mq, "example.nowhere", 4)
    except acemq.UnroutableError as error:
        print(f"order 4 came back: {error.message}")
    acemq.connection_close(mq, 5 * acemq.SECOND)


main()
