"""AMQP field values, with the type each has on the wire.

A value is written in JSON as docs/conformance.md says: {"type": T, "value": V}. Reading keeps the type always; the plain
forms (integers, strings, true, null, arrays, objects) are taken when writing.
"""

import base64
import struct

INTEGERS = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}
TAG_OF = {"bool": "t", "int8": "b", "uint8": "B", "int16": "s", "uint16": "u", "int32": "I", "uint32": "i", "int64": "l",
          "uint64": "L", "float": "f", "double": "d", "decimal": "D", "longstr": "S", "bytes": "x", "array": "A",
          "table": "F", "timestamp": "T", "void": "V"}
TYPE_OF = {tag: name for name, tag in TAG_OF.items()} | {"U": "int16"}


def short(text):
    data = text.encode() if isinstance(text, str) else text
    if len(data) > 255:
        raise ValueError("a short string has at most 255 bytes")
    return bytes([len(data)]) + data


def long(data):
    return struct.pack(">I", len(data)) + data


# --- writing ---


def typed(value):
    """Any form a table may have in JSON, as (type, value)."""
    if isinstance(value, dict) and set(value) == {"type", "value"}:
        return value["type"], value["value"]
    if isinstance(value, dict) and set(value) == {"type", "base64"}:
        return "raw " + value["type"], value["base64"]
    for kind, name in ((bool, "bool"), (int, "int64"), (float, "double"), (str, "longstr"), (list, "array"), (dict, "table")):
        if isinstance(value, kind):
            return name, value
    return "void", None


def write_value(value):
    name, content = typed(value)
    if name.startswith("raw "):
        return b"S" + long(base64.b64decode(content))
    return TAG_OF[name].encode() + write_content(name, content)


def write_content(name, content):
    if name in INTEGERS:
        return struct.pack(">" + INTEGERS[name], int(content))
    if name == "bool":
        return bytes([bool(content)])
    if name in ("float", "double"):
        return struct.pack(">f" if name == "float" else ">d", content)
    if name == "timestamp":
        return struct.pack(">Q", content)
    if name == "longstr":
        return long(content.encode())
    if name == "bytes":
        return long(base64.b64decode(content))
    if name == "array":
        return long(b"".join(write_value(member) for member in content))
    if name == "table":
        return write_table(content)
    if name == "decimal":
        return write_decimal(str(content))
    return b""


def write_decimal(text):
    whole, _, fraction = text.partition(".")
    return bytes([len(fraction)]) + struct.pack(">I", int(whole + fraction))


def write_table(table):
    return long(b"".join(short(name) + write_value(value) for name, value in table.items()))


# --- reading ---


class Reader:
    """Reads one field after the other out of bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise ValueError("the data ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(">" + form)))[0]

    def short(self):
        return self.take(self.number("B")).decode(errors="replace")

    def long(self):
        return self.take(self.number("I"))

    def table(self):
        inner, table = Reader(self.long()), {}
        while inner.at < len(inner.data):
            name = inner.short()
            table[name] = inner.value()
        return table

    def value(self):
        name = TYPE_OF[chr(self.number("B"))]
        if name == "longstr":
            return string_json(self.long())
        return {"type": name, "value": self.content(name)}

    def content(self, name):
        if name in INTEGERS:
            return self.number(INTEGERS[name])
        if name == "bool":
            return bool(self.number("B"))
        if name in ("float", "double"):
            return self.number("f" if name == "float" else "d")
        if name == "timestamp":
            return self.number("Q")
        if name == "bytes":
            return base64.b64encode(self.long()).decode()
        if name == "table":
            return self.table()
        if name == "array":
            inner, members = Reader(self.long()), []
            while inner.at < len(inner.data):
                members.append(inner.value())
            return members
        if name == "decimal":
            return decimal_text(self.number("B"), self.number("I"))
        return None


def string_json(data):
    try:
        return {"type": "longstr", "value": data.decode()}
    except UnicodeDecodeError:
        return {"type": "longstr", "base64": base64.b64encode(data).decode()}


def decimal_text(decimals, unscaled):
    digits = str(unscaled).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
