#!/usr/bin/python3
"""Replay: orders that ended among the dead letters go home after the fix, all but those that the filter leaves where
they are.

replay [URL]     without a URL: a broker inside this program
"""

import sys

import acemq

QUEUE = "example.replayed"


def work(mq, count, outcome):
    """Takes `count` orders and says what happened to each of them."""
    consumer = acemq.consumer_open(mq, QUEUE)
    for _ in range(count):
        order = acemq.consumer_next(consumer, 5 * acemq.SECOND)
        said = "charged" if outcome == acemq.ACCEPTED else "the price list is missing"
        print(f"  {acemq.envelope_id(acemq.delivery_envelope(order))}: {said}")
        acemq.delivery_settle(order, outcome, "the price list is missing")
    acemq.consumer_drain(consumer, 5 * acemq.SECOND)
    acemq.consumer_close(consumer)


def publish_orders(mq):
    topology = acemq.topology_new()
    acemq.topology_queue(topology, QUEUE, acemq.QUEUE_QUORUM, 1)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
    for number in (1, 2, 3):
        order = acemq.message_text("one kilo of nails")
        acemq.message_set_id(order, f"order-{number}")
        acemq.message_set_header(order, "shop", "south" if number == 2 else "north")
        acemq.publish(mq, QUEUE, order, 5 * acemq.SECOND)


def is_of_the_north(order):
    shop = acemq.table_get(acemq.delivery_headers(order), "shop")
    return acemq.value_bytes(shop) == b"north"


def main():
    mq = acemq.connect(sys.argv[1] if len(sys.argv) > 1 else "memory://example")
    publish_orders(mq)
    print("a bad day:")
    work(mq, 3, acemq.REJECTED)
    result = acemq.replay(mq, QUEUE, acemq.ReplayOptions(filter=is_of_the_north))
    print(f"after the fix: {result.replayed} went home, {result.left} stayed")
    work(mq, result.replayed, acemq.ACCEPTED)
    acemq.connection_close(mq, 5 * acemq.SECOND)


main()
