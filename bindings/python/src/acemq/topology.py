"""Queues, exchanges and bindings: planned, compared with the broker, and declared."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Union

from acemq._library import ffi, lib
from acemq.errors import InvalidArgument, checked, take_error, to_text
from acemq.interrupt import interruptible
from acemq.keywords import known_keywords
from acemq.policy import Policy, policy_of
from acemq.table import Headers, from_table, table_or_null
from acemq.values import Duration, integer, milliseconds, text

_TYPES = {"quorum": lib.ACEMQ_QUEUE_QUORUM, "classic": lib.ACEMQ_QUEUE_CLASSIC, "stream": lib.ACEMQ_QUEUE_STREAM}
_KINDS = {lib.ACEMQ_PLAN_EXCHANGE: "exchange", lib.ACEMQ_PLAN_QUEUE: "queue", lib.ACEMQ_PLAN_BINDING: "binding"}
_STATES = {
    lib.ACEMQ_PLAN_UNKNOWN: "unknown",
    lib.ACEMQ_PLAN_CREATE: "create",
    lib.ACEMQ_PLAN_PRESENT: "present",
    lib.ACEMQ_PLAN_DIFFERS: "differs",
}


class Planned(NamedTuple):
    """An object of a topology."""

    #: ``exchange``, ``queue`` or ``binding``
    kind: str
    #: ``create``, ``present``, ``differs``; ``unknown`` for a binding, which cannot be read
    state: str
    #: of the queue or the exchange; of a binding the queue's
    name: str
    #: ``direct`` …, ``quorum``, ``classic``, ``stream``; ``""`` for a binding
    type: str
    #: of a binding
    exchange: str
    routing_key: str
    arguments: Dict[str, Any]
    #: where it differs, as far as the broker tells
    differing: str
    ours: str
    theirs: str


class Plan:
    """The objects of a topology in the order in which they are declared. Immutable."""

    def __init__(self, handle: Any) -> None:
        self.objects: List[Planned] = [_planned(handle, index) for index in range(lib.acemq_plan_count(handle))]
        #: something is missing or differs
        self.has_drift = bool(lib.acemq_plan_has_drift(handle))

    def __iter__(self) -> Iterator[Planned]:
        return iter(self.objects)

    def __len__(self) -> int:
        return len(self.objects)


def _planned(plan: Any, index: int) -> Planned:
    return Planned(
        _KINDS.get(lib.acemq_plan_get_kind(plan, index), "unknown"),
        _STATES.get(lib.acemq_plan_get_state(plan, index), "unknown"),
        to_text(lib.acemq_plan_name(plan, index)),
        to_text(lib.acemq_plan_type(plan, index)),
        to_text(lib.acemq_plan_exchange(plan, index)),
        to_text(lib.acemq_plan_routing_key(plan, index)),
        from_table(lib.acemq_plan_arguments(plan, index)),
        to_text(lib.acemq_plan_differing(plan, index)),
        to_text(lib.acemq_plan_ours(plan, index)),
        to_text(lib.acemq_plan_theirs(plan, index)),
    )


def checked_topology(topology: Any) -> "Topology":
    if not isinstance(topology, Topology):
        raise InvalidArgument(f"topology must be a Topology, not {type(topology).__name__}", field="topology")
    return topology


class Topology:
    """A topology being built. What is wrong with it, validating or applying it raises."""

    def __init__(self, json: Optional[str] = None) -> None:
        """json: as ``acemq topology`` reads it."""
        if json is None:
            handle = lib.acemq_topology_new()
        else:
            out = ffi.new("acemq_topology **")
            held = text(json, "json")
            checked(lib.acemq_topology_parse, held, len(held), out)
            handle = out[0]
        self._handle = ffi.gc(handle, lib.acemq_topology_free)

    @known_keywords
    def exchange(self, name: str, type: str = "direct") -> "Topology":
        """A durable exchange: ``direct``, ``topic``, ``fanout`` or ``headers``."""
        lib.acemq_topology_exchange(self._handle, text(name, "name"), text(type, "type"))
        return self

    @known_keywords
    def queue(
        self,
        name: str,
        *,
        type: str = "quorum",
        dead_letter: bool = True,
        retry: Union[Policy, str, None] = None,
        arguments: Optional[Headers] = None,
    ) -> "Topology":
        """A durable queue: ``quorum``, ``classic`` or ``stream``. With ``dead_letter`` the broker dead-letters to
        ``{name}.dlq``, which is declared with it; with ``retry`` the policy's queues are, too."""
        if type not in _TYPES:
            raise InvalidArgument("type must be 'quorum', 'classic' or 'stream'", field="type")
        policy = policy_of(retry)
        lib.acemq_topology_queue(
            self._handle,
            text(name, "name"),
            _TYPES[type],
            1 if dead_letter and type != "stream" else 0,
            ffi.NULL if policy is None else policy,
            table_or_null(arguments),
        )
        return self

    @known_keywords
    def bind(self, exchange: str, queue: str, routing_key: str = "") -> "Topology":
        lib.acemq_topology_bind(
            self._handle, text(exchange, "exchange"), text(queue, "queue"), text(routing_key, "routing_key")
        )
        return self

    @known_keywords
    def partitioned(self, name: str, partitions: int = 8, *, shared: bool = False) -> "Topology":
        """The queues of ordered consuming. ``shared``: without a single active consumer, as the other libraries
        declare them."""
        declare = lib.acemq_topology_partitioned_shared if shared else lib.acemq_topology_partitioned
        declare(self._handle, text(name, "name"), integer(partitions, "partitions", -(2**63), 2**63 - 1))
        return self

    @known_keywords
    def consumer(self, queue: str, retry: Union[Policy, str, None] = None) -> "Topology":
        """What a consumer of this queue declares."""
        policy = policy_of(retry)
        lib.acemq_topology_consumer(self._handle, text(queue, "queue"), ffi.NULL if policy is None else policy)
        return self

    def validate(self) -> None:
        """Without a broker; raises what is wrong, by name."""
        checked(lib.acemq_topology_validate, self._handle)

    def plan(self) -> Plan:
        """Only the list."""
        out = ffi.new("acemq_plan **")
        checked(lib.acemq_topology_plan, self._handle, out)
        return Plan(ffi.gc(out[0], lib.acemq_plan_free))

    def _carried_out(self, connection: Any, function: Any, timeout: Duration) -> Plan:
        out, error = ffi.new("acemq_plan **"), ffi.new("acemq_error **")
        limit = milliseconds(timeout)
        status = interruptible(lambda: function(connection, self._handle, limit, out, error))
        plan = Plan(ffi.gc(out[0], lib.acemq_plan_free)) if out[0] else None
        if status != 0:
            failure = take_error(error[0])
            failure.plan = plan  # type: ignore[attr-defined]
            raise failure
        assert plan is not None
        return plan

