"""A stand-in for the Python peer: what it writes and how it reads, on the client that it is built on.

It knows nothing of libacemq and shares no code with it or with the peer. The rules are in policy.py, envelope.py and
consumer.py; this file speaks the conformance protocol.
"""

import asyncio
import base64
import json
import struct
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from aiormq.exceptions import AMQPError, ChannelNotFoundEntity, ChannelPreconditionFailed

import broker as brokers
import envelope as envelopes
import policy as policies
import values
from consumer import CODECS, Run

class Reserved(ValueError):
    """A header of the application with the engine's prefix."""


Verb = Callable[[dict[str, Any]], Any]

# Where the client lost its connection, it may wait for ever.
ANSWER_WITHIN_S = 40


def only(asked: dict[str, Any], *known: str) -> None:
    """Refuses what the peer has nothing for."""
    for name in asked:
        if name not in known:
            raise policies.NotOffered(f"the peer has no {name}")


def read_envelope(asked: dict[str, Any]) -> dict[str, Any]:
    """envelope"""
    headers = {name: values.from_wire_form(value) for name, value in asked.get("headers", {}).items()}
    key = asked.get("routingKey", "")
    read = envelopes.read(headers, key)
    return {
        "envelope": values.envelope_for(read),
        "headers": {name: values.to_wire_form(value) for name, value in read.headers.items()},
        "written": {name: values.typed(value) for name, value in read.written(key).items()},
    }


def placed(policy: policies.Policy, queue: str, wait: timedelta) -> dict[str, Any]:
    """Where a wait is spent."""
    there = policy.in_broker(wait)
    return {"where": "broker" if there else "consumer", "rung": policies.rung_of(queue, wait) if there else None}


def schedule(asked: dict[str, Any]) -> dict[str, Any]:
    """schedule"""
    policy, queue = policies.parse(asked["policy"]), asked.get("queue", "")
    waits = []
    for attempt in range(1, policy.attempts):
        wait = policy.wait_after(attempt)
        waits.append({"afterAttempt": attempt, "delayMs": policies.milliseconds(wait)} | placed(policy, queue, wait))
    rungs = [
        {"queue": policies.rung_of(queue, wait), "arguments": policies.rung_arguments(queue, wait)}
        for wait in policy.rungs()
    ]
    return {"waits": waits, "rungs": rungs}


def waits_after(asked: dict[str, Any]) -> dict[str, Any]:
    """waits"""
    policy = policies.parse(asked["policy"])
    waits = (
        policies.ZERO if policy.gives_up(attempt, policies.ZERO) else policy.wait_after(attempt)
        for attempt in asked["attempts"]
    )
    return {"waits": [policies.milliseconds(wait) for wait in waits]}


def decide(asked: dict[str, Any]) -> dict[str, Any]:
    """decide; an unknown age is that of a message first seen now"""
    age = timedelta(milliseconds=asked.get("age") or 0)
    return {"retries": not policies.parse(asked["policy"]).gives_up(asked["attempt"], age)}


def jitter(asked: dict[str, Any]) -> dict[str, Any]:
    """jitter"""
    policy = policies.parse(asked["policy"])
    wait = policy.jittered(timedelta(milliseconds=asked["delay"]), asked["unit"])
    return {"delay": policies.milliseconds(wait)}


def key_of(asked: dict[str, Any]) -> bytes:
    """An ordering key."""
    return base64.b64decode(asked["keyBase64"]) if "keyBase64" in asked else asked["key"].encode()


def partition(asked: dict[str, Any]) -> int:
    """Which partition; the peer has one rule."""
    if asked.get("rule", "unsigned") != "unsigned":
        raise policies.NotOffered("the peer has only its own rule")
    return policies.partition(key_of(asked), asked["partitions"])


def planned_topology(given: dict[str, Any]) -> list[brokers.Declared]:
    """What a topology declares: exchanges, then queues, then bindings."""
    only(given, "exchanges", "queues", "bindings")
    plan = [brokers.exchange(each["name"], each["type"]) for each in given.get("exchanges", [])]
    for each in given.get("queues", []):
        plan += planned_queue(each)
    plan += [brokers.binding(each["queue"], each["exchange"], each.get("key", "")) for each in given.get("bindings", [])]
    order = ("exchange", "queue", "binding")
    unique = list({json.dumps(step, sort_keys=True): step for step in plan}.values())
    return sorted(unique, key=lambda step: order.index(step["kind"]))


