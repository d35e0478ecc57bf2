"""The envelope as the Python peer reads and writes it: section 2, and 16.9, 16.10, 16.16."""

import socket
import time
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

RESERVED = "x-acemq-"
# What is written only when there is something to say.
OPTIONAL = ("causation", "origin", "error", "claim")


def text(value: Any) -> str:
    """Any header as text."""
    if value is None:
        return ""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def number(value: Any, otherwise: int) -> int:
    """Any header as an integer; of a float, even a whole one, nothing is made."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return otherwise if isinstance(value, bool) else int(text(value))
    except ValueError:
        return otherwise


def now() -> int:
    """The time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Envelope:
    """What travels with a message."""

    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    type: str = ""
    version: int = 1
    correlation: str = ""
    causation: str = ""
    attempt: int = 1
    first_seen: int = field(default_factory=now)
    origin: str = ""
    error: str = ""
    claim: str = ""
    headers: dict[str, Any] = field(default_factory=dict)

    def but(self, **changes: Any) -> "Envelope":
        """A copy with fields changed."""
        return replace(self, **changes)

    def written(self, routing_key: str) -> dict[str, Any]:
        """All headers. Reserved ones that this peer does not know are gone, its routes among them."""
        headers: dict[str, Any] = {
            "x-acemq-id": self.id,
            "x-acemq-type": self.type or routing_key,
            "x-acemq-version": self.version,
            "x-acemq-correlation": self.correlation or self.id,
            "x-acemq-attempt": self.attempt,
            "x-acemq-first-seen": self.first_seen,
        }
        for name in OPTIONAL:
            if getattr(self, name):
                headers[RESERVED + name] = getattr(self, name)
        return headers | self.headers


def read(headers: dict[str, Any] | None, routing_key: str) -> Envelope:
    """From a delivery. The message-id does not stand in for a missing id, and what has no first-seen is new."""
    raw = headers or {}
    identifier = text(raw.get("x-acemq-id")) or str(uuid.uuid4())
    return Envelope(
        id=identifier,
        type=text(raw.get("x-acemq-type")) or routing_key,
        version=max(number(raw.get("x-acemq-version"), 1), 1),
        correlation=text(raw.get("x-acemq-correlation")) or identifier,
        causation=text(raw.get("x-acemq-causation")),
        attempt=max(number(raw.get("x-acemq-attempt"), 1), 1),
        first_seen=number(raw.get("x-acemq-first-seen"), now()),
        origin=text(raw.get("x-acemq-origin")),
        error=text(raw.get("x-acemq-error")),
        claim=text(raw.get("x-acemq-claim")),
        headers={name: value for name, value in raw.items() if not name.startswith(RESERVED)},
    )


def own_origin() -> str:
    """Who published, when nobody says otherwise."""
    return f"acemq@{socket.gethostname()}"
