"""Rejected, expired and crowded out: x-death, and the cycles that are dropped."""

import time

import pika

from foreign_client.client import PATIENCE, check, name

@check
def rejected_goes_to_the_dead_letter_exchange(client, _url):
    dead = client.queue("rejected.dlq")
    copy = client.queue("rejected.copy")
    queue = client.queue(
        "rejected", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    )
    before = time.time()
    client.publish(queue, b"body", headers={"CC": [copy], "a": 1}, message_id="m", expiration="60000", delivery_mode=2)
    client.get(copy, auto_ack=True)
    client.channel.basic_nack(client.get(queue)[0].delivery_tag, requeue=False)
    method, properties, body = client.get(dead, auto_ack=True)
    assert (body, method.exchange, method.routing_key) == (b"body", "", dead)
    assert not method.redelivered
    assert properties.message_id == "m" and properties.expiration is None and properties.delivery_mode == 2
    headers = properties.headers
    assert list(headers) == ["a", "x-death", "x-first-death-exchange", "x-first-death-queue", "x-first-death-reason"], list(headers)
    death = headers["x-death"][0]
    assert list(death) == ["count", "reason", "queue", "time", "exchange", "routing-keys", "original-expiration"], list(death)
    assert abs(death["time"].timestamp() - before) < 60 * 60 * 24
    assert (death["count"], death["reason"], death["queue"], death["exchange"]) == (1, "rejected", queue, "")
    assert death["routing-keys"] == [queue, copy] and death["original-expiration"] == "60000"
    assert (headers["x-first-death-exchange"], headers["x-first-death-queue"], headers["x-first-death-reason"]) == ("", queue, "rejected")
    assert client.channel.basic_get(copy)[0] is None


@check
def dead_letter_keeps_its_keys_without_one_of_its_own(client, _url):
    exchange = client.exchange("dlx", exchange_type="direct")
    dead, copy = client.queue("kept.dlq"), client.queue("kept.copy")
    queue = client.queue("kept", arguments={"x-dead-letter-exchange": exchange})
    client.channel.queue_bind(dead, exchange, queue)
    client.channel.queue_bind(copy, exchange, "other")
    client.publish(queue, b"x", headers={"CC": ["other"]})
    client.channel.basic_reject(client.get(queue)[0].delivery_tag, requeue=False)
    for target in (dead, copy):
        method, properties, _ = client.get(target, auto_ack=True)
        assert (method.exchange, method.routing_key) == (exchange, queue)
        assert properties.headers["CC"] == ["other"]
        assert properties.headers["x-death"][0]["routing-keys"] == [queue, "other"]


# A message may be late on a machine that is busy, and never early, counted from before it was published.
@check
def ttl_expires_at_the_head(client, _url):
    dead = client.queue("ttl.dlq")
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    queue = client.queue("ttl", arguments=dict(arguments, **{"x-message-ttl": 300}))
    own = client.queue("expiration", arguments=arguments)
    started = time.monotonic()
    client.publish(queue, b"queue")
    client.publish(own, b"long", expiration="2500")
    client.publish(own, b"short", expiration="1")
    method, properties, body = client.get(dead, auto_ack=True)
    assert body == b"queue" and time.monotonic() - started > 0.29, time.monotonic() - started
    assert properties.headers["x-death"][0]["reason"] == "expired"
    assert "original-expiration" not in properties.headers["x-death"][0]
    for expected in (b"long", b"short"):
        method, properties, body = client.get(dead, auto_ack=True)
        assert body == expected
        assert time.monotonic() - started > 2.49
        assert properties.expiration is None
        assert properties.headers["x-death"][0]["original-expiration"] in ("2500", "1")


@check
def ttl_of_zero_is_for_waiting_consumers(client, _url):
    queue = client.queue("zero", arguments={"x-message-ttl": 0})
    client.publish(queue, b"lost")
    client.wait_ready(queue, 0)
    got = []
    client.channel.basic_consume(queue, lambda _c, _m, _p, body: got.append(body), auto_ack=True)
    client.publish(queue, b"taken")
    client.listen(got, 1)
    assert got == [b"taken"], got


