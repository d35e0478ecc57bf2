"""How the protocol writes bodies, tables, envelopes and messages."""

import base64
import json

from acemq._library import ffi, lib
from acemq.errors import checked, made, to_text
from acemq.table import from_table, to_table, typed_json


class Unsupported(Exception):
    pass


def text_out(function, *arguments):
    """What a call hands out as a text that is to be freed."""
    out = ffi.new("char **")
    checked(function, *arguments, out)
    try:
        return to_text(out[0])
    finally:
        lib.acemq_free(out[0])


def bytes_out(function, *arguments):
    data, length = ffi.new("void **"), ffi.new("size_t *")
    checked(function, *arguments, data, length)
    try:
        return ffi.buffer(data[0], length[0])[:]
    finally:
        lib.acemq_free(data[0])


def encoded(value):
    return json.dumps(value, ensure_ascii=False).encode()


def table_of(value):
    """A table of the library's, with every AMQP type that the protocol can name."""
    if value is None:
        return ffi.gc(lib.acemq_table_new(), lib.acemq_table_free)
    held = encoded(value)
    return made("acemq_table", lib.acemq_table_free, lib.acemq_table_parse_json, held, len(held))


def table_json(table, typed=0):
    return None if table == ffi.NULL else json.loads(text_out(lib.acemq_table_format_json, table, typed))


def headers_of(value):
    """The values of Python that give the same table; None where Python has none."""
    table = table_of(value)
    headers = from_table(table)
    return headers if typed_json(to_table(headers)) == typed_json(table) else None


def body_of(given):
    if given.get("bodyBase64") is not None:
        return base64.b64decode(given["bodyBase64"], validate=True)
    return (given.get("body") or "").encode()


def body_json(body):
    try:
        return {"body": bytes(body).decode()}
    except UnicodeDecodeError:
        return {"bodyBase64": base64_json(body)}


def base64_json(data):
    return base64.b64encode(data).decode()


def milliseconds(moment):
    return None if moment is None else round(moment.timestamp() * 1000)


def envelope_json(message):
    return {
        "id": message.id,
        "type": message.type,
        "version": message.version,
        "correlation": message.correlation,
        "causation": message.causation,
        "attempt": message.attempt,
        "firstSeen": milliseconds(message.first_seen),
        "origin": message.origin,
        "error": message.error,
        "claim": message.claim,
        "route": message.route or None,
        "routePosition": message.route_position if message.route else None,
        "routeId": message.route_id,
        "replayedFrom": message.replayed_from,
        "replayedAt": milliseconds(message.replayed_at),
        "replayCount": message.replay_count,
        "replyTo": message.reply_to,
    }


NAMES = "messageId contentType contentEncoding deliveryMode priority replyTo correlationId type timestamp appId".split()


def message_json(message):
    properties = message.properties
    return {
        "envelope": envelope_json(message),
        "headers": table_json(lib.acemq_delivery_headers(message._delivery)),
        "properties": {name: properties[name] for name in NAMES},
        **body_json(message.raw),
    }


FIELDS = {
    "id": "id",
    "type": "type",
    "version": "version",
    "correlation": "correlation",
    "causation": "causation",
    "origin": "origin",
    "contentType": "content_type",
    "replyTo": "reply_to",
    "priority": "priority",
    "transient": "transient",
}


def fields_of(given):
    """The body, and the keyword arguments of a publish."""
    wanted = given.get("message") or {}
    if set(wanted) - set(FIELDS) - {"headers", "expiration", "body", "bodyBase64"}:
        raise Unsupported("a message has no such member here")
    fields = {FIELDS[name]: wanted[name] for name in FIELDS if wanted.get(name) is not None}
    if wanted.get("expiration") is not None:
        fields["expiration"] = wanted["expiration"] / 1000
    if wanted.get("headers"):
        headers = headers_of(wanted["headers"])
        if headers is None:
            fields["table"] = table_of(wanted["headers"])
        else:
            fields["headers"] = headers
    return body_of(wanted), fields
