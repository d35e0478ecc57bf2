"""Sections 1, 4 and 5: durations, policies, their waits, rungs and names."""

import math
import re
from fractions import Fraction

INT64 = 2**63 - 1
UNITS = {"ms": 1, "s": 1000, "m": 60000, "h": 3600000, "d": 86400000}
DURATION = re.compile(r"([0-9]+)(ms|s|m|h|d)")
DEFAULT_THRESHOLD = 30000


def parse_duration(text):
    if text == "0":
        return 0
    match = DURATION.fullmatch(text)
    if not match or int(match[1]) * UNITS[match[2]] > INT64:
        raise ValueError(text)
    return int(match[1]) * UNITS[match[2]]


def format_duration(milliseconds):
    """One unit, never compound."""
    if milliseconds <= 0:
        return "0"
    for unit in ("h", "m", "s"):
        if milliseconds % UNITS[unit] == 0:
            return f"{milliseconds // UNITS[unit]}{unit}"
    return f"{milliseconds}ms"


def whole_seconds_name(milliseconds):
    """As Go, Python and Ruby name rungs (section 16.1)."""
    seconds = milliseconds // 1000
    return "0s" if seconds == 0 else format_duration(seconds * 1000)


class Policy:
    def __init__(self, attempts=1, initial=0, multiplier=1.0, longest=0, jitter=0.0, age=0, threshold=DEFAULT_THRESHOLD,
                 whole_seconds=False, durable=False):
        self.attempts, self.initial, self.multiplier, self.longest = attempts, initial, multiplier, longest
        self.jitter, self.age, self.threshold = jitter, age, threshold
        self.whole_seconds, self.durable = whole_seconds, durable

    @staticmethod
    def none(**more):
        return Policy(**more)

    @staticmethod
    def fixed(attempts, wait, **more):
        return Policy(attempts, wait, **more)

    @staticmethod
    def exponential(attempts, initial, longest, **more):
        return Policy(attempts, initial, longest=longest, **{"multiplier": 2.0, "jitter": 0.2} | more)

    def text(self):
        """The text of section 5, by what the factories leave."""
        if self.attempts == 1 and self.initial == 0:
            words, multiplier, jitter = "none", 1.0, 0.0
        elif self.multiplier == 1.0 and self.longest == 0:
            words, multiplier, jitter = f"fixed({self.attempts}, {format_duration(self.initial)})", 1.0, 0.0
        else:
            words = f"exponential({self.attempts}, {format_duration(self.initial)}, {format_duration(self.longest)})"
            multiplier, jitter = 2.0, 0.2
        if self.age:
            words += f".giveUpAfter({format_duration(self.age)})"
        if self.threshold != DEFAULT_THRESHOLD:
            words += f".threshold({format_duration(self.threshold)})"
        if self.jitter != jitter:
            words += f".jitter({plain(self.jitter)})"
        if self.multiplier != multiplier:
            words += f".multiplier({plain(self.multiplier)})"
        return words + ".wholeSecondNames()" * self.whole_seconds + ".durableRungs()" * self.durable

    # --- waits ---

    def wait(self, attempt):
        """After this attempt, in whole milliseconds; 0 where there is none. The product is kept in double precision
        and is capped on the way, so that it cannot overflow."""
        if not 1 <= attempt < self.attempts:
            return 0
        cap = float(self.longest) if self.longest else float(2**63)
        value = min(float(self.initial), cap)
        for _ in range(attempt - 1):
            if value >= cap or self.multiplier == 1.0:
                break
            value = min(value * self.multiplier, cap)
        return min(math.trunc(value), INT64)

    def waits(self):
        return [self.wait(attempt) for attempt in range(1, self.attempts)]

    def retries(self, attempt, age):
        """`age` is None when it is unknown."""
        too_old = self.age > 0 and age is not None and max(0, age) >= self.age
        return not (attempt >= self.attempts or too_old)

    def in_broker(self, delay):
        return self.threshold > 0 and delay > 0 and delay >= self.threshold

    def jittered(self, delay, unit):
        return max(1, math.trunc(delay + unit * delay * self.jitter))

    # --- rungs ---

    def rung_name(self, queue, delay):
        name = whole_seconds_name(delay) if self.whole_seconds else format_duration(delay)
        return f"{queue}.retry.{name}" + ".durable" * self.durable

    def rung_delays(self, queue="q"):
        """The distinct waits that reach the threshold, as they are first reached, one a name."""
        found = {}
        for wait in self.waits():
            if self.in_broker(wait):
                found.setdefault(self.rung_name(queue, wait), wait)
        return list(found.values())

    def place(self, queue, delay):
        """(where, the rung's name)"""
        if not self.in_broker(delay):
            return "consumer", None
        delays = self.rung_delays(queue)
        if not delays:
            return "consumer", None
        enough = [rung for rung in delays if rung >= delay]
        return "broker", self.rung_name(queue, min(enough) if enough else max(delays))

    def rung_arguments(self, queue, delay):
        arguments = {"x-message-ttl": delay, "x-dead-letter-exchange": "acemq.retry", "x-dead-letter-routing-key": queue}
        if self.durable:
            arguments |= {"x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
        return arguments

    def schedule(self, queue):
        waits = []
        for attempt, wait in enumerate(self.waits(), 1):
            where, rung = self.place(queue, wait)
            waits.append({"afterAttempt": attempt, "delayMs": wait, "where": where, "rung": rung})
        rungs = [{"queue": self.rung_name(queue, delay), "arguments": {"$exactly": self.rung_arguments(queue, delay)}}
                 for delay in self.rung_delays(queue)]
        return {"waits": waits, "rungs": rungs}


def plain(number):
    """A factor as it is written: no exponent, no needless zeros."""
    text = f"{Fraction(repr(number)).limit_denominator(10**12).numerator}" if float(number).is_integer() else repr(number)
    return text
