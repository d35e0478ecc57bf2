"""A message that arrived, and the fields of one that leaves."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from acemq import msgpack
from acemq._library import ffi, lib
from acemq.codec import Codec, taken
from acemq.errors import InvalidArgument, Settled, StateError, checked, or_none, to_text
from acemq.keywords import options_of, suggestion
from acemq.table import Headers, table_or_null, typed_json
from acemq.values import Duration, integer, milliseconds, moment, text

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Type

_UNSET: Any = object()
_FREE = lib.acemq_delivery_free
_buffer = ffi.buffer


class Message:
    """A message that arrived.

    A handler's is settled by how the handler ends. Anybody else settles it with `accept`, `fail`, `reject`, `park` or
    `put_back`, or has ``with message:`` do it; one that is dropped unsettled goes back to its queue. What it holds can
    be read for as long as it is kept. One thread at a time.
    """

    __slots__ = ("_body", "_codec", "_delivery", "_mine", "_packed", "_settled", "_view", "__weakref__")

    def __init__(self, delivery: Any, codec: Codec, address: Any, length: int, mine: bool = True) -> None:
        self._mine = mine
        self._delivery = delivery
        self._codec = codec
        self._settled = False
        self._packed: Any = None
        self._view = _buffer(address, length) if length else b""
        self._body = _UNSET
        if codec._decodes_ahead:
            self._take_decoded(address)

    def _take_decoded(self, address: Any) -> None:
        """What a codec of the application's own has made of it already."""
        if taken.address == address:
            self._body = taken.payload
        taken.address = taken.payload = None

    def __del__(self) -> None:
        try:
            if self._mine:
                _FREE(self._delivery)
        except AttributeError:
            pass  # it was interrupted as it was made

    def __repr__(self) -> str:
        return f"<acemq message {self.id} of {self.queue}, attempt {self.attempt}>"

    # --- what it holds ---

    @property
    def body(self) -> Any:
        """The payload, as the consumer's codec reads it."""
        if self._body is _UNSET:
            self._body = self._codec._decoded(self._view, lambda: self.content_type or "")
        return self._body

    @property
    def raw(self) -> bytes:
        """The bytes, decrypted and fetched from where they lay."""
        return bytes(self._view)

    def _envelope(self) -> Any:
        return lib.acemq_delivery_envelope(self._delivery)

    @property
    def id(self) -> str:
        return to_text(lib.acemq_envelope_id(self._envelope()))

    @property
    def type(self) -> str:
        return to_text(lib.acemq_envelope_type(self._envelope()))

    @property
    def version(self) -> int:
        return int(lib.acemq_envelope_version(self._envelope()))

    @property
    def attempt(self) -> int:
        """From 1."""
        return int(lib.acemq_envelope_attempt(self._envelope()))

    @property
    def correlation(self) -> str:
        return to_text(lib.acemq_envelope_correlation(self._envelope()))

    @property
    def causation(self) -> Optional[str]:
        return or_none(lib.acemq_envelope_causation(self._envelope()))

    @property
    def origin(self) -> Optional[str]:
        return or_none(lib.acemq_envelope_origin(self._envelope()))

    @property
    def error(self) -> Optional[str]:
        """Why it was set aside, of a dead letter or a parked message."""
        return or_none(lib.acemq_envelope_error(self._envelope()))

    @property
    def claim(self) -> Optional[str]:
        return or_none(lib.acemq_envelope_claim(self._envelope()))

    @property
    def first_seen(self) -> Optional[datetime.datetime]:
        """When it was published first, in UTC; None when it does not say."""
        known = lib.acemq_envelope_first_seen(self._envelope())
        return moment(known) if known else None

    @property
    def replayed_from(self) -> Optional[str]:
        return or_none(lib.acemq_envelope_replayed_from(self._envelope()))

    @property
    def replayed_at(self) -> Optional[datetime.datetime]:
        out = ffi.new("int64_t *")
        return moment(out[0]) if lib.acemq_envelope_replayed_at(self._envelope(), out) else None

    @property
    def replay_count(self) -> int:
        return int(lib.acemq_envelope_replay_count(self._envelope()))

    @property
    def reply_to(self) -> Optional[str]:
        return or_none(lib.acemq_envelope_reply_to(self._envelope()))

    @property
    def route(self) -> List[str]:
        """The steps of a declared route; empty without one."""
        envelope = self._envelope()
        count = lib.acemq_envelope_route_count(envelope)
        return [to_text(lib.acemq_envelope_route_step(envelope, index)) for index in range(count)]

    @property
    def route_position(self) -> int:
        return int(lib.acemq_envelope_route_position(self._envelope()))

    @property
    def route_id(self) -> Optional[str]:
        return or_none(lib.acemq_envelope_route_id(self._envelope()))

    @property
    def id_is_made_up(self) -> bool:
        """The id is new with each delivery, since the message has none: idempotency cannot protect it."""
        return bool(lib.acemq_envelope_id_is_made_up(self._envelope()))

    def _map(self) -> Dict[str, Any]:
        if self._packed is None:
            view = ffi.new("acemq_bytes *")
            checked(lib.acemq_delivery_pack, self._delivery, view)
            self._packed = msgpack.unpack(_buffer(view.data, view.length)[:], msgpack.of_headers)
        return dict(self._packed)

    @property
    def headers(self) -> Dict[str, Any]:
        """The application's headers. A text that is not UTF-8 is bytes; a timestamp is a datetime in UTC."""
        return dict(self._map()["headers"])

    @property
    def properties(self) -> Dict[str, Any]:
        """The AMQP properties by their names (``contentType``, ``messageId``, …); None where there is none."""
        return dict(self._map()["properties"])

    def typed_headers(self, all: bool = False) -> bytes:
        """The headers with their AMQP types, as JSON; with `all` the reserved ones too."""
        of = lib.acemq_delivery_all_headers if all else lib.acemq_delivery_headers
        return typed_json(of(self._delivery))

    @property
    def content_type(self) -> Optional[str]:
        return or_none(lib.acemq_delivery_property(self._delivery, lib.ACEMQ_PROPERTY_CONTENT_TYPE))

    @property
    def priority(self) -> Optional[int]:
        out = ffi.new("int64_t *")
        known = lib.acemq_delivery_property_number(self._delivery, lib.ACEMQ_PROPERTY_PRIORITY, out)
        return int(out[0]) if known else None

    @property
    def queue(self) -> str:
        return to_text(lib.acemq_delivery_queue(self._delivery))

    @property
    def exchange(self) -> str:
        return to_text(lib.acemq_delivery_exchange(self._delivery))

    @property
    def routing_key(self) -> str:
        return to_text(lib.acemq_delivery_routing_key(self._delivery))

    @property
    def redelivered(self) -> bool:
        return bool(lib.acemq_delivery_redelivered(self._delivery))

    # --- what becomes of it ---

    @property
    def settled(self) -> bool:
        return self._settled

    def _settle(self, outcome: int, reason: Optional[str]) -> None:
        if not self._mine:
            raise StateError("this message is only being looked at")
        if self._settled:
            raise Settled("the message was settled before")
        self._settled = True
        why = None if reason is None else reason.replace("\0", "").encode("utf-8", "replace")
        checked(lib.acemq_delivery_settle, self._delivery, outcome, ffi.NULL if why is None else why)

    def accept(self) -> None:
        """It is done: acknowledged."""
        self._settle(lib.ACEMQ_ACCEPTED, None)

    def fail(self, reason: Optional[str] = None) -> None:
        """It is tried again as the policy says, and at last a dead letter."""
        self._settle(lib.ACEMQ_FAILED, reason)

    def reject(self, reason: Optional[str] = None) -> None:
        """It never will be handled: a dead letter at once."""
        self._settle(lib.ACEMQ_REJECTED, reason)

    def park(self, reason: Optional[str] = None) -> None:
        """It is set aside in ``.parked`` at once."""
        self._settle(lib.ACEMQ_PARKED, reason)

    def put_back(self) -> None:
        """It goes back to its queue unchanged, without spending an attempt."""
        if not self._mine:
            raise StateError("this message is only being looked at")
        if self._settled:
            raise Settled("the message was settled before")
        self._settled = True
        checked(lib.acemq_delivery_put_back, self._delivery)

    def __enter__(self) -> "Message":
        return self

    def __exit__(
        self,
        kind: "Optional[Type[BaseException]]",
        failure: Optional[BaseException],
        trace: "Optional[TracebackType]",
    ) -> bool:
        """As a handler's end: accepted, failed with what was raised, which is swallowed, or put back."""
        from acemq.worker import settle_as_ended

        return settle_as_ended(self, failure)


