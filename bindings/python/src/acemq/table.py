"""Headers and arguments on their way into the library."""

from __future__ import annotations

import datetime
import decimal
from typing import Any, Mapping, Optional

from acemq._library import ffi, lib
from acemq.errors import InvalidArgument, checked
from acemq.values import text

#: What a header may hold. Whole numbers are int64, floats are doubles, datetimes are timestamps of whole seconds.
Headers = Mapping[str, Any]

_INT64 = 2**63



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


def _set_integer(table: Any, name: Any, value: int, field: str) -> None:
    if not -_INT64 <= value < _INT64:
        raise InvalidArgument(f"header {field} is outside an int64", field=field)
    checked(lib.acemq_table_set_int64, table, name, value)


def _set_array(table: Any, name: Any, value: Any, field: str) -> None:
    array = ffi.gc(lib.acemq_array_new(), lib.acemq_array_free)
    for index, inner in enumerate(value):
        held = ffi.gc(lib.acemq_table_new(), lib.acemq_table_free)
        _set(held, b"v", inner, f"{field}[{index}]")
        checked(lib.acemq_array_append, array, lib.acemq_table_at(held, 0))
    checked(lib.acemq_table_set_array, table, name, array)


def _set(table: Any, name: Any, value: Any, field: str) -> None:
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
        checked(lib.acemq_table_set_timestamp, table, name, int(value.timestamp()))
    elif isinstance(value, decimal.Decimal):
        _set_decimal(table, name, value, field)
    elif isinstance(value, Mapping):
        checked(lib.acemq_table_set_table, table, name, to_table(value, field + "."))
    elif isinstance(value, (list, tuple)):
        _set_array(table, name, value, field)
    else:
        raise InvalidArgument(f"header {field}: a {type(value).__name__} has no AMQP form", field=field)


def to_table(headers: Headers, prefix: str = "") -> Any:
    """A table of the library's; raises what it refuses, by name."""
    table = ffi.gc(lib.acemq_table_new(), lib.acemq_table_free)
    for name, value in headers.items():
        _set(table, text(name, "header name"), value, prefix + name)
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
