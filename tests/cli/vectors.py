#!/usr/bin/python3
"""The vectors of conformance/vectors, as far as `acemq` can be asked for them without a broker. Prints TAP."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI = os.environ["ACEMQ_CLI"]
MISSING = object()


def vectors(name):
    return json.loads((ROOT / "conformance" / "vectors" / f"{name}.json").read_text(encoding="utf-8"))


def acemq(*arguments, given=""):
    """(exit status, standard output as JSON or None, standard error)"""
    done = subprocess.run([CLI, arguments[0], "--json", *arguments[1:]], input=given, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


class Fault(Exception):
    pass


def same(what, got, wanted):
    if got != wanted:
        raise Fault(f"{what}: got {got!r}, wanted {wanted!r}")


def schedule(policy, queue="orders"):
    status, document, complaint = acemq("schedule", policy, "--queue", queue)
    if status != 0:
        raise Fault(f"schedule {policy}: {complaint}")
    return document


def envelope(document):
    status, read, complaint = acemq("envelope", given=json.dumps(document))
    if status != 0:
        raise Fault(f"envelope {document}: {complaint}")
    return read


def header_envelope(name, value):
    headers = {} if value is MISSING else {name: value}
    return envelope({"headers": headers, "routingKey": "key", "messageId": "id"})


# --- policies ---


def schedules_of_all_policies():
    for row in vectors("retry")["policies"]:
        document = schedule(row["policy"])
        same(row["name"], [wait["delayMs"] for wait in document["waits"]], row["waits"])
        same(row["name"], [wait["afterAttempt"] for wait in document["waits"]], list(range(1, row["attempts"])))
        same(row["name"], document["maxAttempts"], row["attempts"])
        same(row["name"], [rung["arguments"]["x-message-ttl"] for rung in document["rungs"]], row["rungs"])
        for wait in document["waits"]:
            in_broker = row["threshold"] > 0 and wait["delayMs"] >= row["threshold"]
            same(row["name"], wait["where"], "broker" if in_broker else "consumer")
            same(row["name"], wait["rung"] in [rung["queue"] for rung in document["rungs"]], in_broker)
            same(row["name"], wait["rung"] is None, not in_broker)


def thresholds():
    for threshold, delay, in_broker in vectors("retry")["thresholds"]:
        if delay > 0:
            wait = schedule(f"fixed(2, {delay}ms).threshold({threshold}ms)")["waits"][0]
            same(f"{delay} against {threshold}", wait["where"], "broker" if in_broker else "consumer")


def waits_that_no_broker_takes_are_in_the_schedule():
    document = schedule("exponential(70, 1s, 0)")
    expected = [min(1000 * 2**i, 2**63 - 1) for i in range(69)]
    same("saturated", [wait["delayMs"] for wait in document["waits"]], expected)
    longest = document["rungs"][-1]
    same("saturated", longest["queue"], "orders.retry.9223372036854775807ms")
    same("saturated", longest["arguments"]["x-message-ttl"], 2**63 - 1)
    same("saturated", {wait["rung"] for wait in document["waits"][-5:]}, {longest["queue"]})


def texts_of_policies():
    texts = vectors("policy-text")
    for text in texts["same"]:
        if not text.startswith("exponential(2147483647") and not text.startswith("fixed(2147483647"):
            same(text, schedule(text)["policy"], text)
    for text, canonical in texts["canonical"]:
        same(text, schedule(text)["policy"], canonical)


def texts_that_are_no_policies():
    for text, position in vectors("policy-text")["refused"]:
        status, document, complaint = acemq("schedule", "--", text)
        same(text, (status, document), (2, None))
        if f"position {position}:" not in complaint:
            raise Fault(f"{text!r}: position {position} is not in {complaint!r}")


def durations():
    for text, milliseconds in vectors("durations")["reads"]:
        if milliseconds > 0:
            same(text, schedule(f"fixed(2, {text}).threshold(0)")["waits"][0]["delayMs"], milliseconds)


def texts_that_are_no_durations():
    for text in vectors("durations")["refused"]:
        same(text, acemq("consume", "q", f"--idle={text}")[0], 2)


def long_schedules_stay_capped():
    for attempts in (14, 32, 33, 34, 64, 65, 66, 1001):
        waits = [wait["delayMs"] for wait in schedule(f"exponential({attempts}, 1s, 1h)")["waits"]]
        same(attempts, (len(waits), waits[-1], waits), (attempts - 1, 3600000, sorted(waits)))


# --- names ---


def plain(arguments):
    """Arguments as the command prints them: plain where that keeps the type."""
    return {
        name: value["value"] if isinstance(value, dict) and value.get("type") in ("int64", "longstr") else value
        for name, value in arguments.items()
    }


def rung_names():
    names = vectors("names")
    for delay, name in names["rungs"]:
        document = schedule(f"fixed(2, {delay}ms).threshold(1ms)", names["queue"])
        same(delay, [rung["queue"] for rung in document["rungs"]], [name])
        same(delay, document["waits"][0]["rung"], name)
    for delay, text in names["delays"]:
        same(delay, schedule(f"fixed(2, {delay}ms).threshold(1ms)", "q")["rungs"][0]["queue"], f"q.retry.{text}")
    for delay, text in names["wholeSeconds"]:
        policy = f"fixed(2, {delay}ms).threshold(1ms).wholeSecondNames()"
        same(delay, schedule(policy, "q")["rungs"][0]["queue"], f"q.retry.{text}")


def rung_arguments():
    names = vectors("names")
    for row in names["rungArguments"]:
        rung = schedule(f"fixed(2, {row['wait']}ms).threshold(1ms)", names["queue"])["rungs"][0]
        same(row["queue"], rung, {"queue": row["queue"], "arguments": plain(row["arguments"])})
    row = names["durableRung"]
    rung = schedule(f"fixed(2, {row['wait']}ms).threshold(1ms).durableRungs()", names["queue"])["rungs"][0]
    same(row["queue"], rung, {"queue": row["queue"], "arguments": plain(row["arguments"])})


def names_that_are_too_long():
    longest = "q" * (255 - len(".parked"))
    schedule("none", longest)
    for policy, queue in (("none", "q" * 256), ("fixed(2, 40s)", "q" * 250)):
        status, document, complaint = acemq("schedule", policy, "--queue", queue)
        same(queue, (status, document), (2, None))
        if "255" not in complaint:
            raise Fault(f"the limit is not in {complaint!r}")


# --- envelopes ---


def whole_envelopes():
    for message in vectors("envelopes")["messages"]:
        given = {name: message[name] for name in ("headers", "routingKey", "messageId")}
        read = envelope(given)
        for name, value in message["envelope"].items():
            same(f"{message['name']}, {name}", read["envelope"][name], value)
        same(message["name"], sorted(read["headers"]), sorted(message["application"]))
        same(f"{message['name']}, written", sorted(read["written"]), sorted(message["headers"]))
        for name, value in message["headers"].items():
            typed = value if isinstance(value, dict) else {"type": "longstr", "value": value}
            same(f"{message['name']}, {name}", read["written"][name], typed)


def integers_of_every_width():
    known = vectors("envelopes")
    for group in ("integersThatRead", "integersThatDoNot"):
        for value in known[group]["values"]:
            read = header_envelope(known[group]["header"], value)
            same(value, read["envelope"]["attempt"], known[group]["reads"])
            written = {"type": "int32", "value": known[group]["reads"]}
            same(value, read["written"][known[group]["header"]], written)


def first_seen():
    known = vectors("envelopes")
    for value in known["firstSeenThatIsUnknown"]:
        read = header_envelope("x-acemq-first-seen", value)
        same(value, read["envelope"]["firstSeen"], None)
        same(value, read["written"]["x-acemq-first-seen"]["type"], "int64")
    for value, wanted in known["firstSeenThatReads"]:
        same(value, header_envelope("x-acemq-first-seen", value)["envelope"]["firstSeen"], wanted)


def texts():
    known = vectors("envelopes")
    for value, wanted in known["textsThatRead"]:
        same(value, header_envelope("x-acemq-causation", value)["envelope"]["causation"], wanted)
    for value in known["textsThatDoNot"]:
        read = header_envelope("x-acemq-causation", value)
        same(value, read["envelope"]["causation"], None)


def replay_stamps():
    for value, wanted in vectors("envelopes")["replayedAt"]:
        same(value, header_envelope("acemq-replayed-at", value)["envelope"]["replayedAt"], wanted)


def routes():
    for names, position, steps, wanted in vectors("envelopes")["routes"]:
        headers = {"x-acemq-route": names}
        if position is not None:
            headers["x-acemq-route-position"] = position
        read = envelope({"headers": headers})["envelope"]
        same(names, read["route"], steps)
        same(names, read["routePosition"], wanted if steps else None)


def absent_members_are_null():
    read = envelope({})["envelope"]
    members = (
        "id type version correlation causation attempt firstSeen origin error claim route routePosition routeId "
        "replayedFrom replayedAt replayCount replyTo"
    )
    same("members", list(read), members.split())
    present = {name: value for name, value in read.items() if value is not None}
    same("present", {**present, "id": 0, "correlation": 0}, {
        "id": 0, "type": "message", "version": 1, "correlation": 0, "attempt": 1, "replayCount": 0})
    same("correlation", read["correlation"], read["id"])
    same("id", envelope({"messageId": "m"})["envelope"]["id"], "m")


# --- values ---

TYPED = [
    {"type": "bool", "value": True},
    {"type": "int8", "value": -128},
    {"type": "uint8", "value": 255},
    {"type": "int16", "value": -32768},
    {"type": "uint16", "value": 65535},
    {"type": "int32", "value": -2147483648},
    {"type": "uint32", "value": 4294967295},
    {"type": "int64", "value": -9223372036854775808},
    {"type": "uint64", "value": 18446744073709551615},
    {"type": "float", "value": 0.5},
    {"type": "double", "value": -1e300},
    {"type": "decimal", "value": "0.001"},
    {"type": "decimal", "value": "4294967295"},
    {"type": "longstr", "value": "caf\u00e9 \U0001d11e \u0000 \" \\"},
    {"type": "longstr", "base64": "/w=="},
    {"type": "bytes", "value": "AAECAw=="},
    {"type": "array", "value": [1, "a", None, True, 1.5, [{"type": "int8", "value": 1}]]},
    {"type": "table", "value": {"a": {"type": "table", "value": {}}, "type": "x", "value": 1}},
    {"type": "timestamp", "value": 1767323045},
    {"type": "void", "value": None},
]
# Plain JSON keeps these.
PLAIN = ("bool", "int64", "double", "longstr", "array", "void")


def every_type_there_and_back():
    for value in TYPED:
        read = header_envelope("x-h", value)
        same(value, read["written"]["x-h"], value)
        keeps = value["type"] in PLAIN and "value" in value
        same(value, read["headers"]["x-h"], value["value"] if keeps else value)


def plain_json_means_one_type():
    cases = [
        (5, "int64"), (-9223372036854775808, "int64"), (1.5, "double"), ("s", "longstr"), (True, "bool"),
        (None, "void"), ([1], "array"), ({"a": 1}, "table"), ({"type": "int8"}, "table"),
        ({"type": "int8", "value": 1, "more": 2}, "table"),
    ]
    for value, kind in cases:
        same(value, header_envelope("x-h", value)["written"]["x-h"], {"type": kind, "value": value})


def tables_may_be_named_like_types():
    read = envelope({"headers": {"type": "int8", "value": 1}})
    same("headers", read["headers"], {"type": "int8", "value": 1})


def values_that_are_none():
    refused = [
        {"type": "int8", "value": 128}, {"type": "uint8", "value": -1}, {"type": "int32", "value": 1.5},
        {"type": "int64", "value": 9223372036854775808}, {"type": "uint64", "value": 18446744073709551616},
        {"type": "uint64", "value": -1}, {"type": "bool", "value": 1}, {"type": "decimal", "value": 1.5},
        {"type": "decimal", "value": "1."}, {"type": "decimal", "value": "4294967296"}, {"type": "bytes", "value": "A"},
        {"type": "bytes", "value": "AA=A"}, {"type": "void", "value": 0}, {"type": "longstr", "value": 1},
        {"type": "array", "value": {}}, {"type": "table", "value": []}, {"type": "int128", "value": 1},
        {"type": "timestamp", "value": "now"}, 9223372036854775808, -9223372036854775809, [[18446744073709551616]],
        {"a": 9223372036854775808},
    ]
    for value in refused:
        status, document, complaint = acemq("envelope", given=json.dumps({"headers": {"x-h": value}}))
        same(value, (status, document), (2, None))
        if "x-h" not in complaint:
            raise Fault(f"{value}: the header is not in {complaint!r}")


def documents_that_are_none():
    refused = ["", "[]", "{", "{} {}", '{"headers": 1}', '{"headers": {"a": }}', '{"headers": {"a": 1} "b": 2}',
               '{"routingKey": 1}', '{"headers": {"a": 1, "a": 2}}', '{"headers": {"a": NaN}}', "\x00",
               '{"headers": {"' + "n" * 256 + '": 1}}',
               '{"headers": ' + '{"a": ' * 40 + "1" + "}" * 40 + "}"]
    for text in refused:
        same(text[:60], acemq("envelope", given=text)[:2], (2, None))


# --- times ---

TIMES = {
    "1996-12-19T16:39:57-08:00": (851042397, 0),
    "2022-06-15T12:00:00-00:30": (1655296200, 0),
    "1937-01-01T12:00:27.87+00:20": (-1041337173, 870000000),
    "9999-12-31T23:59:59Z": (253402300799, 0),
    "0001-01-01T00:00:00Z": (-62135596800, 0),
    "1970-01-01T00:00:00-00:00": (0, 0),
    "1969-12-31T23:59:59.5Z": (-1, 500000000),
    "2024-02-29T00:00:00.123456789999Z": (1709164800, 123456789),
    "2026-02-03T04:05:06.9999999999+23:59": (1770091506 - 86340, 999999999),
}
NO_TIMES = [
    "", "2026", "2023-02-29T00:00:00Z", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
    "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2026-1-01T00:00:00Z", "2026-01-01t00:00:00Z",
    "2026-01-01T00:00:00z", "2026-01-01 00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
    "2026-06-30T23:59:60Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z",
    "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60", "2026-01-01T00:00:00+0000", " 2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z ", "2026-01-01T00:00Z", "-026-01-01T00:00:00Z",
]


def times():
    for text, wanted in TIMES.items():
        status, document, complaint = acemq("time", text)
        same(text, (status, document), (0, {"seconds": wanted[0], "nanoseconds": wanted[1]}))


def texts_that_are_no_times():
    for text in NO_TIMES:
        status, document, complaint = acemq("time", "--", text)
        same(text, (status, document, "parse" in complaint), (2, None, True))


# --- topology ---


def plan(document):
    given = document if isinstance(document, str) else json.dumps(document)
    return acemq("topology", "plan", "-", given=given)


def topology_plans():
    known = vectors("topology")
    for row in known["types"]:
        status, document, complaint = plan(row["file"])
        found = [item for item in (document or {"objects": []})["objects"]
                 if item["kind"] == "queue" and item["name"] == row["queue"]]
        same(row, [item["type"] for item in found], [row["type"]])
    status, document, complaint = plan(known["file"])
    same("states", {item["state"] for item in document["objects"]}, {"unknown"})
    names = [item["name"] for item in document["objects"] if item["kind"] != "binding"]
    for row in known["declarations"]:
        name = row.get("exchange") if "type" in row and "exchange" in row else None
        if name is not None and row["by"] != "consumer":
            same(name, name in names, True)


def topologies_that_are_none():
    for text, complaint in vectors("topology")["refused"]:
        status, document, told = plan(text)
        same(text, (status, document), (2, None))
        if complaint not in told:
            raise Fault(f"{text!r}: {complaint!r} is not in {told!r}")


TESTS = [
    schedules_of_all_policies, thresholds, texts_of_policies, texts_that_are_no_policies, durations,
    texts_that_are_no_durations, long_schedules_stay_capped, waits_that_no_broker_takes_are_in_the_schedule,
    rung_names, rung_arguments, names_that_are_too_long,
    whole_envelopes, integers_of_every_width, first_seen, texts, replay_stamps, routes, absent_members_are_null,
    every_type_there_and_back, plain_json_means_one_type, tables_may_be_named_like_types, values_that_are_none,
    documents_that_are_none, times, texts_that_are_no_times, topology_plans, topologies_that_are_none,
]


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, test in enumerate(TESTS, 1):
        fault = None
        try:
            test()
        except (Fault, KeyError, ValueError, subprocess.TimeoutExpired) as error:
            fault = error
        failed += fault is not None
        print(f"{'ok' if fault is None else 'not ok'} {number} - {test.__name__.replace('_', ' ')}", flush=True)
        if fault is not None:
            print(f"# {fault!r}")
    return 1 if failed else 0


sys.exit(main())
