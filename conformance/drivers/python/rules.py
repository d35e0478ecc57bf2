"""The verbs that need no broker. Where the package has no function for one, its compiled part is asked."""

import base64

import acemq
from acemq._library import ffi, lib
from acemq.errors import checked, made, to_text
from acemq.policy import policy_of
from acemq.topology import Topology
from acemq.values import text

from messages import Unsupported, base64_json, body_json, body_of, bytes_out, encoded, table_json, table_of

FRAMES = ("none", "inline", "stored")


def view(data):
    return {"data": ffi.from_buffer(data), "length": len(data)}


class Envelope:
    """Read from headers, and shown as that of a message."""

    def __init__(self, headers, routing_key, message_id):
        self.handle = made(
            "acemq_envelope",
            lib.acemq_envelope_free,
            lib.acemq_envelope_read,
            headers,
            text(routing_key, "routingKey"),
            text(message_id, "messageId"),
        )

    def text(self, name):
        return to_text(getattr(lib, f"acemq_envelope_{name}")(self.handle)) or None

    def number(self, name):
        return int(getattr(lib, f"acemq_envelope_{name}")(self.handle))

    def json(self):
        steps = self.number("route_count")
        replayed = ffi.new("int64_t *")
        known = lib.acemq_envelope_replayed_at(self.handle, replayed)
        texts = ("id", "type", "correlation", "causation", "origin", "error", "claim")
        return {
            **{name: self.text(name) for name in texts},
            "version": self.number("version"),
            "attempt": self.number("attempt"),
            "firstSeen": self.number("first_seen") or None,
            "route": [to_text(lib.acemq_envelope_route_step(self.handle, step)) for step in range(steps)] or None,
            "routePosition": self.number("route_position") if steps else None,
            "routeId": self.text("route_id"),
            "replayedFrom": self.text("replayed_from"),
            "replayedAt": int(replayed[0]) if known else None,
            "replayCount": self.number("replay_count"),
            "replyTo": self.text("reply_to"),
        }


def envelope(given):
    headers = table_of(given.get("headers"))
    read = Envelope(headers, given.get("routingKey"), given.get("messageId"))
    written = made("acemq_table", lib.acemq_table_free, lib.acemq_table_copy, headers)
    checked(lib.acemq_envelope_write, read.handle, written)
    own = made("acemq_table", lib.acemq_table_free, lib.acemq_envelope_application_headers, headers)
    return {"envelope": read.json(), "headers": table_json(own), "written": table_json(written, 1)}


def policy_in(given):
    found = given.get("policy")
    return acemq.none() if found is None else acemq.parse(found)



def policy(given):
    read = acemq.parse(given["text"])
    return {
        "text": str(read),
        "maxAttempts": read.max_attempts,
        "maxAge": int(lib.acemq_policy_max_age(read._handle)),
        "threshold": int(lib.acemq_policy_broker_threshold(read._handle)),
        "jitter": read.jitter,
    }


def wait_after(read, attempt):
    """Whole milliseconds, where the package has seconds."""
    return int(lib.acemq_policy_wait(policy_of(read), attempt))


def place_of(read, queue, delay):
    if not lib.acemq_policy_waits_in_broker(read._handle, delay):
        return {"where": "consumer", "rung": None}
    return {"where": "broker", "rung": rung_name(read, queue, lib.acemq_policy_choose_rung(read._handle, delay))}


def rung_name(read, queue, delay):
    name = ffi.new("char[]", 256)
    checked(lib.acemq_policy_rung_name, read._handle, text(queue, "queue"), delay, name)
    return to_text(name)


def schedule(given):
    queue, read = given.get("queue") or "orders", policy_in(given)
    waits = []
    for after in range(1, read.max_attempts):
        delay = wait_after(read, after)
        waits.append({"afterAttempt": after, "delayMs": delay, **place_of(read, queue, delay)})
    delays = [
        lib.acemq_policy_rung_delay(read._handle, index) for index in range(lib.acemq_policy_rung_count(read._handle))
    ]
    return {"waits": waits, "rungs": [rung(read, queue, delay) for delay in delays]}


def rung(read, queue, delay):
    arguments = made(
        "acemq_table",
        lib.acemq_table_free,
        lib.acemq_policy_rung_arguments,
        read._handle,
        text(queue, "queue"),
        delay,
    )
    return {"queue": rung_name(read, queue, delay), "arguments": table_json(arguments)}


def waits(given):
    read = policy_in(given)
    return {"waits": [wait_after(read, attempt) for attempt in given["attempts"]]}


def decide(given):
    age = given.get("age")
    read = policy_in(given)
    return {"retries": bool(lib.acemq_policy_retries(read._handle, given["attempt"], -1 if age is None else age))}


def place(given):
    return place_of(policy_in(given), given["queue"], given["delay"])


def jitter(given):
    read = policy_in(given)
    return {"delay": int(lib.acemq_policy_jittered(read._handle, given["delay"], given["unit"]))}


def names(given):
    return {"deadLetter": acemq.dead_letter_queue(given["queue"]), "parked": acemq.parked_queue(given["queue"])}


def duration_parse(given):
    out = ffi.new("int64_t *")
    checked(lib.acemq_duration_parse, text(given["text"], "text"), out)
    return {"milliseconds": int(out[0])}


def duration_format(given):
    out = ffi.new("char[]", 24)
    checked(lib.acemq_duration_format, given["milliseconds"], out)
    return {"text": to_text(out)}


