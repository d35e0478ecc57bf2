"""Section 2, and the stamps of section 3: what an envelope reads as, and how it is written again."""

from . import headers as rules
from .writing import behaviour, case

ID = "f67aff08-6293-4ce2-af9e-1b8797fb8451"
BASE = {"x-acemq-id": "m-1", "x-acemq-type": "order.placed", "x-acemq-correlation": "c-1",
        "x-acemq-version": {"type": "int32", "value": 1}, "x-acemq-attempt": {"type": "int32", "value": 1},
        "x-acemq-first-seen": {"type": "int64", "value": 1767323045678}, "x-acemq-origin": "orders@host-7"}


def typed(kind, value):
    return {"type": kind, "value": value}


def read(name, table, routing_key="orders", message_id=None, members=None):
    """A case for the envelope: all of it, or only some members."""
    made_up = {"$uuid": True}
    envelope = rules.read(table, routing_key, message_id, made_up)
    parameters = {"headers": table, "routingKey": routing_key} | ({"messageId": message_id} if message_id else {})
    wanted = {member: envelope[member] for member in members} if members else envelope
    return case(name, "envelope", parameters, {"envelope": wanted})


def written(name, table, routing_key="orders", message_id=None):
    envelope = rules.read(table, routing_key, message_id, {"$uuid": True})
    parameters = {"headers": table, "routingKey": routing_key} | ({"messageId": message_id} if message_id else {})
    # Tables inside are compared as they stand; only the names of the top are complete.
    wanted = rules.written(table, envelope, {"$now": 60000})
    return case(name, "envelope", parameters, {"written": {"$exactly": wanted}})


def whole():
    populated = BASE | {"x-acemq-version": typed("int32", 3), "x-acemq-causation": "cause-1", "x-tenant": "acme"}
    replayed = BASE | {"acemq-replay-count": typed("int32", 2), "acemq-replayed-at": typed("int64", 1770091506789),
                       "acemq-replayed-from": "orders.new.dlq"}
    failed = BASE | {"x-acemq-attempt": typed("int32", 3), "x-acemq-error": "exhausted 3 attempts: no stock",
                     "x-acemq-claim": "k-1"}
    return {"minimal": BASE, "populated": populated, "replayed": replayed, "failed": failed}


ABSENT = {"void": None, "empty": "", "bool": True, "table": {"a": 1}, "array": [1], "number": 7}
INTEGERS = {"int8 3": typed("int8", 3), "uint8 3": typed("uint8", 3), "int16 3": typed("int16", 3),
            "uint16 3": typed("uint16", 3), "int32 3": typed("int32", 3), "uint32 3": typed("uint32", 3),
            "int64 3": typed("int64", 3), "float 3.0": typed("float", 3.0), "double 3.0": typed("double", 3.0),
            "text 3": "3", "text with spaces": " 3 ", "bytes 3": typed("bytes", "Mw==")}
UNREADABLE = {"-1": -1, "0": 0, "int64 2^63-1": 2**63 - 1, "-2^63": -2**63, "int32 over": 2**31, "3.5": 3.5, "three": "three",
              "3.0 as text": "3.0", "hexadecimal": "0x3", "empty": "", "spaces": "  ", "table": {"a": 1}, "void": None,
              "true": True, "false": False, "array": [3], "timestamp": typed("timestamp", 3),
              "decimal": typed("decimal", "3"), "no UTF-8": {"type": "longstr", "base64": "/w=="}}


def integer_cases(header, member, values):
    return [read(name, BASE | {header: value}, members=[member]) for name, value in values.items()]


