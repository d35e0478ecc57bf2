"""Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is charged once.

    python3 idempotent_consumer.py [URL [STORE]]     without a URL: a broker inside this program
                                                     STORE of the claims: lmdb:PATH or postgresql://…; memory: when
                                                     not given
"""

import sys

import acemq

QUEUE = "example.once"


def main(url: str = "memory://example", store: str = "memory:") -> None:
    with acemq.connect(url) as mq:
        mq.declare(QUEUE)
        for id in ("order-1", "order-1", "order-2"):  # whoever sends again sends the same id
            mq.publish(QUEUE, "one kilo of nails", id=id)
            print(f"{id} is in its queue")

        def charge(order: acemq.Message) -> None:
            print(f"{order.id}: charged")
            if order.id == "order-2":
                mq.stop()

        # before an order is seen here its id is claimed; one after the other, so that the story is the same each time
        consumer = mq.consume(QUEUE, charge, idempotency=store, prefetch=1)
        mq.run()
        done = consumer.counters()
        print(f"{done['acknowledged']} were charged, {done['duplicates']} had been before")


main(*sys.argv[1:])
