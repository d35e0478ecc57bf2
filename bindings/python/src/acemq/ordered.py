"""Consuming in order: messages of one key one after the other."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional

from acemq._library import ffi, lib
from acemq.consumer import Source, consumer_options, read_work
from acemq.errors import InvalidArgument, Timeout, checked, made, take_error, to_text
from acemq.keywords import check_keywords
from acemq.options import Options
from acemq.values import integer, moment

if TYPE_CHECKING:
    from acemq.connection import Connection


class Gap(NamedTuple):
    """A message that ordered consuming passed over."""

    partition: int
    id: str
    reason: str
    time: datetime.datetime
    parked: bool


_FAILURES = {
    "stop": lib.ACEMQ_ORDER_STOP,
    "retry_in_place": lib.ACEMQ_ORDER_RETRY_IN_PLACE,
    "skip": lib.ACEMQ_ORDER_SKIP,
}


class Ordered(Source):
    """Consumes the partitions of one name: messages of one key in their order, different keys at once."""

    _kind = lib.ACEMQ_PY_ORDERED
    _handle_kind = "acemq_ordered"
    _open = lib.acemq_ordered_open
    _free = lib.acemq_ordered_free
    _wake_up = lib.acemq_ordered_wake
    _descriptor = lib.acemq_ordered_fd
    _close = lib.acemq_ordered_close
    _pause = lib.acemq_ordered_pause
    _paused = lib.acemq_ordered_paused
    _counters = lib.acemq_ordered_get_counters
    _subscribed = lib.acemq_ordered_subscribed

    def __init__(
        self,
        connection: "Connection",
        name: str,
        *,
        partitions: Optional[int] = None,
        failure: str = "stop",
        **options: Any,
    ) -> None:
        """failure: what happens to a message whose attempts are used up, or that was rejected: ``"stop"`` halts its
        partition, ``"retry_in_place"`` tries for ever, ``"skip"`` makes a dead letter of it and goes on."""
        if failure not in _FAILURES:
            raise InvalidArgument("failure must be 'stop', 'retry_in_place' or 'skip'", field="failure")
        check_keywords("Ordered", options, Ordered._keywords())
        each = consumer_options(connection, **options)
        ordered = Options("acemq_ordered_options", lib.acemq_ordered_options_init)
        ordered.numbers({"partitions": partitions})
        ordered.handles({"consumer": each.struct})
        ordered.struct.failure = _FAILURES[failure]
        self._partitions = int(ordered.struct.partitions)
        super().__init__(connection, name, ordered, each)

    def _width(self) -> int:
        return self._partitions

    def resume(self, partition: Optional[int] = None) -> None:
        """Resumes what was paused, or halted at a failure; None: all partitions."""
        which = -1 if partition is None else integer(partition, "partition", 0, 1023)
        checked(lib.acemq_ordered_resume, self._handle, which)

    def halted(self, partition: int) -> Optional[str]:
        """Why the partition is halted; None while it is not."""
        out = ffi.new("acemq_error **")
        halted = lib.acemq_ordered_halted(self._handle, integer(partition, "partition", 0, 1023), out)
        why = str(take_error(out[0])) if out[0] else ""
        return why if halted else None

    def gaps(self) -> List[Gap]:
        """Messages that were passed over, oldest first, the newest 1000."""
        gaps = made("acemq_gaps", lib.acemq_gaps_free, lib.acemq_ordered_get_gaps, self._handle)
        return [
            Gap(
                lib.acemq_gaps_partition(gaps, index),
                to_text(lib.acemq_gaps_id(gaps, index)),
                to_text(lib.acemq_gaps_reason(gaps, index)),
                moment(lib.acemq_gaps_time(gaps, index)),
                bool(lib.acemq_gaps_parked(gaps, index)),
            )
            for index in range(lib.acemq_gaps_count(gaps))
        ]

    def gaps_total(self) -> int:
        """All there were since it was opened."""
        gaps = made("acemq_gaps", lib.acemq_gaps_free, lib.acemq_ordered_get_gaps, self._handle)
        return int(lib.acemq_gaps_total(gaps))

    def _drain_once(self, timeout: int) -> None:
        left = ffi.new("acemq_work **")
        try:
            checked(lib.acemq_ordered_drain, self._handle, timeout, ffi.NULL, left)
        except Timeout as failure:
            failure.left = read_work(left[0])  # type: ignore[attr-defined]
            raise
