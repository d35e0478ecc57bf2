"""The client: what everything else hangs on."""

from __future__ import annotations

import atexit
import json
import os
import queue as queues
import signal
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, Type, TypeVar

from acemq import events
from acemq._library import ffi, lib
from acemq.consumer import Consumer, Group, Source, read_work
from acemq.errors import Closed, Error, Forked, FromHandler, InvalidArgument, StateError, Timeout, checked, take_error, to_text
from acemq.events import Credentials, Event, Listener
from acemq.interceptor import Interceptor, Registration
from acemq.interrupt import interruptible, on_main_thread
from acemq.keywords import check_keywords, options_of
from acemq.ordered import Ordered
from acemq.ordering import publish_ordered
from acemq.outbox import Outbox, Relay
from acemq.publisher import Publisher
from acemq.queues import Queues
from acemq.values import Duration, milliseconds
from acemq.worker import Handler, checked_handler, handling

_open: "weakref.WeakSet[Connection]" = weakref.WeakSet()
_HandlerType = TypeVar("_HandlerType", bound=Callable[..., Any])


class Health(NamedTuple):
    """Whether a client works."""

    #: ``"up"``, ``"degraded"`` or ``"down"``
    status: str
    #: what is behind it, for the answer of a probe
    detail: Dict[str, Any]

    def __bool__(self) -> bool:
        return self.status != "down"


class _Registered(NamedTuple):
    """A handler and what it consumes; opened when the client runs."""

    kind: Type[Source]
    queue: str
    handler: Handler
    options: Dict[str, Any]


class _Stopped(BaseException):
    """A signal came while handlers were being started."""


