"""Handling a message once: stores of claims."""

from __future__ import annotations

import datetime
import logging
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional, Union

from acemq._library import ffi, lib
from acemq.errors import InvalidArgument, checked, made, to_text
from acemq.interrupt import interruptible
from acemq.keywords import known_keywords
from acemq.message import Message
from acemq.options import Options
from acemq.values import Duration, integer, milliseconds, moment, text

if TYPE_CHECKING:
    from acemq.codec import Codec

_log = logging.getLogger("acemq")

#: What a claim answers when it is not the caller's.
DUPLICATE = "duplicate"
IN_PROGRESS = "in_progress"


class Claimed(NamedTuple):
    """An answer to a claim."""

    #: ``"claimed"``, ``"duplicate"`` (it was handled) or ``"in_progress"`` (somebody else has a live claim)
    answer: str
    #: what confirm, renew and release ask for; ``""`` unless it was claimed
    token: str


class Entry(NamedTuple):
    """An entry of a store."""

    key: str
    #: who claimed it; ``""`` when it was released
    token: str
    recorded_at: datetime.datetime
    expires_at: datetime.datetime
    confirmed: bool


_ANSWERS = {
    lib.ACEMQ_CLAIMED: "claimed",
    lib.ACEMQ_CLAIM_DUPLICATE: DUPLICATE,
    lib.ACEMQ_CLAIM_IN_PROGRESS: IN_PROGRESS,
}


class Idempotency:
    """A store of claims. Thread-safe. A consumer that is given one claims each message before it is handled.

    Every call raises Timeout when it was not answered in time; nothing was done then. A store that failed never says
    ``duplicate``. A key has 1 to 255 bytes.
    """

    @known_keywords
    def __init__(
        self,
        where: str,
        *,
        name: Optional[str] = None,
        retention: Optional[Duration] = None,
        timeout: Optional[Duration] = None,
        entries: Optional[int] = None,
        map_limit: Optional[int] = None,
        statement_timeout: Optional[Duration] = None,
        connections: Optional[int] = None,
        durable: bool = True,
    ) -> None:
        """Opens a store.

        where: ``memory:`` (this object's own), ``lmdb:PATH`` (a folder, made when it is missing), or a
            ``postgresql://`` URL; it is never shown in an error.
        name: of the table, or the database; ``acemq_idempotency`` unless given.
        retention: how long a confirmation is kept; 24 hours unless given.
        timeout: of opening, and of each call of a consumer; 10 s unless given.
        entries: of the store in memory; 100 000 unless given.
        map_limit: bytes that LMDB's file may grow to.
        statement_timeout, connections: of PostgreSQL.
        durable: False: a commit of LMDB survives a crash of the process, not of the machine.
        """
        options = Options("acemq_idempotency_options", lib.acemq_idempotency_options_init)
        options.texts({"name": name})
        options.durations({"retention": retention, "timeout": timeout, "statement_timeout": statement_timeout})
        options.numbers({"entries": entries, "map_limit": map_limit, "connections": connections})
        options.struct.durability = lib.ACEMQ_DURABLE if durable else lib.ACEMQ_NOSYNC
        self._handle = interruptible(
            lambda: made(
                "acemq_idempotency",
                lib.acemq_idempotency_free,
                lib.acemq_idempotency_open,
                text(where, "where"),
                options.struct,
            )
        )

    def claim(self, key: str, *, lease: Duration = 300, timeout: Duration = 10) -> Claimed:
        """Claims a key, unless it is confirmed or somebody's."""
        token = ffi.new("char[]", 65)
        answer = ffi.new("acemq_claim_answer *")
        arguments = (text(key, "key"), milliseconds(lease, "lease"), milliseconds(timeout))
        interruptible(lambda: checked(lib.acemq_idempotency_claim, self._handle, *arguments, token, answer))
        return Claimed(_ANSWERS[answer[0]], to_text(token))

    def confirm(self, key: str, token: str, *, timeout: Duration = 10) -> None:
        """It was handled. Raises Fenced when the claim ran out and was taken over."""
        arguments = (text(key, "key"), text(token, "token"), milliseconds(timeout))
        interruptible(lambda: checked(lib.acemq_idempotency_confirm, self._handle, *arguments))

    def release(self, key: str, token: str, *, timeout: Duration = 10) -> None:
        """It was not handled: anybody may claim it at once. Raises Fenced."""
        arguments = (text(key, "key"), text(token, "token"), milliseconds(timeout))
        interruptible(lambda: checked(lib.acemq_idempotency_release, self._handle, *arguments))

    def renew(self, key: str, token: str, *, lease: Duration = 300, timeout: Duration = 10) -> None:
        """The lease ends so long from now. Raises Fenced."""
        arguments = (text(key, "key"), text(token, "token"), milliseconds(lease, "lease"), milliseconds(timeout))
        interruptible(lambda: checked(lib.acemq_idempotency_renew, self._handle, *arguments))

    def purge_expired(self, *, timeout: Duration = 10) -> int:
        """Takes away all entries whose time is over, and says how many; nothing else ever does."""
        out = ffi.new("uint64_t *")
        limit = milliseconds(timeout)
        interruptible(lambda: checked(lib.acemq_idempotency_purge_expired, self._handle, limit, out))
        return int(out[0])

    def size(self, *, timeout: Duration = 10) -> int:
        """How many entries there are."""
        out = ffi.new("uint64_t *")
        limit = milliseconds(timeout)
        interruptible(lambda: checked(lib.acemq_idempotency_size, self._handle, limit, out))
        return int(out[0])

    def entries(self, *, after: str = "", most: int = 1000, timeout: Duration = 10) -> List[Entry]:
        """Entries in the order of their keys, those behind `after`."""
        arguments = (text(after, "after"), integer(most, "most", 1, 2**63 - 1), milliseconds(timeout))
        claims = interruptible(
            lambda: made(
                "acemq_claims", lib.acemq_claims_free, lib.acemq_idempotency_list, self._handle, *arguments
            )
        )
        view = ffi.new("acemq_claim_view *")
        found = []
        for index in range(lib.acemq_claims_count(claims)):
            checked(lib.acemq_claims_get, claims, index, view)
            found.append(
                Entry(
                    to_text(view.key),
                    to_text(view.token),
                    moment(view.recorded_at),
                    moment(view.expires_at),
                    bool(view.confirmed),
                )
            )
        return found


