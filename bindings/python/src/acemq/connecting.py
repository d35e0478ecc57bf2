"""Connecting: every option of a client."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from acemq import events
from acemq._library import lib
from acemq.connection import Connection
from acemq.errors import InvalidArgument, made
from acemq.events import Credentials, Event, Listener
from acemq.interrupt import interruptible
from acemq.keywords import known_keywords
from acemq.options import Options
from acemq.values import Duration, text

_LOG_LEVELS = {"none": 0, "error": 1, "warning": 2, "info": 3, "debug": 4}
_TEXTS = (
    "name",
    "credentials_file",
    "user_variable",
    "password_variable",
    "ca_file",
    "ca_folder",
    "certificate_file",
    "key_file",
    "key_password",
    "server_name",
)
_DURATIONS = (
    "timeout",
    "call_timeout",
    "heartbeat",
    "reconnect_initial",
    "reconnect_max",
    "publish_timeout",
    "keepalive",
    "keepalive_interval",
    "tcp_user_timeout",
)
_NUMBERS = (
    "outstanding",
    "max_body",
    "max_queued",
    "max_output",
    "max_headers",
    "max_header_entries",
    "max_nesting",
    "frame_max",
    "channel_max",
    "keepalive_count",
)


@known_keywords
def connect(
    url: str,
    *,
    name: Optional[str] = None,
    timeout: Optional[Duration] = None,
    call_timeout: Optional[Duration] = None,
    heartbeat: Optional[Duration] = None,
    reconnect: bool = True,
    reconnect_initial: Optional[Duration] = None,
    reconnect_max: Optional[Duration] = None,
    outstanding: Optional[int] = None,
    publish_timeout: Optional[Duration] = None,
    credentials: Optional[Credentials] = None,
    credentials_file: Optional[str] = None,
    user_variable: Optional[str] = None,
    password_variable: Optional[str] = None,
    log_level: str = "warning",
    ca_file: Optional[str] = None,
    ca_folder: Optional[str] = None,
    certificate_file: Optional[str] = None,
    key_file: Optional[str] = None,
    key_password: Optional[str] = None,
    server_name: Optional[str] = None,
    verify: Optional[bool] = None,
    max_body: Optional[int] = None,
    max_queued: Optional[int] = None,
    max_output: Optional[int] = None,
    max_headers: Optional[int] = None,
    max_header_entries: Optional[int] = None,
    max_nesting: Optional[int] = None,
    frame_max: Optional[int] = None,
    channel_max: Optional[int] = None,
    keepalive: Optional[Duration] = None,
    keepalive_interval: Optional[Duration] = None,
    keepalive_count: Optional[int] = None,
    tcp_user_timeout: Optional[Duration] = None,
    on_event: Optional[Callable[[Event], None]] = None,
    settled_events: bool = False,
    metric_events: bool = False,
) -> Connection:
    """Connects and logs in.

    url: ``amqp://user:password@host:port/vhost``, ``amqps://…`` with TLS, several hosts ``a,b,c:5673``, or
        ``memory://name``, a broker inside this process.
    name: shown by the broker.
    timeout: of connecting as a whole; 10 s. call_timeout: of one exchange with the broker; 30 s.
    heartbeat: how often each side shows life; 0: off. What the broker suggests unless given.
    reconnect: False: never. reconnect_initial, reconnect_max: the first wait after a loss, 500 ms, which doubles up to
        30 s.
    outstanding: publishes under way at once; 1000. publish_timeout: 30 s.
    credentials: a function that answers with user and password, each time a connection is made. Or, from a file of two
        lines, ``credentials_file``; or from two environment variables, ``user_variable`` and ``password_variable``.
    log_level: ``none``, ``error``, ``warning``, ``info`` or ``debug``, of what the logger ``acemq`` is told.
    ca_file, ca_folder, certificate_file, key_file, key_password, server_name, verify: of ``amqps://``, files in PEM.
    on_event: called with each `Event`. settled_events, metric_events: with those of each message too.

    The others are the limits of the guide's page about limits. Raises what it was: Unreachable, LoginRefused,
    VhostRefused, TlsError, Timeout, ParseError …
    """
    return opened(dict(locals()), False)


def opened(given: Mapping[str, Any], asynchronous: bool) -> Connection:
    """With the arguments of `connect`; an asynchronous client takes its events itself."""
    credentials = given["credentials"]
    options = Options("acemq_connect_options", lib.acemq_connect_options_init)
    options.texts({name: given[name] for name in _TEXTS})
    options.durations({name: given[name] for name in _DURATIONS})
    options.numbers({name: given[name] for name in _NUMBERS})
    options.flags({"verify": given["verify"]})
    struct = options.struct
    if not given["reconnect"]:
        struct.reconnect_initial = 0
    struct.credentials = _credentials_source(credentials, given["credentials_file"], given["user_variable"])
    struct.log_level = _log_level(given["log_level"])
    struct.events = events.mask(
        credentials=credentials is not None,
        confirms=asynchronous,
        settled=given["settled_events"],
        metrics=given["metric_events"],
    )
    connection = Connection(_connected(given["url"], credentials, struct), credentials, int(struct.outstanding))
    if given["on_event"] is not None:
        connection.on_event(given["on_event"])
    if not asynchronous:
        connection._listener = Listener(connection)
    return connection


def _connected(url: str, credentials: Optional[Credentials], struct: Any) -> Any:
    """The first time nobody could answer an event: the credentials go with the URL."""
    target = text(url if credentials is None else events.with_credentials(url, *credentials()), "url")
    cancel = made("acemq_cancel", lib.acemq_cancel_free, lib.acemq_cancel_new)
    struct.cancel = cancel
    return interruptible(
        lambda: made("acemq_connection", lib.acemq_connection_free, lib.acemq_connect, target, struct),
        abandon=lambda: lib.acemq_cancel_fire(cancel),
    )


def _log_level(name: str) -> int:
    if name not in _LOG_LEVELS:
        raise InvalidArgument(f"log_level must be one of {', '.join(_LOG_LEVELS)}", field="log_level")
    return _LOG_LEVELS[name]


def _credentials_source(function: Any, file: Any, variable: Any) -> int:
    if function is not None:
        return int(lib.ACEMQ_CREDENTIALS_EVENT)
    if file is not None:
        return int(lib.ACEMQ_CREDENTIALS_FILE)
    return int(lib.ACEMQ_CREDENTIALS_URL if variable is None else lib.ACEMQ_CREDENTIALS_ENVIRONMENT)
