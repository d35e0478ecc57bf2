"""MessagePack, as the library hands messages over and as the codec `msgpack` reads and writes bodies."""

from __future__ import annotations

import datetime
import decimal
import struct
from typing import Any, Callable, Dict, List, Tuple

from acemq.errors import DecodeError
from acemq.values import moment

#: levels of nesting, as the library has it
DEPTH = 32

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Extension:
    """A value of an extension type that has no form of its own here."""

    __slots__ = ("type", "data")

    def __init__(self, type: int, data: bytes) -> None:
        self.type = type
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extension) and (self.type, self.data) == (other.type, other.data)

    def __hash__(self) -> int:
        return hash((self.type, self.data))

    def __repr__(self) -> str:
        return f"Extension({self.type}, {self.data!r})"


Extend = Callable[[int, bytes], Any]


def _of_body(type: int, data: bytes) -> Any:
    """Timestamps of the MessagePack specification."""
    if type != -1 or len(data) not in (4, 8, 12):
        return Extension(type, data)
    if len(data) == 4:
        nanoseconds, seconds = 0, struct.unpack(">I", data)[0]
    elif len(data) == 8:
        both = struct.unpack(">Q", data)[0]
        nanoseconds, seconds = both >> 34, both & (2**34 - 1)
    else:
        nanoseconds, seconds = struct.unpack(">Iq", data)
    try:
        return _EPOCH + datetime.timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    except OverflowError:
        return Extension(type, data)


def of_headers(type: int, data: bytes) -> Any:
    """Timestamps and decimals, as the library packs those of AMQP."""
    if type == 1:
        seconds = struct.unpack(">Q", data)[0]
        return moment(seconds * 1000) if seconds < 253402300800 else Extension(type, data)
    if type == 2:
        places, unscaled = struct.unpack(">BI", data)
        return decimal.Decimal(unscaled).scaleb(-places)
    return Extension(type, data)


class _Reader:
    def __init__(self, data: bytes, extend: Extend) -> None:
        self.data = data
        self.at = 0
        self.extend = extend

    def take(self, length: int) -> bytes:
        start, self.at = self.at, self.at + length
        if self.at > len(self.data):
            raise DecodeError("the MessagePack document ends too early")
        return self.data[start : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self, length: int) -> Any:
        taken = self.take(length)
        try:
            return taken.decode("utf-8")
        except UnicodeDecodeError:
            return taken

    def array(self, count: int, level: int) -> List[Any]:
        return [self.value(level + 1) for _ in range(self.counted(count))]

    def map(self, count: int, level: int) -> Dict[Any, Any]:
        made = {}
        for _ in range(self.counted(count)):
            key = self.value(level + 1)
            try:
                made[key] = self.value(level + 1)
            except TypeError:
                raise DecodeError("a map has an array or a map as a key") from None
        return made

    def counted(self, count: int) -> int:
        if count > len(self.data) - self.at:
            raise DecodeError("the MessagePack document ends too early")
        return count

    def extension(self, length: int) -> Any:
        return self.extend(self.number(">b"), self.take(length))

    def value(self, level: int) -> Any:
        if level > DEPTH + 1:
            raise DecodeError(f"the MessagePack document is nested deeper than the limit of {DEPTH} levels")
        first = self.take(1)[0]
        if first < 0x80:
            return first
        if first < 0x90:
            return self.map(first & 15, level)
        if first < 0xA0:
            return self.array(first & 15, level)
        if first < 0xC0:
            return self.text(first & 31)
        if first >= 0xE0:
            return first - 256
        return self.long(first, level)

    def long(self, first: int, level: int) -> Any:
        if first in _FIXED:
            return _FIXED[first]
        if first in _NUMBERS:
            return self.number(_NUMBERS[first])
        if first in _SIZED:
            form, read = _SIZED[first]
            return read(self, self.number(form))
        if first in _NESTED:
            form, nest = _NESTED[first]
            return nest(self, self.number(form), level)
        if 0xD4 <= first <= 0xD8:
            return self.extension(1 << (first - 0xD4))
        raise DecodeError("the MessagePack document has a byte that no value starts with")


