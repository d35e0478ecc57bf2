"""Hooks around every publish and every delivery of a client.

They run on the thread that publishes, or that takes and settles the message, never on one of the library's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from acemq._library import ffi, lib
from acemq.codec import BYTES
from acemq.errors import Error, InvalidArgument, checked, from_error, or_none, to_text
from acemq.message import Message
from acemq.options import checked_init
from acemq.table import from_table, to_table
from acemq.values import integer, text
from acemq.worker import Reject

if TYPE_CHECKING:
    from acemq.connection import Connection

_OUTCOMES = {
    lib.ACEMQ_ACCEPTED: "accepted",
    lib.ACEMQ_FAILED: "failed",
    lib.ACEMQ_REJECTED: "rejected",
    lib.ACEMQ_PARKED: "parked",
    -1: "put_back",
}


class Publication:
    """A message that is being published. In ``before_publish`` its fields may be set."""

    def __init__(self, call: Any, message: Any) -> None:
        self._message = message
        self.exchange = to_text(lib.acemq_interception_exchange(call))
        self.routing_key = to_text(lib.acemq_interception_routing_key(call))

    def _set(self, setter: Any, name: str, value: Optional[str]) -> None:
        setter(self._message, text(value, name))
        checked(lib.acemq_message_check, self._message)

    @property
    def id(self) -> str:
        return to_text(lib.acemq_message_id(self._message))

    @property
    def type(self) -> Optional[str]:
        return or_none(lib.acemq_message_type(self._message))

    @type.setter
    def type(self, value: Optional[str]) -> None:
        self._set(lib.acemq_message_set_type, "type", value)

    @property
    def correlation(self) -> Optional[str]:
        return or_none(lib.acemq_message_correlation(self._message))

    @correlation.setter
    def correlation(self, value: Optional[str]) -> None:
        self._set(lib.acemq_message_set_correlation, "correlation", value)

    @property
    def causation(self) -> Optional[str]:
        return or_none(lib.acemq_message_causation(self._message))

    @causation.setter
    def causation(self, value: Optional[str]) -> None:
        self._set(lib.acemq_message_set_causation, "causation", value)

    @property
    def origin(self) -> Optional[str]:
        return or_none(lib.acemq_message_origin(self._message))

    @origin.setter
    def origin(self, value: Optional[str]) -> None:
        self._set(lib.acemq_message_set_origin, "origin", value)

    @property
    def version(self) -> int:
        return int(lib.acemq_message_version(self._message))

    @version.setter
    def version(self, value: int) -> None:
        lib.acemq_message_set_version(self._message, integer(value, "version", 1, 2**31 - 1))

    @property
    def content_type(self) -> Optional[str]:
        return or_none(lib.acemq_message_content_type(self._message))

    @property
    def headers(self) -> Dict[str, Any]:
        """A copy; `set_headers` changes what goes out."""
        return from_table(lib.acemq_message_headers(self._message))

    def set_headers(self, headers: Dict[str, Any]) -> None:
        """Adds all of them."""
        lib.acemq_message_set_headers(self._message, to_table(headers))
        checked(lib.acemq_message_check, self._message)

    @property
    def body(self) -> bytes:
        body = lib.acemq_message_body(self._message)
        return ffi.buffer(body.data, body.length)[:] if body.length else b""


class Arrival(Message):
    """A delivery that is being intercepted. In ``before_handle`` its envelope may be changed: the handler sees it, and
    it travels on. Bodies are bytes."""

    __slots__ = ()

    def change(
        self,
        *,
        type: Optional[str] = None,
        version: Optional[int] = None,
        correlation: Optional[str] = None,
        causation: Optional[str] = None,
        origin: Optional[str] = None,
    ) -> None:
        """Raises StateError anywhere but in ``before_handle``."""
        self._packed = None
        if type is not None:
            checked(lib.acemq_delivery_change_type, self._delivery, text(type, "type"))
        if version is not None:
            wanted = integer(version, "version", 1, 2**31 - 1)
            checked(lib.acemq_delivery_change_version, self._delivery, wanted)
        if correlation is not None:
            checked(lib.acemq_delivery_change_correlation, self._delivery, text(correlation, "correlation"))
        if causation is not None:
            checked(lib.acemq_delivery_change_causation, self._delivery, text(causation, "causation"))
        if origin is not None:
            checked(lib.acemq_delivery_change_origin, self._delivery, text(origin, "origin"))


class Interceptor:
    """A subclass overrides what it wants. Lower `order` comes first, ties in the order of registration; the hooks that
    come after run in reverse."""

    order: int = 0

    def before_publish(self, publication: Publication) -> None:
        """What it raises refuses the message: nothing is sent, and the publish raises Refused."""

    def confirmed(self, publication: Publication) -> None:
        """The message is confirmed. What it raises is logged."""

    def publish_failed(self, publication: Publication, error: Error) -> None:
        """Anything else became of it. What it raises is logged."""

    def before_handle(self, message: Arrival) -> None:
        """What it raises fails the message, Reject rejects it; the handler does not run."""

    def after_handle(self, message: Message, outcome: str) -> None:
        """After the handler, whatever it said: ``accepted``, ``failed``, ``rejected``, ``parked`` or ``put_back``.
        What it raises is logged."""

    def handle_failed(self, message: Message, outcome: str, reason: Optional[str]) -> None:
        """In front of `after_handle`, when the message failed or was rejected. What it raises is logged."""


class Registration:
    """An interceptor that was registered. `remove` takes it off."""

    def __init__(self, connection: "Connection", interceptor: Interceptor) -> None:
        if not isinstance(interceptor, Interceptor):
            reason = f"interceptor must be an Interceptor, not {type(interceptor).__name__}"
            raise InvalidArgument(reason, field="interceptor")
        self._user = ffi.new_handle(interceptor)
        self._interceptor = interceptor
        self._connection = connection
        self._name = ffi.new("char[]", text(type(interceptor).__name__, "name"))
        order = integer(interceptor.order, "order", -(2**63), 2**63 - 1)
        self._handles = [self._publishing(order), self._consuming(order)]
        connection._interceptors.append(self)

    def _publishing(self, order: int) -> Any:
        hooks = ffi.new("acemq_publish_interceptor *")
        checked_init(lib.acemq_publish_interceptor_init, hooks)
        hooks.before = lib.acemq_py_before_publish
        hooks.confirmed = lib.acemq_py_confirmed
        hooks.failed = lib.acemq_py_publish_failed
        return self._register(hooks, order, lib.acemq_intercept_publishing)

    def _consuming(self, order: int) -> Any:
        hooks = ffi.new("acemq_consume_interceptor *")
        checked_init(lib.acemq_consume_interceptor_init, hooks)
        hooks.before = lib.acemq_py_before_handle
        hooks.after = lib.acemq_py_after_handle
        hooks.failed = lib.acemq_py_handle_failed
        return self._register(hooks, order, lib.acemq_intercept_consuming)

    def _register(self, hooks: Any, order: int, function: Any) -> Any:
        hooks.name, hooks.order, hooks.user = self._name, order, self._user
        out = ffi.new("acemq_interceptor **")
        checked(function, self._connection._handle, hooks, out)
        return out[0]

    def remove(self) -> None:
        """Messages that come from here on do not meet it; those on their way still do, which is why the client keeps
        it. Again is fine."""
        handles, self._handles = self._handles, []
        for handle in handles:
            lib.acemq_interceptor_remove(handle)


def _hook(call: Any, hook: Callable[[], None]) -> int:
    """0, or 1 with the reason told."""
    try:
        hook()
    except Exception as failure:
        said = " ".join(str(failure).replace("\0", "").split()) or type(failure).__name__
        lib.acemq_interception_fail(call, said.encode("utf-8", "replace"))
        return int(lib.ACEMQ_REJECTED if isinstance(failure, Reject) else lib.ACEMQ_FAILED)
    return 0


def _arrival(delivery: Any) -> Arrival:
    body = lib.acemq_delivery_body(delivery)
    return Arrival(ffi.cast("acemq_delivery *", delivery), BYTES, body.data, body.length, mine=False)


@ffi.def_extern(error=1)
def acemq_py_before_publish(call: Any, message: Any, user: Any) -> int:
    return _hook(call, lambda: ffi.from_handle(user).before_publish(Publication(call, message)))


@ffi.def_extern(error=1)
def acemq_py_confirmed(call: Any, message: Any, user: Any) -> int:
    return _hook(call, lambda: ffi.from_handle(user).confirmed(Publication(call, message)))


@ffi.def_extern(error=1)
def acemq_py_publish_failed(call: Any, message: Any, error: Any, user: Any) -> int:
    return _hook(
        call, lambda: ffi.from_handle(user).publish_failed(Publication(call, message), from_error(error))
    )


@ffi.def_extern(error=lib.ACEMQ_FAILED)
def acemq_py_before_handle(call: Any, delivery: Any, user: Any) -> int:
    return _hook(call, lambda: ffi.from_handle(user).before_handle(_arrival(delivery)))


@ffi.def_extern(error=1)
def acemq_py_after_handle(call: Any, delivery: Any, outcome: int, user: Any) -> int:
    return _hook(
        call, lambda: ffi.from_handle(user).after_handle(_arrival(delivery), _OUTCOMES.get(outcome, "failed"))
    )


@ffi.def_extern(error=1)
def acemq_py_handle_failed(call: Any, delivery: Any, outcome: int, reason: Any, user: Any) -> int:
    name = _OUTCOMES.get(outcome, "failed")
    return _hook(
        call, lambda: ffi.from_handle(user).handle_failed(_arrival(delivery), name, or_none(reason))
    )