def planned_queue(each: dict[str, Any]) -> list[brokers.Declared]:
    """A queue with what the peer's topology declares beside it."""
    only(each, "name", "type", "deadLetter", "retry", "arguments")
    name, arguments = each["name"], dict(each.get("arguments", {}))
    if each.get("type", "quorum") != "classic":
        arguments["x-queue-type"] = each.get("type", "quorum")
    beside = brokers.planned_failures(name, policies.parse(each.get("retry")))
    beside = [step for step in beside if kept_beside(step, name, bool(each.get("deadLetter")))]
    if each.get("deadLetter"):
        arguments |= {"x-dead-letter-exchange": "acemq.dlx", "x-dead-letter-routing-key": f"{name}.dlq"}
    return [brokers.named_queue(name, arguments), *beside]


def kept_beside(step: brokers.Declared, queue: str, dead_letter: bool) -> bool:
    """The failure queues and their exchange come with dead-lettering, the rungs with the policy."""
    failing = step["name"] in (f"{queue}.dlq", f"{queue}.parked", "acemq.dlx")
    return dead_letter or not failing


class Standin:
    """The verbs, and the connection that some of them need."""

    def __init__(self) -> None:
        self.broker: brokers.Broker | None = None
        self.verbs: dict[str, Verb] = {
            "envelope": read_envelope,
            "schedule": schedule,
            "waits": waits_after,
            "decide": decide,
            "place": lambda asked: placed(
                policies.parse(asked["policy"]), asked["queue"], timedelta(milliseconds=asked["delay"])
            ),
            "jitter": jitter,
            "names": lambda asked: {"deadLetter": asked["queue"] + ".dlq", "parked": asked["queue"] + ".parked"},
            "partition": lambda asked: {"partition": partition(asked)},
            "ordered.queue": lambda asked: {"queue": f"{asked['name']}.{partition(asked)}"},
            "topology.plan": lambda asked: {"objects": planned_topology(asked["topology"])},
            "consumer.plan": lambda asked: {
                "objects": brokers.planned_failures(asked["queue"], policies.parse(asked.get("policy")))
            },
            "connect": self.connect,
            "close": self.close,
            "topology": self.topology,
            "publish": self.publish,
            "consume": self.consume,
            "pending": self.pending,
            "peek": self.peek,
            "replay": self.replay,
            "ordered.publish": self.ordered_publish,
        }

    def connected(self) -> brokers.Broker:
        """The connection."""
        if self.broker is None:
            raise ConnectionError("not connected")
        return self.broker

    async def connect(self, asked: dict[str, Any]) -> None:
        await self.close(asked)
        self.broker = await brokers.Broker.open(asked["url"], asked.get("timeout", 10_000) / 1000)

    async def close(self, _: dict[str, Any]) -> None:
        if self.broker is not None:
            await self.broker.close()
        self.broker = None

    async def topology(self, asked: dict[str, Any]) -> None:
        await self.connected().declare(planned_topology(asked["topology"]))

    async def publish(self, asked: dict[str, Any]) -> dict[str, Any]:
        key = asked.get("queue", asked.get("routingKey", ""))
        return await self.send(asked.get("exchange", ""), key, asked["message"])

    async def send(self, exchange: str, key: str, message: dict[str, Any]) -> dict[str, Any]:
        """Publishes with a fresh envelope and what the request says over it."""
        only(
            message, "id", "type", "version", "correlation", "causation", "origin", "contentType", "headers",
            "replyTo", "transient", "body", "bodyBase64",
        )  # fmt: skip
        fields = ("id", "type", "version", "correlation", "causation", "origin")
        told = {name: message[name] for name in fields if message.get(name) is not None}
        own = {name: values.from_wire_form(value) for name, value in (message.get("headers") or {}).items()}
        refused = [name for name in own if name.startswith(envelopes.RESERVED)]
        if refused:
            raise Reserved(f"reserved header: {refused[0]}")
        envelope = envelopes.Envelope(**({"origin": envelopes.own_origin()} | told), headers=own)
        await self.connected().publish(
            exchange,
            key,
            values.body_of(message),
            envelope.written(key),
            envelope.id,
            content_type=message.get("contentType") or "application/json",
            reply_to=message.get("replyTo"),
            transient=message.get("transient"),
            mandatory=False,
        )
        return {"id": envelope.id}

    async def consume(self, asked: dict[str, Any]) -> dict[str, Any]:
        known = {"members": 1, "declare": "yes", "requeueOnFailure": False, "idempotency": None}
        for name, usual in known.items():
            if asked.get(name, usual) != usual:
                raise policies.NotOffered(f"the stand-in has no {name}")
        only(asked, "queue", "retry", "codec", "script", "until", "prefetch", *known)
        if asked.get("codec", "bytes") not in CODECS:
            raise policies.NotOffered("the peer has no such codec")
        return await Run(self.connected(), asked).run()

    async def pending(self, asked: dict[str, Any]) -> dict[str, Any]:
        suffix = "parked" if asked.get("parked") else "dlq"
        return {"pending": await self.connected().waiting(f"{asked['queue']}.{suffix}")}

    async def peek(self, asked: dict[str, Any]) -> dict[str, Any]:
        seen = await self.connected().peek(asked["queue"], asked.get("max", 10))
        return {"messages": [values.message_for(message) for message in seen]}

    async def replay(self, asked: dict[str, Any]) -> dict[str, Any]:
        only(asked, "queue", "parked", "max", "keepAttempts", "id", "headers")
        queue = asked["queue"]
        source = f"{queue}.{'parked' if asked.get('parked') else 'dlq'}"
        headers = asked.get("headers") or {}

        def wanted(envelope: envelopes.Envelope) -> bool:
            same = all(envelope.headers.get(name) == value for name, value in headers.items())
            return same and asked.get("id") in (None, envelope.id)

        most, keep = asked.get("max") or sys.maxsize, bool(asked.get("keepAttempts"))
        moved, declined = await self.connected().replay(queue, source, most, keep, wanted)
        return {"replayed": moved, "declined": declined, "left": await self.connected().waiting(source)}

    async def ordered_publish(self, asked: dict[str, Any]) -> dict[str, Any]:
        return await self.send("", f"{asked['name']}.{partition(asked)}", asked["message"])

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """One answer for one request."""
        verb = self.verbs.get(request["do"])
        if verb is None:
            return {"unsupported": "the peer, or its stand-in, has nothing for it"}
        try:
            result = verb(request.get("with", {}))
            if isinstance(result, Awaitable):
                result = await asyncio.wait_for(result, ANSWER_WITHIN_S)
            return {"ok": result or {}}
        except policies.NotOffered as missing:
            return {"unsupported": str(missing)}
        except brokers.Unroutable as failure:
            return {"error": {"name": "unroutable", "message": str(failure)}}
        except ChannelPreconditionFailed as failure:
            return {"error": {"name": "differs", "message": str(failure)}}
        except ChannelNotFoundEntity as failure:
            return {"error": {"name": "not_found", "message": str(failure)}}
        except (AMQPError, ConnectionError, asyncio.TimeoutError, RuntimeError) as failure:
            return {"error": {"name": "broker", "message": repr(failure)}}
        except Reserved as failure:
            return {"error": {"name": "reserved_header", "message": str(failure)}}
        except (ValueError, OverflowError, TypeError, struct.error) as failure:
            # struct.error: the client of Debian 12 cannot write an integer from -128 to -1.
            return {"error": {"name": "invalid_argument", "message": str(failure)}}


async def main() -> None:
    """Speaks until the input ends."""
    standin = Standin()
    say({"hello": {"protocol": 1, "name": "standin_python", "version": "1", "verbs": sorted(standin.verbs)}})
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        request = json.loads(line)
        say({"id": request["id"]} | await standin.answer(request))
    await standin.close({})


def say(answer: dict[str, Any]) -> None:
    """One line out."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


asyncio.run(main())
