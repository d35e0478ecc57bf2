"""Section 6: what becomes of a delivery, and the text that says why."""

from .policies import format_duration

MOST_BACK_OFF = 30000
TEXTS = {"fatal": "the handler reported an unprocessable message", "parked": "the handler parked it", "undecodable": "could not be decoded"}


def doubled(first, repeats):
    return min(first * 2**min(repeats, 40), MOST_BACK_OFF)


def row(what, **members):
    return {"action": what, "counters": [], "delay": 0, "where": None, "rung": None, "error": None, **members}


def failed(policy, queue, attempt, age, requeue, repeats, reason):
    if policy is None and requeue:
        return row("requeue", outcome="rejected", counters=["rejected"], next=attempt, delay=doubled(1000, repeats), where="requeued")
    limit = policy.attempts if policy else 1
    if attempt >= limit:
        why = f"exhausted {limit} attempts"
    elif policy.age and age is not None and age >= policy.age:
        why = f"exceeded the maximum message age of {format_duration(policy.age)}"
    else:
        delay = policy.wait(attempt)
        where, rung = policy.place(queue, delay)
        return row("rung" if rung else "wait here", outcome="retried", counters=["rejected", "retried"], next=attempt + 1,
                   delay=delay, where=where, rung=rung)
    return row("dead letter", outcome="dead_lettered", counters=["rejected", "dead lettered"], next=attempt, error=f"{why}: {reason}")


def settle(what, policy, queue, attempt, age=None, requeue=False, repeats=0, reason=""):
    reason = reason or "no reason given"
    if what == "failed":
        return failed(policy, queue, attempt, age, requeue, repeats, reason)
    if what in ("accepted", "duplicate"):
        counters = ["acknowledged" if what == "accepted" else "duplicates"]
        return row("ack", outcome="acked", counters=counters, next=attempt)
    if what in ("in progress", "store failed"):
        delay = 5000 if what == "in progress" else doubled(5000, repeats)
        return row("wait here", outcome="in_progress", next=attempt, delay=delay)
    if what == "put back":
        return row("requeue", outcome="rejected", counters=["rejected"], next=attempt, where="requeued")
    if what == "fatal":
        return row("dead letter", outcome="rejected", counters=["rejected", "dead lettered"], next=attempt, error=f"{TEXTS[what]}: {reason}")
    return row("park", outcome="parked", counters=["rejected", "parked"], next=attempt, error=f"{TEXTS[what]}: {reason}")
