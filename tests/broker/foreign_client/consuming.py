"""Prefetch, acknowledgement and redelivery, on classic and on quorum queues."""

from foreign_client.client import check

@check
def prefetch_is_kept_and_acks_bring_more(client, _url):
    queue = client.queue("prefetch")
    for number in range(10):
        client.publish(queue, str(number).encode())
    client.wait_ready(queue, 10)
    got = []
    client.channel.basic_qos(prefetch_count=3)
    client.channel.basic_consume(queue, lambda _c, method, _p, body: got.append((method, body)))
    client.listen(got, 3)
    assert [body for _, body in got] == [b"0", b"1", b"2"], got
    client.channel.basic_ack(got[1][0].delivery_tag, multiple=True)
    client.listen(got, 5)
    assert [body for _, body in got] == [b"0", b"1", b"2", b"3", b"4"], got
    client.channel.basic_nack(got[2][0].delivery_tag, requeue=True)
    client.listen(got, 6)
    assert got[5][1] == b"2" and got[5][0].redelivered
    assert not got[4][0].redelivered


@check
def requeue_goes_back_to_its_place(client, _url):
    queue = client.queue("order")
    for number in range(5):
        client.publish(queue, str(number).encode())
    client.wait_ready(queue, 5)
    tags = [client.get(queue)[0].delivery_tag for _ in range(3)]
    client.channel.basic_nack(tags[1], requeue=True)
    client.channel.basic_nack(tags[0], requeue=True)
    client.wait_ready(queue, 4)
    seen = [client.get(queue, auto_ack=True) for _ in range(4)]
    assert [(body, method.redelivered) for method, _, body in seen] == [
        (b"0", True), (b"1", True), (b"3", False), (b"4", False),
    ]


@check
def closing_a_channel_gives_back_what_it_had(client, _url):
    queue = client.queue("given-back")
    client.publish(queue, b"a")
    client.publish(queue, b"b")
    client.wait_ready(queue, 2)
    client.get(queue)
    client.get(queue)
    client.channel.close()
    client.open_channel()
    seen = [client.get(queue, auto_ack=True) for _ in range(2)]
    assert [(body, method.redelivered) for method, _, body in seen] == [(b"a", True), (b"b", True)]


@check
def unknown_delivery_tag_is_406(client, _url):
    queue = client.queue("tags")
    client.publish(queue, b"x")
    tag = client.get(queue)[0].delivery_tag
    client.channel.basic_ack(tag)

    def twice(action):
        def run():
            action()
            client.channel.queue_declare(queue, passive=True)
        return run

    text = "PRECONDITION_FAILED - unknown delivery tag "
    client.refused(twice(lambda: client.channel.basic_ack(tag)), 406, text + str(tag))
    client.refused(twice(lambda: client.channel.basic_reject(7)), 406, text + "7")
    client.refused(twice(lambda: client.channel.basic_ack(7, multiple=True)), 406, text + "7")
    client.channel.basic_ack(0, multiple=True)
    client.channel.queue_declare(queue, passive=True)


@check
def deleting_a_queue_cancels_its_consumers(client, _url):
    queue = client.queue("cancelled")
    cancelled = []
    client.channel.add_on_cancel_callback(lambda frame: cancelled.append(frame.method.consumer_tag))
    tag = client.channel.basic_consume(queue, lambda *_: None)
    other = client.connection.channel()
    other.queue_delete(queue)
    client.listen(cancelled, 1)
    assert cancelled == [tag], cancelled


@check
def exclusive_consumer_keeps_others_out(client, _url):
    queue = client.queue("sole")
    client.channel.basic_consume(queue, lambda *_: None, exclusive=True)
    client.refused(
        lambda: client.channel.basic_consume(queue, lambda *_: None),
        403,
        f"ACCESS_REFUSED - queue '{queue}' in vhost '/' in exclusive use",
    )


@check
def consumers_are_served_in_turn(client, _url):
    queue = client.queue("turns")
    got = []
    client.channel.basic_qos(prefetch_count=10)
    for tag in ("a", "b", "c"):
        client.channel.basic_consume(queue, lambda _c, method, _p, _b: got.append(method.consumer_tag), consumer_tag=tag)
    for _ in range(6):
        client.publish(queue, b"x")
    client.listen(got, 6)
    assert got == ["a", "b", "c", "a", "b", "c"], got


