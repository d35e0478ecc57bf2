"""Errors that end the connection."""

import pika
import pika.exceptions

from foreign_client.client import check, name

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
