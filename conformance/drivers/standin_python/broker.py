"""One connection to a broker, used as the Python peer uses aio-pika."""

from datetime import datetime, timezone
from typing import Any

import aio_pika
from aio_pika.abc import AbstractIncomingMessage
from aio_pika.exceptions import DeliveryError
from pamqp import encode

import envelope as envelopes
import policy as policies

Declared = dict[str, Any]


class Unroutable(Exception):
    """A mandatory message that reached no queue."""


def planned_failures(queue: str, policy: policies.Policy) -> list[Declared]:
    """What a consumer declares: its failure queues always, the retry exchange only with rungs (16.14)."""
    plan = [exchange("acemq.dlx")]
    for target in (f"{queue}.dlq", f"{queue}.parked"):
        plan += [named_queue(target), binding(target, "acemq.dlx", target)]
    rungs = policy.rungs()
    if rungs:
        plan.append(exchange("acemq.retry"))
        plan += [named_queue(policies.rung_of(queue, wait), policies.rung_arguments(queue, wait)) for wait in rungs]
        plan.append(binding(queue, "acemq.retry", queue))
    return plan


def exchange(name: str, kind: str = "direct") -> Declared:
    """An exchange of a plan."""
    return {"kind": "exchange", "name": name, "type": kind}


def named_queue(name: str, arguments: dict[str, Any] | None = None) -> Declared:
    """A queue of a plan; one without a type in its arguments is classic."""
    given = arguments or {}
    return {"kind": "queue", "name": name, "type": given.get("x-queue-type", "classic"), "arguments": given}


def binding(queue: str, source: str, key: str) -> Declared:
    """A binding of a plan."""
    return {"kind": "binding", "name": queue, "exchange": source, "routingKey": key}


class Broker:
    """A connection, with a channel for each purpose."""

    @classmethod
    async def open(cls, url: str, timeout: float) -> "Broker":
        """Connects, within a number of seconds."""
        broker = cls()
        broker.connection = await aio_pika.connect_robust(url, timeout=timeout)
        broker.publishing = await broker.connection.channel(publisher_confirms=True, on_return_raises=True)
        return broker

    async def close(self) -> None:
        """Leaves."""
        await self.connection.close()

    async def declare(self, plan: list[Declared]) -> None:
        """Declares a plan, on a channel of its own since a refusal takes the channel with it."""
        channel = await self.connection.channel()
        try:
            for step in plan:
                await self.declare_one(channel, step)
        finally:
            if not channel.is_closed:
                await channel.close()

    async def declare_one(self, channel: Any, step: Declared) -> None:
        """Declares one thing."""
        match step["kind"]:
            case "exchange":
                await channel.declare_exchange(step["name"], type=step["type"], durable=True)
            case "queue":
                await channel.declare_queue(step["name"], durable=True, arguments=step["arguments"] or None)
            case "binding":
                bound = await channel.get_queue(step["name"])
                await bound.bind(step["exchange"], step["routingKey"])

    async def publish(
        self, target: str, key: str, body: bytes, headers: dict[str, Any], message_id: str, **given: Any
    ) -> None:
        """Publishes, confirmed; mandatory where the peer asks for it, and it does not by itself (16.4)."""
        # What the client cannot write ends its connection: asked before it is given to it.
        encode.field_table(headers)
        encode.short_string(message_id)
        encode.short_string(key)
        message = aio_pika.Message(
            body,
            headers=headers,
            message_id=message_id or None,
            content_type=given.get("content_type") or None,
            reply_to=given.get("reply_to") or None,
            delivery_mode=1 if given.get("transient") else 2,
        )
        channel = self.publishing
        to = channel.default_exchange if not target else await channel.get_exchange(target, ensure=False)
        try:
            await to.publish(message, routing_key=key, mandatory=given.get("mandatory", True))
        except DeliveryError as failure:
            raise Unroutable(f"{key}: {failure}") from failure

    async def hop(self, message: AbstractIncomingMessage, queue: str, envelope: envelopes.Envelope) -> bool:
        """Republishes by name with what this peer keeps: the content type and the id, and no other property."""
        headers = envelope.written(message.routing_key or "")
        try:
            await self.publish("", queue, message.body, headers, envelope.id, content_type=message.content_type)
        except Unroutable:
            return False
        return True

    async def waiting(self, queue: str) -> int:
        """How many messages lie in a queue."""
        channel = await self.connection.channel()
        try:
            return int((await channel.get_queue(queue)).declaration_result.message_count or 0)
        finally:
            if not channel.is_closed:
                await channel.close()

    async def peek(self, queue: str, most: int) -> list[AbstractIncomingMessage]:
        """Looks at messages and leaves them."""
        channel = await self.connection.channel()
        source = await channel.get_queue(queue)
        seen = []
        while len(seen) < most and (message := await source.get(fail=False)) is not None:
            seen.append(message)
        for message in seen:
            await message.nack(requeue=True)
        await channel.close()
        return seen

    async def replay(self, queue: str, source: str, most: int, keep: bool, wanted: Any) -> tuple[int, int]:
        """Moves failed messages back; those not wanted are held until the pass is over."""
        channel = await self.connection.channel()
        origin = await channel.get_queue(source)
        moved, declined = 0, []
        while moved < most and (message := await origin.get(fail=False)) is not None:
            envelope = envelopes.read(message.headers, message.routing_key or "")
            if not wanted(envelope):
                declined.append(message)
                continue
            await self.move_back(message, envelope, queue, source, keep)
            moved += 1
        for message in declined:
            await message.nack(requeue=True)
        await channel.close()
        return moved, len(declined)

    async def move_back(
        self, message: AbstractIncomingMessage, envelope: envelopes.Envelope, queue: str, source: str, keep: bool
    ) -> None:
        """Publishes one message to where it failed, stamped, and only then lets go of it (16.5, 16.11)."""
        going = envelope if keep else envelope.but(attempt=1, error="")
        headers = going.written(queue) | {
            "acemq-replayed-from": source,
            "acemq-replayed-at": datetime.now(timezone.utc).isoformat(),
            "acemq-replay-count": envelopes.number(envelope.headers.get("acemq-replay-count"), 0) + 1,
        }
        await self.publish("", queue, message.body, headers, going.id, content_type=message.content_type)
        await message.ack()
