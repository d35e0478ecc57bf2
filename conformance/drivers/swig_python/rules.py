"""The verbs that need no broker."""

import base64
import json

import acemq

from protocol import Refused, Unsupported, base64_json, body_json, body_of, envelope_json, policy_of, table_json, table_of

FRAMES = ("none", "inline", "stored")
KINDS = ("", "exchange", "queue", "binding")


def envelope(given):
    headers = table_of(given.get("headers"))
    read = acemq.envelope_read(headers, given.get("routingKey"), given.get("messageId"))
    written = acemq.table_copy(headers)
    acemq.envelope_write(read, written)
    return {"envelope": envelope_json(read), "headers": table_json(acemq.envelope_application_headers(headers)),
            "written": table_json(written, 1)}


def policy(given):
    read = acemq.policy_parse(given["text"])
    return {"text": acemq.policy_format(read), "maxAttempts": acemq.policy_max_attempts(read),
            "maxAge": acemq.policy_max_age(read), "threshold": acemq.policy_broker_threshold(read),
            "jitter": acemq.policy_jitter_factor(read)}


def place_of(policy_, queue, delay):
    if not acemq.policy_waits_in_broker(policy_, delay):
        return {"where": "consumer", "rung": None}
    return {"where": "broker", "rung": acemq.policy_rung_name(policy_, queue, acemq.policy_choose_rung(policy_, delay))}


def schedule(given):
    queue, read = given.get("queue") or "orders", policy_of(given, "policy")
    waits = []
    for after in range(1, acemq.policy_max_attempts(read)):
        delay = acemq.policy_wait(read, after)
        waits.append({"afterAttempt": after, "delayMs": delay, **place_of(read, queue, delay)})
    delays = [acemq.policy_rung_delay(read, index) for index in range(acemq.policy_rung_count(read))]
    return {"waits": waits, "rungs": [{"queue": acemq.policy_rung_name(read, queue, delay),
                                       "arguments": table_json(acemq.policy_rung_arguments(read, queue, delay))}
                                      for delay in delays]}


def waits(given):
    read = policy_of(given, "policy")
    return {"waits": [acemq.policy_wait(read, attempt) for attempt in given["attempts"]]}


def decide(given):
    age = given.get("age")
    return {"retries": acemq.policy_retries(policy_of(given, "policy"), given["attempt"], -1 if age is None else age) == 1}


def place(given):
    return place_of(policy_of(given, "policy"), given["queue"], given["delay"])


def jitter(given):
    return {"delay": acemq.policy_jittered(policy_of(given, "policy"), given["delay"], given["unit"])}


def names(given):
    return {"deadLetter": acemq.dead_letter_queue(given["queue"]), "parked": acemq.parked_queue(given["queue"])}


def time_parse(given):
    seconds, nanoseconds = acemq.time_parse(given["text"])
    return {"seconds": seconds, "nanoseconds": nanoseconds}


def rule_of(given):
    rule = acemq.PARTITION_UNSIGNED if given.get("rule") is None else acemq.partition_rule_named(given["rule"])
    if rule < 0:
        raise Unsupported("no such rule")
    return rule


def key_of(given):
    return base64.b64decode(given["keyBase64"]) if given.get("keyBase64") is not None else (given.get("key") or "").encode()


def partition(given):
    number = acemq.partition(key_of(given), given.get("partitions", 8), rule_of(given))
    if number < 0:
        raise Refused("invalid_argument", "partitions is out of range")
    return {"partition": number}


def partitioning_of(given):
    return acemq.Partitioning(partitions=given.get("partitions", 8), rule=rule_of(given))


def ordered_queue(given):
    return {"queue": acemq.ordered_queue(given["name"], partitioning_of(given), key_of(given), None)}


def claim_read(given):
    frame, rest = acemq.claim_frame_read(body_of(given))
    return {"frame": FRAMES[frame], **body_json(rest)}


def claim_write(given):
    return body_json(acemq.claim_frame_write(FRAMES.index(given["frame"]), body_of(given)))


def encrypted_read(given):
    frame = acemq.encrypted_frame_read(body_of(given))
    return {"keyId": frame.key_id.decode(), "authenticatedBase64": base64_json(frame.authenticated),
            "nonceBase64": base64_json(frame.nonce), "ciphertextBase64": base64_json(frame.ciphertext),
            "tagBase64": base64_json(frame.tag)}


def encrypting(keys):
    ring = acemq.keyring_new()
    for key_id, key in keys.items():
        acemq.keyring_add(ring, key_id, base64.b64decode(key))
    return acemq.codec_encrypted(ring, acemq.codec_builtin("bytes"))


def encrypt(given):
    return body_json(acemq.codec_encode(encrypting({given["keyId"]: given["keyBase64"]}), body_of(given)))


def decrypt(given):
    codec = encrypting(given["keys"])
    return body_json(acemq.codec_decode(codec, body_of(given), acemq.codec_content_type(codec)))


def codec_check(given):
    codec = acemq.codec_builtin(given.get("codec") or "bytes")
    if codec is None:
        raise Unsupported("no such codec")
    acemq.codec_check(codec, body_of(given), given.get("contentType"))


def objects(topology):
    plan = acemq.topology_plan(topology)
    return {"objects": [{"kind": KINDS[acemq.plan_get_kind(plan, index)], "name": acemq.plan_name(plan, index),
                         "type": acemq.plan_type(plan, index), "arguments": table_json(acemq.plan_arguments(plan, index)),
                         "exchange": acemq.plan_exchange(plan, index), "routingKey": acemq.plan_routing_key(plan, index)}
                        for index in range(acemq.plan_count(plan))]}


def topology_of(given):
    return acemq.topology_parse(json.dumps(given["topology"], ensure_ascii=False))


def consumer_plan(given):
    topology = acemq.topology_new()
    acemq.topology_consumer(topology, given["queue"], policy_of(given, "policy"))
    return objects(topology)


VERBS = {
    "envelope": (envelope, "headers routingKey messageId"),
    "policy": (policy, "text"),
    "schedule": (schedule, "policy queue"),
    "waits": (waits, "policy attempts"),
    "decide": (decide, "policy attempt age"),
    "place": (place, "policy queue delay"),
    "jitter": (jitter, "policy delay unit"),
    "names": (names, "queue"),
    "duration.parse": (lambda given: {"milliseconds": acemq.duration_parse(given["text"])}, "text"),
    "duration.format": (lambda given: {"text": acemq.duration_format(given["milliseconds"])}, "milliseconds"),
    "time.parse": (time_parse, "text"),
    "time.format": (lambda given: {"text": acemq.time_format(given["milliseconds"])}, "milliseconds"),
    "partition": (partition, "key keyBase64 partitions rule"),
    "ordered.queue": (ordered_queue, "name key partitions rule"),
    "claim.read": (claim_read, "body bodyBase64"),
    "claim.write": (claim_write, "frame body bodyBase64"),
    "encrypted.read": (encrypted_read, "body bodyBase64"),
    "encrypt": (encrypt, "keyId keyBase64 body bodyBase64"),
    "decrypt": (decrypt, "keys body bodyBase64"),
    "codec.reads": (lambda given: {"reads": acemq.codec_reads(given["codec"], given.get("contentType")) == 1},
                    "codec contentType"),
    "codec.check": (codec_check, "codec body bodyBase64 contentType"),
    "topology.plan": (lambda given: objects(topology_of(given)), "topology"),
    "consumer.plan": (consumer_plan, "queue policy"),
}
