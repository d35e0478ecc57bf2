"""Names, durations, and the library itself."""

from __future__ import annotations

from typing import Dict, Optional

from acemq._library import ffi, lib
from acemq.errors import checked, or_none, to_text
from acemq.values import Duration, milliseconds, text

_UNDERNEATH = ("rabbitmq-c", "jansson", "msgpack", "openssl", "lmdb")


def dead_letter_queue(queue: str) -> str:
    """Where the dead letters of a queue lie. Raises LimitExceeded when that name is too long."""
    name = ffi.new("char[]", 256)
    checked(lib.acemq_dead_letter_queue, text(queue, "queue"), name)
    return to_text(name)


def parked_queue(queue: str) -> str:
    """Where the parked messages of a queue lie."""
    name = ffi.new("char[]", 256)
    checked(lib.acemq_parked_queue, text(queue, "queue"), name)
    return to_text(name)


def format_duration(duration: Duration) -> str:
    """One unit, never compound: ``40s``, ``1m``, ``1500ms``."""
    out = ffi.new("char[]", 24)
    checked(lib.acemq_duration_format, milliseconds(duration, "duration"), out)
    return to_text(out)


def new_id() -> str:
    """A UUID, as a message gets one that has no id."""
    out = ffi.new("char[]", 37)
    lib.acemq_new_id(out)
    return to_text(out)


def version() -> str:
    """Of the library that runs, such as ``0.1.0``."""
    return to_text(lib.acemq_version())


def versions() -> Dict[str, Optional[str]]:
    """Of the library and of those underneath; None for one that this build does not use. For bug reports."""
    underneath = {name: or_none(lib.acemq_dependency_version(name.encode())) for name in _UNDERNEATH}
    return {"acemq": version(), "abi": str(lib.acemq_abi_version()), **underneath}


def has(feature: str) -> bool:
    """Whether ``memory``, ``json``, ``msgpack``, ``lmdb``, ``tls`` or ``postgres`` can be used."""
    return bool(lib.acemq_has(text(feature, "feature")))
