"""Replay: orders that ended among the dead letters go home after the fix, all but those that the filter leaves where they
are.

    python3 replay.py [URL]     without a URL: a broker inside this program
"""

import sys

import acemq

QUEUE = "example.replayed"


def work(mq: acemq.Connection, count: int, charged: bool) -> None:
    """Takes so many orders, and says what happened to each of them."""
    with mq.open_consumer(QUEUE, codec=acemq.TEXT) as consumer:
        for _ in range(count):
            order = consumer.next("5s")
            if charged:
                print(f"  {order.id}: charged")
                order.accept()
            else:
                print(f"  {order.id}: the price list is missing")
                order.reject("the price list is missing")
        consumer.drain("5s")


def main(url: str = "memory://example") -> None:
    with acemq.connect(url) as mq:
        mq.declare(QUEUE)
        publisher = mq.publisher(QUEUE, codec=acemq.TEXT)
        for number in range(1, 4):
            shop = "south" if number == 2 else "north"
            publisher.send("one kilo of nails", id=f"order-{number}", headers={"shop": shop})
        print("a bad day:")
        work(mq, 3, charged=False)
        result = mq.replay(QUEUE, filter=lambda order: order.headers["shop"] == "north")
        print(f"after the fix: {result.replayed} went home, {result.left} stayed")
        work(mq, result.replayed, charged=True)


main(*sys.argv[1:])
