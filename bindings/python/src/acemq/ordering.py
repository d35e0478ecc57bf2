"""Publishing in order: messages of one key go to the same partition queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

from acemq._library import ffi, lib
from acemq.codec import Codec, codec_for, codec_of
from acemq.errors import InvalidArgument, checked, to_text
from acemq.interrupt import interruptible
from acemq.message import outgoing
from acemq.options import Options
from acemq.values import Duration, milliseconds, text

if TYPE_CHECKING:
    from acemq.connection import Connection


def _partitioning(partitions: Optional[int], rule: str, header: Optional[str] = None) -> Options:
    options = Options("acemq_partitioning", lib.acemq_partitioning_init)
    options.numbers({"partitions": partitions})
    options.texts({"header": header})
    number = lib.acemq_partition_rule_named(text(rule, "rule"))
    if number < 0:
        raise InvalidArgument("rule must be 'unsigned', 'java' or 'dotnet'", field="rule")
    options.struct.rule = number
    return options


def _view(key: Union[str, bytes, None]) -> Tuple[Any, Any]:
    """A view, and what it is of."""
    if key is None:
        return {"data": ffi.NULL, "length": 0}, None
    held = key.encode("utf-8") if isinstance(key, str) else bytes(key)
    return {"data": ffi.from_buffer(held), "length": len(held)}, held


def partition_queue(
    name: str, key: Union[str, bytes], *, partitions: Optional[int] = None, rule: str = "unsigned"
) -> str:
    """The queue that messages of this key lie in: for publishing there by a publisher of your own."""
    view, held = _view(key)
    out = ffi.new("char[]", 256)
    options = _partitioning(partitions, rule)
    checked(lib.acemq_ordered_queue, text(name, "name"), options.struct, view, ffi.NULL, out)
    del held
    return to_text(out)


def publish_ordered(
    connection: "Connection",
    name: str,
    payload: Any,
    key: Union[str, bytes, None] = None,
    *,
    header: Optional[str] = None,
    partitions: Optional[int] = None,
    rule: str = "unsigned",
    codec: Union[Codec, str, None] = None,
    timeout: Optional[Duration] = None,
    **fields: Any,
) -> None:
    """Publishes to the partition of a key, or of the header whose text is the key. Publishers and consumers must agree
    on the number of partitions (8 unless given) and on the rule: ``"unsigned"`` is that of the libraries for Go, Python
    and Ruby, ``"java"`` and ``"dotnet"`` those of the others."""
    chosen = codec_for(payload, None if codec is None else codec_of(codec))
    message = outgoing(chosen, fields).message(chosen.encode(payload))
    view, held = _view(key)
    options = _partitioning(partitions, rule, header)
    limit = 0 if timeout is None else milliseconds(timeout)
    arguments = (connection._handle, text(name, "name"), options.struct, view, message, limit)
    interruptible(lambda: checked(lib.acemq_ordered_publish, *arguments))
    del held
