"""Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does and ends among the dead
letters, and order 4 is no JSON and is parked without being seen.

    python3 consume_with_retry.py [URL]     without a URL: a broker inside this program
"""

import sys
import time

import acemq

QUEUE = "example.retried"


def main(url: str = "memory://example") -> None:
    retry = acemq.exponential(3, "100ms", "1s")  # 100 ms, 200 ms
    with acemq.connect(url) as mq:
        mq.declare(QUEUE, retry=retry)
        for number in range(1, 4):
            mq.publish(QUEUE, {"id": number}, id=f"order-{number}")
        mq.publish(QUEUE, b'{"id":', id="order-4", content_type="application/json")

        def handle(order: acemq.Message) -> None:
            fails = order.id == "order-3" or (order.id == "order-2" and order.attempt < 3)
            print(f"{order.id}, attempt {order.attempt}: {'no stock' if fails else 'charged'}")
            if fails:
                raise acemq.Failure("no stock")  # as any exception, but without a traceback in the log

        consumer = mq.consume(QUEUE, handle, retry=retry, prefetch=1)  # one after the other: the same story each time
        while sum(consumer.counters()[name] for name in ("acknowledged", "dead_lettered", "parked")) < 4:
            time.sleep(0.02)
        done = consumer.counters()
        print(
            f"{done['acknowledged']} succeeded after {done['retried']} retries, "
            f"{done['dead_lettered']} among the dead letters, {done['parked']} parked"
        )


main(*sys.argv[1:])