def reading():
    yield behaviour("envelope.read.whole", "2", "an envelope reads from the headers that a publish writes",
                    [read(name, table) for name, table in whole().items()])
    yield behaviour("envelope.read.foreign", "2", "a message without any of our headers has the defaults of the table", [
        read("nothing at all", {}, "rk"), read("with a message-id", {}, "rk", ID), read("no routing key", {}, ""),
        read("headers of its own", {"a": 1, "trace": "x"}, "rk", ID)])
    yield behaviour("envelope.id.message-id", "2", "the message-id stands in for an absent id, and an id goes before it", [
        read("absent", {}, "rk", ID, ["id", "correlation"]), read("empty", {"x-acemq-id": ""}, "rk", ID, ["id"]),
        read("there", {"x-acemq-id": "m-9"}, "rk", ID, ["id", "correlation"]),
        read("void", {"x-acemq-id": None}, "rk", ID, ["id"])])
    yield behaviour("envelope.attempt.widths", "2", "an attempt reads in every integer width, as a whole float and as text",
                    integer_cases("x-acemq-attempt", "attempt", INTEGERS))
    yield behaviour("envelope.attempt.unreadable", "2", "an attempt that does not read, or is below 1, is 1",
                    integer_cases("x-acemq-attempt", "attempt", UNREADABLE))
    yield behaviour("envelope.attempt.largest", "2", "an attempt of 2^31 - 1 reads, and one more does not",
                    integer_cases("x-acemq-attempt", "attempt", {"the largest": 2**31 - 1, "one more": 2**31,
                                                                 "largest text": str(2**31 - 1)}))
    yield behaviour("envelope.version.tolerance", "2", "a version reads like an attempt, and below 1 is 1",
                    integer_cases("x-acemq-version", "version", INTEGERS | UNREADABLE))
    yield behaviour("envelope.first-seen.widths", "2", "first-seen reads in every integer width and as text", integer_cases(
        "x-acemq-first-seen", "firstSeen",
        {"int64": 1767323045678, "uint64": typed("uint64", 1767323045678), "int32": typed("int32", 5), "text": "1767323045678",
         "spaces": " 1767323045678 ", "double": 1767323045678.0, "2^53+1": 2**53 + 1, "largest": 2**63 - 1}))
    yield behaviour("envelope.first-seen.unknown", "2", "a first-seen at or below 0, a timestamp, or no number is an unknown age",
                    integer_cases("x-acemq-first-seen", "firstSeen",
                                  {"0": 0, "-1": -1, "-2^63": -2**63, "timestamp": typed("timestamp", 1767323045),
                                   "half": 0.5, "text": "yesterday", "void": None, "true": True, "table": {}}))
    yield behaviour("envelope.text.bytes", "2", "a text may arrive as bytes of UTF-8", [
        read(name, {f"x-acemq-{name}": typed("bytes", "w6k="), "x-acemq-id": "m-1"} | (
            {"x-acemq-id": typed("bytes", "w6k=")} if name == "id" else {}), members=[name])
        for name in ("id", "type", "correlation", "causation", "origin", "error", "claim")])
    broken = {"long string": {"type": "longstr", "base64": "/w=="}, "bytes": typed("bytes", "/w==")}
    yield behaviour("envelope.text.broken", "2", "a text that is not UTF-8 does not read, and the default stands in", [
        read(f"{name}, {form}", BASE | {f"x-acemq-{name}": value}, message_id="m-2", members=[name])
        for name in ("id", "type", "correlation", "causation", "origin", "error", "claim") for form, value in broken.items()])
    for name, default in (("type", "the routing key"), ("correlation", "the id"), ("causation", "absent"),
                          ("origin", "absent"), ("error", "absent"), ("claim", "absent")):
        header = f"x-acemq-{name}"
        yield behaviour(f"envelope.{name}.unreadable", "2", f"a {name} that is empty or no text is {default}", [
            read(case_name, BASE | {header: value}, members=[name]) for case_name, value in ABSENT.items()])
    yield behaviour("envelope.type.message", "2", "without a type and without a routing key the type is `message`", [
        read("no routing key", {"x-acemq-id": "a"}, "", members=["type"]),
        read("empty type", {"x-acemq-id": "a", "x-acemq-type": ""}, "", members=["type"]),
        read("routing key", {"x-acemq-id": "a"}, "orders.new", members=["type"])])
    yield behaviour("envelope.case", "2", "names of headers are case-sensitive", [
        read("capitals", BASE | {"X-ACEMQ-ATTEMPT": 5, "x-acemq-Attempt": 6}, members=["attempt"])])
    yield behaviour("envelope.reply-to", "2", "`acemq-reply-to` reads where there is one", [
        read("there", BASE | {"acemq-reply-to": "acemq.reply.x"}, members=["replyTo"]),
        read("empty", BASE | {"acemq-reply-to": ""}, members=["replyTo"])])


def routes():
    def one(name, **more):
        table = BASE | {f"x-acemq-{part.replace('_', '-')}": value for part, value in more.items()}
        return read(name, table, members=["route", "routePosition", "routeId"])
    yield behaviour("envelope.route", "2", "a declared route reads with its names trimmed and blank ones dropped", [
        one("three", route="a,b,c", route_position=typed("int32", 1), route_id="r-1"),
        one("spaces", route=" a , b ", route_position="1"), one("blank names", route="a,,b, ,", route_position=1),
        one("nothing but commas", route=",,"), one("empty", route=""), one("no route", route_position=1, route_id="r")])
    yield behaviour("envelope.route.position", "2", "a position that does not read, or is negative, is 0", [
        one(name, route="a,b", route_position=value) for name, value in
        {"absent": None, "-1": -1, "text": "one", "half": 0.5, "table": {}, "int8": typed("int8", 1)}.items()])


