"""The verbs that need a broker: one connection, and the stores in memory."""

import threading
import time

import acemq
from acemq._library import ffi, lib
from acemq.codec import codec_of
from acemq.errors import StateError, checked
from acemq.message import outgoing

from messages import Unsupported, encoded, fields_of, message_json
from rules import key_of

WAIT = 10
CODECS = {"bytes": acemq.BYTES, "json": acemq.JSON, "text": acemq.TEXT, "msgpack": acemq.MSGPACK}
FAILURES = {"stop": "stop", "retry": "retry_in_place", "skip": "skip", None: "stop"}
held = {"connection": None, "stores": {}}


def client():
    if held["connection"] is None:
        raise StateError("connect first")
    return held["connection"]


def end(_=None):
    if held["connection"] is not None:
        try:
            held["connection"].close(5)
        except acemq.Error:
            pass  # it is closed all the same
    held["connection"] = None
    held["stores"].clear()


def connect(given):
    end()
    held["connection"] = acemq.connect(given["url"], timeout=given.get("timeout", 10_000) / 1000)


def topology(given):
    client().apply(acemq.Topology(encoded(given["topology"]).decode()), timeout=WAIT)


def seconds_of(given):
    return given.get("timeout", 10_000) / 1000


def publish(given):
    mq = client()
    body, fields = fields_of(given)
    fields.setdefault("id", acemq.new_id())
    table = fields.pop("table", None)
    to = given["queue"] if given.get("queue") is not None else given.get("routingKey")
    publisher = mq.publisher(to, exchange=None if given.get("queue") is not None else given.get("exchange") or None)
    if table is None:
        publisher.send(body, timeout=seconds_of(given), **fields)
    else:
        publish_table(publisher, body, fields, table, given)
    return {"id": fields["id"]}


def publish_table(publisher, body, fields, table, given):
    """Headers of types that no value of Python's has."""
    message = outgoing(acemq.BYTES, fields).message(body)
    lib.acemq_message_set_headers(message, table)
    checked(lib.acemq_publisher_send, publisher._handle, ffi.NULL, message, int(seconds_of(given) * 1000))


def source_of(given):
    return "parked" if given.get("parked") else "dead_letters"


def pending(given):
    return {"pending": client().pending(given["queue"], source=source_of(given), timeout=WAIT)}


def peek(given):
    found = []
    with client().browse(given["queue"], force=True) as browser:
        while len(found) < given.get("max", 10):
            message = next(browser, None)
            if message is None:
                break
            found.append(message_json(message))
        message = None
    return {"messages": found}


def replay(given):
    wanted = given.get("headers") or {}

    def has_headers(message):
        headers = message.headers
        return all(headers.get(name) == text for name, text in wanted.items())

    result = client().replay(
        given["queue"],
        source=source_of(given),
        id=given.get("id"),
        max=given.get("max"),
        keep_attempts=given.get("keepAttempts", False),
        dry_run=given.get("dryRun", False),
        filter=has_headers if wanted else None,
    )
    return {"replayed": result.replayed, "declined": result.declined, "left": result.left}


def store_of(where):
    if where not in held["stores"]:
        held["stores"][where] = acemq.Idempotency("memory:" if where.startswith("memory:") else where)
    return held["stores"][where]


def lease_of(given):
    return given.get("lease", 300_000) / 1000


def claim(given):
    claimed = store_of(given["store"]).claim(given["key"], lease=lease_of(given), timeout=WAIT)
    return {"answer": claimed.answer, "token": claimed.token}


def claim_confirm(given):
    store_of(given["store"]).confirm(given["key"], given["token"], timeout=WAIT)


def claim_release(given):
    store_of(given["store"]).release(given["key"], given["token"], timeout=WAIT)


def claim_renew(given):
    store_of(given["store"]).renew(given["key"], given["token"], lease=lease_of(given), timeout=WAIT)


class Script:
    """What the handler does with each message, and until when. The handlers of a group run at once."""

    def __init__(self, given):
        until = given.get("until") or {}
        self.entries, self.taken, self.deliveries = given.get("script") or {}, {}, []
        self.most, self.idle = until.get("deliveries", 1 << 60), until.get("idle", 1 << 60) / 1000
        self.ends = time.monotonic() + until.get("timeout", 10_000) / 1000
        self.last = time.monotonic()
        self.changed = threading.Condition()

    def entry_for(self, message_id):
        taken = self.taken.get(message_id, 0)
        self.taken[message_id] = taken + 1
        entries = self.entries.get(message_id) or self.entries.get("*") or ["accept"]
        return entries[min(taken, len(entries) - 1)]

    def handle(self, message):
        with self.changed:
            if len(self.deliveries) >= self.most:
                raise acemq.PutBack
            entry = self.entry_for(message.id)
            self.deliveries.append(
                {
                    **message_json(message),
                    "outcome": entry,
                    "routingKey": message.routing_key,
                    "redelivered": message.redelivered,
                    "queue": message.queue,
                }
            )
            self.last = time.monotonic()
            self.changed.notify_all()
        self.settle(message, entry)

    def settle(self, message, entry):
        outcome, _, reason = entry.partition(": ")
        known = {"fail": message.fail, "reject": message.reject, "park": message.park}
        if outcome in known:
            known[outcome](reason or None)

    def wait(self):
        with self.changed:
            while len(self.deliveries) < self.most:
                left = min(self.ends, self.last + self.idle) - time.monotonic()
                if left <= 0:
                    return
                self.changed.wait(left)


