"""Exceptions, one class a code of the library."""

from __future__ import annotations

from typing import Any, Dict, Optional, Type

from acemq._library import ffi, lib

__all__ = [
    "Error",
    "InvalidArgument",
    "LimitExceeded",
    "ParseError",
    "ReservedHeader",
    "StateError",
    "Closed",
    "Forked",
    "FromHandler",
    "WrongThread",
    "Settled",
    "Stale",
    "Unsupported",
    "OutOfMemory",
    "SystemFailure",
    "Timeout",
    "Cancelled",
    "Unreachable",
    "LoginRefused",
    "VhostRefused",
    "ConnectionLost",
    "ProtocolError",
    "BrokerError",
    "AccessRefused",
    "NotFound",
    "Locked",
    "Differs",
    "ChannelClosed",
    "PublishError",
    "Unroutable",
    "Nacked",
    "Refused",
    "UnknownOutcome",
    "DecodeError",
    "StoreError",
    "StoreFull",
    "Fenced",
    "TlsError",
    "TlsName",
    "TlsUntrusted",
    "TlsExpired",
    "TlsPlainServer",
    "TlsWanted",
    "TlsClientCertificate",
    "TlsVersion",
]


class Error(Exception):
    """What a call answered. The message is one line and never holds a password."""

    #: the number of the library's status
    code: int = 0
    #: its stable name, such as ``login_refused``
    name: str = ""
    #: the argument, option, property or header at fault, or ``""``
    field: str = ""
    #: the limit that was passed, in the field's own unit; 0 where there is none
    limit: int = 0
    #: the AMQP reply code behind the error (312, 404, …); 0 where there is none
    reply_code: int = 0
    #: the same call, unchanged, may succeed later
    retriable: bool = False
    #: repeating is useless
    fatal: bool = False

    def __init__(self, message: str = "", *, field: str = "", limit: int = 0) -> None:
        super().__init__(message)
        self.field = field
        self.limit = limit


class InvalidArgument(Error, ValueError):
    """A value outside its range, or of the wrong kind."""

    code = 1
    name = "invalid_argument"


class LimitExceeded(Error, ValueError):
    """A name, a header table or a body over its limit."""

    code = 2
    name = "limit"


class ParseError(Error, ValueError):
    """A text that does not read; the message has the position."""

    code = 3


class ReservedHeader(Error, ValueError):
    """An ``x-acemq-`` header that the application set."""

    code = 4


class StateError(Error):
    """The handle cannot do this now."""

    code = 5
    name = "state"


class Closed(Error):
    """The object, or the connection that it hangs on, was closed."""

    code = 6
    name = "closed"


class Forked(Error):
    """The object belongs to the parent process: a child makes connections of its own."""

    code = 7


class FromHandler(Error):
    """It would wait for the handler that it is called from."""

    code = 8


class WrongThread(Error):
    """More threads than the object allows."""

    code = 9
    name = "wrong_thread"


class Settled(Error):
    """The message was settled before."""

    code = 10
    name = "settled"


class Stale(Error):
    """The message came before a reconnect; it is delivered again."""

    code = 11


class Unsupported(Error):
    """This build, or this broker, cannot do it."""

    code = 12


class OutOfMemory(Error, MemoryError):
    """Memory is gone."""

    code = 20


class SystemFailure(Error):
    """A system call failed."""

    code = 21


class Timeout(Error, TimeoutError):
    """The time was up."""

    code = 30
    name = "timeout"


class Cancelled(Error):
    """The wait was ended by somebody else."""

    code = 31


class Unreachable(Error, ConnectionError):
    """No address answered, or the host name does not resolve."""

    code = 40


class LoginRefused(Error, PermissionError):
    """Wrong user or password."""

    code = 41


class VhostRefused(Error, PermissionError):
    """The virtual host is missing, or not this user's."""

    code = 42


class ConnectionLost(Error, ConnectionError):
    """The connection ended while the call was under way."""

    code = 43


class ProtocolError(Error):
    """The peer sent what AMQP 0-9-1 does not allow."""

    code = 44


class BrokerError(Error):
    """The broker refused an operation."""


