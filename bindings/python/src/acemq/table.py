"""Headers and arguments on their way into the library."""

from __future__ import annotations

import datetime
import decimal
from typing import Any, Dict, Mapping, Optional

from acemq._library import ffi, lib
from acemq.errors import InvalidArgument, LimitExceeded, checked, to_text
from acemq.values import moment, text

#: What a header may hold. Whole numbers are int64, floats are doubles, datetimes are timestamps of whole seconds.
Headers = Mapping[str, Any]

_INT64 = 2**63
_DEPTH = 32


def _set_bytes(table: Any, name: Any, value: Any) -> None:
    held = bytes(value)
    buffer = ffi.from_buffer(held)
    checked(lib.acemq_table_set_bytes, table, name, {"data": buffer, "length": len(held)})


def _set_text(table: Any, name: Any, value: str, field: str) -> None:
    try:
        held = value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidArgument(f"header {field} is not UTF-8", field=field) from None
    buffer = ffi.from_buffer(held)
    checked(lib.acemq_table_set_string_bytes, table, name, {"data": buffer, "length": len(held)})


def _set_decimal(table: Any, name: Any, value: decimal.Decimal, field: str) -> None:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or sign or exponent > 0 or exponent < -255:
        raise InvalidArgument(f"header {field}: a decimal is not negative, with 0 to 255 places", field=field)
    unscaled = int("".join(map(str, digits)))
    if unscaled >= 2**32:
        raise InvalidArgument(f"header {field}: a decimal has at most 32 bits", field=field)
    checked(lib.acemq_table_set_decimal, table, name, -exponent, unscaled)


def _seconds_of(value: datetime.datetime, field: str) -> int:
    try:
        return int(value.timestamp())
    except (ValueError, OverflowError):
        raise InvalidArgument(f"header {field} is a time that no clock of this zone shows", field=field) from None


def _set_integer(table: Any, name: Any, value: int, field: str) -> None:
    if not -_INT64 <= value < _INT64:
        raise InvalidArgument(f"header {field} is outside an int64", field=field)
    checked(lib.acemq_table_set_int64, table, name, value)


def _set_array(table: Any, name: Any, value: Any, field: str, level: int) -> None:
    array = ffi.gc(lib.acemq_array_new(), lib.acemq_array_free)
    for index, inner in enumerate(value):
        held = ffi.gc(lib.acemq_table_new(), lib.acemq_table_free)
        _set(held, b"v", inner, f"{field}[{index}]", level)
        checked(lib.acemq_array_append, array, lib.acemq_table_at(held, 0))
    checked(lib.acemq_table_set_array, table, name, array)


def _set(table: Any, name: Any, value: Any, field: str, level: int) -> None:
    if level > _DEPTH:
        raise LimitExceeded(f"headers are nested deeper than the limit of {_DEPTH} levels", field=field, limit=_DEPTH)
    if isinstance(value, str):
        _set_text(table, name, value, field)
    elif value is None:
        checked(lib.acemq_table_set_void, table, name)
    elif isinstance(value, bool):
        checked(lib.acemq_table_set_bool, table, name, value)
    elif isinstance(value, int):
        _set_integer(table, name, value, field)
    elif isinstance(value, float):
        checked(lib.acemq_table_set_double, table, name, value)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _set_bytes(table, name, value)
    elif isinstance(value, datetime.datetime):
        checked(lib.acemq_table_set_timestamp, table, name, _seconds_of(value, field))
    elif isinstance(value, decimal.Decimal):
        _set_decimal(table, name, value, field)
    elif isinstance(value, Mapping):
        checked(lib.acemq_table_set_table, table, name, to_table(value, field + ".", level + 1))
    elif isinstance(value, (list, tuple)):
        _set_array(table, name, value, field, level + 1)
    else:
        raise InvalidArgument(f"header {field}: a {type(value).__name__} has no AMQP form", field=field)


def to_table(headers: Headers, prefix: str = "", level: int = 1) -> Any:
    """A table of the library's; raises what it refuses, by name."""
    if not isinstance(headers, Mapping):
        raise InvalidArgument(f"headers must be a mapping, not {type(headers).__name__}", field="headers")
    table = ffi.gc(lib.acemq_table_new(), lib.acemq_table_free)
    for name, value in headers.items():
        _set(table, text(name, "header name"), value, prefix + name, level)
    return table


def table_or_null(headers: Optional[Headers]) -> Any:
    return to_table(headers) if headers else ffi.NULL


def typed_json(table: Any) -> bytes:
    """Every value with its AMQP type, as ``acemq envelope`` writes it."""
    out = ffi.new("char **")
    checked(lib.acemq_table_format_json, table, 1, out)
    try:
        return bytes(ffi.string(out[0]))
    finally:
        lib.acemq_free(out[0])


def _name_and_value(value: Any, index: int) -> Any:
    name = ffi.new("char[256]")
    inner = lib.acemq_value_at(value, index, name)
    return to_text(name), from_value(inner)


def _number(value: Any, kind: int) -> Any:
    if kind in (lib.ACEMQ_KIND_FLOAT, lib.ACEMQ_KIND_DOUBLE):
        out = ffi.new("double *")
        lib.acemq_value_double(value, out)
        return float(out[0])
    if kind == lib.ACEMQ_KIND_UINT64:
        unsigned = ffi.new("uint64_t *")
        lib.acemq_value_unsigned(value, unsigned)
        return int(unsigned[0])
    number = ffi.new("int64_t *")
    lib.acemq_value_integer(value, number)
    if kind == lib.ACEMQ_KIND_TIMESTAMP:
        return moment(number[0] * 1000) if 0 <= number[0] < 253402300800 else int(number[0])
    return bool(number[0]) if kind == lib.ACEMQ_KIND_BOOL else int(number[0])


def _octets(value: Any, kind: int) -> Any:
    view = ffi.new("acemq_bytes *")
    lib.acemq_value_bytes(value, view)
    octets = ffi.buffer(view.data, view.length)[:] if view.length else b""
    if kind == lib.ACEMQ_KIND_BYTES:
        return octets
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets


def from_value(value: Any) -> Any:
    """A value of a table: the same as `Message.headers` has it."""
    kind = lib.acemq_value_kind(value)
    if kind == lib.ACEMQ_KIND_VOID:
        return None
    if kind in (lib.ACEMQ_KIND_STRING, lib.ACEMQ_KIND_BYTES):
        return _octets(value, kind)
    if kind == lib.ACEMQ_KIND_DECIMAL:
        places, unscaled = ffi.new("uint8_t *"), ffi.new("uint32_t *")
        lib.acemq_value_decimal(value, places, unscaled)
        return decimal.Decimal(int(unscaled[0])).scaleb(-int(places[0]))
    if kind == lib.ACEMQ_KIND_TABLE:
        return dict(_name_and_value(value, index) for index in range(lib.acemq_value_count(value)))
    if kind == lib.ACEMQ_KIND_ARRAY:
        return [_name_and_value(value, index)[1] for index in range(lib.acemq_value_count(value))]
    return _number(value, kind)


def from_table(table: Any) -> Dict[str, Any]:
    """Empty for NULL."""
    if table == ffi.NULL:
        return {}
    return {
        to_text(lib.acemq_table_name(table, index)): from_value(lib.acemq_table_at(table, index))
        for index in range(lib.acemq_table_count(table))
    }
