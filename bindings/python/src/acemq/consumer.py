"""Consuming: one message at a time, several at once, or in order."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Union

from acemq._library import ffi, lib
from acemq.codec import Codec, codec_of
from acemq.errors import (
    Closed,
    Error,
    FromHandler,
    InvalidArgument,
    StateError,
    Timeout,
    checked,
    made,
    take_error,
    to_text,
)
from acemq.idempotency import Idempotency, claim_key_of, store_of
from acemq.interrupt import SLICE, interruptible, on_main_thread
from acemq.keywords import check_keywords, options_of
from acemq.message import Message
from acemq.options import Options, as_dict, sized
from acemq.policy import Policy, policy_of
from acemq.table import Headers, to_table
from acemq.values import FOREVER, Duration, integer, milliseconds, text, timeout_or_forever
from acemq.worker import Handler, Workers, handling

if TYPE_CHECKING:
    from types import TracebackType

    from acemq.connection import Connection


class Work(NamedTuple):
    """A message in hand."""

    queue: str
    id: str
    #: how long somebody has had it, in seconds
    running: float


def read_work(list: Any) -> List[Work]:
    """And frees it."""
    work = ffi.gc(list, lib.acemq_work_free)
    return [
        Work(
            to_text(lib.acemq_work_queue(work, index)),
            to_text(lib.acemq_work_id(work, index)),
            lib.acemq_work_running(work, index) / 1000,
        )
        for index in range(lib.acemq_work_count(work))
    ]


def consumer_options(
    connection: "Connection",
    *,
    retry: Union[Policy, str, None] = None,
    codec: Union[Codec, str, None] = None,
    arguments: Optional[Headers] = None,
    tag: Optional[str] = None,
    timeout: Optional[Duration] = None,
    prefetch: Optional[int] = None,
    prefetch_bytes: Optional[int] = None,
    acknowledgement_limit: Optional[Duration] = None,
    verify: bool = False,
    requeue_on_failure: bool = False,
    exclusive: bool = False,
    idempotency: Union[Idempotency, str, None] = None,
    claim_key: Optional[Callable[[Message], str]] = None,
    lease: Optional[Duration] = None,
    put_back_wait: Optional[Duration] = None,
    renew: bool = False,
) -> Options:
    """The options of every kind of consumer.

    retry: a policy, or its text; without one a message has one attempt, and is then a dead letter.
    codec: how bodies are read; JSON unless given. What does not decode is parked.
    prefetch, prefetch_bytes: how much the broker sends ahead; 50 messages and 64 MiB unless given.
    verify: the consumer's queues are only checked, never declared.
    requeue_on_failure: without a policy, a failed message goes back to its queue.
    exclusive: nobody else may consume the queue.
    idempotency: a store of claims, or where it is (``"lmdb:claims"``), so that what comes twice is handled once.
    claim_key: the key of a message there; its id unless given.
    lease, put_back_wait, renew: of its claims; see the guide.
    acknowledgement_limit: how long the broker lets a message be unacknowledged; 30 minutes unless given.
    arguments, tag, timeout: of the subscription.
    """
    options = Options("acemq_consumer_options", lib.acemq_consumer_options_init)
    chosen = codec_of(codec)
    store = store_of(idempotency)
    options.held.extend((chosen, store))
    options.texts({"tag": tag})
    options.numbers({"prefetch": prefetch, "prefetch_bytes": prefetch_bytes})
    options.durations(
        {
            "timeout": timeout,
            "acknowledgement_limit": acknowledgement_limit,
            "lease": lease,
            "put_back_wait": put_back_wait,
        }
    )
    options.flags({"requeue_on_failure": requeue_on_failure, "exclusive": exclusive, "renew": renew})
    options.handles(
        {
            "retry": policy_of(retry),
            "codec": chosen._native(),
            "arguments": to_table(arguments) if arguments else None,
            "idempotency": store._handle if store else None,
        }
    )
    options.struct.declare = lib.ACEMQ_DECLARE_VERIFY if verify else lib.ACEMQ_DECLARE_YES
    if claim_key is not None:
        if not callable(claim_key):
            raise InvalidArgument("claim_key must be a function", field="claim_key")
        claim_key_of(options, claim_key, chosen)
    options.codec = chosen  # type: ignore[attr-defined]
    return options


class Source:
    """What consumer, group and ordered consumer have in common. Thread-safe."""

    _kind: int
    _open: Any
    _free: Any
    _wake_up: Any
    _descriptor: Any
    _close: Any
    _pause: Any
    _counters: Any
    _subscribed: Any
    _paused: Any
    _handle_kind: str

    def __init__(self, connection: "Connection", queue: str, options: Options, consumer: Options) -> None:
        self.queue = queue
        self._connection = connection
        self._codec: Codec = consumer.codec  # type: ignore[attr-defined]
        self._options = (options, consumer)
        self._workers: Optional[Workers] = None
        self._closed = False
        self._draining = threading.Lock()
        self._awaiting: "Dict[asyncio.AbstractEventLoop, List[asyncio.Future[None]]]" = {}
        self._handle = interruptible(
            lambda: made(
                self._handle_kind, self._free, self._open, connection._handle, text(queue, "queue"), options.struct
            )
        )
        connection._sources.add(self)

    @classmethod
    def _keywords(cls) -> FrozenSet[str]:
        """The options of this kind."""
        return options_of(consumer_options, cls.__init__)

    # --- taking messages ---

    def next(self, timeout: Optional[Duration] = None) -> Message:
        """The next message, which the caller settles. Raises Timeout when none came; None waits for ever."""
        if self._workers is not None:
            raise StateError("a handler takes the messages of this consumer")
        limit = timeout_or_forever(timeout)
        piece = SLICE if on_main_thread() else limit
        deadline = time.monotonic() + limit / 1000
        turn = ffi.new("acemq_py_turn *")
        try:
            return self._next(turn, limit, piece, deadline)
        except BaseException:
            lib.acemq_delivery_free(turn.delivery)  # Ctrl-C came when it was taken, and before it was anybody's
            raise

    def _next(self, turn: Any, limit: int, piece: int, deadline: float) -> Message:
        while True:
            left = max(0, int((deadline - time.monotonic()) * 1000)) if limit != FOREVER else FOREVER
            status = lib.acemq_py_next(turn, self._handle, self._kind, min(piece, left))
            if status == 0:
                return self._taken(turn)
            error = take_error(turn.error)
            if status != lib.ACEMQ_E_TIMEOUT or left <= piece:
                raise error

    def _taken(self, turn: Any) -> Message:
        message = Message(turn.delivery, self._codec, turn.body, turn.length, False)
        turn.delivery = ffi.NULL  # nothing that could be interrupted lies between these
        message._mine = True
        return message

    def __iter__(self) -> Iterator[Message]:
        """Messages until the consumer is closed. Each is settled by whoever takes it, best by ``with message:``."""
        while True:
            try:
                yield self.next()
            except Closed:
                return

    def wake(self) -> None:
        """Makes the `next` under way, or else the next one, raise Cancelled. Any thread."""
        self._wake()

    def _wake(self) -> None:
        self._wake_up(self._handle)

    def fileno(self) -> int:
        """Readable while `next` would not wait; the library's, never to be read or closed."""
        return int(self._descriptor(self._handle))

    # --- asyncio ---

    async def next_async(self) -> Message:
        """The next message, without a thread: over the file descriptor."""
        turn = ffi.new("acemq_py_turn *")
        while True:
            status = lib.acemq_py_next(turn, self._handle, self._kind, 0)
            if status == 0:
                return Message(turn.delivery, self._codec, turn.body, turn.length)
            error = take_error(turn.error)
            if status != lib.ACEMQ_E_TIMEOUT:
                raise error
            await self._readable()

    async def _readable(self) -> None:
        """Until `next` would not wait. A loop takes one reader of a descriptor, however many tasks wait for it."""
        loop = asyncio.get_running_loop()
        waiting = self._awaiting.setdefault(loop, [])
        ready = loop.create_future()
        if not waiting:
            loop.add_reader(self.fileno(), _wake_each, waiting)
        waiting.append(ready)
        try:
            await ready
        finally:
            waiting.remove(ready)
            if not waiting:
                del self._awaiting[loop]
                loop.remove_reader(self.fileno())

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            try:
                yield await self.next_async()
            except Closed:
                return

    # --- handlers ---

    def _stop_taking(self) -> None:
        if self._workers is not None:
            self._workers._stopping = True

    def _start(self, handler: Handler, ended: Callable[[Optional[BaseException]], None]) -> None:
        self._workers = Workers(self, handler, ended)
        self._workers.grow_to(self._width())

    def _width(self) -> int:
        """How many threads may be in `next`."""
        return 1

    def _not_from_handler(self, what: str) -> None:
        if handling.source is self:
            raise FromHandler(f"{what} would wait for the handler it is called from")

    # --- control ---

    def pause(self) -> None:
        """It is not subscribed any more: what was not begun goes back to the queue; what is in hand is finished."""
        checked(self._pause, self._handle)

    @property
    def paused(self) -> bool:
        return bool(self._paused(self._handle))

    @property
    def subscribed(self) -> bool:
        """False while the connection is away, and when it ended."""
        return bool(self._subscribed(self._handle))

    def counters(self) -> Dict[str, int]:
        """Counted since it was opened: ``acknowledged``, ``retried``, ``dead_lettered``, ``parked`` …"""
        struct = sized("acemq_consumer_counters")
        checked(self._counters, self._handle, struct)
        return as_dict(struct)

    def _drain_once(self, timeout: int) -> None:
        raise NotImplementedError

    def drain(self, timeout: Duration = 20) -> None:
        """Takes no more work, puts back what was not begun, and waits until all in hand is settled. Raises Timeout
        when something was left, FromHandler from its own handler."""
        self._not_from_handler("drain")
        deadline = time.monotonic() + milliseconds(timeout) / 1000
        if self._workers is not None:
            self._workers._stopping = True
        while True:
            left = max(0, int((deadline - time.monotonic()) * 1000))
            try:
                self._drain_once(min(SLICE, left) if on_main_thread() else left)
                break
            except Timeout:
                if left <= SLICE or not on_main_thread():
                    raise
        if self._workers is not None:
            self._workers.stop()

    def close(self) -> None:
        """Ends the subscription without waiting for handlers; what they hold is settled when they return. Again is
        fine, and so it is from a handler."""
        if self._closed:
            return
        self._closed = True
        self._connection._let_go(self)
        if self._workers is not None:
            self._workers._stopping = True
        try:
            checked(self._close, self._handle)
        except Closed:
            pass
        if self._workers is not None:
            self._workers.stop()

    def __enter__(self) -> "Any":
        return self

    def __exit__(self, kind: Any, failure: Any, trace: "Optional[TracebackType]") -> None:
        self.close()


