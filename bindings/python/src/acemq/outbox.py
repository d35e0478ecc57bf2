"""Messages that exist exactly when the caller's own transaction commits, and the relay that publishes them."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple, Union

from acemq._library import ffi, lib
from acemq.codec import Codec, codec_for, codec_of
from acemq.errors import InvalidArgument, checked, made, or_none, to_text
from acemq.interrupt import interruptible
from acemq.keywords import known_keywords
from acemq.message import outgoing
from acemq.options import Options, as_dict, sized
from acemq.values import Duration, integer, milliseconds, moment, text

if TYPE_CHECKING:
    from acemq.connection import Connection

_PLACEHOLDERS = {
    "$1": lib.ACEMQ_PLACEHOLDER_DOLLAR,
    "?": lib.ACEMQ_PLACEHOLDER_QUESTION,
    "%s": lib.ACEMQ_PLACEHOLDER_PERCENT,
}


class Row(NamedTuple):
    """A message in an outbox."""

    id: str
    exchange: str
    routing_key: str
    content_type: str
    #: a JSON object
    headers: str
    last_error: Optional[str]
    body: bytes
    created_at: datetime.datetime
    #: until when a relay has it
    leased_until: Optional[datetime.datetime]
    attempts: int


def _native_message(payload: Any, codec: Union[Codec, str, None], fields: Dict[str, Any]) -> Any:
    chosen = codec_for(payload, None if codec is None else codec_of(codec))
    return outgoing(chosen, fields).message(chosen.encode(payload))


def _read_rows(list: Any) -> List[Row]:
    row = sized("acemq_outbox_row")
    rows = []
    for index in range(lib.acemq_outbox_list_count(list)):
        checked(lib.acemq_outbox_list_row, list, index, row)
        rows.append(
            Row(
                to_text(row.id),
                to_text(row.exchange),
                to_text(row.routing_key),
                to_text(row.content_type),
                to_text(row.headers),
                or_none(row.last_error),
                ffi.buffer(row.body.data, row.body.length)[:] if row.body.length else b"",
                moment(row.created_at),
                moment(row.leased_until) if row.leased_until else None,
                int(row.attempts),
            )
        )
    return rows


class Outbox:
    """An outbox. Thread-safe."""

    @known_keywords
    def __init__(
        self,
        store: str,
        *,
        name: Optional[str] = None,
        timeout: Optional[Duration] = None,
        attempts: Optional[int] = None,
    ) -> None:
        """store: ``memory:`` (this object alone), ``lmdb:PATH`` (a folder), or a ``postgresql://`` URL, whose table
        exists; `schema_postgres` has the statements that make it.
        name: of the table, or the databases. timeout: of opening; 30 s. attempts: after so many failures of its own a
        message is retired; 10.
        """
        options = Options("acemq_outbox_options", lib.acemq_outbox_options_init)
        options.texts({"name": name})
        options.durations({"timeout": timeout})
        options.numbers({"attempts": attempts})
        held = text(store, "store")
        self._handle = interruptible(
            lambda: made("acemq_outbox", lib.acemq_outbox_free, lib.acemq_outbox_open, held, options.struct)
        )

    def enqueue(
        self,
        routing_key: str,
        payload: Any,
        *,
        exchange: str = "",
        codec: Union[Codec, str, None] = None,
        timeout: Duration = 30,
        **fields: Any,
    ) -> str:
        """Writes a message in a transaction of its own, and returns its id. The fields are those of
        `Publisher`, but for priority, expiration, reply-to and transient messages, which an outbox has no place for.

        In a transaction of yours, use `statement` with the driver that you have.
        """
        message = _native_message(payload, codec, fields)
        id = ffi.new("char[]", 257)
        arguments = (text(exchange, "exchange"), text(routing_key, "routing_key"), message, milliseconds(timeout), id)
        interruptible(lambda: checked(lib.acemq_outbox_enqueue, self._handle, *arguments))
        return to_text(id)

    def pending(self, *, most: int = 100, timeout: Duration = 30) -> List[Row]:
        """What is not published yet, in order."""
        return self._rows(lib.acemq_outbox_pending, most, timeout)

    def retired(self, *, most: int = 100, timeout: Duration = 30) -> List[Row]:
        """What has used its attempts: kept until it is released."""
        return self._rows(lib.acemq_outbox_retired, most, timeout)

    def _rows(self, function: Any, most: int, timeout: Duration) -> List[Row]:
        arguments = (self._handle, integer(most, "most", 1, 2**63 - 1), milliseconds(timeout))
        return _read_rows(
            interruptible(lambda: made("acemq_outbox_list", lib.acemq_outbox_list_free, function, *arguments))
        )

    def count(self, *, timeout: Duration = 30) -> Dict[str, int]:
        """``pending``, ``retired``, ``published``, and ``oldest_age`` in milliseconds."""
        struct = sized("acemq_outbox_counts")
        limit = milliseconds(timeout)
        interruptible(lambda: checked(lib.acemq_outbox_count, self._handle, limit, struct))
        return as_dict(struct)

    def release(self, id: Optional[str] = None, *, timeout: Duration = 30) -> int:
        """Retired messages are pending again, with all their attempts; None: all. Says how many."""
        out = ffi.new("uint64_t *")
        arguments = (text(id, "id"), milliseconds(timeout), out)
        interruptible(lambda: checked(lib.acemq_outbox_release, self._handle, *arguments))
        return int(out[0])

    def purge_published(self, age: Duration, *, timeout: Duration = 30) -> int:
        """Deletes what was published at least so long ago, and says how many; nothing else deletes."""
        out = ffi.new("uint64_t *")
        arguments = (milliseconds(age, "age"), milliseconds(timeout), out)
        interruptible(lambda: checked(lib.acemq_outbox_purge_published, self._handle, *arguments))
        return int(out[0])


class Statement(NamedTuple):
    """An INSERT for a driver of the application's."""

    sql: str
    parameters: Tuple[str, ...]
    #: of the message
    id: str