class Connection(Queues):
    """A client. Thread-safe. Made by `acemq.connect`; closed by `close`, or by the end of a ``with``."""

    def __init__(self, handle: Any, credentials: Optional[Credentials], outstanding: int) -> None:
        self._closed = False
        self._handle = handle
        self._pid = os.getpid()
        self._credentials = credentials
        self._outstanding = outstanding
        self._sources: "set[Source]" = set()
        self._registered: List[_Registered] = []
        self._running: List[Source] = []
        self._messages: "queues.SimpleQueue[Any]" = queues.SimpleQueue()
        self._listeners: events.Listeners = []
        self._interceptors: List[Any] = []
        self._started = False
        self._starting = False
        self._runs = False
        self._ran = False
        self._failing = threading.Lock()
        self._failure: Optional[BaseException] = None
        self._listener: Optional[Listener] = None
        _open.add(self)

    def __repr__(self) -> str:
        return f"<acemq connection, {self.state}>"

    # --- publishing ---

    def publisher(self, routing_key: Optional[str] = None, **options: Any) -> Publisher:
        """A publisher to one place: see `Publisher` for the options."""
        check_keywords("Connection.publisher", options, options_of(Publisher.__init__))
        return Publisher(self, routing_key, **options)

    def publish(self, queue: str, payload: Any, **fields: Any) -> None:
        """Publishes one message to a queue, and waits until it is confirmed; see `Publisher.send`."""
        if not queue:
            raise InvalidArgument("queue is empty", field="queue")
        self._default_publisher().send(payload, routing_key=queue, **fields)

    def publish_to(self, exchange: str, routing_key: str, payload: Any, **fields: Any) -> None:
        """The same to an exchange."""
        codec = fields.pop("codec", None)
        Publisher(self, routing_key, exchange=exchange, codec=codec).send(payload, **fields)

    def _default_publisher(self) -> Publisher:
        if "_default" not in self.__dict__:
            self._default = Publisher(self)
        return self._default

    def pause_publishing(self) -> None:
        """Publishes are refused after their timeout; retries and dead letters go on."""
        checked(lib.acemq_connection_pause_publishing, self._handle)

    def resume_publishing(self) -> None:
        checked(lib.acemq_connection_resume_publishing, self._handle)

    @property
    def publishing_paused(self) -> bool:
        return bool(lib.acemq_connection_publishing_paused(self._handle))

    def publish_ordered(self, name: str, payload: Any, key: Any = None, **options: Any) -> None:
        """Publishes to the partition of a key; see `acemq.publish_ordered`."""
        publish_ordered(self, name, payload, key, **options)

    # --- consuming ---

    def open_consumer(self, queue: str, **options: Any) -> Consumer:
        """A consumer whose messages the caller takes: by iteration, `Consumer.next`, or ``async for``. The options are
        those of `acemq.consumer.consumer_options`."""
        check_keywords("Connection.open_consumer", options, Consumer._keywords())
        return Consumer(self, queue, **options)

    def open_group(self, queue: str, **options: Any) -> Group:
        """The same, for up to ``members`` threads at once."""
        check_keywords("Connection.open_group", options, Group._keywords())
        return Group(self, queue, **options)

    def open_ordered(self, name: str, **options: Any) -> Ordered:
        """The same for the partitions of a name, in order."""
        check_keywords("Connection.open_ordered", options, Ordered._keywords())
        return Ordered(self, name, **options)

    def consumer(self, queue: str, **options: Any) -> Callable[[_HandlerType], _HandlerType]:
        """Registers the function below as the handler of a queue; `run` or `start` begins.

        The handler gets a `Message`. It returns: accepted. It raises: tried again as ``retry`` says, and at last a dead
        letter; `Reject` and `Park` say otherwise. It runs on a thread of this package's, one message at a time.
        """
        check_keywords("Connection.consumer", options, Consumer._keywords())
        return self._register(Consumer, queue, options)

    def group(self, queue: str, **options: Any) -> Callable[[_HandlerType], _HandlerType]:
        """The same with up to ``members`` calls at once."""
        check_keywords("Connection.group", options, Group._keywords())
        return self._register(Group, queue, options)

    def ordered(self, name: str, **options: Any) -> Callable[[_HandlerType], _HandlerType]:
        """The same for the partitions of a name: messages of one key one after the other."""
        check_keywords("Connection.ordered", options, Ordered._keywords())
        return self._register(Ordered, name, options)

    def _register(self, kind: Any, queue: str, options: Dict[str, Any]) -> Callable[[_HandlerType], _HandlerType]:
        def register(handler: _HandlerType) -> _HandlerType:
            registered = _Registered(kind, queue, checked_handler(handler), options)
            if self._started:
                self._begin(registered)
            else:
                self._registered.append(registered)
            return handler

        return register

    def consume(self, queue: str, handler: Handler, **options: Any) -> Consumer:
        """Begins to consume a queue with this handler, at once."""
        check_keywords("Connection.consume", options, Consumer._keywords())
        return self._begin(_Registered(Consumer, queue, handler, options))  # type: ignore[return-value]

    def consume_group(self, queue: str, handler: Handler, **options: Any) -> Group:
        """The same with up to ``members`` calls at once."""
        check_keywords("Connection.consume_group", options, Group._keywords())
        return self._begin(_Registered(Group, queue, handler, options))  # type: ignore[return-value]

    def consume_ordered(self, name: str, handler: Handler, **options: Any) -> Ordered:
        """The same for the partitions of a name."""
        check_keywords("Connection.consume_ordered", options, Ordered._keywords())
        return self._begin(_Registered(Ordered, name, handler, options))  # type: ignore[return-value]

    def _begin(self, registered: _Registered) -> Source:
        checked_handler(registered.handler)
        self._ran = False
        source = registered.kind(self, registered.queue, **registered.options)
        self._running.append(source)
        source._start(registered.handler, self._ended)
        return source

    def _let_go(self, source: Source) -> None:
        """It is closed."""
        self._sources.discard(source)
        if source in self._running:
            self._running.remove(source)

    def _ended(self, failure: Optional[BaseException]) -> None:
        """A handler raised what ends the process, or a consumer ended by itself. Who runs or closes learns it without a
        signal, and so does who was interrupted by the first of several. The end of a consumer interrupts nobody, and
        so stands back behind an exit that comes later."""
        exits = not isinstance(failure, Exception)
        with self._failing:
            first = self._failure is None or (exits and isinstance(self._failure, Exception))
            if first:
                self._failure = failure
        self._messages.put(failure)
        if first and exits and not (self._runs or self._ran or self._closed):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def start(self) -> None:
        """Begins with the handlers that were registered, and returns. ``sys.exit`` in a handler then interrupts the
        main thread, and the end of the ``with`` raises it."""
        self._started = True
        registered, self._registered = self._registered, []
        for one in registered:
            self._begin(one)

    def _in_handler(self) -> bool:
        return handling.source is not None and handling.source._connection is self

    def stop(self) -> None:
        """Makes `run` drain and return. Any thread, handlers included."""
        self._messages.put(None)

    def run(
        self, *, drain: Duration = 20, signals: Iterable[int] = (signal.SIGINT, signal.SIGTERM)
    ) -> None:
        """Runs the handlers until a signal (Ctrl-C), `stop`, or the end of a consumer; then drains and returns.

        A second signal ends the draining. ``sys.exit`` in a handler ends the process with that status, and the message
        goes back. What ended a consumer is raised.
        """
        self._runs = True
        replaced = self._catch(signals)
        try:
            failure = self._started_and_ended()
            self.drain(drain)
        finally:
            self._ran = True
            self._runs = False
            for number, handler in replaced:
                signal.signal(number, handler)
        failure = failure or self._failure
        if failure is not None:
            self._failure = None
            raise failure

    def _started_and_ended(self) -> Optional[BaseException]:
        """Why it ended. A signal while it starts ends that at once, since it may take as long as the broker likes."""
        try:
            self._starting = True
            self.start()
            self._starting = False
        except _Stopped:
            return None
        finally:
            self._starting = False
        if not self._running:
            raise StateError("no handler was registered")
        return self._failure or self._messages.get()

    def _catch(self, signals: Iterable[int]) -> List[Tuple[int, Any]]:
        """Only the main thread may have signals."""
        if not on_main_thread():
            return []
        seen: List[int] = []

        def caught(number: int, frame: Any) -> None:
            seen.append(number)
            if len(seen) > 1:
                raise KeyboardInterrupt
            if self._starting:
                raise _Stopped
            self._messages.put(None)

        return [(number, signal.signal(number, caught)) for number in signals]

    def drain(self, timeout: Duration = 20) -> None:
        """Handlers take no more work, and what is in hand is waited for, within one budget. Raises Timeout when
        something was left: it is delivered again."""
        if self._in_handler():
            raise FromHandler("drain would wait for the handler it is called from")
        deadline = time.monotonic() + milliseconds(timeout) / 1000
        failure: Optional[Error] = None
        running = list(self._running)
        for source in running:
            source._stop_taking()
        for source in running:
            try:
                source.drain(max(0.0, deadline - time.monotonic()))
            except Closed:
                pass
            except Timeout as late:
                failure = failure or late
        if failure is not None:
            raise failure

    def intercept(self, interceptor: Interceptor) -> Registration:
        """Puts hooks around every publish and every delivery of this client."""
        return Registration(self, interceptor)

    def relay(self, outbox: Outbox, **options: Any) -> Relay:
        """Publishes what an outbox holds; see `Relay` for the options."""
        check_keywords("Connection.relay", options, options_of(Relay.__init__))
        return Relay(self, outbox, **options)

    # --- looking ---

    @property
    def state(self) -> str:
        """``open``, ``blocked``, ``reconnecting``, ``failed`` or ``closed``."""
        return events.STATES.get(lib.acemq_connection_get_state(self._handle, ffi.NULL), "closed")

    @property
    def state_reason(self) -> Optional[Error]:
        """Why it is not open."""
        out = ffi.new("acemq_error **")
        lib.acemq_connection_get_state(self._handle, out)
        return take_error(out[0]) if out[0] else None

    def health(self) -> Health:
        """Answers at once, whatever the client is at."""
        health, detail = ffi.new("acemq_health *"), ffi.new("char **")
        checked(lib.acemq_health_check, self._handle, health, detail)
        try:
            return Health(to_text(lib.acemq_health_name(health[0])), json.loads(to_text(detail[0])))
        finally:
            lib.acemq_free(detail[0])

    def on_event(self, listener: Callable[[Event], None]) -> Callable[[Event], None]:
        """Calls the function with each event, on a thread that takes nothing else. Fit for a decorator."""
        if not callable(listener):
            raise InvalidArgument("listener must be a function", field="listener")
        self._listeners.append(listener)
        return listener

    # --- the end ---

    def close(self, timeout: Duration = 20) -> None:
        """Drains handlers, waits for publishes under way, and closes, within one budget. Again is fine. Raises Timeout
        when something was left (it is closed all the same), with what handlers had in hand in ``left``."""
        if self._closed:
            return
        if os.getpid() != self._pid:
            self._closed = True
            return
        if self._in_handler():
            raise FromHandler("close would wait for the handler it is called from")
        deadline = time.monotonic() + milliseconds(timeout) / 1000
        self._closed = True
        _open.discard(self)
        running = list(self._running)
        try:
            self.drain(timeout)
        except (Timeout, Closed):
            pass
        left = self._close_within(max(0, int((deadline - time.monotonic()) * 1000)))
        for source in list(self._sources):
            source.close()
        for source in running:
            if source._workers is not None:
                source._workers.join(0 if left is not None else 1)
        if self._listener is not None:
            self._listener.join(1)
        self._running.clear()
        self._registered.clear()
        if left is not None:
            raise left

    def _close_within(self, limit: int) -> Optional[Error]:
        """The error that names what was left, or None."""
        out, error = ffi.new("acemq_work **"), ffi.new("acemq_error **")
        status = interruptible(lambda: lib.acemq_connection_close_naming(self._handle, limit, out, error))
        left = read_work(out[0]) if out[0] else []
        if status == 0:
            return None
        failure = take_error(error[0])
        failure.left = left  # type: ignore[attr-defined]
        return None if isinstance(failure, (Closed, Forked)) else failure

    def __del__(self) -> None:
        """Let go without being closed: nobody can wait for anything any more."""
        if not self._closed and os.getpid() == self._pid:
            lib.acemq_connection_close(self._handle, 1000, ffi.NULL)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, kind: Any, failure: Optional[BaseException], trace: Any) -> None:
        try:
            self.close()
        except Error:
            if failure is None:
                raise
        if self._failure is not None and not isinstance(self._failure, Exception) and not isinstance(failure, SystemExit):
            exit, self._failure = self._failure, None
            raise exit


@atexit.register
def _close_all() -> None:
    """Handlers end, and what is under way arrives, before the interpreter does."""
    for connection in list(_open):
        try:
            connection.close()
        except Error as failure:
            events.log.warning("%s", failure)

