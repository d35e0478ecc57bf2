#!/usr/bin/python3
"""A client that knows nothing of us: pika declares, publishes, consumes, settles and makes mistakes.

usage: foreign_client_pika.py URL

The same assertions hold on RabbitMQ 3.10 and on the memory broker, wording of errors included; that is how
the memory broker is known to be no kinder. Prints one TAP line a check. Every queue is deleted at the end.
"""

import sys
import time
import uuid

import pika
import pika.exceptions

RUN = "pika-" + uuid.uuid4().hex[:8]
checks = []


def check(function):
    checks.append(function)
    return function


def name(text):
    return RUN + "." + text


class Client:
    """One connection; a channel that the broker closed is replaced."""

    def __init__(self, url):
        parameters = pika.URLParameters(url)
        parameters.socket_timeout = 10
        parameters.blocked_connection_timeout = 20
        self.connection = pika.BlockingConnection(parameters)
        self.queues = []
        self.exchanges = []
        self.channel = self.connection.channel()

    def open_channel(self, confirms=False):
        self.channel = self.connection.channel()
        if confirms:
            self.channel.confirm_delivery()
        return self.channel

    def queue(self, text, **options):
        options.setdefault("durable", True)
        self.channel.queue_declare(name(text), **options)
        self.queues.append(name(text))
        return name(text)

    def exchange(self, text, **options):
        self.channel.exchange_declare(name(text), **options)
        self.exchanges.append(name(text))
        return name(text)

    def refused(self, action, code, text):
        """The action closes the channel with this code and text."""
        try:
            action()
        except pika.exceptions.ChannelClosedByBroker as error:
            assert error.reply_code == code, f"{error.reply_code} {error.reply_text}"
            assert error.reply_text == text, error.reply_text
        else:
            raise AssertionError(f"not refused with {code} {text}")
        self.open_channel()

    def cut_off(self, url, action, code, text):
        """The action closes a connection of its own with this code and text."""
        connection = pika.BlockingConnection(pika.URLParameters(url))
        try:
            action(connection.channel())
            connection.process_data_events(time_limit=2)
        except pika.exceptions.ConnectionClosedByBroker as error:
            assert error.reply_code == code, f"{error.reply_code} {error.reply_text}"
            assert error.reply_text == text, error.reply_text
            return
        raise AssertionError(f"not refused with {code} {text}")

    def publish(self, key, body, exchange="", mandatory=False, **properties):
        self.channel.basic_publish(
            exchange, key, body, pika.BasicProperties(**properties), mandatory=mandatory
        )

    def get(self, queue, auto_ack=False, wait=5.0):
        """The next message, waited for: a real broker takes a moment."""
        end = time.monotonic() + wait
        while True:
            method, properties, body = self.channel.basic_get(queue, auto_ack=auto_ack)
            if method is not None or time.monotonic() > end:
                return method, properties, body
            time.sleep(0.02)

    def listen(self, seconds):
        """Lets callbacks run for that long; pika returns after the first ones."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.connection.process_data_events(time_limit=max(0.0, end - time.monotonic()))

    def ready(self, queue):
        return self.channel.queue_declare(queue, passive=True).method.message_count

    def wait_ready(self, queue, count, wait=5.0):
        end = time.monotonic() + wait
        while self.ready(queue) != count and time.monotonic() < end:
            time.sleep(0.02)
        assert self.ready(queue) == count, f"{queue} holds {self.ready(queue)}, not {count}"

    def clean(self):
        self.open_channel()
        for queue in self.queues:
            self.channel.queue_delete(queue)
        for exchange in self.exchanges:
            self.channel.exchange_delete(exchange)
        self.connection.close()


# --- declarations -----------------------------------------------------------------------------------


@check
def declare_tells_the_counts(client, _url):
    queue = client.queue("counts")
    client.publish(queue, b"one")
    client.publish(queue, b"two")
    client.wait_ready(queue, 2)
    again = client.channel.queue_declare(queue, durable=True)
    assert again.method.queue == queue
    assert again.method.consumer_count == 0


@check
def server_names_a_queue(client, _url):
    made = client.channel.queue_declare("", exclusive=True).method.queue
    assert made.startswith("amq.gen-") and len(made) == 30, made
    # An empty name now means that queue.
    client.channel.queue_bind("", "amq.fanout")
    client.publish("", b"x", exchange="amq.fanout")
    assert client.get(made, auto_ack=True)[2] == b"x"


@check
def missing_queue_is_404(client, _url):
    missing = name("missing")
    text = f"NOT_FOUND - no queue '{missing}' in vhost '/'"
    client.refused(lambda: client.channel.queue_declare(missing, passive=True), 404, text)
    client.refused(lambda: client.channel.basic_get(missing), 404, text)
    client.refused(lambda: client.channel.queue_purge(missing), 404, text)
    client.refused(lambda: client.channel.queue_bind(missing, "amq.direct", "k"), 404, text)
    assert client.channel.queue_delete(missing).method.message_count == 0


@check
def missing_exchange_is_404(client, _url):
    queue = client.queue("bound")
    missing = name("no-exchange")
    text = f"NOT_FOUND - no exchange '{missing}' in vhost '/'"
    client.refused(lambda: client.channel.exchange_declare(missing, passive=True), 404, text)
    client.refused(lambda: client.channel.queue_bind(queue, missing, "k"), 404, text)
    client.open_channel(confirms=True)
    client.refused(lambda: client.publish("k", b"x", exchange=missing), 404, text)
    client.channel.exchange_delete(missing)


@check
def differing_queue_is_406(client, _url):
    queue = client.queue("differs", arguments={"x-message-ttl": 60000})
    where = f"for queue '{queue}' in vhost '/'"

    def declare(**options):
        options.setdefault("durable", True)
        return lambda: client.channel.queue_declare(queue, **options)

    client.refused(
        declare(arguments={"x-message-ttl": 5}),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' {where}: received '5' but current is '60000'",
    )
    client.refused(
        declare(),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' {where}: received none but current is "
        "the value '60000' of type 'signedint'",
    )
    client.refused(
        declare(arguments={"x-message-ttl": 60000, "x-max-length": 3}),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'x-max-length' {where}: received the value '3' of type "
        "'signedint' but current is none",
    )
    client.refused(
        declare(durable=False, arguments={"x-message-ttl": 60000}),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'durable' {where}: received 'false' but current is 'true'",
    )
    client.refused(
        declare(auto_delete=True, arguments={"x-message-ttl": 60000}),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'auto_delete' {where}: received 'true' but current is 'false'",
    )
    client.refused(
        declare(arguments={"x-message-ttl": 60000, "x-queue-type": "quorum"}),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'x-queue-type' {where}: received the value 'quorum' of "
        "type 'longstr' but current is none",
    )
    # The same in another width, and what says nothing new, is the same.
    client.channel.queue_declare(queue, durable=True, arguments={"x-message-ttl": 60000, "x-queue-type": "classic"})
    client.channel.queue_declare(queue, durable=True, arguments={"x-message-ttl": 60000, "x-unknown": 1})


@check
def bad_arguments_are_406(client, _url):
    queue = name("bad")
    where = f"for queue '{queue}' in vhost '/'"
    cases = [
        ({"x-message-ttl": "5"}, f"invalid arg 'x-message-ttl' {where}: \"expected integer, got longstr\""),
        ({"x-message-ttl": -1}, f"invalid arg 'x-message-ttl' {where}: {{value_negative,-1}}"),
        (
            {"x-message-ttl": 315360000001},
            f"invalid arg 'x-message-ttl' {where}: {{value_too_large,315360000001}}",
        ),
        ({"x-expires": 0}, f"invalid arg 'x-expires' {where}: {{value_zero,0}}"),
        ({"x-max-length": -5}, f"invalid arg 'x-max-length' {where}: {{value_negative,-5}}"),
        ({"x-overflow": "no"}, f"invalid arg 'x-overflow' {where}: invalid_overflow"),
        ({"x-overflow": 1}, f"invalid arg 'x-overflow' {where}: {{unacceptable_type,signedint}}"),
        ({"x-max-priority": 256}, f"invalid arg 'x-max-priority' {where}: {{max_value_exceeded,256}}"),
        ({"x-queue-type": "none"}, f"invalid arg 'x-queue-type' {where}: \"unsupported queue type 'none'\""),
        ({"x-single-active-consumer": 1}, f"invalid arg 'x-single-active-consumer' {where}: {{unacceptable_type,signedint}}"),
        (
            {"x-dead-letter-routing-key": "k"},
            f"invalid arg 'x-dead-letter-routing-key' {where}: routing_key_but_no_dlx_defined",
        ),
        (
            {"x-dead-letter-exchange": 5},
            f"invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue '{queue}' in vhost '/'",
        ),
        ({"x-delivery-limit": 3}, f"invalid arg 'x-delivery-limit' {where} of queue type rabbit_classic_queue"),
        (
            {"x-queue-type": "quorum", "x-max-priority": 3},
            f"invalid arg 'x-max-priority' {where} of queue type rabbit_quorum_queue",
        ),
    ]
    for arguments, text in cases:
        client.refused(
            lambda a=arguments: client.channel.queue_declare(queue, durable=True, arguments=a),
            406,
            "PRECONDITION_FAILED - " + text,
        )
    for option, text in [
        ({"durable": False}, "non-durable"),
        ({"durable": True, "auto_delete": True}, "auto-delete"),
        ({"durable": True, "exclusive": True}, "exclusive-owner"),
    ]:
        client.refused(
            lambda o=option: client.channel.queue_declare(queue, arguments={"x-queue-type": "quorum"}, **o),
            406,
            f"PRECONDITION_FAILED - invalid property '{text}' {where}",
        )


@check
def exclusive_queue_is_405_for_others(client, url):
    own = client.channel.queue_declare(name("exclusive"), exclusive=True).method.queue
    other = Client(url)
    text = (
        f"RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '{own}' in vhost '/'. It could be "
        "originally declared on another connection or the exclusive property value does not match that of the "
        "original declaration."
    )[:252]
    for action in (
        lambda: other.channel.queue_declare(own, passive=True),
        lambda: other.channel.queue_declare(own, exclusive=True),
        lambda: other.channel.basic_get(own),
        lambda: other.channel.queue_delete(own),
        lambda: other.channel.queue_bind(own, "amq.direct", "k"),
    ):
        try:
            action()
        except pika.exceptions.ChannelClosedByBroker as error:
            assert error.reply_code == 405, error.reply_code
            assert error.reply_text.startswith(text), error.reply_text
        else:
            raise AssertionError("not refused")
        other.open_channel()
    other.connection.close()


@check
def exclusive_queue_goes_with_its_connection(client, url):
    other = Client(url)
    other.channel.queue_declare(name("goes"), exclusive=True)
    other.connection.close()
    client.refused(
        lambda: client.channel.queue_declare(name("goes"), passive=True),
        404,
        f"NOT_FOUND - no queue '{name('goes')}' in vhost '/'",
    )


@check
def reserved_names_are_403(client, _url):
    client.refused(
        lambda: client.channel.queue_declare("amq.mine"),
        403,
        "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'",
    )
    client.refused(
        lambda: client.channel.exchange_declare("amq.mine", "direct"),
        403,
        "ACCESS_REFUSED - exchange name 'amq.mine' contains reserved prefix 'amq.*'",
    )
    client.refused(
        lambda: client.channel.exchange_delete("amq.direct"),
        403,
        "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed",
    )
    client.refused(
        lambda: client.channel.queue_bind(client.queue("plain"), "", "k"),
        403,
        "ACCESS_REFUSED - operation not permitted on the default exchange",
    )


@check
def differing_exchange_is_406(client, _url):
    exchange = client.exchange("x", exchange_type="direct", durable=True)
    where = f"for exchange '{exchange}' in vhost '/'"

    def declare(**options):
        return lambda: client.channel.exchange_declare(exchange, **options)

    client.refused(
        declare(exchange_type="topic", durable=True),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'type' {where}: received 'topic' but current is 'direct'",
    )
    client.refused(
        declare(exchange_type="direct"),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'durable' {where}: received 'false' but current is 'true'",
    )
    client.refused(
        declare(exchange_type="direct", durable=True, internal=True),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'internal' {where}: received 'true' but current is 'false'",
    )
    client.refused(
        declare(exchange_type="direct", durable=True, arguments={"alternate-exchange": "a"}),
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' {where}: received the value 'a' of type "
        "'longstr' but current is none",
    )


@check
def exchange_in_use_is_not_deleted_if_unused(client, _url):
    exchange = client.exchange("used", exchange_type="fanout")
    queue = client.queue("user")
    client.channel.queue_bind(queue, exchange)
    client.refused(
        lambda: client.channel.exchange_delete(exchange, if_unused=True),
        406,
        f"PRECONDITION_FAILED - exchange '{exchange}' in vhost '/' in use",
    )
    client.channel.queue_unbind(queue, exchange)
    client.channel.queue_unbind(queue, exchange)
    client.channel.exchange_delete(exchange, if_unused=True)


@check
def queue_with_messages_is_not_deleted_if_empty(client, _url):
    queue = client.queue("full")
    client.publish(queue, b"x")
    client.wait_ready(queue, 1)
    client.refused(
        lambda: client.channel.queue_delete(queue, if_empty=True),
        406,
        f"PRECONDITION_FAILED - queue '{queue}' in vhost '/' not empty",
    )
    client.channel.basic_consume(queue, lambda *_: None)
    client.refused(
        lambda: client.channel.queue_delete(queue, if_unused=True),
        406,
        f"PRECONDITION_FAILED - queue '{queue}' in vhost '/' in use",
    )
    client.wait_ready(queue, 1)
    assert client.channel.queue_purge(queue).method.message_count == 1


@check
def auto_delete_exchange_goes_with_its_last_binding(client, _url):
    exchange = client.exchange("auto", exchange_type="direct", auto_delete=True)
    queue = client.queue("auto-user")
    client.channel.queue_bind(queue, exchange, "a")
    client.channel.queue_bind(queue, exchange, "b")
    client.channel.queue_unbind(queue, exchange, "a")
    client.channel.exchange_declare(exchange, passive=True)
    client.channel.queue_delete(queue)
    client.refused(
        lambda: client.channel.exchange_declare(exchange, passive=True),
        404,
        f"NOT_FOUND - no exchange '{exchange}' in vhost '/'",
    )


@check
def auto_delete_queue_goes_with_its_last_consumer(client, _url):
    queue = client.queue("auto-queue", auto_delete=True, durable=False)
    first = client.channel.basic_consume(queue, lambda *_: None)
    second = client.channel.basic_consume(queue, lambda *_: None)
    client.channel.basic_cancel(first)
    client.channel.queue_declare(queue, passive=True)
    client.channel.basic_cancel(second)
    client.refused(
        lambda: client.channel.queue_declare(queue, passive=True),
        404,
        f"NOT_FOUND - no queue '{queue}' in vhost '/'",
    )


# --- routing ----------------------------------------------------------------------------------------


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


# --- publishing -------------------------------------------------------------------------------------


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


# --- consuming --------------------------------------------------------------------------------------


@check
def prefetch_is_kept_and_acks_bring_more(client, _url):
    queue = client.queue("prefetch")
    for number in range(10):
        client.publish(queue, str(number).encode())
    client.wait_ready(queue, 10)
    got = []
    client.channel.basic_qos(prefetch_count=3)
    client.channel.basic_consume(queue, lambda _c, method, _p, body: got.append((method, body)))
    client.listen(0.3)
    assert [body for _, body in got] == [b"0", b"1", b"2"], got
    client.channel.basic_ack(got[1][0].delivery_tag, multiple=True)
    client.listen(0.3)
    assert [body for _, body in got] == [b"0", b"1", b"2", b"3", b"4"], got
    client.channel.basic_nack(got[2][0].delivery_tag, requeue=True)
    client.listen(0.3)
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
    client.listen(0.5)
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
    client.listen(0.5)
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
    client.listen(0.5)
    client.channel.basic_cancel("a")
    client.publish(queue, b"x")
    client.listen(0.5)
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
    client.listen(0.5)
    assert got == ["high", "high", "low"], got


@check
def recover_puts_all_back(client, _url):
    queue = client.queue("recovered")
    client.publish(queue, b"x")
    client.get(queue)
    client.channel.basic_recover(requeue=True)
    method, _, _ = client.get(queue, auto_ack=True)
    assert method.redelivered


# --- quorum queues ----------------------------------------------------------------------------------


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
    client.listen(0.5)
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


# --- dead letters -----------------------------------------------------------------------------------


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


@check
def ttl_expires_at_the_head(client, _url):
    dead = client.queue("ttl.dlq")
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    queue = client.queue("ttl", arguments=dict(arguments, **{"x-message-ttl": 300}))
    own = client.queue("expiration", arguments=arguments)
    client.publish(queue, b"queue")
    client.publish(own, b"long", expiration="800")
    client.publish(own, b"short", expiration="1")
    started = time.monotonic()
    method, properties, body = client.get(dead, auto_ack=True)
    assert body == b"queue" and 0.2 < time.monotonic() - started < 0.75, time.monotonic() - started
    assert properties.headers["x-death"][0]["reason"] == "expired"
    assert "original-expiration" not in properties.headers["x-death"][0]
    for expected in (b"long", b"short"):
        method, properties, body = client.get(dead, auto_ack=True)
        assert body == expected
        assert time.monotonic() - started > 0.7
        assert properties.expiration is None
        assert properties.headers["x-death"][0]["original-expiration"] in ("800", "1")


@check
def ttl_of_zero_is_for_waiting_consumers(client, _url):
    queue = client.queue("zero", arguments={"x-message-ttl": 0})
    client.publish(queue, b"lost")
    client.wait_ready(queue, 0)
    got = []
    client.channel.basic_consume(queue, lambda _c, _m, _p, body: got.append(body), auto_ack=True)
    client.publish(queue, b"taken")
    client.listen(0.5)
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
    second = client.queue("cycle.2", arguments={"x-message-ttl": 200, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": first})
    client.publish(first, b"round")
    client.wait_ready(second, 1)
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
    source = client.queue("replay", arguments={"x-message-ttl": 300, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead})
    rung = client.queue("replay.rung", arguments={"x-message-ttl": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": source})
    client.publish(source, b"x")
    _, properties, _ = client.get(dead, auto_ack=True)
    client.channel.basic_publish("", rung, b"with", pika.BasicProperties(headers=properties.headers))
    client.publish(rung, b"without")
    assert client.get(source, auto_ack=True)[2] == b"without"
    assert client.get(source, auto_ack=True, wait=0.2)[0] is None


@check
def expired_queue_is_deleted(client, _url):
    queue = client.queue("unused", arguments={"x-expires": 300})
    client.channel.queue_declare(queue, passive=True)
    time.sleep(1.2)
    client.refused(
        lambda: client.channel.queue_declare(queue, passive=True),
        404,
        f"NOT_FOUND - no queue '{queue}' in vhost '/'",
    )


# --- errors that end the connection -----------------------------------------------------------------


@check
def hard_errors_close_the_connection(client, url):
    queue = client.queue("hard")

    def reuse_tag(channel):
        # pika looks at the tag itself; the method goes round it.
        channel.basic_consume(queue, lambda *_: None, consumer_tag="t")
        channel._impl._send_method(pika.spec.Basic.Consume(queue=queue, consumer_tag="t", arguments={}))

    def publish_immediate(channel):
        channel._impl._send_method(
            pika.spec.Basic.Publish(exchange="", routing_key=queue, immediate=True), (pika.BasicProperties(), b"x")
        )

    client.cut_off(url, reuse_tag, 530, "NOT_ALLOWED - attempt to reuse consumer tag 't'")
    client.cut_off(url, publish_immediate, 540, "NOT_IMPLEMENTED - immediate=true")
    client.cut_off(url, lambda c: c.basic_qos(prefetch_size=5), 540, "NOT_IMPLEMENTED - prefetch_size!=0 (5)")
    client.cut_off(
        url,
        lambda c: c.exchange_declare(name("odd"), "odd"),
        503,
        "COMMAND_INVALID - unknown exchange type 'odd'",
    )
    client.cut_off(
        url,
        lambda c: c.basic_publish("", queue, b"x", pika.BasicProperties(headers={"nan": RawField(b"d\x7f\xf8\0\0\0\0\0\0")})),
        541,
        "INTERNAL_ERROR",
    )
    client.cut_off(
        url,
        lambda c: c.basic_publish("", queue, b"x", pika.BasicProperties(headers={"odd": RawField(b"U\0\x05")})),
        541,
        "INTERNAL_ERROR",
    )


class RawField:
    """A header value that is written as these bytes."""

    def __init__(self, raw):
        self.raw = raw


def encode_raw_fields():
    original = pika.data.encode_value

    def encode(pieces, value):
        if isinstance(value, RawField):
            pieces.append(value.raw)
            return len(value.raw)
        return original(pieces, value)

    pika.data.encode_value = encode


@check
def login_is_checked(_client, url):
    parameters = pika.URLParameters(url)
    parameters.credentials = pika.PlainCredentials("guest", "wrong")
    try:
        pika.BlockingConnection(parameters)
    except pika.exceptions.ProbableAuthenticationError as error:
        assert "403" in str(error) and "Login was refused using authentication mechanism PLAIN" in str(error), error
    else:
        raise AssertionError("logged in")
    parameters = pika.URLParameters(url)
    parameters.virtual_host = "nowhere"
    try:
        pika.BlockingConnection(parameters)
    except pika.exceptions.ProbableAccessDeniedError as error:
        assert "530" in str(error) and "NOT_ALLOWED - vhost nowhere not found" in str(error), error
    except pika.exceptions.ConnectionClosedByBroker as error:
        assert (error.reply_code, error.reply_text) == (530, "NOT_ALLOWED - vhost nowhere not found")
    else:
        raise AssertionError("opened")


def main():
    url = sys.argv[1]
    wanted = sys.argv[2:]
    encode_raw_fields()
    failed = 0
    run = [function for function in checks if not wanted or function.__name__ in wanted]
    print(f"1..{len(run)}")
    for number, function in enumerate(run, 1):
        client = Client(url)
        try:
            function(client, url)
            print(f"ok {number} - {function.__name__}")
        except Exception as error:  # whatever it was, the other checks still say something
            failed += 1
            print(f"not ok {number} - {function.__name__}")
            print(f"# {type(error).__name__}: {error}".replace("\n", " "))
            line = error.__traceback__
            while line:
                print(f"#   line {line.tb_lineno} of {line.tb_frame.f_code.co_name}")
                line = line.tb_next
        finally:
            try:
                client.clean()
            except pika.exceptions.AMQPError as error:
                print(f"# cleaning up: {error!r}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
