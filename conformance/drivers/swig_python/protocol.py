"""How the protocol writes bodies, tables, envelopes and messages."""

import base64
import json

import acemq


class Unsupported(Exception):
    pass


class Refused(acemq.Error):
    """What the driver itself refuses."""

    def __init__(self, name, message):
        super().__init__(0, name, message)


def policy_of(given, name):
    return None if given.get(name) is None else acemq.policy_parse(given[name])


def table_of(value):
    return acemq.table_new() if value is None else acemq.table_parse_json(json.dumps(value, ensure_ascii=False))


def table_json(table, typed=0):
    return None if table is None else json.loads(acemq.table_format_json(table, typed))


def body_of(given):
    if given.get("bodyBase64") is not None:
        return base64.b64decode(given["bodyBase64"], validate=True)
    return (given.get("body") or "").encode()


def body_json(body):
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"bodyBase64": base64_json(body)}


def base64_json(data):
    return base64.b64encode(data).decode()


def envelope_json(envelope):
    steps = [acemq.envelope_route_step(envelope, step) for step in range(acemq.envelope_route_count(envelope))]
    return {
        "id": acemq.envelope_id(envelope), "type": acemq.envelope_type(envelope), "version": acemq.envelope_version(envelope),
        "correlation": acemq.envelope_correlation(envelope), "causation": acemq.envelope_causation(envelope),
        "attempt": acemq.envelope_attempt(envelope), "firstSeen": acemq.envelope_first_seen(envelope) or None,
        "origin": acemq.envelope_origin(envelope), "error": acemq.envelope_error(envelope),
        "claim": acemq.envelope_claim(envelope), "replayedFrom": acemq.envelope_replayed_from(envelope),
        "replayedAt": acemq.envelope_replayed_at(envelope), "replayCount": acemq.envelope_replay_count(envelope),
        "replyTo": acemq.envelope_reply_to(envelope), "route": steps or None,
        "routePosition": acemq.envelope_route_position(envelope) if steps else None,
        "routeId": acemq.envelope_route_id(envelope),
    }


TEXTS = {"messageId": acemq.PROPERTY_MESSAGE_ID, "contentType": acemq.PROPERTY_CONTENT_TYPE,
         "contentEncoding": acemq.PROPERTY_CONTENT_ENCODING, "replyTo": acemq.PROPERTY_REPLY_TO,
         "correlationId": acemq.PROPERTY_CORRELATION_ID, "type": acemq.PROPERTY_TYPE, "appId": acemq.PROPERTY_APP_ID}
NUMBERS = {"deliveryMode": acemq.PROPERTY_DELIVERY_MODE, "priority": acemq.PROPERTY_PRIORITY,
           "timestamp": acemq.PROPERTY_TIMESTAMP}


def delivery_json(delivery):
    properties = {name: acemq.delivery_property(delivery, which) for name, which in TEXTS.items()}
    properties.update((name, acemq.delivery_property_number(delivery, which)) for name, which in NUMBERS.items())
    return {"envelope": envelope_json(acemq.delivery_envelope(delivery)),
            "headers": table_json(acemq.delivery_headers(delivery)), "properties": properties,
            **body_json(acemq.delivery_body(delivery))}


SETTERS = {"id": acemq.message_set_id, "type": acemq.message_set_type, "version": acemq.message_set_version,
           "correlation": acemq.message_set_correlation, "causation": acemq.message_set_causation,
           "origin": acemq.message_set_origin, "contentType": acemq.message_set_content_type,
           "replyTo": acemq.message_set_reply_to, "priority": acemq.message_set_priority,
           "expiration": acemq.message_set_expiration}


def message_of(given):
    wanted = given.get("message") or {}
    if set(wanted) - set(SETTERS) - {"headers", "transient", "body", "bodyBase64"}:
        raise Unsupported("a message has no such member here")
    message = acemq.message_new(body_of(wanted))
    for name, setter in SETTERS.items():
        if wanted.get(name) is not None:
            setter(message, wanted[name])
    if wanted.get("transient"):
        acemq.message_set_transient(message)
    acemq.message_set_headers(message, table_of(wanted.get("headers")))
    return message