class Consumer(Source):
    """Consumes one queue, one message at a time."""

    _kind = lib.ACEMQ_PY_CONSUMER
    _handle_kind = "acemq_consumer"
    _open = lib.acemq_consumer_open
    _free = lib.acemq_consumer_free
    _wake_up = lib.acemq_consumer_wake
    _descriptor = lib.acemq_consumer_fd
    _close = lib.acemq_consumer_close
    _pause = lib.acemq_consumer_pause
    _paused = lib.acemq_consumer_paused
    _counters = lib.acemq_consumer_get_counters
    _subscribed = lib.acemq_consumer_subscribed

    def __init__(self, connection: "Connection", queue: str, **options: Any) -> None:
        check_keywords("Consumer", options, Consumer._keywords())
        made = consumer_options(connection, **options)
        super().__init__(connection, queue, made, made)

    def resume(self) -> None:
        checked(lib.acemq_consumer_resume, self._handle)

    @property
    def prefetch(self) -> int:
        """How many messages the broker sends ahead; may be set while it runs."""
        return int(lib.acemq_consumer_prefetch(self._handle))

    @prefetch.setter
    def prefetch(self, value: int) -> None:
        checked(lib.acemq_consumer_set_prefetch, self._handle, integer(value, "prefetch", -(2**63), 2**63 - 1))

    def work(self) -> List[Work]:
        """What is in hand now."""
        out = ffi.new("acemq_work **")
        checked(lib.acemq_consumer_get_work, self._handle, out)
        return read_work(out[0])

    def _drain_once(self, timeout: int) -> None:
        checked(lib.acemq_consumer_drain, self._handle, timeout, ffi.NULL)


