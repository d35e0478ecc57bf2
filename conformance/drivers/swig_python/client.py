"""The verbs that need a broker: one connection, and the stores in memory."""

import time

import acemq

from protocol import Refused, Unsupported, delivery_json, message_of, policy_of
from rules import key_of, partitioning_of, topology_of

WAIT = 10 * acemq.SECOND
OUTCOMES = {"a": acemq.ACCEPTED, "f": acemq.FAILED, "r": acemq.REJECTED, "p": acemq.PARKED}
FAILURES = {"retry": acemq.ORDER_RETRY_IN_PLACE, "skip": acemq.ORDER_SKIP}
ANSWERS = ("", "claimed", "duplicate", "in_progress")
held = {"connection": None, "stores": {}}


def client():
    if held["connection"] is None:
        raise Refused("state", "connect first")
    return held["connection"]


def end(_=None):
    if held["connection"] is not None:
        try:
            acemq.connection_close(held["connection"], 5 * acemq.SECOND)
        except acemq.Error:
            pass  # it is closed all the same
    held["connection"] = None
    held["stores"].clear()


def connect(given):
    end()
    held["connection"] = acemq.connect(given["url"], acemq.ConnectOptions(timeout=given.get("timeout", WAIT)))


def topology(given):
    acemq.topology_apply(client(), topology_of(given), WAIT)


def publish(given):
    mq, message, timeout = client(), message_of(given), given.get("timeout", WAIT)
    if given.get("queue") is not None:
        acemq.publish(mq, given["queue"], message, timeout)
    else:
        acemq.publish_to(mq, given.get("exchange") or "", given.get("routingKey"), message, timeout)
    return {"id": acemq.message_id(message)}


def source_of(given):
    return acemq.PARKED_LETTERS if given.get("parked") else acemq.DEAD_LETTERS


def pending(given):
    return {"pending": acemq.replay_pending(client(), given["queue"], source_of(given), WAIT)}


def peek(given):
    browser = acemq.browser_open(client(), given["queue"], acemq.BrowserOptions(force=1))
    messages = []
    while len(messages) < given.get("max", 10):
        delivery = acemq.browser_next(browser)
        if delivery is None:
            break
        messages.append(delivery_json(delivery))
    del delivery
    acemq.browser_free(browser)
    return {"messages": messages}


def replay(given):
    wanted = {name: text.encode() for name, text in (given.get("headers") or {}).items()}

    def has_headers(delivery):
        headers = acemq.delivery_headers(delivery)
        return all(acemq.value_bytes(acemq.table_get(headers, name)) == text for name, text in wanted.items())

    most = given.get("max")
    result = acemq.replay(client(), given["queue"], acemq.ReplayOptions(
        id=given.get("id"), max=-1 if most is None else most, source=source_of(given),
        keep_attempts=int(given.get("keepAttempts", False)), dry_run=int(given.get("dryRun", False)),
        filter=has_headers if wanted else None))
    return {"replayed": result.replayed, "declined": result.declined, "left": result.left}


def store_of(where):
    if where not in held["stores"]:
        held["stores"][where] = acemq.idempotency_open("memory:" if where.startswith("memory:") else where)
    return held["stores"][where]


def claim(given):
    token, answer = acemq.idempotency_claim(store_of(given["store"]), given["key"],
                                            given.get("lease", 5 * acemq.MINUTE), WAIT)
    return {"answer": ANSWERS[answer], "token": token}


def claim_confirm(given):
    acemq.idempotency_confirm(store_of(given["store"]), given["key"], given["token"], WAIT)


def claim_release(given):
    acemq.idempotency_release(store_of(given["store"]), given["key"], given["token"], WAIT)


def claim_renew(given):
    acemq.idempotency_renew(store_of(given["store"]), given["key"], given["token"],
                            given.get("lease", 5 * acemq.MINUTE), WAIT)