@check
def single_active_consumer_gets_all_until_it_goes(client, _url):
    queue = client.queue("single", arguments={"x-single-active-consumer": True})
    got = []
    for tag in ("a", "b"):
        client.channel.basic_consume(
            queue, lambda _c, method, _p, _b: got.append(method.consumer_tag), consumer_tag=tag, auto_ack=True
        )
    for _ in range(4):
        client.publish(queue, b"x")
    client.listen(got, 4)
    client.channel.basic_cancel("a")
    client.publish(queue, b"x")
    client.listen(got, 5)
    assert got == ["a", "a", "a", "a", "b"], got


@check
def priorities_of_messages_and_of_consumers(client, _url):
    queue = client.queue("priority", arguments={"x-max-priority": 5})
    for priority in (1, 5, 3, 9, 0):
        client.publish(queue, str(priority).encode(), priority=priority)
    client.wait_ready(queue, 5)
    assert [client.get(queue, auto_ack=True)[2] for _ in range(5)] == [b"5", b"9", b"3", b"1", b"0"]
    got = []
    client.channel.basic_qos(prefetch_count=2)
    for tag, priority in (("low", 1), ("high", 7)):
        client.channel.basic_consume(
            queue,
            lambda _c, method, _p, _b: got.append(method.consumer_tag),
            consumer_tag=tag,
            arguments={"x-priority": priority},
        )
    for _ in range(3):
        client.publish(queue, b"x")
    client.listen(got, 3)
    assert got == ["high", "high", "low"], got


@check
def recover_puts_all_back(client, _url):
    queue = client.queue("recovered")
    client.publish(queue, b"x")
    client.get(queue)
    client.channel.basic_recover(requeue=True)
    method, _, _ = client.get(queue, auto_ack=True)
    assert method.redelivered


@check
def quorum_tells_the_delivery_count(client, _url):
    queue = client.queue("quorum", arguments={"x-queue-type": "quorum"})
    client.publish(queue, b"x")
    counts = []
    for _ in range(3):
        method, properties, _ = client.get(queue)
        counts.append((method.redelivered, properties.headers["x-delivery-count"]))
        client.channel.basic_nack(method.delivery_tag, requeue=True)
    assert counts == [(False, 0), (True, 1), (True, 2)], counts
    client.wait_ready(queue, 1)
    got = []
    client.publish(queue, b"new")
    client.wait_ready(queue, 2)
    client.channel.basic_consume(queue, lambda _c, m, p, body: got.append((body, m.redelivered, p.headers)), auto_ack=True)
    client.listen(got, 2)
    assert got == [(b"x", True, {"x-delivery-count": 3}), (b"new", False, None)], got


@check
def quorum_without_a_limit_requeues_to_the_end(client, _url):
    queue = client.queue("to-the-end", arguments={"x-queue-type": "quorum"})
    for body in (b"a", b"b", b"c"):
        client.publish(queue, body)
    client.wait_ready(queue, 3)
    client.channel.basic_nack(client.get(queue)[0].delivery_tag, requeue=True)
    client.wait_ready(queue, 3)
    assert [client.get(queue, auto_ack=True)[2] for _ in range(3)] == [b"b", b"c", b"a"]


@check
def delivery_limit_dead_letters(client, _url):
    dead = client.queue("limit.dlq")
    queue = client.queue(
        "limit",
        arguments={
            "x-queue-type": "quorum",
            "x-delivery-limit": 2,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": dead,
        },
    )
    client.publish(queue, b"first", delivery_mode=2)
    client.publish(queue, b"second", delivery_mode=2)
    client.wait_ready(queue, 2)
    for expected in range(3):
        method, properties, body = client.get(queue)
        assert (body, properties.headers["x-delivery-count"]) == (b"first", expected)
        client.channel.basic_reject(method.delivery_tag, requeue=True)
    method, properties, body = client.get(dead, auto_ack=True)
    assert body == b"first"
    death = properties.headers["x-death"][0]
    assert (death["reason"], death["queue"], death["count"]) == ("delivery_limit", queue, 1)
    assert "x-delivery-count" not in properties.headers