def replay_stamps():
    stamps = {"seconds": "2026-02-03T04:05:06Z", "milliseconds": "2026-02-03T04:05:06.789Z",
              "+00:00": "2026-02-03T04:05:06+00:00", "microseconds": "2026-02-03T04:05:06.123456+00:00",
              "seven digits": "2026-02-03T04:05:06.1234567+00:00", "nines": "2026-02-03T04:05:06.9999999999Z",
              "an offset": "2026-02-03T04:05:06-08:30", "epoch ms": 1770091506789, "epoch ms as text": "1770091506789",
              "spaces": " 1770091506789 "}
    broken = {"no zone": "2026-02-03T04:05:06", "a comma": "2026-02-03T04:05:06,7Z", "small t": "2026-02-03t04:05:06Z",
              "no such day": "2026-02-30T04:05:06Z", "words": "yesterday", "empty": "", "true": True, "table": {},
              "half": 1.5, "void": None}

    def at(values):
        return [read(name, BASE | {"acemq-replayed-at": value}, members=["replayedAt", "id"]) for name, value in values.items()]

    yield behaviour("replay.stamp.read", "3", "the time of a replay reads in every form that a peer writes", at(stamps))
    yield behaviour("replay.stamp.unreadable", "3", "a time of a replay that does not read is absent, and nothing else is lost",
                    at(broken))
    yield behaviour("replay.count.read", "8", "the count of replays reads in any width, and 0 where it does not read", [
        read(name, BASE | {"acemq-replay-count": value}, members=["replayCount"]) for name, value in
        (INTEGERS | {"0": 0, "-1": -1, "3.5": 3.5, "three": "three", "void": None, "over int32": 2**31}).items()])


def application():
    table = BASE | {"x-acemq-unknown": 1, "x-acemq-": "a", "x-acemq": "c", "x-ace": "d", "X-Acemq-Id": "b", "acemq-replay-count": 2, "traceparent": "00-1",
                    "x-tenant": "acme", "x-death": [{"count": 1}]}
    yield behaviour("headers.application", "2", "an application sees all headers but the reserved ones, known or not", [
        case("mixed", "envelope", {"headers": table, "routingKey": "orders"},
             {"headers": {name: {"$any": True} if name == "x-death" else value for name, value in rules.application(table).items()}
              | {name: {"$absent": True} for name in table if name.startswith("x-acemq-")}}),
        case("none", "envelope", {"headers": BASE, "routingKey": "orders"}, {"headers": {"$exactly": {}}})])
    values = {"int8": typed("int8", -128), "uint8": typed("uint8", 255), "int16": typed("int16", -32768),
              "uint16": typed("uint16", 65535), "int32": typed("int32", -2**31), "uint32": typed("uint32", 2**32 - 1),
              "2^53+1": typed("int64", 2**53 + 1), "-2^63": typed("int64", -2**63), "float": typed("float", 0.5),
              "double": typed("double", 0.1), "bool": typed("bool", True), "text": typed("longstr", "é\u0000x"),
              "not UTF-8": {"type": "longstr", "base64": "/wA="}, "bytes": typed("bytes", "AP8="), "void": typed("void", None),
              "timestamp": typed("timestamp", 1767323045), "decimal": typed("decimal", "1.50")}
    yield behaviour("headers.kinds", "2", "every kind of value is written again as it arrived, integer widths included", [
        case(name, "envelope", {"headers": BASE | {"a": value}, "routingKey": "orders"}, {"written": {"a": value}})
        for name, value in values.items()])
    yield behaviour("headers.nested", "2", "tables and arrays are written again with all that is in them", [
        case("table", "envelope", {"headers": BASE | {"a": {"b": {"c": [1, "x", None]}}}, "routingKey": "orders"},
             {"written": {"a": {"type": "table"}}}),
        case("array", "envelope", {"headers": BASE | {"a": [1, [2], {"b": 3}]}, "routingKey": "orders"},
             {"written": {"a": {"type": "array", "value": [1, {"$any": True}, {"$any": True}]}}})])


def writing():
    for name, table in whole().items():
        yield behaviour(f"envelope.written.{name}", "2", f"a {name} envelope is written again in the types of the table",
                        [written(name, table)])
    yield behaviour("envelope.written.types", "2", "known headers are rewritten as int32, int64 and long strings, however they came", [
        written("texts", BASE | {"x-acemq-attempt": "3", "x-acemq-version": " 2 ", "x-acemq-first-seen": "1767323045678"}),
        written("widths", BASE | {"x-acemq-attempt": typed("uint8", 3), "x-acemq-version": typed("int64", 2)}),
        written("bytes", BASE | {"x-acemq-type": typed("bytes", "w6k="), "x-acemq-error": typed("bytes", "w6k=")})])
    yield behaviour("envelope.written.absent", "2", "an absent value is an absent header: never void, never empty", [
        written("empty texts", BASE | {"x-acemq-causation": "", "x-acemq-error": "", "x-acemq-claim": "", "x-acemq-origin": ""}),
        written("voids", BASE | {"x-acemq-causation": None, "x-acemq-error": None})])
    yield behaviour("envelope.written.foreign", "2", "a foreign message gains a full envelope, with first-seen now and no origin", [
        written("with a message-id", {"a": 1}, "rk", ID), written("first-seen unknown", BASE | {"x-acemq-first-seen": 0})])
    yield behaviour("envelope.written.unknown", "16.10", "unknown reserved headers are kept", [
        written("unknown", BASE | {"x-acemq-future": "x", "x-acemq-other": typed("int32", 7)})])
    yield behaviour("envelope.written.route", "2", "a route is written with its names joined by commas and an int32 position", [
        written("three", BASE | {"x-acemq-route": " a ,b", "x-acemq-route-position": "1", "x-acemq-route-id": "r-1"})])


def behaviours():
    for group in (reading, routes, replay_stamps, application, writing):
        yield from group()
