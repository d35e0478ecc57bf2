"""Declaring and deleting, and what is refused there."""

import pika
import pika.exceptions

from foreign_client.client import Client, check, name

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