class Group(Source):
    """Consumes one queue with as many handlers at once as it has members, in no particular order."""

    _kind = lib.ACEMQ_PY_GROUP
    _handle_kind = "acemq_group"
    _open = lib.acemq_group_open
    _free = lib.acemq_group_free
    _wake_up = lib.acemq_group_wake
    _descriptor = lib.acemq_group_fd
    _close = lib.acemq_group_close
    _pause = lib.acemq_group_pause
    _paused = lib.acemq_group_paused
    _counters = lib.acemq_group_get_counters
    _subscribed = lib.acemq_group_subscribed

    def __init__(
        self,
        connection: "Connection",
        queue: str,
        *,
        members: Optional[int] = None,
        drain_budget: Optional[Duration] = None,
        **options: Any,
    ) -> None:
        check_keywords("Group", options, Group._keywords())
        each = consumer_options(connection, **options)
        group = Options("acemq_group_options", lib.acemq_group_options_init)
        group.numbers({"members": members})
        group.durations({"drain_budget": drain_budget})
        group.handles({"consumer": each.struct})
        super().__init__(connection, queue, group, each)

    def resume(self) -> None:
        checked(lib.acemq_group_resume, self._handle)

    @property
    def members(self) -> int:
        """How many handlers run at once; `scale` changes it."""
        return int(lib.acemq_group_members(self._handle))

    def _width(self) -> int:
        return self.members

    def scale(self, members: int) -> None:
        """Another number of members, 1 to 1000. With fewer it waits, within the drain budget, until those removed have
        finished what they are at; from a handler it does not wait, and they go by and by."""
        wanted = integer(members, "members", -(2**63), 2**63 - 1)
        if handling.source is self:
            self._scale_from_handler(wanted)
            return
        interruptible(lambda: checked(lib.acemq_group_scale, self._handle, wanted))
        if self._workers is not None:
            self._workers.grow_to(self.members)

    def _scale_from_handler(self, wanted: int) -> None:
        """The library cannot know that the thread that would wait is the one waited for."""
        if not 1 <= wanted <= 1000:
            checked(lib.acemq_group_scale, self._handle, wanted)

        def run() -> None:
            try:
                checked(lib.acemq_group_scale, self._handle, wanted)
            except Error:
                pass  # some are still at it: the number is the new one all the same
            if self._workers is not None and not self._workers._stopping:
                self._workers.grow_to(self.members)

        threading.Thread(target=run, name="acemq-scale", daemon=True).start()

    @property
    def prefetch(self) -> int:
        """Of each member; may be set while it runs."""
        return int(lib.acemq_group_prefetch(self._handle))

    @prefetch.setter
    def prefetch(self, value: int) -> None:
        checked(lib.acemq_group_set_prefetch, self._handle, integer(value, "prefetch", -(2**63), 2**63 - 1))

    def work(self) -> List[Work]:
        """What its members have in hand now."""
        out = ffi.new("acemq_work **")
        checked(lib.acemq_group_get_work, self._handle, out)
        return read_work(out[0])

    def _drain_once(self, timeout: int) -> None:
        left = ffi.new("acemq_work **")
        try:
            checked(lib.acemq_group_drain, self._handle, timeout, ffi.NULL, left)
        except Timeout as failure:
            failure.left = read_work(left[0])  # type: ignore[attr-defined]
            raise


def _wake_each(waiting: "List[asyncio.Future[None]]") -> None:
    for ready in waiting:
        if not ready.done():
            ready.set_result(None)
