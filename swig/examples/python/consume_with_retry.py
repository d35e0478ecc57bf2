#!/usr/bin/python3
"""Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does and ends among the
dead letters, and order 4 is no JSON and is parked without being seen.

consume_with_retry [URL]     without a URL: a broker inside this program
"""

import sys

import acemq

QUEUE = "example.retried"


def publish(mq, order_id, json):
    order = acemq.message_new(json)
    acemq.message_set_id(order, order_id)
    acemq.message_set_content_type(order, "application/json")
    acemq.publish(mq, QUEUE, order, 5 * acemq.SECOND)


def prepare(mq, policy):
    topology = acemq.topology_new()
    acemq.topology_queue(topology, QUEUE, acemq.QUEUE_QUORUM, 1, policy)
    acemq.topology_apply(mq, topology, 5 * acemq.SECOND)
    for number in (1, 2, 3):
        publish(mq, f"order-{number}", '{"id":%d}' % number)
    publish(mq, "order-4", '{"id":')


def handle(order):
    """What is said of an order is carried out: acknowledged, or tried again as the policy has it."""
    envelope = acemq.delivery_envelope(order)
    order_id, attempt = acemq.envelope_id(envelope), acemq.envelope_attempt(envelope)
    fails = order_id == "order-3" or (order_id == "order-2" and attempt < 3)
    print(f"{order_id}, attempt {attempt}: {'no stock' if fails else 'charged'}")
    if fails:
        acemq.delivery_settle(order, acemq.FAILED, "no stock")
    else:
        acemq.delivery_settle(order, acemq.ACCEPTED)


def consume(mq, policy):
    options = acemq.ConsumerOptions(retry=policy, codec=acemq.codec_builtin("json"))
    consumer = acemq.consumer_open(mq, QUEUE, options)
    try:
        while True:
            handle(acemq.consumer_next(consumer, 2 * acemq.SECOND))
    except acemq.TimeoutError:
        pass  # no more orders
    counters = acemq.consumer_get_counters(consumer)
    print(f"{counters.acknowledged} succeeded after {counters.retried} retries, "
          f"{counters.dead_lettered} among the dead letters, {counters.parked} parked")


def main():
    mq = acemq.connect(sys.argv[1] if len(sys.argv) > 1 else "memory://example")
    policy = acemq.policy_exponential(3, 100, acemq.SECOND)  # 100 ms, 200 ms
    acemq.policy_jitter(policy, 0)  # so that the story is the same each time
    prepare(mq, policy)
    consume(mq, policy)
    acemq.connection_close(mq, 5 * acemq.SECOND)


main()