class Outgoing:
    """What a publish writes beside its body, checked and kept for as long as the library reads it."""

    __slots__ = ("fields", "held")

    def __init__(
        self,
        codec: Codec,
        *,
        id: Optional[str] = None,
        type: Optional[str] = None,
        version: Optional[int] = None,
        correlation: Optional[str] = None,
        causation: Optional[str] = None,
        origin: Optional[str] = None,
        headers: Optional[Headers] = None,
        content_type: Optional[str] = None,
        reply_to: Optional[str] = None,
        priority: Optional[int] = None,
        expiration: Optional[Duration] = None,
        transient: bool = False,
        caused_by: Optional[Message] = None,
    ) -> None:
        self.fields = fields = ffi.new("acemq_py_fields *")
        self.held: List[Any] = [codec, caused_by]
        for name, value in (
            ("id", id),
            ("type", type),
            ("correlation", correlation),
            ("causation", causation),
            ("origin", origin),
            ("reply_to", reply_to),
        ):
            self._text(name, value)
        if codec._wrapping is not None:
            fields.codec = codec._wrapping
        if content_type is not None or codec._wrapping is None:
            self._text("content_type", codec.content_type if content_type is None else content_type)
        if headers:
            table = table_or_null(headers)
            self.held.append(table)
            fields.headers = table
        if caused_by is not None:
            if not isinstance(caused_by, Message):
                raise InvalidArgument("caused_by must be a message that arrived", field="caused_by")
            fields.parent = caused_by._delivery
        fields.version = -1 if version is None else integer(version, "version", 1, 2**31 - 1)
        fields.priority = -1 if priority is None else integer(priority, "priority", 0, 255)
        fields.expiration = -1 if expiration is None else milliseconds(expiration, "expiration")
        fields.transient = 1 if transient else 0

    def _text(self, name: str, value: Optional[str]) -> None:
        if value is not None:
            held = ffi.new("char[]", text(value, name))
            self.held.append(held)
            setattr(self.fields, name, held)

    def message(self, body: bytes) -> Any:
        """A message of the library's with this body."""
        held = ffi.from_buffer(body)
        made = lib.acemq_py_message(held, len(body), self.fields)
        if made == ffi.NULL:
            raise MemoryError
        return ffi.gc(made, lib.acemq_message_free)


def outgoing(codec: Codec, fields: Mapping[str, Any]) -> Outgoing:
    """Raises InvalidArgument for a name that is none of a message's fields."""
    try:
        return Outgoing(codec, **fields)
    except TypeError:
        known = options_of(Outgoing.__init__)
        unknown = [name for name in fields if name not in known]
        if not unknown:
            raise
        said = f"a message has no field {unknown[0]}{suggestion(unknown[0], known | {'timeout'})}"
        raise InvalidArgument(said, field=unknown[0]) from None
