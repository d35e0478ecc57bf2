"""The properties of a message, in the order in which their flags stand."""

import struct

from . import values

PROPERTIES = [("contentType", 15, "short"), ("contentEncoding", 14, "short"), ("headers", 13, "table"),
              ("deliveryMode", 12, "B"), ("priority", 11, "B"), ("correlationId", 10, "short"), ("replyTo", 9, "short"),
              ("expiration", 8, "short"), ("messageId", 7, "short"), ("timestamp", 6, "Q"), ("type", 5, "short"),
              ("userId", 4, "short"), ("appId", 3, "short"), ("clusterId", 2, "short")]


def write(properties):
    flags, content = 0, b""
    for name, bit, form in PROPERTIES:
        value = properties.get(name)
        if value is None:
            continue
        flags |= 1 << bit
        if form == "short":
            content += values.short(value)
        elif form == "table":
            content += values.write_table(value)
        else:
            content += struct.pack(">" + form, value)
    return struct.pack(">H", flags) + content


def read(data):
    reader, found = values.Reader(data), {}
    flags = reader.number("H")
    for name, bit, form in PROPERTIES:
        if not flags >> bit & 1:
            continue
        if form == "short":
            found[name] = reader.short()
        elif form == "table":
            found[name] = reader.table()
        else:
            found[name] = reader.number(form)
    return found
