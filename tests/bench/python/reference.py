"""The Python side of the benchmark, through aio-pika, as its own pages say."""

import argparse
import asyncio
import json
import os
import sys
import time

import aio_pika

WARM_UP = 1000


def report(count, began):
    json.dump({"count": count, "seconds": time.perf_counter() - began}, sys.stdout)


def message_of(payload, number):
    """The envelope that ours has too; the cheapest id that is one, a number in the length of a UUID."""
    name = f"00000000-0000-4000-8000-{number:012x}"
    return aio_pika.Message(
        json.dumps(payload).encode(),
        content_type="application/json",
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        message_id=name,
        headers={
            "x-acemq-id": name,
            "x-acemq-type": "bench",
            "x-acemq-correlation": name,
            "x-acemq-origin": "acemq@aio-pika",
            "x-acemq-version": 1,
            "x-acemq-attempt": 1,
            "x-acemq-first-seen": int(time.time() * 1000),
        },
    )


async def send(exchange, options, count):
    """So many in flight, each confirmed; mandatory, as publish() has it by itself."""
    payload = {"id": 7, "type": "bench", "text": "x" * max(0, options.size - 36)}
    numbers = iter(range(count))

    async def sender():
        for number in numbers:
            await exchange.publish(message_of(payload, number), routing_key=options.queue)

    await asyncio.gather(*(sender() for _ in range(options.window)))


async def publish(connection, options):
    channel = await connection.channel(publisher_confirms=True)
    await send(channel.default_exchange, options, WARM_UP)
    began = time.perf_counter()
    await send(channel.default_exchange, options, options.count)
    report(options.count, began)
    await connection.close()


async def consume(connection, options):
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=options.prefetch)
    queue = await channel.get_queue(options.queue)
    finished = asyncio.get_running_loop().create_future()
    seen, began = 0, 0.0

    async def handle(message):
        nonlocal seen, began
        async with message.process():
            if seen == 0:
                began = time.perf_counter()
            assert json.loads(message.body)["id"] == 7
            seen += 1
        if seen >= options.count and not finished.done():
            finished.set_result(None)

    tag = await queue.consume(handle)
    await finished
    await queue.cancel(tag)
    await connection.close()
    report(options.count, began)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["publish", "consume"])
    for name in ("count", "size", "window", "prefetch"):
        parser.add_argument(f"--{name}", type=int, default=1)
    parser.add_argument("--queue")
    options = parser.parse_args()
    connection = await aio_pika.connect(os.environ["ACEMQ_TEST_URL"])
    await {"publish": publish, "consume": consume}[options.command](connection, options)


asyncio.run(main())
