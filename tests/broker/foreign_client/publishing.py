"""Where messages go, and what their publisher hears."""

import pika
import pika.exceptions

from foreign_client.client import check, name

@check
def exchanges_route_by_their_kind(client, _url):
    client.open_channel(confirms=True)
    queue = client.queue("routed")
    topic = client.exchange("topic", exchange_type="topic")
    headers = client.exchange("headers", exchange_type="headers")
    direct = client.exchange("direct", exchange_type="direct")
    fanout = client.exchange("fanout", exchange_type="fanout")
    for pattern in ("a.*", "#.z", "b.#"):
        client.channel.queue_bind(queue, topic, pattern)
    client.channel.queue_bind(queue, headers, "", {"x-match": "all", "one": 1, "two": "2"})
    client.channel.queue_bind(queue, headers, "", {"x-match": "any", "three": 3, "four": 4})
    client.channel.queue_bind(queue, direct, "exact")
    client.channel.queue_bind(queue, fanout)

    def routed(exchange, key, **properties):
        try:
            client.publish(key, b"x", exchange=exchange, mandatory=True, **properties)
        except pika.exceptions.UnroutableError:
            return False
        assert client.get(queue, auto_ack=True)[0] is not None
        assert client.channel.basic_get(queue)[0] is None, "came twice"
        return True

    assert [routed(topic, key) for key in ("a.b", "a", "a.b.c", "z", "y.z", "b", "b.c.d", "", "a.")] == [
        True, False, False, True, True, True, True, False, True,
    ]
    assert routed(headers, "", headers={"one": 1, "two": "2", "more": 0})
    assert not routed(headers, "", headers={"one": 1})
    assert routed(headers, "", headers={"four": 4})
    assert not routed(headers, "", headers={"four": 5})
    assert not routed(headers, "")
    assert routed(direct, "exact") and not routed(direct, "exac")
    assert routed(fanout, "anything")


@check
def alternate_exchange_takes_what_is_left(client, _url):
    client.open_channel(confirms=True)
    queue = client.queue("left-over")
    alternate = client.exchange("alternate", exchange_type="fanout")
    exchange = client.exchange("first", exchange_type="direct", arguments={"alternate-exchange": alternate})
    client.channel.queue_bind(queue, alternate)
    client.publish("nobody", b"x", exchange=exchange, mandatory=True)
    method, _, _ = client.get(queue, auto_ack=True)
    assert (method.exchange, method.routing_key) == (exchange, "nobody")


@check
def exchanges_bind_to_exchanges(client, _url):
    client.open_channel(confirms=True)
    queue = client.queue("behind")
    first = client.exchange("e1", exchange_type="direct")
    second = client.exchange("e2", exchange_type="topic")
    client.channel.exchange_bind(second, first, "k.k")
    client.channel.exchange_bind(first, second, "#")
    client.channel.queue_bind(queue, second, "k.*")
    client.publish("k.k", b"x", exchange=first, mandatory=True)
    assert client.get(queue, auto_ack=True)[0] is not None
    assert client.channel.basic_get(queue)[0] is None
    client.channel.exchange_unbind(second, first, "k.k")
    try:
        client.publish("k.k", b"x", exchange=first, mandatory=True)
    except pika.exceptions.UnroutableError:
        return
    raise AssertionError("routed")


@check
def cc_and_bcc_route_too_and_bcc_is_not_seen(client, _url):
    client.open_channel(confirms=True)
    to, copy, blind = client.queue("to"), client.queue("cc"), client.queue("bcc")
    client.publish(to, b"x", headers={"CC": [copy, to], "BCC": [blind], "kept": 1})
    for queue in (to, copy, blind):
        method, properties, _ = client.get(queue, auto_ack=True)
        assert method.routing_key == to
        assert properties.headers == {"CC": [copy, to], "kept": 1}, properties.headers
        assert client.channel.basic_get(queue)[0] is None
    client.refused(
        lambda: client.publish(to, b"x", headers={"CC": copy}),
        406,
        'PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,"CC",longstr}',
    )


@check
def internal_exchange_takes_no_publish(client, _url):
    client.open_channel(confirms=True)
    exchange = client.exchange("internal", exchange_type="fanout", internal=True)
    client.refused(
        lambda: client.publish("", b"x", exchange=exchange),
        403,
        f"ACCESS_REFUSED - cannot publish to internal exchange '{exchange}' in vhost '/'",
    )


@check
def properties_and_body_arrive_as_they_were(client, _url):
    client.open_channel(confirms=True)
    queue = client.queue("whole")
    sent = pika.BasicProperties(
        content_type="application/json",
        content_encoding="gzip",
        headers={"text": "x", "number": -5, "big": 2**40, "flag": True, "none": None, "list": [1, "two"], "table": {"in": 1}},
        delivery_mode=2,
        priority=3,
        correlation_id="c",
        reply_to="r",
        expiration="60000",
        message_id="m",
        timestamp=1234567890,
        type="t",
        user_id="guest",
        app_id="a",
    )
    for size in (0, 1, 131064, 131065, 300000):
        body = bytes(i % 251 for i in range(size))
        client.channel.basic_publish("", queue, body, sent, mandatory=True)
        method, properties, received = client.get(queue, auto_ack=True)
        assert received == body, size
        assert properties == sent, properties
        assert not method.redelivered


@check
def returns_come_before_confirms(client, _url):
    client.open_channel(confirms=True)
    queue = client.queue("confirmed")
    for number in range(30):
        routable = number % 7 != 0
        try:
            client.publish(queue if routable else name("nowhere"), b"x", mandatory=True)
            assert routable, number
        except pika.exceptions.UnroutableError as error:
            assert not routable, number
            returned = error.messages[0].method
            assert (returned.reply_code, returned.reply_text) == (312, "NO_ROUTE")
            assert (returned.exchange, returned.routing_key) == ("", name("nowhere"))
    client.wait_ready(queue, 25)


@check
def overflow_rejects_or_drops(client, _url):
    client.open_channel(confirms=True)
    rejecting = client.queue("rejecting", arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    dropping = client.queue("dropping", arguments={"x-max-length": 2})
    outcomes = []
    for body in (b"1", b"2", b"3"):
        client.publish(dropping, body)
        try:
            client.publish(rejecting, body)
            outcomes.append(True)
        except pika.exceptions.NackError:
            outcomes.append(False)
    assert outcomes == [True, True, False]
    assert [client.get(rejecting, auto_ack=True)[2] for _ in range(2)] == [b"1", b"2"]
    assert [client.get(dropping, auto_ack=True)[2] for _ in range(2)] == [b"2", b"3"]


@check
def bad_properties_are_406(client, _url):
    queue = client.queue("strict")
    cases = [
        ({"user_id": "other"}, "user_id property set to 'other' but authenticated user was 'guest'"),
        ({"expiration": "soon"}, "invalid expiration 'soon': no_integer"),
        ({"expiration": "5s"}, "invalid expiration '5s': {leftover_string,\"s\"}"),
        ({"expiration": "-1"}, "invalid expiration '-1': {value_negative,-1}"),
        ({"expiration": "315360000001"}, "invalid expiration '315360000001': {value_too_large,315360000001}"),
        ({"delivery_mode": 3}, "invalid message: {delivery_mode_unknown,3}"),
    ]
    for properties, text in cases:
        client.open_channel(confirms=True)
        client.refused(lambda p=properties: client.publish(queue, b"x", **p), 406, "PRECONDITION_FAILED - " + text)
