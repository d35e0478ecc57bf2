"""The same for asyncio: publishes and messages come over file descriptors, without a thread each.

::

    async with acemq.aio.connect("amqp://localhost/") as mq:
        publisher = mq.publisher("orders")
        await publisher.send({"id": 7})
        async for message in await mq.open_consumer("orders"):
            with message:
                await charge(message.body["id"])
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from typing import Any, AsyncIterator, Callable, Dict, Generator, Optional, TypeVar

from acemq import connecting, events
from acemq._library import ffi, lib
from acemq.codec import codec_for
from acemq.connection import Connection, Health
from acemq.consumer import Consumer, Group, Source
from acemq.errors import Closed, Error, InvalidArgument, from_error, take_error
from acemq.keywords import check_keywords, options_of
from acemq.message import Message, outgoing
from acemq.ordered import Ordered
from acemq.publisher import Publisher
from acemq.queues import Counted, Replayed
from acemq.topology import Plan, Topology
from acemq.values import Duration, milliseconds, text

_Result = TypeVar("_Result")
#: events taken in one turn of the loop
_AT_ONCE = 1000


class AsyncPublisher:
    """A publisher of an `AsyncConnection`; see `Publisher` for the options. One event loop."""

    def __init__(self, connection: "AsyncConnection", routing_key: Optional[str], options: Dict[str, Any]) -> None:
        self._connection = connection
        self._publisher = Publisher(connection.sync, routing_key, **options)

    async def send(
        self,
        payload: Any,
        *,
        routing_key: Optional[str] = None,
        timeout: Optional[Duration] = None,
        **fields: Any,
    ) -> None:
        """Publishes a message and waits until the broker has it in a queue; raises as `Publisher.send` does. Many may
        be under way at once. One that is cancelled may or may not arrive."""
        codec = codec_for(payload, self._publisher._codec)
        body = codec.encode(payload)
        sent = outgoing(codec, fields)
        key = text(routing_key, "routing_key")
        limit = 0 if timeout is None else milliseconds(timeout)
        connection = self._connection
        async with connection._room:
            token, future = connection._expect()

            def submit() -> None:
                error = ffi.new("acemq_error **")
                held = ffi.from_buffer(body)
                handle = self._publisher._handle
                if lib.acemq_py_submit(handle, key, held, len(body), sent.fields, limit, token, error) != 0:
                    raise take_error(error[0])

            try:
                if lib.acemq_publisher_has_room(self._publisher._handle, len(body)):
                    submit()
                else:
                    await connection._in_thread(submit)
                await future
            finally:
                connection._forget(token)


class AsyncSource:
    """A consumer whose messages are taken by ``async for``, or `next`. Each is settled by whoever takes it, best by
    ``with message:``."""

    def __init__(self, connection: "AsyncConnection", source: Source) -> None:
        self._connection = connection
        #: the consumer itself, for what does not wait: `pause`, `counters` …
        self.sync = source

    async def next(self) -> Message:
        """The next message; `asyncio.wait_for` limits the time."""
        return await self.sync.next_async()

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            try:
                yield await self.next()
            except Closed:
                return

    async def drain(self, timeout: Duration = 20) -> None:
        """Takes no more work, and waits until all in hand is settled. Raises Timeout."""
        await self._connection._in_thread(self.sync.drain, timeout)

    async def close(self) -> None:
        await self._connection._in_thread(self.sync.close)

    async def __aenter__(self) -> "AsyncSource":
        return self

    async def __aexit__(self, kind: Any, failure: Any, trace: Any) -> None:
        await self.close()


def _close_opened(opening: "asyncio.Future[Source]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.get_loop().run_in_executor(None, opening.result().close)


class AsyncConnection:
    """A client for one event loop. What waits for the broker is a coroutine; everything else is on `sync`."""

    def __init__(self, sync: Connection) -> None:
        #: the client itself: `health`, `state`, `on_event`, `intercept`, `pause_publishing` …
        self.sync = sync
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(max(1, sync._outstanding - 1))
        self._tokens = itertools.count(1)
        self._expected: "Dict[int, asyncio.Future[None]]" = {}
        self._descriptor = lib.acemq_connection_event_fd(sync._handle)
        self._loop.add_reader(self._descriptor, self._take_events)

    # --- events ---

    def _expect(self) -> Any:
        token = next(self._tokens)
        future = self._expected[token] = self._loop.create_future()
        return token, future

    def _forget(self, token: int) -> None:
        self._expected.pop(token, None)

    def _take_events(self) -> None:
        out = ffi.new("acemq_event **")
        for _ in range(_AT_ONCE):
            if lib.acemq_connection_next_event(self.sync._handle, 0, out, ffi.NULL) != 0:
                return
            event = ffi.gc(out[0], lib.acemq_event_free)
            if lib.acemq_event_get_kind(event) == lib.ACEMQ_EVENT_CONFIRM:
                self._confirm(event)
            else:
                events.dispatch(self.sync, event)

    def _confirm(self, event: Any) -> None:
        future = self._expected.get(int(lib.acemq_event_number(event)))
        if future is None or future.done():
            return
        cause = lib.acemq_event_error(event)
        if cause == ffi.NULL:
            future.set_result(None)
        else:
            future.set_exception(from_error(cause))

    async def _opened(self, kind: Any, name: str, options: Dict[str, Any]) -> "AsyncSource":
        """What is opened although nobody waits for it any more is closed: messages would lie there unseen."""
        opening = self._loop.run_in_executor(None, lambda: kind(self.sync, name, **options))
        try:
            return AsyncSource(self, await asyncio.shield(opening))
        except asyncio.CancelledError:
            opening.add_done_callback(_close_opened)
            raise

    async def _in_thread(self, function: Callable[..., _Result], *arguments: Any, **named: Any) -> _Result:
        return await self._loop.run_in_executor(None, lambda: function(*arguments, **named))

    # --- publishing and consuming ---

    def publisher(self, routing_key: Optional[str] = None, **options: Any) -> AsyncPublisher:
        """A publisher to one place."""
        check_keywords("AsyncConnection.publisher", options, options_of(Publisher.__init__))
        return AsyncPublisher(self, routing_key, options)

    async def publish(self, queue: str, payload: Any, **fields: Any) -> None:
        """Publishes one message to a queue, and waits until it is confirmed."""
        if not queue:
            raise InvalidArgument("queue is empty", field="queue")
        if "_default" not in self.__dict__:
            self._default = self.publisher()
        await self._default.send(payload, routing_key=queue, **fields)

    async def open_consumer(self, queue: str, **options: Any) -> AsyncSource:
        """A consumer of one queue; the options are those of `Connection.consumer`."""
        check_keywords("AsyncConnection.open_consumer", options, Consumer._keywords())
        return await self._opened(Consumer, queue, options)

    async def open_group(self, queue: str, **options: Any) -> AsyncSource:
        """A group: up to ``members`` tasks may be in `AsyncSource.next`."""
        check_keywords("AsyncConnection.open_group", options, Group._keywords())
        return await self._opened(Group, queue, options)

    async def open_ordered(self, name: str, **options: Any) -> AsyncSource:
        """The partitions of a name, in order."""
        check_keywords("AsyncConnection.open_ordered", options, Ordered._keywords())
        return await self._opened(Ordered, name, options)

    # --- queues ---

    async def count(self, queue: str, **options: Any) -> Counted:
        check_keywords("AsyncConnection.count", options, options_of(Connection.count))
        return await self._in_thread(self.sync.count, queue, **options)

    async def purge(self, queue: str, **options: Any) -> int:
        check_keywords("AsyncConnection.purge", options, options_of(Connection.purge))
        return await self._in_thread(self.sync.purge, queue, **options)

    async def delete(self, queue: str, **options: Any) -> int:
        check_keywords("AsyncConnection.delete", options, options_of(Connection.delete))
        return await self._in_thread(self.sync.delete, queue, **options)

    async def pending(self, queue: str, **options: Any) -> int:
        check_keywords("AsyncConnection.pending", options, options_of(Connection.pending))
        return await self._in_thread(self.sync.pending, queue, **options)

    async def replay(self, queue: str, **options: Any) -> Replayed:
        """The filter, where there is one, runs on another thread."""
        check_keywords("AsyncConnection.replay", options, options_of(Connection.replay))
        return await self._in_thread(self.sync.replay, queue, **options)

    async def apply(self, topology: Topology, **options: Any) -> Plan:
        check_keywords("AsyncConnection.apply", options, options_of(Connection.apply))
        return await self._in_thread(self.sync.apply, topology, **options)

    async def declare(self, *queues: str, **options: Any) -> Plan:
        known = options_of(Topology.queue, Connection.declare)
        check_keywords("AsyncConnection.declare", options, known)
        return await self._in_thread(self.sync.declare, *queues, **options)

    def health(self) -> Health:
        return self.sync.health()

    # --- the end ---

    async def close(self, timeout: Duration = 20) -> None:
        """As `Connection.close`: publishes under way are waited for."""
        try:
            await self._in_thread(self.sync.close, timeout)
        finally:
            self._take_events()
            self._loop.remove_reader(self._descriptor)
            for future in self._expected.values():
                if not future.done():
                    future.set_exception(Closed("the connection was closed"))

    async def __aenter__(self) -> "AsyncConnection":
        return self

    async def __aexit__(self, kind: Any, failure: Optional[BaseException], trace: Any) -> None:
        try:
            await self.close()
        except Error:
            if failure is None:
                raise


class _Connecting:
    """What `connect` answers: to be awaited, or entered."""

    def __init__(self, url: str, options: Dict[str, Any]) -> None:
        self._url = url
        self._options = options
        self._made: Optional[AsyncConnection] = None

    async def _connect(self) -> AsyncConnection:
        given = inspect.signature(connecting.connect).bind(self._url, **self._options)
        given.apply_defaults()
        loop = asyncio.get_running_loop()
        sync = await loop.run_in_executor(None, connecting.opened, given.arguments, True)
        return AsyncConnection(sync)

    def __await__(self) -> Generator[Any, None, AsyncConnection]:
        return self._connect().__await__()

    async def __aenter__(self) -> AsyncConnection:
        self._made = await self._connect()
        return self._made

    async def __aexit__(self, kind: Any, failure: Any, trace: Any) -> None:
        assert self._made is not None
        await self._made.__aexit__(kind, failure, trace)


def connect(url: str, **options: Any) -> _Connecting:
    """As `acemq.connect`, to be awaited, or used with ``async with``."""
    check_keywords("connect", options, options_of(connecting.connect))
    return _Connecting(url, options)