@check
def maxlen_dead_letters_the_oldest(client, _url):
    dead = client.queue("maxlen.dlq")
    queue = client.queue(
        "maxlen", arguments={"x-max-length": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    )
    client.publish(queue, b"old")
    client.publish(queue, b"new")
    method, properties, body = client.get(dead, auto_ack=True)
    assert body == b"old" and properties.headers["x-death"][0]["reason"] == "maxlen"


@check
def deaths_are_counted_by_queue_and_reason(client, _url):
    rung = client.queue("rung", arguments={"x-message-ttl": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": name("source")})
    source = client.queue("source", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": rung})
    client.publish(source, b"x")
    for round_number in range(1, 4):
        method, properties, _ = client.get(source)
        deaths = (properties.headers or {}).get("x-death", [])
        expected = [] if round_number == 1 else [(rung, "expired", round_number - 1), (source, "rejected", round_number - 1)]
        assert [(d["queue"], d["reason"], d["count"]) for d in deaths] == expected, deaths
        client.channel.basic_nack(method.delivery_tag, requeue=False)
    method, properties, _ = client.get(source, auto_ack=True)
    assert list(properties.headers["x-death"][0]) == ["count", "exchange", "queue", "reason", "routing-keys", "time"]
    assert properties.headers["x-first-death-queue"] == source


@check
def order_of_three_deaths_is_rabbitmqs(client, _url):
    last = client.queue("chain.4")
    for number in (3, 2, 1):
        client.queue(f"chain.{number}", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name(f"chain.{number + 1}")})
    client.publish(name("chain.1"), b"x")
    for number in (1, 2, 3):
        client.channel.basic_nack(client.get(name(f"chain.{number}"))[0].delivery_tag, requeue=False)
    _, properties, _ = client.get(last, auto_ack=True)
    assert [d["queue"] for d in properties.headers["x-death"]] == [name("chain.3"), name("chain.1"), name("chain.2")], properties.headers


@check
def automatic_cycles_are_dropped(client, _url):
    first = client.queue("cycle.1", arguments={"x-message-ttl": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": name("cycle.2")})
    second = client.queue("cycle.2", arguments={"x-message-ttl": 2000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": first})
    client.publish(first, b"round")
    client.wait_ready(second, 1)
    client.wait_ready(second, 0)
    # Were it not dropped it would come again, and stay for as long as before.
    time.sleep(0.6)
    assert client.ready(first) == 0 and client.ready(second) == 0
    # One rejection on the way makes it somebody's decision.
    client.publish(first, b"again")
    client.wait_ready(second, 1)
    client.channel.basic_nack(client.get(second)[0].delivery_tag, requeue=False)
    client.wait_ready(second, 1)


@check
def an_expired_and_replayed_message_needs_its_deaths_taken_off(client, _url):
    dead = client.queue("replay.dlq")
    source = client.queue("replay", arguments={"x-message-ttl": 1500, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead})
    rung = client.queue("replay.rung", arguments={"x-message-ttl": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": source})
    client.publish(source, b"x")
    _, properties, _ = client.get(dead, auto_ack=True)
    client.channel.basic_publish("", rung, b"with", pika.BasicProperties(headers=properties.headers))
    client.publish(rung, b"without")
    assert client.get(source, auto_ack=True)[2] == b"without"
    assert client.get(source, auto_ack=True, wait=0.2)[0] is None


@check
def expired_queue_is_deleted(client, _url):
    queue = client.queue("unused", arguments={"x-expires": 1500})
    client.channel.queue_declare(queue, passive=True)

    def look_until_it_is_gone():
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            time.sleep(2.2)  # looking is a use, from which its time begins again
            client.channel.queue_declare(queue, passive=True)

    client.refused(look_until_it_is_gone, 404, f"NOT_FOUND - no queue '{queue}' in vhost '/'")
