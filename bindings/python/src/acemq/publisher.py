"""Publishing: confirmed, persistent and mandatory unless asked otherwise."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Tuple, Union

from acemq._library import ffi, lib
from acemq.codec import BYTES, JSON, Codec, codec_for, codec_of
from acemq.errors import Error, PublishError, WrongThread, checked, made, take_error
from acemq.interrupt import SLICE, interruptible, on_main_thread
from acemq.keywords import known_keywords
from acemq.message import outgoing
from acemq.options import Options
from acemq.values import FOREVER, Duration, integer, milliseconds, text

if TYPE_CHECKING:
    from types import TracebackType

    from acemq.connection import Connection

_json = JSON.encode
_JSON_TYPE, _BYTES_TYPE = JSON.content_type.encode(), BYTES.content_type.encode()
_window_begin, _NULL = lib.acemq_py_window_begin, ffi.NULL
_FULL, _NO_ROOM = lib.ACEMQ_PY_FULL, lib.ACEMQ_PY_NO_ROOM


def _await_and_free(handle: Any) -> None:
    error = ffi.new("acemq_error **")
    lib.acemq_receipt_wait(handle, FOREVER, error)
    lib.acemq_error_free(error[0])
    lib.acemq_receipt_free(handle)


def let_go(connection: "Connection", handle: Any) -> None:
    """Frees a receipt whose end nobody waits for. Interceptors are told of it by whoever learns it, which has to be a
    thread of Python's."""
    if connection._interceptors:
        threading.Thread(target=_await_and_free, args=(handle,), name="acemq-receipt", daemon=True).start()
    else:
        lib.acemq_receipt_free(handle)


