"""One connection to the broker under test, and the list of what is checked on it."""

import time
import uuid

import pika
import pika.exceptions

RUN = "pika-" + uuid.uuid4().hex[:8]
PATIENCE = 30.0  # seconds that something may take on a machine that is busy
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
            connection.process_data_events(time_limit=PATIENCE)
        except pika.exceptions.ConnectionClosedByBroker as error:
            assert error.reply_code == code, f"{error.reply_code} {error.reply_text}"
            assert error.reply_text == text, error.reply_text
            return
        raise AssertionError(f"not refused with {code} {text}")

    def publish(self, key, body, exchange="", mandatory=False, **properties):
        self.channel.basic_publish(
            exchange, key, body, pika.BasicProperties(**properties), mandatory=mandatory
        )

    def get(self, queue, auto_ack=False, wait=PATIENCE):
        """The next message, waited for: a real broker takes a moment."""
        end = time.monotonic() + wait
        while True:
            method, properties, body = self.channel.basic_get(queue, auto_ack=auto_ack)
            if method is not None or time.monotonic() > end:
                return method, properties, body
            time.sleep(0.02)

    def listen(self, got, count):
        """Lets callbacks run until got has as many, and a moment more in which another one would come."""
        end = time.monotonic() + PATIENCE
        while len(got) < count and time.monotonic() < end:
            self.connection.process_data_events(time_limit=0.1)
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            self.connection.process_data_events(time_limit=max(0.0, end - time.monotonic()))

    def ready(self, queue):
        return self.channel.queue_declare(queue, passive=True).method.message_count

    def wait_ready(self, queue, count):
        end = time.monotonic() + PATIENCE
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