_FIXED = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_SIZED: Dict[int, Tuple[str, Callable[[_Reader, int], Any]]] = {
    0xC4: (">B", _Reader.take),
    0xC5: (">H", _Reader.take),
    0xC6: (">I", _Reader.take),
    0xC7: (">B", _Reader.extension),
    0xC8: (">H", _Reader.extension),
    0xC9: (">I", _Reader.extension),
    0xD9: (">B", _Reader.text),
    0xDA: (">H", _Reader.text),
    0xDB: (">I", _Reader.text),
}
_NESTED: Dict[int, Tuple[str, Callable[[_Reader, int, int], Any]]] = {
    0xDC: (">H", _Reader.array),
    0xDD: (">I", _Reader.array),
    0xDE: (">H", _Reader.map),
    0xDF: (">I", _Reader.map),
}


def unpack(data: bytes, extend: Extend = _of_body) -> Any:
    """The value of a document. Raises DecodeError."""
    reader = _Reader(data, extend)
    value = reader.value(1)
    if reader.at != len(data):
        raise DecodeError("bytes follow the MessagePack document")
    return value


def _head(out: bytearray, count: int, short: int, room: int, codes: Tuple[int, ...]) -> None:
    """`codes` are those for one, two and four bytes of length; 0 where there is none."""
    if count < room:
        out.append(short | count)
        return
    for code, form, most in zip(codes, (">B", ">H", ">I"), (2**8, 2**16, 2**32)):
        if code and count < most:
            out.append(code)
            out += struct.pack(form, count)
            return
    raise DecodeError("a value is too long for MessagePack")


def _pack_integer(out: bytearray, value: int) -> None:
    if 0 <= value < 128 or -32 <= value < 0:
        out += struct.pack(">b", value)
        return
    forms = ((0xD0, ">b"), (0xD1, ">h"), (0xD2, ">i"), (0xD3, ">q"), (0xCF, ">Q"))
    for code, form in forms:
        try:
            packed = struct.pack(form, value)
        except struct.error:
            continue
        out.append(code)
        out += packed
        return
    raise DecodeError("a number is outside what MessagePack holds")


def _pack_moment(out: bytearray, value: datetime.datetime) -> None:
    since = value.astimezone(datetime.timezone.utc) - _EPOCH
    seconds = since.days * 86400 + since.seconds
    out += struct.pack(">BBbIq", 0xC7, 12, -1, since.microseconds * 1000, seconds)


def _pack_extension(out: bytearray, value: Extension) -> None:
    _head(out, len(value.data), 0, 0, (0xC7, 0xC8, 0xC9))
    out += struct.pack(">b", value.type)
    out += value.data


def _pack_into(out: bytearray, value: Any, level: int) -> None:
    if level > DEPTH + 1:
        raise DecodeError(f"the value is nested deeper than the limit of {DEPTH} levels")
    if value is None:
        out.append(0xC0)
    elif isinstance(value, bool):
        out.append(0xC3 if value else 0xC2)
    elif isinstance(value, int):
        _pack_integer(out, value)
    elif isinstance(value, float):
        out += struct.pack(">Bd", 0xCB, value)
    elif isinstance(value, str):
        encoded = value.encode("utf-8")
        _head(out, len(encoded), 0xA0, 32, (0xD9, 0xDA, 0xDB))
        out += encoded
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _head(out, len(value), 0, 0, (0xC4, 0xC5, 0xC6))
        out += value
    elif isinstance(value, dict):
        _head(out, len(value), 0x80, 16, (0, 0xDE, 0xDF))
        for key, inner in value.items():
            _pack_into(out, key, level + 1)
            _pack_into(out, inner, level + 1)
    elif isinstance(value, (list, tuple)):
        _head(out, len(value), 0x90, 16, (0, 0xDC, 0xDD))
        for inner in value:
            _pack_into(out, inner, level + 1)
    elif isinstance(value, datetime.datetime):
        _pack_moment(out, value)
    elif isinstance(value, Extension):
        _pack_extension(out, value)
    else:
        raise DecodeError(f"a {type(value).__name__} has no MessagePack form")


def pack(value: Any) -> bytes:
    """A document. Raises DecodeError for what has no form in it."""
    out = bytearray()
    try:
        _pack_into(out, value, 1)
    except UnicodeEncodeError:
        raise DecodeError("a text is not UTF-8") from None
    return bytes(out)
