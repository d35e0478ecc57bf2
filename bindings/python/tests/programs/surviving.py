"""Handles what is left of numbers 0 to COUNT - 1 through handlers that raise, exit and are collected while registered,
with the collector running all the time, and writes down each number that was handled.

    surviving.py URL QUEUE LEDGER COUNT [leak]

Ends with 0 when all are handled, and says by how many KiB it grew over the second half of them; with 7 when a handler
said sys.exit, which on a broker in memory is survived in the program. With `leak` no delivery is freed.
"""

import gc
import logging
import os
import sys
import threading
import time

import acemq

logging.getLogger("acemq").setLevel(logging.CRITICAL)  # what is raised here is meant
url, queue, ledger, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
leaking = "leak" in sys.argv
exits = {count // 20, count // 10, count // 7, count // 5}
begun = os.path.exists(ledger)
written = open(ledger, "a+")
written.seek(0)
handled = bytearray(count)
for line in written:
    handled[int(line)] = 1
sizes = {}
lock = threading.Lock()


def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


def note(number):
    """Whether they were all handled with this one."""
    with lock:
        handled[number] = 1
        written.write(f"{number}\n")
        written.flush()
        done = sum(handled)
        if done % (count // 10) == 0:
            sizes.setdefault(done * 10 // count, resident_kib())
        return done == count


def misbehave(message, number):
    """What it does at a first attempt, mostly."""
    if number % 7 == 0 and message.attempt == 1:
        raise ValueError("once more")
    if number % 11 == 0 and message.attempt == 1:
        raise StopIteration
    if number % 13 == 0 and message.attempt < 3:
        raise acemq.Failure("twice more")
    if number % 19 == 0 and message.attempt == 1:
        raise RecursionError
    if number in exits and message.attempt == 1 and not message.redelivered:
        exits.discard(number)
        sys.exit(7)
    if number % 17 == 0:
        message.accept()


def register(mq):
    """Nobody else holds the handler, and it is part of cycles."""
    keep = {}

    def handle(message):
        number = message.body["number"]
        keep["cycle"] = (keep, handle, message) if number % 5 == 0 else None
        misbehave(message, number)
        if note(number):
            mq.stop()
        if leaking:
            if not message.settled:
                message.accept()
            message._mine = False

    mq.group(queue, members=2, retry=acemq.fixed(4, "1ms"))(handle)


def leave_loops(mq):
    """Loops that are left after ten messages, the eleventh in hand."""
    for _ in range(3):
        taken = 0
        with mq.open_consumer(queue) as consumer:
            for message in consumer:
                if taken == 10:
                    break
                with message:
                    taken += 1
                    note(message.body["number"])


def consume():
    with acemq.connect(url) as mq:
        register(mq)
        mq.run()


def publish(mq):
    with mq.publisher(queue).window(500) as window:
        for number in range(count):
            window.send({"number": number})


def nothing_is_left(mq):
    """The broker may still be at the last ones."""
    end = time.monotonic() + 60
    while (left := (mq.pending(queue), mq.pending(queue, source="parked"), mq.count(queue).ready)) != (0, 0, 0):
        assert time.monotonic() < end, left
        time.sleep(0.01)


def run():
    with acemq.connect(url) as keeper:
        keeper.declare(queue, type="classic")
        if not begun:
            publish(keeper)
            leave_loops(keeper)
        while not all(handled):
            try:
                consume()
            except SystemExit:
                if not url.startswith("memory:"):
                    raise
        nothing_is_left(keeper)


collecting = True


def collect():
    while collecting:
        gc.collect()


collector = threading.Thread(target=collect, daemon=True)
collector.start()
try:
    run()
finally:
    collecting = False
    collector.join()
print("grew by", sizes[10] - sizes[5])