def statement(
    routing_key: str,
    payload: Any,
    *,
    exchange: str = "",
    table: Optional[str] = None,
    placeholder: str = "%s",
    codec: Union[Codec, str, None] = None,
    **fields: Any,
) -> Statement:
    """What puts a message into a PostgreSQL outbox in a transaction of yours::

        insert = acemq.outbox_statement("orders", {"id": 7})
        cursor.execute(insert.sql, insert.parameters)

    placeholder: ``"%s"`` (psycopg), ``"?"`` or ``"$1"``, as the driver wants it.
    """
    if placeholder not in _PLACEHOLDERS:
        raise InvalidArgument("placeholder must be '%s', '?' or '$1'", field="placeholder")
    handle = made(
        "acemq_outbox_statement",
        lib.acemq_outbox_statement_free,
        lib.acemq_outbox_statement_new,
        text(table, "table"),
        _PLACEHOLDERS[placeholder],
        text(exchange, "exchange"),
        text(routing_key, "routing_key"),
        _native_message(payload, codec, fields),
    )
    count = lib.acemq_outbox_statement_count(handle)
    return Statement(
        to_text(lib.acemq_outbox_statement_text(handle)),
        tuple(to_text(lib.acemq_outbox_statement_value(handle, index)) for index in range(count)),
        to_text(lib.acemq_outbox_statement_id(handle)),
    )


class Relay:
    """Publishes what an outbox holds, in order, and marks it afterwards, on a thread of the library. A crash in between
    repeats the same id and body. Stopped by `stop`, or by the end of a ``with``."""

    @known_keywords
    def __init__(
        self,
        connection: "Connection",
        outbox: Outbox,
        *,
        every: Optional[Duration] = None,
        lease: Optional[Duration] = None,
        batch: Optional[int] = None,
    ) -> None:
        """every: between two looks at an outbox that was empty; 1 s. lease: 60 s. batch: messages a pass; 100."""
        if not isinstance(outbox, Outbox):
            raise InvalidArgument(f"outbox must be an Outbox, not {type(outbox).__name__}", field="outbox")
        options = Options("acemq_relay_options", lib.acemq_relay_options_init)
        options.durations({"every": every, "lease": lease})
        options.numbers({"batch": batch})
        self._kept = (connection, outbox)
        self._handle = made(
            "acemq_relay",
            lib.acemq_relay_free,
            lib.acemq_relay_start,
            connection._handle,
            outbox._handle,
            options.struct,
        )

    def wake(self) -> None:
        """Looks at the outbox at once, after a commit; `Outbox.enqueue` does so by itself."""
        lib.acemq_relay_wake(self._handle)

    def drain(self, timeout: Duration = 20) -> None:
        """Waits until nothing is pending. Raises Timeout."""
        limit = milliseconds(timeout)
        interruptible(lambda: checked(lib.acemq_relay_drain, self._handle, limit))

    def stop(self, timeout: Duration = 20) -> None:
        """Takes nothing more, and waits for what is under way. Raises Timeout when something was cut off; it is
        published again after its lease. Again is fine."""
        limit = milliseconds(timeout)
        interruptible(lambda: checked(lib.acemq_relay_stop, self._handle, limit))

    def count(self) -> Dict[str, int]:
        """``published``, ``failed``, ``retired`` and ``passes`` since it started."""
        struct = sized("acemq_relay_counters")
        checked(lib.acemq_relay_count, self._handle, struct)
        return as_dict(struct)

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        self.stop()
