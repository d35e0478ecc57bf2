"""Retry policies: how often, how long between, and where the waiting happens."""

from __future__ import annotations

from typing import Any, List, Optional, Union

from acemq._library import ffi, lib
from acemq.errors import InvalidArgument, checked, made, to_text
from acemq.values import Duration, integer, milliseconds, text

_MOST = 2**31 - 1


class Policy:
    """A retry policy. Made by `none`, `fixed`, `exponential` or `parse`; immutable."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __str__(self) -> str:
        out = ffi.new("char **")
        checked(lib.acemq_policy_format, self._handle, out)
        try:
            return to_text(out[0])
        finally:
            lib.acemq_free(out[0])

    def __repr__(self) -> str:
        return f"<acemq policy {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def max_attempts(self) -> int:
        """How often a message is handled at most, the first time included."""
        return int(lib.acemq_policy_max_attempts(self._handle))

    @property
    def max_age(self) -> float:
        """The age at which a message is given up, in seconds; 0: none."""
        return float(lib.acemq_policy_max_age(self._handle) / 1000)

    @property
    def threshold(self) -> float:
        """Waits of at least so many seconds are spent in the broker; 0: none is."""
        return float(lib.acemq_policy_broker_threshold(self._handle) / 1000)

    @property
    def jitter(self) -> float:
        """How far a wait held here may stray to either side, from 0 to 1."""
        return float(lib.acemq_policy_jitter_factor(self._handle))

    def wait(self, attempt: int) -> float:
        """The wait after an attempt, from 1, in seconds, without jitter; 0 where there is none."""
        return float(lib.acemq_policy_wait(self._handle, integer(attempt, "attempt", 1, _MOST)) / 1000)

    def waits_in_broker(self, delay: Duration) -> bool:
        return bool(lib.acemq_policy_waits_in_broker(self._handle, milliseconds(delay, "delay")))

    def jittered(self, delay: Duration, unit: float) -> float:
        """A wait held here, in seconds, given a draw from [-1, 1)."""
        return float(lib.acemq_policy_jittered(self._handle, milliseconds(delay, "delay"), unit) / 1000)

    def retries(self, attempt: int, age: Optional[Duration] = None) -> bool:
        """Whether a message that failed this attempt at this age is tried again; None: its age is unknown."""
        known = -1 if age is None else milliseconds(age, "age")
        return bool(lib.acemq_policy_retries(self._handle, integer(attempt, "attempt", 1, _MOST), known))

    def rungs(self, queue: str) -> List[str]:
        """The names of the queues in which messages of this queue wait."""
        count = lib.acemq_policy_rung_count(self._handle)
        return [self._rung_name(queue, lib.acemq_policy_rung_delay(self._handle, index)) for index in range(count)]

    def choose_rung(self, queue: str, delay: Duration) -> Optional[str]:
        """The one that a wait in the broker goes to; None without rungs."""
        chosen = lib.acemq_policy_choose_rung(self._handle, milliseconds(delay, "delay"))
        return self._rung_name(queue, chosen) if chosen else None

    def _rung_name(self, queue: str, delay: int) -> str:
        name = ffi.new("char[]", 256)
        checked(lib.acemq_policy_rung_name, self._handle, text(queue, "queue"), delay, name)
        return to_text(name)


def _refined(
    handle: Any,
    give_up_after: Optional[Duration],
    threshold: Optional[Duration],
    jitter: Optional[float],
    multiplier: Optional[float],
    whole_second_names: bool,
    durable_rungs: bool,
) -> Policy:
    policy = ffi.gc(handle, lib.acemq_policy_free)
    if give_up_after is not None:
        lib.acemq_policy_give_up_after(policy, milliseconds(give_up_after, "give_up_after"))
    if threshold is not None:
        lib.acemq_policy_threshold(policy, milliseconds(threshold, "threshold"))
    if jitter is not None:
        lib.acemq_policy_jitter(policy, jitter)
    if multiplier is not None:
        lib.acemq_policy_multiplier(policy, multiplier)
    if whole_second_names:
        lib.acemq_policy_whole_second_names(policy)
    if durable_rungs:
        lib.acemq_policy_durable_rungs(policy)
    checked(lib.acemq_policy_check, policy)
    return Policy(policy)


def none() -> Policy:
    """One attempt, no waits."""
    return Policy(ffi.gc(lib.acemq_policy_none(), lib.acemq_policy_free))


def fixed(
    attempts: int,
    wait: Duration,
    *,
    give_up_after: Optional[Duration] = None,
    threshold: Optional[Duration] = None,
    jitter: Optional[float] = None,
    whole_second_names: bool = False,
    durable_rungs: bool = False,
) -> Policy:
    """So many attempts in all, with the same wait after each.

    Waits of at least `threshold` (default 30 s; 0: none) are spent in the broker, shorter ones here. `give_up_after`
    is the age at which a message is given up. `durable_rungs` survive a crash of the broker.
    """
    handle = lib.acemq_policy_fixed(integer(attempts, "attempts", -(2**63), 2**63 - 1), milliseconds(wait, "wait"))
    return _refined(handle, give_up_after, threshold, jitter, None, whole_second_names, durable_rungs)


def exponential(
    attempts: int,
    initial: Duration,
    max: Optional[Duration] = None,
    *,
    give_up_after: Optional[Duration] = None,
    threshold: Optional[Duration] = None,
    jitter: Optional[float] = None,
    multiplier: Optional[float] = None,
    whole_second_names: bool = False,
    durable_rungs: bool = False,
) -> Policy:
    """So many attempts in all, with waits that double from `initial` up to `max` (None: no cap), jitter 0.2.

    The other arguments are those of `fixed`; `multiplier` is what the waits grow by, 2 unless it is given.
    """
    handle = lib.acemq_policy_exponential(
        integer(attempts, "attempts", -(2**63), 2**63 - 1),
        milliseconds(initial, "initial"),
        0 if max is None else milliseconds(max, "max"),
    )
    return _refined(handle, give_up_after, threshold, jitter, multiplier, whole_second_names, durable_rungs)


def parse(policy: str) -> Policy:
    """A policy as the command line and topology files write it: ``exponential(5, 10s, 5m).giveUpAfter(2h)``.
    Raises ParseError with the position."""
    return Policy(made("acemq_policy", lib.acemq_policy_free, lib.acemq_policy_parse, text(policy, "policy")))


def policy_of(retry: Union[Policy, str, None]) -> Any:
    """The handle; None where there is no policy."""
    if retry is None:
        return None
    if isinstance(retry, str):
        retry = parse(retry)
    if not isinstance(retry, Policy):
        raise InvalidArgument("retry must be a policy or its text", field="retry")
    return retry._handle
