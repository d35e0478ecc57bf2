"""The Python side of the benchmark, through the binding: consumes with a handler, or publishes with a window."""

import argparse
import json
import os
import sys
import time

import acemq

WARM_UP = 1000


def payload(size):
    """JSON of about so many bytes."""
    return {"id": 7, "type": "bench", "text": "x" * max(0, size - 36)}


def report(count, began):
    json.dump({"count": count, "seconds": time.perf_counter() - began}, sys.stdout)


def fill(mq, options):
    mq.declare(options.queue, type="classic", dead_letter=False)
    mq.purge(options.queue)
    with mq.publisher(options.queue).window(900) as window:
        body = payload(options.size)
        for _ in range(options.count):
            window.send(body)
    json.dump({"count": options.count}, sys.stdout)


def publish(mq, options):
    publisher = mq.publisher(options.queue)
    body = payload(options.size)
    with publisher.window(options.window) as window:
        for _ in range(WARM_UP):
            window.send(body)
    began = time.perf_counter()
    with publisher.window(options.window) as window:
        for _ in range(options.count):
            window.send(body)
    report(options.count, began)


def consume(mq, options):
    """The clock stops when all is acknowledged and the broker has said goodbye."""
    seen, began = 0, 0.0

    def handle(message):
        nonlocal seen, began
        if seen == 0:
            began = time.perf_counter()
        assert message.body["id"] == 7
        seen += 1
        if seen == options.count:
            mq.stop()

    mq.consume(options.queue, handle, prefetch=options.prefetch)
    mq.run()
    mq.close()
    report(options.count, began)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["fill", "publish", "consume"])
    for name in ("count", "size", "window", "prefetch"):
        parser.add_argument(f"--{name}", type=int, default=1)
    parser.add_argument("--queue")
    options = parser.parse_args()
    with acemq.connect(os.environ["ACEMQ_TEST_URL"]) as mq:
        {"fill": fill, "publish": publish, "consume": consume}[options.command](mq, options)


main()