class Script:
    """What the handler does with each message, and until when."""

    def __init__(self, given):
        until = given.get("until") or {}
        self.entries, self.seen, self.deliveries = given.get("script") or {}, {}, []
        self.most, self.idle = until.get("deliveries", 1 << 60), until.get("idle", 1 << 60)
        self.ends = time.monotonic() + until.get("timeout", 10000) / 1000

    def entry_for(self, message_id):
        seen = self.seen.get(message_id, 0)
        self.seen[message_id] = seen + 1
        entries = self.entries.get(message_id) or self.entries.get("*") or ["accept"]
        return entries[min(seen, len(entries) - 1)]

    def handle(self, delivery):
        listed = delivery_json(delivery)
        entry = self.entry_for(listed["envelope"]["id"])
        listed.update(outcome=entry, routingKey=acemq.delivery_routing_key(delivery),
                      redelivered=acemq.delivery_redelivered(delivery) == 1, queue=acemq.delivery_queue(delivery))
        self.deliveries.append(listed)
        acemq.delivery_settle(delivery, OUTCOMES[entry[0]], entry.partition(": ")[2] or None)

    def follow(self, take):
        while len(self.deliveries) < self.most:
            wait = min(int((self.ends - time.monotonic()) * 1000), self.idle)
            if wait <= 0:
                return
            try:
                delivery = take(wait)
            except acemq.TimeoutError:
                return
            self.handle(delivery)


def consumer_options(given):
    codec = acemq.codec_builtin(given.get("codec") or "bytes")
    if codec is None:
        raise Unsupported("no such codec")
    options = acemq.ConsumerOptions(retry=policy_of(given, "retry"), codec=codec,
                                    declare=int(given.get("declare") == "verify"),
                                    requeue_on_failure=int(given.get("requeueOnFailure", False)))
    options.prefetch = given.get("prefetch", options.prefetch)
    claims = given.get("idempotency")
    if claims is not None:
        options.idempotency = store_of(claims["store"])
        options.lease = claims.get("lease", options.lease)
        options.put_back_wait = claims.get("putBackWait", options.put_back_wait)
    return options


def drain(call, *arguments):
    try:
        call(*arguments)
    except acemq.Error:
        pass  # what is left comes again, and the counters say what was done


def consume(given):
    mq, options, script, members = client(), consumer_options(given), Script(given), given.get("members", 1)
    if members == 1:
        consumer = acemq.consumer_open(mq, given["queue"], options)
        take, end_, counted = acemq.consumer_next, acemq.consumer_drain, acemq.consumer_get_counters
        free = acemq.consumer_free
    else:
        consumer = acemq.group_open(mq, given["queue"], acemq.GroupOptions(consumer=options, members=members))
        take, end_, counted = acemq.group_next, acemq.group_drain, acemq.group_get_counters
        free = acemq.group_free
    script.follow(lambda wait: take(consumer, wait))
    drain(end_, consumer, WAIT)
    counters = counted(consumer)
    free(consumer)
    return {"deliveries": script.deliveries, "counters": {
        "acknowledged": counters.acknowledged, "rejected": counters.rejected, "retried": counters.retried,
        "deadLettered": counters.dead_lettered, "parked": counters.parked, "duplicates": counters.duplicates}}


def ordered_publish(given):
    mq, message = client(), message_of(given)
    acemq.ordered_publish(mq, given["name"], partitioning_of(given), key_of(given), message, given.get("timeout", WAIT))
    return {"id": acemq.message_id(message)}


def ordered_consume(given):
    partitions, script = given.get("partitions", 8), Script(given)
    ordered = acemq.ordered_open(client(), given["name"], acemq.OrderedOptions(
        consumer=consumer_options(given), partitions=partitions,
        failure=FAILURES.get(given.get("failure"), acemq.ORDER_STOP)))
    script.follow(lambda wait: acemq.ordered_next(ordered, wait))
    drain(acemq.ordered_drain, ordered, WAIT)
    gaps = acemq.ordered_get_gaps(ordered)
    listed = [{"partition": acemq.gaps_partition(gaps, index), "id": acemq.gaps_id(gaps, index),
               "reason": acemq.gaps_reason(gaps, index), "parked": acemq.gaps_parked(gaps, index) == 1}
              for index in range(acemq.gaps_count(gaps))]
    halted = [index for index in range(partitions) if acemq.ordered_halted(ordered, index)[0]]
    acemq.ordered_free(ordered)
    return {"deliveries": script.deliveries, "gaps": listed, "halted": halted}


def outbox_enqueue(given):
    queue = given.get("queue")
    return {"id": acemq.outbox_enqueue(acemq.outbox_open(given["store"]), "" if queue else given.get("exchange") or "",
                                       queue or given.get("routingKey"), message_of(given), WAIT)}


def outbox_relay(given):
    relay = acemq.relay_start(client(), acemq.outbox_open(given["store"]))
    acemq.relay_drain(relay, WAIT)
    published = acemq.relay_count(relay).published
    acemq.relay_free(relay)
    return {"published": published}


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
