"""A driver for the Python peer itself, from its source: its public calls, and the conformance protocol before them.

Written against the API as its public repository shows it. What the protocol asks for and the API has no call for is
unsupported.
"""

import asyncio
import base64
import importlib
import json
import re
import sys
from datetime import timedelta
from typing import Any

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
SETTERS = {"giveUpAfter": "give_up_after", "threshold": "wait_in_broker_from", "jitter": "with_jitter"}
peer = importlib.import_module("acemq_amqp")
replaying = importlib.import_module("acemq_amqp.patterns.replay")


class NotOffered(Exception):
    """The peer has no such thing."""


class HandlerFailed(Exception):
    """What the handler reports when the script says that it fails."""


def only(verb: str, asked: dict[str, Any]) -> None:
    """Refuses what the peer has nothing for, parameters too."""
    if verb not in VERBS:
        raise NotOffered("the peer's driver has nothing for it")
    for name in asked:
        if name not in VERBS[verb].split():
            raise NotOffered(f"the peer's driver has no {name} to {verb}")
    if asked.get("codec", "bytes") != "bytes":
        raise NotOffered("bodies are taken as bytes")


def duration(text: str) -> timedelta:
    """A duration as policies write it."""
    found = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text)
    return timedelta(milliseconds=int(found[1]) * UNITS[found[2]]) if found else timedelta(0)


def policy(text: str | None) -> Any:
    """A policy of the peer from the protocol's text."""
    if text is None:
        return peer.no_retry()
    start = re.match(r"(none|fixed|exponential)(?:\(([^)]*)\))?", text)
    given = [part.strip() for part in (start[2] or "").split(",")]
    made = {
        "none": lambda: peer.no_retry(),
        "fixed": lambda: peer.fixed_retry(int(given[0]), duration(given[1])),
        "exponential": lambda: peer.exponential_retry(int(given[0]), duration(given[1]), duration(given[2])),
    }[start[1]]()
    for name, value in re.findall(r"\.(\w+)\(([^)]*)\)", text[start.end() :]):
        if name == "wholeSecondNames":
            continue
        if name not in SETTERS:
            raise NotOffered(f"the peer's policies have no {name}")
        made = getattr(made, SETTERS[name])(float(value) if name == "jitter" else duration(value))
    return made


