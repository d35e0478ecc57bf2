"""One connection with one channel, blocking. A refusal by the broker is a Refused, and the channel comes back."""

import base64
import socket
import struct
import urllib.parse

from . import properties, values

FRAME_METHOD, FRAME_HEADER, FRAME_BODY, FRAME_HEARTBEAT = 1, 2, 3, 8
START_OK, TUNE_OK, OPEN = (10, 11), (10, 31), (10, 40)


class Refused(Exception):
    """The broker closed the channel: its code and its text."""

    def __init__(self, code, text):
        super().__init__(f"{code} {text}")
        self.code, self.text = code, text


class Client:
    def __init__(self, url, timeout=45):
        where = urllib.parse.urlsplit(url)
        self.user, self.password = where.username or "guest", where.password or "guest"
        self.vhost = urllib.parse.unquote(where.path[1:]) or "/"
        self.socket = socket.create_connection((where.hostname, where.port or 5672), timeout)
        self.incoming = b""
        self.confirms = 0
        self.login()

    def close(self):
        self.socket.close()

    # --- frames ---

    def send(self, kind, channel, payload):
        self.socket.sendall(struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce")

    def receive_exactly(self, count):
        while len(self.incoming) < count:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the broker closed the connection")
            self.incoming += data
        taken, self.incoming = self.incoming[:count], self.incoming[count:]
        return taken

    def receive(self):
        """(kind, payload) of the next frame that is no heartbeat."""
        while True:
            kind, _, size = struct.unpack(">BHI", self.receive_exactly(7))
            payload = self.receive_exactly(size + 1)[:-1]
            if kind != FRAME_HEARTBEAT:
                return kind, payload

    def method(self, number, payload=b"", channel=1):
        self.send(FRAME_METHOD, channel, struct.pack(">HH", *number) + payload)

    def expect(self, *numbers):
        """The next method: its number and a reader of its arguments."""
        kind, payload = self.receive()
        reader = values.Reader(payload)
        number = (reader.number("H"), reader.number("H")) if kind == FRAME_METHOD else None
        if number == (20, 40):
            code, text = reader.number("H"), reader.short()
            self.method((20, 41))
            self.method((20, 10), values.short(""))
            self.expect((20, 11))
            self.confirms = 0
            raise Refused(code, text)
        if number not in numbers:
            raise ConnectionError(f"the broker sent {number} instead of {numbers}")
        return number, reader

    def call(self, number, payload, answer):
        self.method(number, payload)
        return self.expect(answer)[1]

    def login(self):
        self.socket.sendall(b"AMQP\0\0\x09\x01")
        self.expect((10, 10))
        response = f"\0{self.user}\0{self.password}".encode()
        self.method(START_OK, values.write_table({}) + values.short("PLAIN") + values.long(response) + values.short("en_US"), 0)
        _, tune = self.expect((10, 30))
        channels, frame = tune.number("H"), tune.number("I")
        self.frame = frame or 131072
        self.method(TUNE_OK, struct.pack(">HIH", channels, self.frame, 0), 0)
        self.method(OPEN, values.short(self.vhost) + values.short("") + b"\0", 0)
        self.expect((10, 41))
        self.method((20, 10), values.short(""))
        self.expect((20, 11))

    # --- queues ---

    def declare(self, queue, arguments=None, durable=True, passive=False):
        """(ready messages, consumers)"""
        bits = passive | durable << 1
        reader = self.call((50, 10), b"\0\0" + values.short(queue) + bytes([bits]) + values.write_table(arguments or {}), (50, 11))
        reader.short()
        return reader.number("I"), reader.number("I")

    def declare_exchange(self, exchange, kind, durable=True, passive=False):
        bits = passive | durable << 1
        self.call((40, 10), b"\0\0" + values.short(exchange) + values.short(kind) + bytes([bits]) + values.write_table({}), (40, 11))

    def bind(self, exchange, queue, key):
        self.call((50, 20), b"\0\0" + values.short(queue) + values.short(exchange) + values.short(key) + b"\0" + values.write_table({}), (50, 21))

    def delete(self, queue):
        self.call((50, 40), b"\0\0" + values.short(queue) + b"\0", (50, 41))

    def delete_exchange(self, exchange):
        self.call((40, 20), b"\0\0" + values.short(exchange) + b"\0", (40, 21))

    def purge(self, queue):
        self.call((50, 30), b"\0\0" + values.short(queue) + b"\0", (50, 31))

    # --- messages ---

    def publish(self, exchange, key, message_properties, body, count=1):
        """So many of them, all confirmed; False when no queue took one."""
        if not self.confirms:
            self.call((85, 10), b"\0", (85, 11))
            self.confirms = 1
        content = struct.pack(">HHQ", 60, 0, len(body)) + properties.write(message_properties)
        for _ in range(count):
            self.method((60, 40), b"\0\0" + values.short(exchange) + values.short(key) + b"\1")
            self.send(FRAME_HEADER, 1, content)
            for at in range(0, len(body), self.frame - 8):
                self.send(FRAME_BODY, 1, body[at:at + self.frame - 8])
        open_tags, routed = set(range(self.confirms, self.confirms + count)), True
        self.confirms += count
        while open_tags:
            number, reader = self.expect((60, 80), (60, 120), (60, 50))
            if number == (60, 50):
                self.content()
                routed = False
                continue
            tag, multiple = reader.number("Q"), bool(reader.number("B"))
            routed &= number == (60, 80)
            open_tags -= {one for one in open_tags if one == tag or multiple and one < tag}
        return routed

    def content(self):
        """The properties and the body that follow a method."""
        _, payload = self.receive()
        size = struct.unpack(">Q", payload[4:12])[0]
        found, body = properties.read(payload[12:]), b""
        while len(body) < size:
            body += self.receive()[1]
        return found, body

    def get(self, queue):
        """The next message and its tag, or None."""
        self.method((60, 70), b"\0\0" + values.short(queue) + b"\0")
        number, reader = self.expect((60, 71), (60, 72))
        if number == (60, 72):
            return None
        tag, redelivered = reader.number("Q"), bool(reader.number("B"))
        exchange, key = reader.short(), reader.short()
        found, body = self.content()
        message = {"exchange": exchange, "routingKey": key, "redelivered": redelivered,
                   "headers": found.pop("headers", {}), "properties": found, **body_json(body)}
        return tag, message

    def acknowledge(self, tag):
        self.method((60, 80), struct.pack(">QB", tag, 0))

    def put_back(self, tag):
        self.method((60, 120), struct.pack(">QB", tag, 2))


def body_json(body):
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"bodyBase64": base64.b64encode(body).decode()}


def body_bytes(message):
    if "bodyBase64" in message:
        return base64.b64decode(message["bodyBase64"])
    return message.get("body", "").encode()