class Receipt:
    """A publish under way. One thread at a time. Dropping it does not take the publish back."""

    __slots__ = ("_connection", "_handle", "_outcome")

    def __init__(self, connection: "Connection", handle: Any) -> None:
        self._connection = connection
        self._handle = handle
        self._outcome: Optional[Error] = None

    def __del__(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            let_go(self._connection, handle)

    def _end(self) -> None:
        lib.acemq_receipt_free(self._release())

    def _release(self) -> Any:
        """The handle, which is the caller's from here on."""
        handle, self._handle = self._handle, None
        return handle

    @property
    def done(self) -> bool:
        """Whether its end is known; asks without waiting."""
        return self._handle is None or self._ask(0)

    def wait(self) -> None:
        """Waits until it is confirmed, and raises how else it ended: Unroutable, Nacked, Refused or UnknownOutcome."""
        piece = SLICE if on_main_thread() else FOREVER
        while self._handle is not None and not self._ask(piece):
            pass
        if self._outcome is not None:
            raise self._outcome

    def _ask(self, timeout: int) -> bool:
        error = ffi.new("acemq_error **")
        status = lib.acemq_receipt_wait(self._handle, timeout, error)
        if status == lib.ACEMQ_E_TIMEOUT:
            lib.acemq_error_free(error[0])
            return False
        if status != 0:
            self._outcome = take_error(error[0])
        self._end()
        return True


class BatchError(PublishError):
    """Some messages of a batch, or of a window, did not end well."""

    #: pairs of the message's number, from 0, and its error
    failures: List[Tuple[int, Error]]

    def __init__(self, failures: List[Tuple[int, Error]], count: int) -> None:
        first = failures[0][1]
        super().__init__(f"{len(failures)} of {count} messages were not published; the first: {first}")
        self.failures = failures
        self.code = first.code
        self.name = first.name


class Publisher:
    """Publishes to one place. Thread-safe.

    The fields of a message, as keyword arguments of every call: ``id``, ``type``, ``version``, ``correlation``,
    ``causation``, ``origin``, ``headers``, ``content_type``, ``reply_to``, ``priority``, ``expiration``,
    ``transient``, and ``caused_by``, the message whose handling makes this one.
    """

    @known_keywords
    def __init__(
        self,
        connection: "Connection",
        routing_key: Optional[str] = None,
        *,
        exchange: Optional[str] = None,
        codec: Union[Codec, str, None] = None,
        timeout: Optional[Duration] = None,
        confirm: bool = True,
        mandatory: bool = True,
    ) -> None:
        """routing_key: where a call gives none; with the default exchange the name of a queue.
        codec: how payloads are written; without one bytes travel as they are, and everything else as JSON.
        timeout: of each publish; 30 s unless given.
        confirm: False: a publish is done when it was written.
        mandatory: False: the broker drops what no queue takes.
        """
        options = Options("acemq_publisher_options", lib.acemq_publisher_options_init)
        options.texts({"exchange": exchange, "routing_key": routing_key})
        options.durations({"timeout": timeout})
        options.flags({"unconfirmed": not confirm, "optional": not mandatory})
        self._codec = None if codec is None else codec_of(codec)
        self._connection = connection
        self._handle = made(
            "acemq_publisher", lib.acemq_publisher_free, lib.acemq_publisher_new, connection._handle, options.struct
        )

    def send(
        self,
        payload: Any,
        *,
        routing_key: Optional[str] = None,
        timeout: Optional[Duration] = None,
        **fields: Any,
    ) -> None:
        """Publishes a message and waits until the broker has it in a queue. Raises Unroutable, Nacked, Refused or
        UnknownOutcome (a PublishError each), and before anything is sent what is wrong with the message."""
        self.begin(payload, routing_key=routing_key, timeout=timeout, **fields).wait()

    def begin(
        self,
        payload: Any,
        *,
        routing_key: Optional[str] = None,
        timeout: Optional[Duration] = None,
        **fields: Any,
    ) -> Receipt:
        """Publishes without waiting for the broker; the receipt tells how it ended. It waits only for room among the
        publishes that are under way at once."""
        return self._begin(payload, routing_key, timeout, fields)

    def _begin(self, payload: Any, routing_key: Optional[str], timeout: Optional[Duration], fields: Any) -> Receipt:
        begin, size = self._prepared(payload, routing_key, timeout, fields)

        def receipt() -> Receipt:
            return Receipt(self._connection, begin())  # when Ctrl-C ends the wait, it lets go of the publish

        return interruptible(receipt) if self._may_wait(size) else receipt()

    def _may_wait(self, size: int) -> bool:
        """Whether beginning a publish could wait for room: then the main thread must not do it itself."""
        return on_main_thread() and not lib.acemq_publisher_has_room(self._handle, size)

    def _prepared(self, payload: Any, routing_key: Optional[str], timeout: Optional[Duration], fields: Any) -> Any:
        """What begins the publish, and how large it is; headers are small beside what there is room for."""
        codec = codec_for(payload, self._codec)
        body = codec.encode(payload)
        key = text(routing_key, "routing_key")
        limit = 0 if timeout is None else milliseconds(timeout)
        publisher = self._handle
        out, error = ffi.new("acemq_receipt **"), ffi.new("acemq_error **")
        if not fields and codec._wrapping is None:
            kind = codec.content_type.encode()
            arguments: Tuple[Any, ...] = (ffi.from_buffer(body), len(body), kind, ffi.NULL)
            call = lib.acemq_py_begin_plain
            sent: Any = None
        else:
            sent = outgoing(codec, fields)
            arguments = (ffi.from_buffer(body), len(body), sent.fields)
            call = lib.acemq_py_begin

        def begin(kept: Any = (body, sent)) -> Any:
            if call(publisher, key, *arguments, limit, out, error) != 0:
                raise take_error(error[0])
            return out[0]

        return begin, len(body)

    def _message(self, payload: Any, fields: Any) -> Any:
        codec = codec_for(payload, self._codec)
        return outgoing(codec, fields).message(codec.encode(payload))

    def send_batch(
        self,
        payloads: Iterable[Any],
        *,
        routing_key: Optional[str] = None,
        timeout: Optional[Duration] = None,
        **fields: Any,
    ) -> None:
        """Publishes all of them before it waits for any; not atomic. Raises BatchError, which has the error of each
        that did not end well by its number."""
        messages = [self._message(payload, fields) for payload in payloads]
        if not messages:
            return
        count = len(messages)
        statuses, errors = ffi.new("acemq_status[]", count), ffi.new("acemq_error *[]", count)
        key = text(routing_key, "routing_key")
        limit = 0 if timeout is None else milliseconds(timeout)
        list = ffi.new("acemq_message *[]", messages)

        def send(kept: Any = messages) -> int:
            return int(
                lib.acemq_publisher_send_batch(
                    self._handle, key, list, count, limit, statuses, errors, ffi.NULL
                )
            )

        status = interruptible(send)
        failures = [(index, take_error(errors[index])) for index in range(count) if errors[index] != ffi.NULL]
        if failures:
            raise BatchError(failures, count)
        if status != 0:
            checked(lib.acemq_publisher_send_batch, self._handle, key, list, count, limit, ffi.NULL, ffi.NULL)

    def window(self, size: int = 256) -> "Window":
        """Publishes one message after the other with so many under way at once."""
        return Window(self, size)


class Window:
    """A stream of publishes, of which `size` are under way at once. As a context manager it waits at its end for all
    of them, and raises BatchError when some did not end well. One thread at a time."""

    def __init__(self, publisher: Publisher, size: int) -> None:
        self._native = ffi.new("acemq_py_window *")
        self._publisher = publisher
        self._connection = publisher._connection
        self._size = integer(size, "size", 1, 65535)
        self._piece = max(1, self._size // 4)
        self._has_codec = publisher._codec is not None
        self._failures: List[Tuple[int, Error]] = []
        self._receipts = ffi.new("acemq_receipt *[]", self._size)
        self._native.publisher = publisher._handle
        self._native.receipts = self._receipts
        self._native.size = self._size

    def send(
        self,
        payload: Any,
        *,
        routing_key: Optional[str] = None,
        timeout: Optional[Duration] = None,
        type: Optional[str] = None,
        **fields: Any,
    ) -> None:
        """Publishes a message; waits only while the window is full. Raises what is wrong with this message, at once;
        how publishes ended is raised at the window's end."""
        if fields or timeout is not None or self._has_codec:
            self._send_apart(payload, routing_key, timeout, {"type": type, **fields})
            return
        if isinstance(payload, (bytes, bytearray, memoryview)):
            body, kind = bytes(payload), _BYTES_TYPE
        else:
            body, kind = _json(payload), _JSON_TYPE
        key = _NULL if routing_key is None else text(routing_key, "routing_key")
        named = _NULL if type is None else text(type, "type")
        status = _window_begin(self._native, key, body, len(body), kind, named)
        if status == _FULL:
            self._collect(self._piece)
            status = _window_begin(self._native, key, body, len(body), kind, named)
        if status == _NO_ROOM:
            self._send_apart(payload, routing_key, timeout, {} if type is None else {"type": type})
        elif status != 0:
            raise self._failure(status)

    def _send_apart(self, payload: Any, routing_key: Optional[str], timeout: Optional[Duration], fields: Any) -> None:
        """What has more to it, or waits for room among the publishes of the whole client."""
        if self._native.count >= self._size:
            self._collect(self._piece)
        handle = self._publisher._begin(payload, routing_key, timeout, fields)._release()
        # Ctrl-C may come between any two of these: what is nobody's then is a leak, what is two's a crash
        status = lib.acemq_py_window_add(self._native, handle)
        if status != 0:
            let_go(self._connection, handle)
            raise self._failure(status)

    def _failure(self, status: int) -> Error:
        if status == lib.ACEMQ_PY_BUSY:
            return WrongThread("another thread is using this window")
        return take_error(self._native.error)

    def _collect(self, count: int) -> None:
        """Waits for the oldest `count`."""
        native = self._native
        piece = SLICE if on_main_thread() else FOREVER
        goal = native.ended + min(count, native.count)
        while native.ended < goal:
            status = lib.acemq_py_window_collect(native, goal - native.ended, piece)
            if status == lib.ACEMQ_E_TIMEOUT:
                lib.acemq_error_free(native.error)
            elif status == lib.ACEMQ_PY_BUSY:
                raise self._failure(status)
            elif status != 0:
                self._failures.append((native.ended, self._failure(status)))
                lib.acemq_receipt_free(lib.acemq_py_window_take(native))

    def flush(self) -> None:
        """Waits for all that is under way, and raises BatchError when some did not end well."""
        self._collect(self._native.count)
        failures, self._failures = self._failures, []
        if failures:
            raise BatchError(failures, self._native.ended)

    def _drop(self) -> None:
        while True:
            receipt = lib.acemq_py_window_take(self._native)
            if receipt == ffi.NULL:
                return
            let_go(self._connection, receipt)

    def __del__(self) -> None:
        self._drop()

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, kind: Any, failure: Optional[BaseException], trace: "Optional[TracebackType]") -> None:
        if failure is None or isinstance(failure, Exception):
            try:
                self.flush()
            except BatchError:
                if failure is None:
                    raise
        else:
            self._drop()

