"""Option structs of the library, filled from keyword arguments; None leaves a default as it is."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from acemq._library import ffi
from acemq.errors import InvalidArgument
from acemq.values import integer, milliseconds, text

_RANGES = {"int32_t": 2**31, "int64_t": 2**63}


class Options:
    """A struct with its defaults, and what keeps its texts alive."""

    def __init__(self, struct: str, init: Any) -> None:
        self.struct = ffi.new(f"{struct} *")
        self.held: List[Any] = []
        checked_init(init, self.struct)

    def texts(self, values: Mapping[str, Optional[str]]) -> None:
        for name, value in values.items():
            if value is not None:
                held = ffi.new("char[]", text(value, name))
                self.held.append(held)
                setattr(self.struct, name, held)

    def durations(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if value is not None:
                setattr(self.struct, name, milliseconds(value, name))

    def numbers(self, values: Mapping[str, Optional[int]]) -> None:
        for name, value in values.items():
            if value is not None:
                most = _RANGES[_member_types(self.struct)[name]]
                setattr(self.struct, name, integer(value, name, -most, most - 1))

    def flags(self, values: Mapping[str, Optional[bool]]) -> None:
        for name, value in values.items():
            if value is not None:
                setattr(self.struct, name, 1 if value else 0)

    def handles(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if value is not None:
                self.held.append(value)
                setattr(self.struct, name, value)


def _member_types(struct: Any) -> Dict[str, str]:
    return {name: member.type.cname for name, member in ffi.typeof(struct).item.fields}


def checked_init(init: Any, struct: Any) -> None:
    """The `_options_init` functions have no error to hand out."""
    if init(struct, ffi.sizeof(struct[0])) != 0:
        raise InvalidArgument(f"{ffi.typeof(struct).cname} is of another release of the library")


def sized(struct: str) -> Any:
    """A struct that the library fills, with its size in it."""
    made = ffi.new(f"{struct} *")
    made.size = ffi.sizeof(struct)
    return made


def as_dict(struct: Any) -> Dict[str, int]:
    """The numbers of such a struct by their names."""
    names = (name for name, _ in ffi.typeof(struct).item.fields)
    return {name: getattr(struct, name) for name in names if name not in ("size", "reserved")}
