"""Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does not exist, which is told
apart.

    python3 publish.py [URL]     without a URL: a broker inside this program
"""

import sys

import acemq


def main(url: str = "memory://example") -> None:
    with acemq.connect(url) as mq:
        mq.declare("example.orders")  # a durable queue, with the place for its dead letters; again is fine
        for number in range(1, 4):
            mq.publish("example.orders", {"id": number}, type="order.placed", headers={"shop": "north"})
            print(f"order {number} is in its queue, confirmed")
        try:
            mq.publish("example.nowhere", {"id": 4}, type="order.placed")
        except acemq.Unroutable as error:
            print(f"order 4 came back: {error}")


main(*sys.argv[1:])
