"""Queues: counting, looking through them, replaying what was set aside, and topologies."""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple, Optional, Union

from acemq._library import ffi, lib
from acemq.codec import BYTES, Codec, codec_of
from acemq.errors import InvalidArgument, checked, made, take_error
from acemq.interrupt import interruptible
from acemq.keywords import check_keywords, known_keywords, options_of
from acemq.message import Message
from acemq.options import Options, sized
from acemq.topology import Plan, Topology, checked_topology
from acemq.values import Duration, integer, milliseconds, text

_SOURCES = {"dead_letters": lib.ACEMQ_DEAD_LETTERS, "parked": lib.ACEMQ_PARKED_LETTERS}

Filter = Callable[[Message], bool]
Progress = Callable[[int, int, int], None]


class Counted(NamedTuple):
    """Of a queue."""

    ready: int
    consumers: int


class Replayed(NamedTuple):
    """How far a replay got."""

    replayed: int
    declined: int
    #: in the failure queue afterwards, the declined ones included
    left: int


def _source(source: str) -> int:
    if source not in _SOURCES:
        raise InvalidArgument("source must be 'dead_letters' or 'parked'", field="source")
    return int(_SOURCES[source])


class _Watching:
    """What a replay calls, and what that raised."""

    def __init__(self, filter: Optional[Filter], progress: Optional[Progress], codec: Codec, cancel: Any) -> None:
        self.filter = filter
        self.progress = progress
        self.codec = codec
        self.cancel = cancel
        self.failure: Optional[BaseException] = None

    def takes(self, delivery: Any) -> int:
        """After a failure nothing is taken any more."""
        if self.failure is not None or self.filter is None:
            return 0
        body = lib.acemq_delivery_body(delivery)
        message = Message(ffi.cast("acemq_delivery *", delivery), self.codec, body.data, body.length, mine=False)
        return 1 if self.filter(message) else 0

    def failed(self, failure: BaseException) -> None:
        self.failure = self.failure or failure
        lib.acemq_cancel_fire(self.cancel)


@ffi.def_extern(error=0)
def acemq_py_replay_filter(delivery: Any, user: Any) -> int:
    watching = ffi.from_handle(user)
    try:
        return int(watching.takes(delivery))
    except BaseException as failure:
        watching.failed(failure)
        return 0


@ffi.def_extern()
def acemq_py_replay_progress(replayed: int, declined: int, total: int, user: Any) -> None:
    watching = ffi.from_handle(user)
    try:
        watching.progress(replayed, declined, total)
    except BaseException as failure:
        watching.failed(failure)


class Browser:
    """Looks through a queue from its head; what it has read is put back in its order when it is closed. One thread at
    a time."""

    def __init__(self, handle: Any, codec: Codec) -> None:
        self._handle = handle
        self._codec = codec

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        out = ffi.new("acemq_delivery **")
        interruptible(lambda: checked(lib.acemq_browser_next, self._open(), ffi.cast("const acemq_delivery **", out)))
        if out[0] == ffi.NULL:
            raise StopIteration
        body = lib.acemq_delivery_body(out[0])
        return _Browsed(self._handle, out[0], self._codec, body.data, body.length)

    def remove(self) -> None:
        """Takes the message that was read last off the queue for good."""
        interruptible(lambda: checked(lib.acemq_browser_remove, self._open()))

    def _open(self) -> Any:
        if self._handle is None:
            raise InvalidArgument("the browser was closed")
        return self._handle

    def close(self) -> None:
        """Puts back what was not removed. The messages it gave can be read no more after they are all let go."""
        self._handle = None

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        self.close()


class _Browsed(Message):
    """It keeps its browser, to which it belongs."""

    __slots__ = ("_browser",)

    def __init__(self, browser: Any, delivery: Any, codec: Codec, address: Any, length: int) -> None:
        super().__init__(delivery, codec, address, length, mine=False)
        self._browser = browser


