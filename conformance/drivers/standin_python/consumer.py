"""One run of a consumer, deciding and settling as the Python peer does: section 6, 16.3, 16.7, 16.13 and 16.15."""

import asyncio
import json
import struct
import sys
from datetime import timedelta
from typing import Any

from aio_pika.abc import AbstractIncomingMessage

import envelope as envelopes
import policy as policies
import values
from broker import Broker, planned_failures

CODECS = ("bytes", "json", "text")


class HandlerFailed(Exception):
    """What the handler raises when the script says that it fails."""


class FatalError(Exception):
    """What it raises when no further attempt can help."""


def described(failure: Exception) -> str:
    """A failure as the peer writes it: its class, then its text."""
    return type(failure).__name__ + (f": {failure}" if str(failure) else "")


def reason(why: str) -> str:
    """What the handler said, as the peer writes it."""
    return described(HandlerFailed(why)) if why else "no reason given"


class Run:
    """A consumer from its opening to its close."""

    def __init__(self, broker: Broker, asked: dict[str, Any]) -> None:
        self.broker = broker
        self.queue = asked["queue"]
        self.policy = policies.parse(asked.get("retry"))
        self.codec = asked.get("codec", "bytes")
        self.script = asked.get("script", {})
        self.until = asked.get("until", {})
        self.prefetch = asked.get("prefetch", 20)
        if not 0 <= self.prefetch <= 65535:
            raise ValueError(f"prefetch: {self.prefetch}")
        self.seen: dict[str, int] = {}
        self.deliveries: list[dict[str, Any]] = []
        self.counters = dict.fromkeys(
            ("acknowledged", "rejected", "retried", "deadLettered", "parked", "duplicates"), 0
        )
        self.arrived: asyncio.Queue[AbstractIncomingMessage] = asyncio.Queue()
        self.ending = asyncio.Event()

    async def run(self) -> dict[str, Any]:
        """Declares, subscribes, handles as told, and closes."""
        await self.broker.declare(planned_failures(self.queue, self.policy))
        channel = await self.broker.connection.channel()
        await channel.set_qos(prefetch_count=self.prefetch)
        source = await channel.get_queue(self.queue)
        tag = await source.consume(self.arrived.put)
        channel.close_callbacks.add(lambda *_: self.ending.set())
        clock = asyncio.get_running_loop()
        timer = clock.call_later(self.until.get("timeout", 10_000) / 1000, self.ending.set)
        try:
            await self.work()
        finally:
            timer.cancel()
            await source.cancel(tag)
            while not self.arrived.empty():
                await self.arrived.get_nowait().nack(requeue=True)
            await channel.close()
        return {"deliveries": self.deliveries, "counters": self.counters}

    async def work(self) -> None:
        """Takes one message after the other, as one worker does, until the end is reached."""
        wanted = self.until.get("deliveries")
        idle = self.until.get("idle")
        while not self.ending.is_set() and (wanted is None or len(self.deliveries) < wanted):
            message = await self.next(None if idle is None else idle / 1000)
            if message is None:
                return
            try:
                await self.handle(message)
            except (TypeError, ValueError, struct.error) as failure:
                # As in the peer: what cannot be settled is left, and comes back when the channel closes.
                print(failure, file=sys.stderr)

    async def next(self, idle: float | None) -> AbstractIncomingMessage | None:
        """The next message, or None when nothing comes for so long or the time is over."""
        arrival = asyncio.ensure_future(self.arrived.get())
        ended = asyncio.ensure_future(self.ending.wait())
        await asyncio.wait({arrival, ended}, timeout=idle, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if arrival.done():
            return arrival.result()
        arrival.cancel()
        return None

    async def handle(self, message: AbstractIncomingMessage) -> None:
        """Decodes, runs the handler, settles."""
        envelope = envelopes.read(message.headers, message.routing_key or "")
        try:
            self.decode(message.body)
        except Exception as failure:
            self.counters["rejected"] += 1
            why = described(FatalError(f"this message is not {self.codec}: {failure}"))
            await self.set_aside(message, envelope, "parked", f"could not be decoded: {why}")
            return
        entry = self.entry_for(envelope.id)
        if len(self.deliveries) + 1 == self.until.get("deliveries"):
            self.ending.set()
        self.deliveries.append(
            values.message_for(message)
            | {"outcome": entry, "routingKey": message.routing_key, "redelivered": bool(message.redelivered)}
        )
        verb, _, why = entry.partition(": ")
        await self.settle(message, envelope, verb, why)

    def decode(self, body: bytes) -> None:
        """Reads a body, or raises."""
        if self.codec == "json":
            json.loads(body)
        elif self.codec == "text":
            body.decode()

    def entry_for(self, message_id: str) -> str:
        """What the script says about this delivery."""
        entries = self.script.get(message_id) or self.script.get("*") or ["accept"]
        turn = self.seen.get(message_id, 0)
        self.seen[message_id] = turn + 1
        return entries[min(turn, len(entries) - 1)]

    async def settle(self, message: AbstractIncomingMessage, envelope: envelopes.Envelope, verb: str, why: str) -> None:
        """Carries out what the handler's end means."""
        if verb == "accept":
            self.counters["acknowledged"] += 1
            await message.ack()
            return
        self.counters["rejected"] += 1
        if verb == "park":
            await self.set_aside(message, envelope, "parked", f"the handler parked it: {reason(why)}")
        elif verb == "reject":
            told = described(FatalError(why))
            await self.set_aside(message, envelope, "dlq", f"the handler reported an unprocessable message: {told}")
        elif self.policy.gives_up(envelope.attempt, self.age(envelope)):
            await self.set_aside(message, envelope, "dlq", f"{self.exhausted(envelope)}: {reason(why)}")
        else:
            await self.retry(message, envelope)

    @staticmethod
    def age(envelope: envelopes.Envelope) -> timedelta:
        """How old a message is."""
        return timedelta(milliseconds=envelopes.now() - envelope.first_seen)

    def exhausted(self, envelope: envelopes.Envelope) -> str:
        """Which limit was reached."""
        limit = self.policy.attempts
        if envelope.attempt >= limit:
            return f"exhausted {limit} attempt{'' if limit == 1 else 's'}"
        return f"exceeded the maximum message age of {self.policy.age}"

    async def retry(self, message: AbstractIncomingMessage, envelope: envelopes.Envelope) -> None:
        """Sends it to its rung, or waits here and puts it back; a missing rung's wait is spent here."""
        wait = self.policy.wait_after(envelope.attempt)
        following = envelope.but(attempt=envelope.attempt + 1)
        self.counters["retried"] += 1
        if self.policy.in_broker(wait) and await self.broker.hop(
            message, policies.rung_of(self.queue, wait), following
        ):
            await message.ack()
            return
        await self.sleep(self.policy.jittered(wait))
        if await self.broker.hop(message, self.queue, following):
            await message.ack()
        else:
            await message.nack(requeue=True)

    async def sleep(self, wait: timedelta) -> None:
        """A wait that the end of the run shortens."""
        try:
            await asyncio.wait_for(self.ending.wait(), wait.total_seconds())
        except asyncio.TimeoutError:
            return

    async def set_aside(
        self, message: AbstractIncomingMessage, envelope: envelopes.Envelope, suffix: str, why: str
    ) -> None:
        """Moves it to a failure queue; where there is none the broker drops it (16.7)."""
        self.counters["parked" if suffix == "parked" else "deadLettered"] += 1
        if await self.broker.hop(message, f"{self.queue}.{suffix}", envelope.but(error=why)):
            await message.ack()
        else:
            await message.nack(requeue=False)
