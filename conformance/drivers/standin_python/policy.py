"""The retry policy and the names as the Python peer has them: sections 1, 5, 16.1 and 16.2."""

import random
import re
from dataclasses import dataclass, replace
from datetime import timedelta

ZERO = timedelta(0)
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
FACTORY = re.compile(r"(none|fixed|exponential)(?:\(([^)]*)\))?")
SUFFIX = re.compile(r"\.(\w+)\(([^)]*)\)")


class NotOffered(Exception):
    """The peer has no such thing; the text says which."""


def milliseconds(delay: timedelta) -> int:
    """The whole milliseconds of a delay."""
    return delay // timedelta(milliseconds=1)


@dataclass(frozen=True)
class Policy:
    """How many deliveries, and the waits between them."""

    attempts: int = 1
    initial: timedelta = ZERO
    multiplier: float = 2.0
    cap: timedelta = ZERO
    jitter: float = 0.0
    age: timedelta = ZERO
    threshold: timedelta = timedelta(seconds=30)

    def wait_after(self, attempt: int) -> timedelta:
        """The wait after an attempt, unjittered."""
        delay = self.initial
        for _ in range(1, attempt):
            delay *= self.multiplier
            if self.cap > ZERO and delay > self.cap:
                break
        return min(delay, self.cap) if self.cap > ZERO else delay

    def gives_up(self, attempt: int, age: timedelta) -> bool:
        """Whether nothing follows this attempt."""
        return attempt >= self.attempts or (self.age > ZERO and age >= self.age)

    def in_broker(self, delay: timedelta) -> bool:
        """Whether a wait is a rung's."""
        return self.threshold > ZERO and delay > ZERO and delay >= self.threshold

    def jittered(self, delay: timedelta, unit: float | None = None) -> timedelta:
        """A wait in the consumer; nothing keeps it above 0."""
        if self.jitter <= 0 or delay <= ZERO:
            return delay
        draw = random.uniform(-1, 1) if unit is None else unit
        return max(delay * (1 + draw * self.jitter), ZERO)

    def rungs(self) -> list[timedelta]:
        """The distinct waits that reach the threshold: distinct as waits, whatever their names are."""
        waits = (self.wait_after(n) for n in range(1, self.attempts))
        return list(dict.fromkeys(wait for wait in waits if self.in_broker(wait)))


def duration(text: str) -> timedelta:
    """A duration as policies write it."""
    found = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text)
    if found:
        return timedelta(milliseconds=int(found[1]) * UNITS[found[2]])
    if text in ("0", "none"):
        return ZERO
    raise ValueError(f"no duration: {text}")


def parse(text: str | None) -> Policy:
    """A policy from its text. The peer has no texts: this only makes its policies reachable."""
    if text is None:
        return Policy()
    start = FACTORY.match(text)
    if start is None:
        raise ValueError(f"no policy: {text}")
    given = [part.strip() for part in (start[2] or "").split(",")]
    if start[1] == "none":
        policy = Policy()
    elif start[1] == "fixed":
        policy = Policy(int(given[0]), duration(given[1]), multiplier=1.0)
    else:
        policy = Policy(int(given[0]), duration(given[1]), cap=duration(given[2]), jitter=0.2)
    for name, value in SUFFIX.findall(text[start.end() :]):
        policy = changed(policy, name, value)
    return policy


def changed(policy: Policy, name: str, value: str) -> Policy:
    """A policy with one suffix applied."""
    match name:
        case "giveUpAfter":
            return replace(policy, age=duration(value))
        case "threshold":
            return replace(policy, threshold=duration(value))
        case "jitter":
            return replace(policy, jitter=float(value))
        case "multiplier":
            return replace(policy, multiplier=float(value))
        case "wholeSecondNames":
            return policy
    raise NotOffered(f"the peer's policies have no {name}")


def rendered(delay: timedelta) -> str:
    """A delay in a rung's name: whole seconds, and 0s below one."""
    seconds = int(delay.total_seconds())
    if seconds <= 0:
        return "0s"
    if seconds % 3600 == 0:
        return f"{seconds // 3600}h"
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


def rung_of(queue: str, delay: timedelta) -> str:
    """The name of the rung for a wait."""
    return f"{queue}.retry.{rendered(delay)}"


def rung_arguments(queue: str, delay: timedelta) -> dict[str, object]:
    """What a rung is declared with."""
    return {
        "x-message-ttl": milliseconds(delay),
        "x-dead-letter-exchange": "acemq.retry",
        "x-dead-letter-routing-key": queue,
    }


def partition(key: bytes, count: int) -> int:
    """FNV-1a of 32 bits, unsigned modulo."""
    hashed = 2166136261
    for byte in key:
        hashed = (hashed ^ byte) * 16777619 & 0xFFFFFFFF
    return hashed % count if count > 1 else 0