class Queues:
    """What a client can do with queues."""

    _handle: Any

    @known_keywords
    def count(self, queue: str, *, timeout: Duration = 30) -> Counted:
        """Messages that are ready, and consumers. Raises NotFound."""
        ready, consumers = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        arguments = (self._handle, text(queue, "queue"), milliseconds(timeout), ready, consumers)
        interruptible(lambda: checked(lib.acemq_queue_count, *arguments))
        return Counted(int(ready[0]), int(consumers[0]))

    @known_keywords
    def purge(self, queue: str, *, timeout: Duration = 30) -> int:
        """Throws the ready messages of a queue away, and says how many. Raises NotFound."""
        out = ffi.new("uint64_t *")
        arguments = (self._handle, text(queue, "queue"), milliseconds(timeout), out)
        interruptible(lambda: checked(lib.acemq_queue_purge, *arguments))
        return int(out[0])

    @known_keywords
    def delete(self, queue: str, *, timeout: Duration = 30) -> int:
        """Deletes a queue with all that lies in it, and says how many those were; one that is not there is fine."""
        out = ffi.new("uint64_t *")
        arguments = (self._handle, text(queue, "queue"), milliseconds(timeout), out)
        interruptible(lambda: checked(lib.acemq_queue_delete, *arguments))
        return int(out[0])

    @known_keywords
    def browse(
        self,
        queue: str,
        *,
        max: Optional[int] = None,
        timeout: Optional[Duration] = None,
        force: bool = False,
        codec: Union[Codec, str, None] = None,
    ) -> Browser:
        """Looks through a queue without consuming it. ``force``: also a quorum queue, though each look counts as a
        delivery towards its limit. Bodies are bytes unless a codec is given.

        What it has shown goes back when it is closed, or at the end of a ``with``; until then `replay` and consumers do
        not see those messages."""
        options = Options("acemq_browser_options", lib.acemq_browser_options_init)
        options.numbers({"max": max})
        options.durations({"timeout": timeout})
        options.flags({"force": force})
        arguments = (self._handle, text(queue, "queue"), options.struct)
        handle = interruptible(
            lambda: made("acemq_browser", lib.acemq_browser_free, lib.acemq_browser_open, *arguments)
        )
        return Browser(handle, codec_of(codec, BYTES))

    @known_keywords
    def pending(self, queue: str, *, source: str = "dead_letters", timeout: Duration = 30) -> int:
        """How many messages of a queue were set aside: ``"dead_letters"`` or ``"parked"``."""
        out = ffi.new("uint64_t *")
        arguments = (self._handle, text(queue, "queue"), _source(source), milliseconds(timeout), out)
        interruptible(lambda: checked(lib.acemq_replay_pending, *arguments))
        return int(out[0])

    @known_keywords
    def replay(
        self,
        queue: str,
        *,
        source: str = "dead_letters",
        filter: Optional[Filter] = None,
        id: Optional[str] = None,
        max: Optional[int] = None,
        keep_attempts: bool = False,
        dry_run: bool = False,
        timeout: Optional[Duration] = None,
        acknowledgement_limit: Optional[Duration] = None,
        progress: Optional[Progress] = None,
        codec: Union[Codec, str, None] = None,
    ) -> Replayed:
        """Brings what was set aside back to its queue, unchanged.

        filter: is asked for each message, and answers whether it goes; the others stay. id: only that message.
        max: at most so many. keep_attempts: attempt and error stay as they are. dry_run: moves nothing.
        progress: called after each message with how many were replayed and declined, of how many.
        codec: how the filter reads bodies; bytes unless given.
        """
        if filter is not None and not callable(filter):
            raise InvalidArgument(f"filter must be callable, not {type(filter).__name__}", field="filter")
        options = Options("acemq_replay_options", lib.acemq_replay_options_init)
        cancel = made("acemq_cancel", lib.acemq_cancel_free, lib.acemq_cancel_new)
        watching = _Watching(filter, progress, codec_of(codec, BYTES), cancel)
        user = ffi.new_handle(watching)
        options.texts({"id": id})
        options.numbers({"max": None if max is None else integer(max, "max", 0, 2**63 - 1)})
        options.durations({"timeout": timeout, "acknowledgement_limit": acknowledgement_limit})
        options.flags({"keep_attempts": keep_attempts, "dry_run": dry_run})
        struct = options.struct
        struct.source = _source(source)
        struct.cancel = cancel
        if filter is not None:
            struct.filter, struct.filter_user = lib.acemq_py_replay_filter, user
        if progress is not None:
            struct.progress, struct.progress_user = lib.acemq_py_replay_progress, user
        result, error = sized("acemq_replay_result"), ffi.new("acemq_error **")
        name = text(queue, "queue")
        status = interruptible(
            lambda: lib.acemq_replay(self._handle, name, struct, result, error),
            abandon=lambda: lib.acemq_cancel_fire(cancel),
        )
        far = Replayed(int(result.replayed), int(result.declined), int(result.left))
        if status != 0:
            failure = take_error(error[0])
            if watching.failure is not None:
                raise watching.failure
            failure.result = far  # type: ignore[attr-defined]
            raise failure
        if watching.failure is not None:
            raise watching.failure
        return far

    @known_keywords
    def apply(self, topology: Topology, *, timeout: Duration = 30) -> Plan:
        """Declares a topology. Raises Differs when something is there otherwise; its ``plan`` says all that differs,
        and the rest was declared all the same."""
        return checked_topology(topology)._carried_out(self._handle, lib.acemq_topology_apply, timeout)

    @known_keywords
    def dry_run(self, topology: Topology, *, timeout: Duration = 30) -> Plan:
        """Compares a topology with the broker, and changes nothing."""
        return checked_topology(topology)._carried_out(self._handle, lib.acemq_topology_dry_run, timeout)

    def declare(self, *queues: str, timeout: Duration = 30, **options: Any) -> Plan:
        """Declares durable queues, each with the place for its dead letters; the options are those of
        `Topology.queue`."""
        check_keywords(f"{type(self).__name__}.declare", options, options_of(Topology.queue, Queues.declare))
        topology = Topology()
        for queue in queues:
            topology.queue(queue, **options)
        return self.apply(topology, timeout=timeout)