def options_of(given):
    codec = given.get("codec") or "bytes"
    if codec not in CODECS:
        raise Unsupported("no such codec")
    options = {
        "codec": codec_of(CODECS[codec]),
        "retry": given.get("retry"),
        "verify": given.get("declare") == "verify",
        "requeue_on_failure": given.get("requeueOnFailure", False),
        "prefetch": given.get("prefetch"),
    }
    claims = given.get("idempotency")
    if claims is not None:
        options["idempotency"] = store_of(claims["store"])
        options["lease"] = claims["lease"] / 1000 if "lease" in claims else None
        options["put_back_wait"] = claims["putBackWait"] / 1000 if "putBackWait" in claims else None
    return options


def followed(source, script):
    """Until the script says so, and all that was handled is settled."""
    script.wait()
    try:
        source.drain(WAIT)
    except acemq.Error:
        pass  # what is left comes again, and the counters say what was done


def consume(given):
    mq, script, members = client(), Script(given), given.get("members", 1)
    if members == 1:
        source = mq.consume(given["queue"], script.handle, **options_of(given))
    else:
        source = mq.consume_group(given["queue"], script.handle, members=members, **options_of(given))
    followed(source, script)
    counted = source.counters()
    leave(source)
    names = {"deadLettered": "dead_lettered"}
    wanted = ("acknowledged", "rejected", "retried", "deadLettered", "parked", "duplicates")
    return {"deliveries": script.deliveries, "counters": {name: counted[names.get(name, name)] for name in wanted}}


def leave(source):
    """Closes it, so that its messages are others' to have."""
    source.close()
    source._workers.join(5)


def ordered_publish(given):
    body, fields = fields_of(given)
    if "table" in fields:
        raise Unsupported("headers of types that no value of Python's has")
    fields.setdefault("id", acemq.new_id())
    client().publish_ordered(
        given["name"],
        body,
        key_of(given),
        partitions=given.get("partitions"),
        rule=given.get("rule") or "unsigned",
        timeout=seconds_of(given),
        **fields,
    )
    return {"id": fields["id"]}


def ordered_consume(given):
    partitions, script = given.get("partitions", 8), Script(given)
    failure = FAILURES[given.get("failure")]
    source = client().consume_ordered(
        given["name"], script.handle, partitions=partitions, failure=failure, **options_of(given)
    )
    followed(source, script)
    gaps = [
        {"partition": gap.partition, "id": gap.id, "reason": gap.reason, "parked": gap.parked} for gap in source.gaps()
    ]
    halted = [partition for partition in range(partitions) if source.halted(partition)]
    leave(source)
    return {"deliveries": script.deliveries, "gaps": gaps, "halted": halted}


def outbox_enqueue(given):
    body, fields = fields_of(given)
    table = fields.pop("table", None)
    if table is not None:
        raise acemq.InvalidArgument("headers of types that plain JSON cannot give back")
    queue = given.get("queue")
    outbox = acemq.Outbox(given["store"])
    exchange = "" if queue else given.get("exchange") or ""
    return {"id": outbox.enqueue(queue or given.get("routingKey"), body, exchange=exchange, timeout=WAIT, **fields)}


def outbox_relay(given):
    with client().relay(acemq.Outbox(given["store"])) as relay:
        relay.drain(WAIT)
    return {"published": relay.count()["published"]}  # whole once it has stopped


CONSUME = "retry codec script until"
VERBS = {
    "connect": (connect, "url timeout"),
    "close": (end, ""),
    "topology": (topology, "topology"),
    "publish": (publish, "queue exchange routingKey message timeout"),
    "pending": (pending, "queue parked"),
    "peek": (peek, "queue max"),
    "replay": (replay, "queue parked max keepAttempts id headers dryRun"),
    "consume": (consume, f"queue {CONSUME} members prefetch declare requeueOnFailure idempotency"),
    "claim": (claim, "store key lease"),
    "claim.confirm": (claim_confirm, "store key token"),
    "claim.release": (claim_release, "store key token"),
    "claim.renew": (claim_renew, "store key token lease"),
    "ordered.publish": (ordered_publish, "name key partitions rule message timeout"),
    "ordered.consume": (ordered_consume, f"name partitions failure {CONSUME}"),
    "outbox.enqueue": (outbox_enqueue, "store queue exchange routingKey message"),
    "outbox.relay": (outbox_relay, "store"),
}