class AccessRefused(BrokerError, PermissionError):
    """The user may not do that (403)."""

    code = 50


class NotFound(BrokerError, LookupError):
    """There is no such queue, exchange, table or key (404)."""

    code = 51


class Locked(BrokerError):
    """It is another client's own (405)."""

    code = 52


class Differs(BrokerError):
    """It is there, and otherwise (406)."""

    code = 53


class ChannelClosed(BrokerError):
    """Any other code with which the broker closed the channel."""

    code = 54


class PublishError(Error):
    """A publish that did not end well."""


class Unroutable(PublishError):
    """No queue took the message."""

    code = 60


class Nacked(PublishError):
    """The broker declined the message."""

    code = 61


class Refused(PublishError):
    """Blocked, paused, over the limit of outstanding publishes, or by an interceptor; nothing was sent."""

    code = 62


class UnknownOutcome(PublishError):
    """Sent, but not confirmed: it may or may not have arrived."""

    code = 63


class DecodeError(Error, ValueError):
    """A body that does not decode, or a payload that its codec does not write."""

    code = 70
    name = "decode"


class StoreError(Error):
    """The store is damaged, of another layout, or answered with an error."""

    code = 80


class StoreFull(StoreError):
    """No room is left in the store."""

    code = 81


class Fenced(StoreError):
    """The claim was taken over, released, or is confirmed already."""

    code = 82


class TlsError(Error, ConnectionError):
    """The TLS handshake failed."""

    code = 90


class TlsName(TlsError):
    """The broker's certificate is for another host name."""

    code = 91


class TlsUntrusted(TlsError):
    """No CA that is trusted here signed the broker's certificate."""

    code = 92


class TlsExpired(TlsError):
    """A certificate of the broker has expired, or is not valid yet."""

    code = 93


class TlsPlainServer(TlsError):
    """What listens there does not speak TLS."""

    code = 94


class TlsWanted(TlsError):
    """What listens there speaks TLS, and the URL says ``amqp://``."""

    code = 95


class TlsClientCertificate(TlsError):
    """The broker wants a client certificate, or another one."""

    code = 96


class TlsVersion(TlsError):
    """The broker speaks no TLS version from 1.2 on."""

    code = 97


def _all_classes(base: Type[Error]) -> Dict[int, Type[Error]]:
    found = {base.code: base} if base.code else {}
    for below in base.__subclasses__():
        found.update(_all_classes(below))
    return found


_CLASSES = _all_classes(Error)


def to_text(text: Any) -> str:
    """A text of the library's; ``""`` for NULL."""
    return "" if text == ffi.NULL else ffi.string(text).decode("utf-8", "replace")


def from_error(error: Any) -> Error:
    """The exception for an error of the library's, which stays its owner's."""
    code = lib.acemq_error_code(error)
    made = _CLASSES.get(code, Error)(to_text(lib.acemq_error_message(error)))
    made.code = code
    made.name = to_text(lib.acemq_error_name(error))
    made.field = to_text(lib.acemq_error_field(error))
    made.limit = lib.acemq_error_limit(error)
    made.reply_code = lib.acemq_error_reply_code(error)
    made.retriable = bool(lib.acemq_error_is_retriable(error))
    made.fatal = bool(lib.acemq_error_is_fatal(error))
    return made


def take_error(error: Any) -> Error:
    """The same, and frees it."""
    made = from_error(error)
    lib.acemq_error_free(error)
    return made


def checked(function: Any, *arguments: Any) -> None:
    """Calls, with room for an error behind the arguments, and raises what it answers."""
    error = ffi.new("acemq_error **")
    status = function(*arguments, error)
    if status != lib.ACEMQ_OK:
        raise take_error(error[0])


def made(kind: str, free: Any, function: Any, *arguments: Any) -> Any:
    """What a call hands out through the argument before its last, as a handle that frees itself."""
    out = ffi.new(f"{kind} **")
    checked(function, *arguments, out)
    return ffi.gc(out[0], free)


def or_none(text: Any) -> Optional[str]:
    """None for NULL and for an empty text."""
    return to_text(text) or None
