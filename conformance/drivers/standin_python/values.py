"""Headers, bodies and messages as the conformance protocol writes them, and as aio-pika has them."""

import base64
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from pamqp import encode

import envelope as envelopes

# The letter that the client puts before a value, and the protocol's word for it.
LETTERS = {
    b"t": "bool", b"b": "int8", b"B": "uint8", b"s": "int16", b"u": "uint16", b"I": "int32", b"i": "uint32",
    b"l": "int64", b"f": "float", b"d": "double", b"D": "decimal", b"S": "longstr", b"x": "bytes", b"A": "array",
    b"F": "table", b"T": "timestamp", b"V": "void",
}  # fmt: skip


def from_wire_form(value: Any) -> Any:
    """A header that a request names, as this client takes it: it has one kind of integer and one of float."""
    if isinstance(value, list):
        return [from_wire_form(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"type", "base64"}:
        return base64.b64decode(value["base64"])
    if set(value) != {"type", "value"}:
        return {name: from_wire_form(item) for name, item in value.items()}
    kind, held = value["type"], value["value"]
    match kind:
        case "bytes":
            return base64.b64decode(held)
        case "decimal":
            return Decimal(held)
        case "timestamp":
            return datetime.fromtimestamp(int(held), tz=timezone.utc)
        case "void":
            return None
        case "float" | "double":
            return float(held)
        case "array":
            return [from_wire_form(item) for item in held]
        case "table":
            return {name: from_wire_form(item) for name, item in held.items()}
        case "bool" | "longstr":
            return held
    return int(held)


def to_wire_form(value: Any) -> Any:
    """A header for an answer, in plain JSON where that says enough."""
    if isinstance(value, bytes | bytearray):
        return {"type": "bytes", "value": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"type": "timestamp", "value": int(value.timestamp())}
    if isinstance(value, Decimal):
        return {"type": "decimal", "value": str(value)}
    if isinstance(value, list):
        return [to_wire_form(item) for item in value]
    if isinstance(value, dict):
        return {name: to_wire_form(item) for name, item in value.items()}
    return value


def typed(value: Any) -> dict[str, Any]:
    """A header with the type that the client gives it on the wire."""
    plain = to_wire_form(value)
    if isinstance(plain, dict) and set(plain) == {"type", "value"}:
        return plain
    return {"type": LETTERS[encode.encode_table_value(value)[:1]], "value": plain}


def body_of(given: dict[str, Any]) -> bytes:
    """The body in a request."""
    if "bodyBase64" in given:
        return base64.b64decode(given["bodyBase64"])
    return given.get("body", "").encode()


def body_for(body: bytes) -> dict[str, str]:
    """A body for an answer."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"bodyBase64": base64.b64encode(body).decode()}


def envelope_for(read: envelopes.Envelope, reply_to: str | None = None) -> dict[str, Any]:
    """An envelope for an answer. The replay's stamps are ordinary headers to this peer."""
    stamped = read.headers.get("acemq-replayed-at")
    return {
        "id": read.id,
        "type": read.type,
        "version": read.version,
        "correlation": read.correlation,
        "causation": read.causation or None,
        "attempt": read.attempt,
        "firstSeen": read.first_seen,
        "origin": read.origin or None,
        "error": read.error or None,
        "claim": read.claim or None,
        "route": None,
        "routePosition": None,
        "routeId": None,
        "replayedFrom": read.headers.get("acemq-replayed-from"),
        "replayedAt": replayed_at(stamped),
        "replayCount": envelopes.number(read.headers.get("acemq-replay-count"), 0),
        "replyTo": read.headers.get("acemq-reply-to") or reply_to,
    }


def replayed_at(stamped: Any) -> int | None:
    """The stamp of a replay in milliseconds."""
    if isinstance(stamped, int):
        return stamped
    try:
        return int(datetime.fromisoformat(stamped).timestamp() * 1000)
    except (TypeError, ValueError):
        return None


def properties_for(message: Any) -> dict[str, Any]:
    """The properties of a message that arrived."""
    stamped = message.timestamp
    return {
        "messageId": message.message_id,
        "contentType": message.content_type,
        "contentEncoding": message.content_encoding,
        "deliveryMode": int(message.delivery_mode) if message.delivery_mode else None,
        "priority": message.priority or None,
        "replyTo": message.reply_to,
        "correlationId": message.correlation_id,
        "type": message.type,
        "timestamp": int(stamped.timestamp()) if isinstance(stamped, datetime) else stamped,
        "appId": message.app_id,
    }


def message_for(message: Any) -> dict[str, Any]:
    """A message for an answer."""
    read = envelopes.read(message.headers, message.routing_key or "")
    answer = {
        "envelope": envelope_for(read, message.reply_to),
        "headers": {name: to_wire_form(value) for name, value in read.headers.items()},
        "properties": properties_for(message),
    }
    return answer | body_for(message.body)
