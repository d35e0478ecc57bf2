"""The outbox: orders that exist exactly when a transaction commits, and a relay that publishes them.

    python3 outbox.py [URL [STORE]]     without a URL: a broker inside this program
                                        STORE: lmdb:PATH or postgresql://…; memory: when not given
"""

import sys

import acemq


def main(url: str = "memory://example", store: str = "memory:") -> None:
    outbox = acemq.Outbox(store)
    with acemq.connect(url) as mq:
        mq.declare("example.outbox")
        for number in range(1, 4):
            # in a transaction of its own; acemq.outbox_statement() is for one of yours. No broker is needed for it
            outbox.enqueue("example.outbox", {"id": number}, type="order.placed")
        print(f"{outbox.count()['pending']} orders are written, and not published yet")
        with mq.relay(outbox) as relay:
            relay.drain("10s")
        print(f"the relay published {relay.count()['published']} orders")  # what it counts is whole once it has stopped


main(*sys.argv[1:])
