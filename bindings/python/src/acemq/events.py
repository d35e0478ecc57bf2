"""What happens outside any call: the log, connection states, credentials that are wanted, and more."""

from __future__ import annotations

import logging
import threading
import urllib.parse
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from acemq._library import ffi, lib
from acemq.errors import Error, from_error, to_text
from acemq.values import FOREVER

if TYPE_CHECKING:
    from acemq.connection import Connection

log = logging.getLogger("acemq")

Credentials = Callable[[], Tuple[str, str]]

_KINDS: Dict[int, str] = {
    lib.ACEMQ_EVENT_CONNECTION: "connection",
    lib.ACEMQ_EVENT_CREDENTIALS_WANTED: "credentials_wanted",
    lib.ACEMQ_EVENT_CONFIRM: "confirm",
    lib.ACEMQ_EVENT_SETTLE_FAILED: "settle_failed",
    lib.ACEMQ_EVENT_CONSUMER_ENDED: "consumer_ended",
    lib.ACEMQ_EVENT_LOG: "log",
    lib.ACEMQ_EVENT_INTERCEPTOR_FAILED: "interceptor_failed",
    lib.ACEMQ_EVENT_SETTLED: "settled",
    lib.ACEMQ_EVENT_METRIC: "metric",
    lib.ACEMQ_EVENT_PARTITION_HALTED: "partition_halted",
    lib.ACEMQ_EVENT_ORDER_GAP: "order_gap",
}
_NUMBERS = {name: number for number, name in _KINDS.items()}

#: how connection states read
STATES: Dict[int, str] = {
    lib.ACEMQ_CONNECTION_OPEN: "open",
    lib.ACEMQ_CONNECTION_BLOCKED: "blocked",
    lib.ACEMQ_CONNECTION_RECONNECTING: "reconnecting",
    lib.ACEMQ_CONNECTION_FAILED: "failed",
    lib.ACEMQ_CONNECTION_CLOSED: "closed",
}

_LEVELS = {
    lib.ACEMQ_LOG_ERROR: logging.ERROR,
    lib.ACEMQ_LOG_WARNING: logging.WARNING,
    lib.ACEMQ_LOG_INFO: logging.INFO,
    lib.ACEMQ_LOG_DEBUG: logging.DEBUG,
}

#: what is listened to without being asked for; what costs something a message is not
_ALWAYS = ("connection", "settle_failed", "consumer_ended", "log", "interceptor_failed", "partition_halted", "order_gap")


class Event:
    """Something that happened.

    kind: ``connection``, ``settle_failed``, ``consumer_ended``, ``log``, ``interceptor_failed``, ``partition_halted``,
        ``order_gap``, and where asked for ``settled`` and ``metric``.
    """

    def __init__(self, event: Any) -> None:
        self.kind = _KINDS.get(lib.acemq_event_get_kind(event), "unknown")
        self.number = int(lib.acemq_event_number(event))
        self.text = to_text(lib.acemq_event_text(event))
        cause = lib.acemq_event_error(event)
        self.error: Optional[Error] = None if cause == ffi.NULL else from_error(cause)
        wait = lib.acemq_event_next_try(event)
        #: of a connection that was lost: seconds until the next try
        self.next_try: Optional[float] = None if wait < 0 else wait / 1000
        self.settlement: Optional[Dict[str, Any]] = _settlement(lib.acemq_event_settlement(event))
        self.observation: Optional[Dict[str, Any]] = _observation(lib.acemq_event_observation(event))

    @property
    def state(self) -> Optional[str]:
        """Of a ``connection`` event: ``open``, ``blocked``, ``reconnecting``, ``failed`` or ``closed``."""
        return STATES.get(self.number) if self.kind == "connection" else None

    def __repr__(self) -> str:
        return f"<acemq event {self.kind} {self.state or self.text}>"


