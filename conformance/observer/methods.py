"""The methods that a recording knows, decoded: their names and their arguments."""

from . import values


def bits(reader, *names):
    packed = reader.number("B")
    return {name: bool(packed >> at & 1) for at, name in enumerate(names)}


def start_ok(reader):
    return {"clientProperties": reader.table()}


def exchange_declare(reader):
    reader.number("H")
    return {"exchange": reader.short(), "type": reader.short(),
            **bits(reader, "passive", "durable", "autoDelete", "internal", "noWait"), "arguments": reader.table()}


def queue_declare(reader):
    reader.number("H")
    return {"queue": reader.short(), **bits(reader, "passive", "durable", "exclusive", "autoDelete", "noWait"),
            "arguments": reader.table()}


def queue_bind(reader):
    reader.number("H")
    return {"queue": reader.short(), "exchange": reader.short(), "routingKey": reader.short()}


def qos(reader):
    reader.number("I")
    return {"prefetch": reader.number("H"), **bits(reader, "global")}


def consume(reader):
    reader.number("H")
    return {"queue": reader.short(), "tag": reader.short(), **bits(reader, "noLocal", "noAck", "exclusive", "noWait"),
            "arguments": reader.table()}


def publish(reader):
    reader.number("H")
    return {"exchange": reader.short(), "routingKey": reader.short(), **bits(reader, "mandatory", "immediate")}


def returned(reader):
    return {"code": reader.number("H"), "text": reader.short(), "exchange": reader.short(), "routingKey": reader.short()}


def deliver(reader):
    return {"consumer": reader.short(), "tag": reader.number("Q"), **bits(reader, "redelivered"), "exchange": reader.short(),
            "routingKey": reader.short()}


def acknowledge(reader):
    return {"tag": reader.number("Q"), **bits(reader, "multiple")}


def reject(reader):
    return {"tag": reader.number("Q"), **bits(reader, "requeue")}


def negative(reader):
    return {"tag": reader.number("Q"), **bits(reader, "multiple", "requeue")}


def nothing(_):
    return {}


METHODS = {
    (10, 11): ("connection.start-ok", start_ok), (40, 10): ("exchange.declare", exchange_declare),
    (50, 10): ("queue.declare", queue_declare), (50, 20): ("queue.bind", queue_bind), (60, 10): ("basic.qos", qos),
    (60, 20): ("basic.consume", consume), (60, 30): ("basic.cancel", nothing), (60, 40): ("basic.publish", publish),
    (60, 50): ("basic.return", returned), (60, 60): ("basic.deliver", deliver), (60, 80): ("basic.ack", acknowledge),
    (60, 90): ("basic.reject", reject), (60, 120): ("basic.nack", negative), (85, 10): ("confirm.select", nothing),
}


def decode(payload):
    """(name, arguments) of a method frame, or None for one that no recording asks for."""
    reader = values.Reader(payload)
    known = METHODS.get((reader.number("H"), reader.number("H")))
    return (known[0], known[1](reader)) if known else None
