"""Durations and texts on their way into the library."""

from __future__ import annotations

import datetime
from typing import Any, Optional, Union

from acemq._library import ffi, lib
from acemq.errors import InvalidArgument, ParseError, checked

#: Seconds as a number, ``"10s"``, ``"500ms"``, ``"5m"`` …, or a timedelta.
Duration = Union[int, float, str, datetime.timedelta]

FOREVER = 2**63 - 1


def text(value: Optional[str], field: str) -> Any:
    """A NUL-terminated text; NULL for None. What cannot be one is refused by name."""
    if value is None:
        return ffi.NULL
    if not isinstance(value, str):
        raise InvalidArgument(f"{field} must be a str, not {type(value).__name__}", field=field)
    try:
        encoded = value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidArgument(f"{field} is not UTF-8", field=field) from None
    if b"\0" in encoded:
        raise InvalidArgument(f"{field} holds a NUL", field=field)
    return encoded


def milliseconds(duration: Duration, field: str = "timeout") -> int:
    """Whole milliseconds; a part of one counts as one."""
    if isinstance(duration, str):
        out = ffi.new("int64_t *")
        try:
            checked(lib.acemq_duration_parse, text(duration, field), out)
        except ParseError as failure:
            failure.args, failure.field = (f"{field}: {failure}",), field
            raise
        return int(out[0])
    if isinstance(duration, datetime.timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, (int, float)) and not isinstance(duration, bool):
        seconds = duration
    else:
        raise InvalidArgument(f"{field} must be seconds, a text such as '10s', or a timedelta", field=field)
    if not 0 <= seconds < 2**53 / 1000:
        raise InvalidArgument(f"{field} must be from 0 to {2**53 // 1000} seconds", field=field)
    whole = int(seconds * 1000)
    return whole + 1 if whole < seconds * 1000 else whole


def timeout_or_forever(duration: Optional[Duration], field: str = "timeout") -> int:
    return FOREVER if duration is None else milliseconds(duration, field)


def integer(value: Any, field: str, least: int, most: int) -> int:
    """A number that fits the option's type, where cffi would only say that it does not."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidArgument(f"{field} must be a whole number from {least} to {most}", field=field)
    return value


def moment(epoch_milliseconds: int) -> datetime.datetime:
    """In UTC."""
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(
        milliseconds=epoch_milliseconds
    )