def schedule(asked: dict[str, Any]) -> dict[str, Any]:
    """The waits and rungs of a policy."""
    made, queue = policy(asked["policy"]), asked.get("queue", "")
    waits = []
    for attempt, wait in enumerate(made.schedule(), 1):
        there = made.waits_in_broker(wait)
        rung = peer.retry_queue(queue, wait) if there else None
        where = "broker" if there else "consumer"
        waits.append({"afterAttempt": attempt, "delayMs": wait // timedelta(milliseconds=1), "where": where, "rung": rung})
    rungs = [{"queue": peer.retry_queue(queue, wait), "arguments": peer.rung_args(queue, wait)} for wait in made.broker_rungs()]
    return {"waits": waits, "rungs": rungs}


def envelope_of(read: Any) -> dict[str, Any]:
    """An envelope for an answer."""
    return {
        "id": read.id, "type": read.type, "version": read.version, "correlation": read.correlation_id,
        "causation": read.causation_id or None, "attempt": read.attempt,
        "firstSeen": round(read.first_seen.timestamp() * 1000), "origin": read.origin or None,
        "error": read.error or None, "claim": read.claim or None,
        "replayedFrom": read.headers.get("acemq-replayed-from"), "replayCount": read.headers.get("acemq-replay-count", 0),
    }  # fmt: skip


def body_of(body: bytes) -> dict[str, str]:
    """A body for an answer."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"bodyBase64": base64.b64encode(body).decode()}


class Driver:
    """The verbs."""

    def __init__(self) -> None:
        self.mq: Any = None

    async def connect(self, asked: dict[str, Any]) -> None:
        await self.close(asked)
        self.mq = await peer.connect(asked["url"], codec=peer.BytesCodec())

    async def close(self, _: dict[str, Any]) -> None:
        if self.mq is not None:
            await self.mq.close()
        self.mq = None

    async def topology(self, asked: dict[str, Any]) -> None:
        made = peer.Topology()
        for each in asked["topology"].get("queues", []):
            retry = policy(each["retry"]) if "retry" in each else None
            quorum = each.get("type", "quorum") == "quorum"
            made.queue(each["name"], quorum=quorum, dead_letter=bool(each.get("deadLetter")), retry=retry)
        await self.mq.declare(made)

    async def publish(self, asked: dict[str, Any]) -> dict[str, Any]:
        message, key = asked["message"], asked.get("queue", asked.get("routingKey", ""))
        names = {"id": "id", "type": "type", "version": "version", "correlation": "correlation_id", "causation": "causation_id", "origin": "origin"}
        fields = {names[name]: message[name] for name in names if name in message}
        envelope = peer.Envelope(headers=message.get("headers") or {}, **fields)
        body = base64.b64decode(message["bodyBase64"]) if "bodyBase64" in message else message.get("body", "").encode()
        publisher = self.mq.publisher(asked.get("exchange", ""), key)
        await publisher.send(body, envelope=envelope, reply_to=message.get("replyTo", ""))
        return {"id": envelope.id}

    async def consume(self, asked: dict[str, Any]) -> dict[str, Any]:
        script, until, seen, deliveries = asked.get("script", {}), asked.get("until", {}), {}, []
        enough, arrived = asyncio.Event(), asyncio.Event()

        def handle(message: Any) -> Any:
            turn = seen[message.envelope.id] = seen.get(message.envelope.id, -1) + 1
            entries = script.get(message.envelope.id) or script.get("*") or ["accept"]
            entry = entries[min(turn, len(entries) - 1)]
            deliveries.append({"envelope": envelope_of(message.envelope), "outcome": entry} | body_of(message.body))
            arrived.set()
            if len(deliveries) == until.get("deliveries"):
                enough.set()
            verb, _, why = entry.partition(": ")
            answers = {"fail": (peer.retry, HandlerFailed), "reject": (peer.retry, peer.FatalError), "park": (peer.park, HandlerFailed)}
            if verb == "accept":
                return peer.accept()
            answer, kind = answers[verb]
            return answer(kind(why) if why else None)

        consumer = await self.mq.consume(asked["queue"], handle, retry=policy(asked.get("retry")), prefetch=asked.get("prefetch", 20))
        try:
            await asyncio.wait_for(self.quiet(enough, arrived, until.get("idle")), until.get("timeout", 10_000) / 1000)
        except asyncio.TimeoutError:
            pass
        await consumer.close()
        return {"deliveries": deliveries, "counters": {}}

    @staticmethod
    async def quiet(enough: asyncio.Event, arrived: asyncio.Event, idle: int | None) -> None:
        """Until the handler has run often enough, or nothing came for so long."""
        while idle is not None and not enough.is_set():
            arrived.clear()
            try:
                await asyncio.wait_for(arrived.wait(), idle / 1000)
            except asyncio.TimeoutError:
                return
        await enough.wait()

    async def pending(self, asked: dict[str, Any]) -> dict[str, Any]:
        name = peer.parked_queue if asked.get("parked") else peer.dead_letter_queue
        return {"pending": await self.mq.message_count(name(asked["queue"]))}

    async def replay(self, asked: dict[str, Any]) -> dict[str, Any]:
        queue = asked["queue"]
        source = (peer.parked_queue if asked.get("parked") else peer.dead_letter_queue)(queue)
        done = await replaying.replay(
            self.mq, source, routing_key=queue, limit=asked.get("max") or 0, restart=not asked.get("keepAttempts"),
            only=lambda envelope, _: asked.get("id") in (None, envelope.id),
        )  # fmt: skip
        return {"replayed": done.moved, "declined": done.skipped, "left": await self.mq.message_count(source)}

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """One answer for one request."""
        asked, pure = request.get("with", {}), {"schedule": schedule, "names": names}
        try:
            only(request["do"], asked)
            if request["do"] in pure:
                return {"ok": pure[request["do"]](asked)}
            return {"ok": await getattr(self, request["do"])(asked) or {}}
        except NotOffered as missing:
            return {"unsupported": str(missing)}
        except Exception as failure:  # whatever the peer raises is its answer
            return {"error": {"name": type(failure).__name__, "message": str(failure)}}


VERBS = {
    "schedule": "policy queue", "names": "queue", "connect": "url timeout", "close": "", "topology": "topology",
    "publish": "queue exchange routingKey message timeout", "consume": "queue retry codec script until prefetch",
    "pending": "queue parked", "replay": "queue parked max keepAttempts id",
}  # fmt: skip


def names(asked: dict[str, Any]) -> dict[str, Any]:
    """The names derived from a queue's."""
    return {"deadLetter": peer.dead_letter_queue(asked["queue"]), "parked": peer.parked_queue(asked["queue"])}


async def main() -> None:
    """Speaks until the input ends."""
    driver, loop = Driver(), asyncio.get_running_loop()
    print(json.dumps({"hello": {"protocol": 1, "name": "peer_python", "version": peer.__version__, "verbs": list(VERBS)}}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        request = json.loads(line)
        print(json.dumps({"id": request["id"]} | await driver.answer(request)), flush=True)
    await driver.close({})


asyncio.run(main())
