"""Section 2: how an envelope is read from headers, and how it is written."""

import base64
import re

from . import times

RESERVED = "x-acemq-"
INT32, INT64 = 2**31 - 1, 2**63 - 1
WIDTHS = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
DECIMAL_TEXT = re.compile(r" *[+-]?[0-9]+ *")


def split(value):
    """(type, value) of a header in any form of JSON."""
    if isinstance(value, dict) and set(value) == {"type", "value"}:
        return value["type"], value["value"]
    if isinstance(value, dict) and set(value) == {"type", "base64"}:
        return "longstr", None
    plain = {bool: "bool", int: "int64", float: "double", str: "longstr", list: "array", dict: "table"}
    return plain.get(type(value), "void"), value


def text(value):
    """A long string, or bytes of UTF-8; what is empty or anything else is absent."""
    kind, content = split(value)
    if kind == "bytes":
        try:
            content = base64.b64decode(content).decode()
        except UnicodeDecodeError:
            return None
    elif kind != "longstr":
        return None
    return content or None


def integer(value, least, most):
    """Any width, a whole float, or a decimal text with spaces around it; None when it is none or out of range."""
    kind, content = split(value)
    if kind in WIDTHS:
        number = int(content)
    elif kind in ("float", "double") and float(content).is_integer():
        number = int(content)
    elif kind in ("longstr", "bytes"):
        written = text(value)
        if written is None or not DECIMAL_TEXT.fullmatch(written):
            return None
        number = int(written)
    else:
        return None
    return number if least <= number <= most else None


def count(value):
    number = integer(value, -INT32 - 1, INT32)
    return 1 if number is None or number < 1 else number


def replayed_at(value):
    number = integer(value, -INT64 - 1, INT64)
    if number is not None:
        return number
    written = text(value)
    try:
        seconds, nanoseconds = times.parse(written or "")
    except ValueError:
        return None
    return seconds * 1000 + nanoseconds // 10**6


def route(headers):
    names = [name.strip(" ") for name in (text(headers.get("x-acemq-route")) or "").split(",")]
    steps = [name for name in names if name]
    if not steps:
        return {"route": None, "routePosition": None, "routeId": None}
    position = integer(headers.get("x-acemq-route-position"), 0, INT32)
    return {"route": steps, "routePosition": position or 0, "routeId": text(headers.get("x-acemq-route-id"))}


def read(headers, routing_key, message_id, new_id):
    """The envelope; `new_id` stands for the one that is made up."""
    identity = text(headers.get("x-acemq-id")) or message_id or new_id
    seen = integer(headers.get("x-acemq-first-seen"), 1, INT64)
    replays = integer(headers.get("acemq-replay-count"), 0, INT32)
    stamp = headers.get("acemq-replayed-at")
    return {
        "id": identity,
        "type": text(headers.get("x-acemq-type")) or routing_key or "message",
        "version": count(headers.get("x-acemq-version")),
        "correlation": text(headers.get("x-acemq-correlation")) or identity,
        "causation": text(headers.get("x-acemq-causation")),
        "attempt": count(headers.get("x-acemq-attempt")),
        "firstSeen": seen,
        "origin": text(headers.get("x-acemq-origin")),
        "error": text(headers.get("x-acemq-error")),
        "claim": text(headers.get("x-acemq-claim")),
        "replayedFrom": text(headers.get("acemq-replayed-from")),
        "replayedAt": None if stamp is None else replayed_at(stamp),
        "replayCount": replays or 0,
        "replyTo": text(headers.get("acemq-reply-to")),
        **route(headers),
    }


def application(headers):
    return {name: value for name, value in headers.items() if not name.startswith(RESERVED)}


def string(value):
    return {"type": "longstr", "value": value}


def typed(value):
    kind, content = split(value)
    if kind == "longstr" and content is None:
        return value
    if kind == "table":
        content = {name: inner for name, inner in content.items()}
    return {"type": kind, "value": content}


def written(headers, envelope, now):
    """All headers as they are written again: known ones in their types, every other one as it arrived."""
    table = {name: typed(value) for name, value in headers.items()}
    for name in ("id", "type", "correlation", "causation", "origin", "error", "claim"):
        table.pop(RESERVED + name, None)
        if envelope[name] is not None:
            table[RESERVED + name] = string(envelope[name])
    for name in ("version", "attempt"):
        table[RESERVED + name] = {"type": "int32", "value": envelope[name]}
    table[RESERVED + "first-seen"] = {"type": "int64", "value": envelope["firstSeen"] or now}
    for name in ("route", "route-position", "route-id"):
        table.pop(RESERVED + name, None)
    if envelope["route"]:
        table[RESERVED + "route"] = string(",".join(envelope["route"]))
        table[RESERVED + "route-position"] = {"type": "int32", "value": envelope["routePosition"]}
        if envelope["routeId"]:
            table[RESERVED + "route-id"] = string(envelope["routeId"])
    return table