def _settlement(settlement: Any) -> Optional[Dict[str, Any]]:
    if settlement == ffi.NULL:
        return None
    return {
        "queue": to_text(lib.acemq_settlement_queue(settlement)),
        "exchange": to_text(lib.acemq_settlement_exchange(settlement)),
        "routing_key": to_text(lib.acemq_settlement_routing_key(settlement)),
        "id": to_text(lib.acemq_settlement_id(settlement)),
        "type": to_text(lib.acemq_settlement_type(settlement)),
        "correlation": to_text(lib.acemq_settlement_correlation(settlement)),
        "outcome": to_text(lib.acemq_settlement_outcome(settlement)),
        "attempt": int(lib.acemq_settlement_attempt(settlement)),
        "traceparent": to_text(lib.acemq_settlement_traceparent(settlement)),
        "tracestate": to_text(lib.acemq_settlement_tracestate(settlement)),
        "seconds": lib.acemq_settlement_microseconds(settlement) / 1e6,
    }


_METRIC_KINDS = {
    lib.ACEMQ_METRIC_COUNTER: "counter",
    lib.ACEMQ_METRIC_GAUGE: "gauge",
    lib.ACEMQ_METRIC_DURATION: "duration",
    lib.ACEMQ_METRIC_DISTRIBUTION: "distribution",
}


def _observation(observation: Any) -> Optional[Dict[str, Any]]:
    if observation == ffi.NULL:
        return None
    return {
        "name": to_text(lib.acemq_observation_name(observation)),
        "kind": _METRIC_KINDS.get(lib.acemq_observation_kind(observation), "unknown"),
        "value": float(lib.acemq_observation_value(observation)),
        "labels": {
            to_text(lib.acemq_observation_label(observation, index)): to_text(
                lib.acemq_observation_label_value(observation, index)
            )
            for index in range(lib.acemq_observation_label_count(observation))
        },
    }


def mask(*, credentials: bool, confirms: bool, settled: bool, metrics: bool) -> int:
    """The kinds that a connection is opened with."""
    names = list(_ALWAYS)
    names += ["credentials_wanted"] if credentials else []
    names += ["confirm"] if confirms else []
    names += ["settled"] if settled else []
    names += ["metric"] if metrics else []
    return sum(1 << _NUMBERS[name] for name in names)


def log_event(event: Event) -> None:
    """What the log is told of it."""
    if event.kind == "log":
        log.log(_LEVELS.get(event.number, logging.INFO), "%s", event.text)
    elif event.kind in ("settle_failed", "consumer_ended", "partition_halted"):
        log.warning("%s: %s: %s", event.kind.replace("_", " "), event.text, event.error)
    elif event.kind == "interceptor_failed":
        log.warning("%s", event.text)


def with_credentials(url: str, name: str, password: str) -> str:
    """The URL with this user and password in the place of its own."""
    scheme, separator, rest = url.partition("://")
    hosts, slash, path = rest.partition("/")
    quoted = ":".join(urllib.parse.quote(part, safe="") for part in (name, password))
    return f"{scheme}{separator}{quoted}@{hosts.rpartition('@')[2]}{slash}{path}"


class Listener:
    """A thread that takes the events of one connection, and does not keep it alive."""

    def __init__(self, connection: "Connection") -> None:
        arguments = (connection._handle, weakref.ref(connection))
        self._thread = threading.Thread(target=_listen, args=arguments, name="acemq-events", daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)


def _listen(handle: Any, connection: "weakref.ReferenceType[Connection]") -> None:
    out = ffi.new("acemq_event **")
    while True:
        status = lib.acemq_connection_next_event(handle, FOREVER, out, ffi.NULL)
        if status == lib.ACEMQ_E_CANCELLED:
            continue
        if status != 0:
            return
        _dispatch_to(connection(), ffi.gc(out[0], lib.acemq_event_free))


def _dispatch_to(connection: "Optional[Connection]", raw: Any) -> None:
    """Holds the connection for no longer than this call."""
    if connection is not None:
        dispatch(connection, raw)


def dispatch(connection: "Connection", raw: Any) -> None:
    """Tells whoever listens. What they raise is logged."""
    event = Event(raw)
    try:
        if event.kind == "credentials_wanted":
            answer_credentials(connection)
            return
        log_event(event)
        for listener in list(connection._listeners):
            listener(event)
    except Exception:
        log.exception("a listener failed on %r", event)


def answer_credentials(connection: "Connection") -> None:
    if connection._credentials is None:
        return
    name, password = connection._credentials()
    lib.acemq_connection_give_credentials(
        connection._handle, name.encode("utf-8"), password.encode("utf-8"), ffi.NULL
    )


Listeners = List[Callable[[Event], None]]