def store_of(idempotency: Union[Idempotency, str, None]) -> Optional[Idempotency]:
    if idempotency is None or isinstance(idempotency, Idempotency):
        return idempotency
    if isinstance(idempotency, str):
        return Idempotency(idempotency)
    raise InvalidArgument("idempotency must be a store, or where it is", field="idempotency")


class _Key:
    """What derives the keys of one consumer."""

    def __init__(self, function: Callable[[Message], str], codec: "Codec") -> None:
        self.function = function
        self.codec = codec

    def of(self, delivery: Any) -> bytes:
        body = lib.acemq_delivery_body(delivery)
        key = self.function(Message(delivery, self.codec, body.data, body.length, mine=False))
        if not isinstance(key, str):
            raise TypeError(f"claim_key answered a {type(key).__name__} and not a str")
        return key.encode("utf-8")


def claim_key_of(options: Options, function: Callable[[Message], str], codec: "Codec") -> None:
    handle = ffi.new_handle(_Key(function, codec))
    options.held.append(handle)
    options.struct.claim_key = lib.acemq_py_claim_key
    options.struct.claim_key_user = handle


@ffi.def_extern(error=-1)
def acemq_py_claim_key(delivery: Any, key: Any, size: int, user: Any) -> int:
    try:
        made = ffi.from_handle(user).of(delivery)
    except Exception:
        _log.warning("no key could be derived of a message", exc_info=True)
        return -1
    held = made[: size - 1] + b"\0"
    ffi.memmove(key, held, len(held))
    return len(made)


def schema_postgres(*, idempotency: Optional[str] = None, outbox: Optional[str] = None) -> str:
    """The statements that make the tables of the PostgreSQL stores; nothing here ever makes one."""
    out = ffi.new("char **")
    checked(lib.acemq_schema_postgres, text(idempotency, "idempotency"), text(outbox, "outbox"), out)
    try:
        return to_text(out[0])
    finally:
        lib.acemq_free(out[0])