def time_parse(given):
    seconds, nanoseconds = ffi.new("int64_t *"), ffi.new("int32_t *")
    checked(lib.acemq_time_parse, text(given["text"], "text"), seconds, nanoseconds)
    return {"seconds": int(seconds[0]), "nanoseconds": int(nanoseconds[0])}


def time_format(given):
    out = ffi.new("char[]", 21)
    checked(lib.acemq_time_format, given["milliseconds"], out)
    return {"text": to_text(out)}


def rule_of(given):
    rule = lib.acemq_partition_rule_named(text(given.get("rule") or "unsigned", "rule"))
    if rule < 0:
        raise Unsupported("no such rule")
    return rule


def key_of(given):
    if given.get("keyBase64") is not None:
        return base64.b64decode(given["keyBase64"])
    return (given.get("key") or "").encode()


def partition(given):
    number = lib.acemq_partition(view(key_of(given)), given.get("partitions", 8), rule_of(given))
    if number < 0:
        raise acemq.InvalidArgument("partitions is out of range")
    return {"partition": int(number)}


def ordered_queue(given):
    rule_of(given)
    rule = given.get("rule") or "unsigned"
    return {
        "queue": acemq.partition_queue(given["name"], key_of(given), partitions=given.get("partitions"), rule=rule)
    }


def claim_read(given):
    frame, rest, body = ffi.new("acemq_claim_frame *"), ffi.new("acemq_bytes *"), body_of(given)
    checked(lib.acemq_claim_frame_read, view(body), frame, rest)
    return {"frame": FRAMES[frame[0]], **body_json(ffi.buffer(rest.data, rest.length)[:] if rest.length else b"")}


def claim_write(given):
    body = body_of(given)
    return body_json(bytes_out(lib.acemq_claim_frame_write, FRAMES.index(given["frame"]), view(body)))


def encrypted_read(given):
    body, frame = body_of(given), ffi.new("acemq_encrypted_frame *")
    checked(lib.acemq_encrypted_frame_read, view(body), frame)
    parts = {"keyId": frame.key_id, "authenticatedBase64": frame.authenticated, "nonceBase64": frame.nonce}
    parts.update({"ciphertextBase64": frame.ciphertext, "tagBase64": frame.tag})
    read = {name: ffi.buffer(part.data, part.length)[:] if part.length else b"" for name, part in parts.items()}
    return {name: data.decode() if name == "keyId" else base64_json(data) for name, data in read.items()}


def encrypting(keys):
    ring = acemq.Keyring({name: base64.b64decode(key) for name, key in keys.items()})
    return acemq.encrypted(ring, acemq.BYTES)


def encrypt(given):
    codec, body = encrypting({given["keyId"]: given["keyBase64"]}), body_of(given)
    return body_json(bytes_out(lib.acemq_codec_encode, codec._native(), view(body)))


def decrypt(given):
    codec, body = encrypting(given["keys"]), body_of(given)
    content_type = text(codec.content_type, "contentType")
    return body_json(bytes_out(lib.acemq_codec_decode, codec._native(), view(body), content_type))


def codec_reads(given):
    content_type = text(given.get("contentType"), "contentType")
    return {"reads": bool(lib.acemq_codec_reads(text(given["codec"], "codec"), content_type))}


def codec_check(given):
    codec = lib.acemq_codec_builtin(text(given.get("codec") or "bytes", "codec"))
    if codec == ffi.NULL:
        raise Unsupported("no such codec")
    body = body_of(given)
    checked(lib.acemq_codec_check, codec, view(body), text(given.get("contentType"), "contentType"))


def objects(topology):
    return {
        "objects": [
            {
                "kind": planned.kind,
                "name": planned.name,
                "type": planned.type,
                "arguments": planned.arguments,
                "exchange": planned.exchange,
                "routingKey": planned.routing_key,
            }
            for planned in topology.plan()
        ]
    }


VERBS = {
    "envelope": (envelope, "headers routingKey messageId"),
    "policy": (policy, "text"),
    "schedule": (schedule, "policy queue"),
    "waits": (waits, "policy attempts"),
    "decide": (decide, "policy attempt age"),
    "place": (place, "policy queue delay"),
    "jitter": (jitter, "policy delay unit"),
    "names": (names, "queue"),
    "duration.parse": (duration_parse, "text"),
    "duration.format": (duration_format, "milliseconds"),
    "time.parse": (time_parse, "text"),
    "time.format": (time_format, "milliseconds"),
    "partition": (partition, "key keyBase64 partitions rule"),
    "ordered.queue": (ordered_queue, "name key partitions rule"),
    "claim.read": (claim_read, "body bodyBase64"),
    "claim.write": (claim_write, "frame body bodyBase64"),
    "encrypted.read": (encrypted_read, "body bodyBase64"),
    "encrypt": (encrypt, "keyId keyBase64 body bodyBase64"),
    "decrypt": (decrypt, "keys body bodyBase64"),
    "codec.reads": (codec_reads, "codec contentType"),
    "codec.check": (codec_check, "codec body bodyBase64 contentType"),
    "topology.plan": (lambda given: objects(Topology(encoded(given["topology"]).decode())), "topology"),
    "consumer.plan": (lambda given: objects(Topology().consumer(given["queue"], given.get("policy"))), "queue policy"),
}
