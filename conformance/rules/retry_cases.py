"""Sections 1, 4 and 5: schedules, decisions, thresholds, rungs and their names."""

from .policies import INT64, Policy, format_duration, parse_duration
from .writing import behaviour, case

HOUR, YEAR = 3600000, 31536000000
POLICIES = {
    "none": Policy.none(),
    "fixed": Policy.fixed(4, 30000),
    "exponential": Policy.exponential(5, 10000, 300000),
    "capped": Policy.exponential(6, 10000, 60000),
    "below the threshold": Policy.exponential(5, 1000, 24 * HOUR),
    "tripled": Policy.exponential(4, 30000, 0, multiplier=3.0),
    "a fraction": Policy.exponential(4, 1001, 0, multiplier=1.5),
    "a lower threshold": Policy.fixed(3, 500, threshold=200),
    "no threshold": Policy.fixed(3, 60000, threshold=0),
    "a first wait over the cap": Policy.exponential(3, 60000, 40000),
    "five minutes": Policy.exponential(6, 10000, 300000),
}


def schedules():
    for name, policy in POLICIES.items():
        yield case(name, "schedule", {"policy": policy.text(), "queue": "orders.new"}, policy.schedule("orders.new"))


def waiting():
    yield behaviour("retry.schedule", "5", "a policy has these waits, here or in the broker, and these rungs", list(schedules()))
    hour = Policy.exponential(2**31 - 1, 1000, HOUR)
    attempts = [1, 2, 11, 12, 13, 31, 32, 33, 63, 64, 65, 1000, 2**31 - 2]
    yield behaviour("retry.waits.capped", "5", "waits reach the cap and stay there: nothing overflows at any attempt", [
        case("an hour", "waits", {"policy": hour.text(), "attempts": attempts},
             {"waits": [min(1000 * 2**min(attempt - 1, 40), HOUR) for attempt in attempts]})])
    endless = Policy.exponential(100, 1, 0)
    yield behaviour("retry.waits.saturated", "5", "without a cap a wait saturates at 2^63 - 1", [
        case("doubling", "waits", {"policy": endless.text(), "attempts": [1, 53, 54, 63, 64, 99]},
             {"waits": [2**min(attempt - 1, 63) if attempt < 64 else INT64 for attempt in (1, 53, 54, 63, 64, 99)]})])
    fraction = Policy.exponential(4, 1001, 0, multiplier=1.5)
    yield behaviour("retry.waits.truncated", "5", "each wait is cut to whole milliseconds, and the cut value is not fed on", [
        case("1.5 times 1001 ms", "waits", {"policy": fraction.text(), "attempts": [1, 2, 3]}, {"waits": [1001, 1501, 2252]})])
    yield behaviour("retry.waits.last", "5", "there is no wait after the last attempt", [
        case("fixed", "waits", {"policy": "fixed(3, 1s)", "attempts": [1, 2, 3, 4]}, {"waits": [1000, 1000, 0, 0]}),
        case("none", "waits", {"policy": "none", "attempts": [1]}, {"waits": [0]})])


def decided(policy, attempt, age):
    name = f"{policy.text()}, attempt {attempt}, {'unknown age' if age is None else str(age) + ' ms'}"
    return case(name, "decide", {"policy": policy.text(), "attempt": attempt, "age": age}, {"retries": policy.retries(attempt, age)})


def deciding():
    old = Policy.exponential(5, 1000, 24 * HOUR, age=120000)
    yield behaviour("retry.attempts", "5", "a message is given up at its last attempt, not before and not after", [
        decided(policy, attempt, 0) for policy in (POLICIES["fixed"], POLICIES["capped"], POLICIES["none"])
        for attempt in (1, policy.attempts - 1, policy.attempts, policy.attempts + 1, 2**31 - 1) if attempt >= 1])
    yield behaviour("retry.age.limit", "5", "an age that reaches the limit gives up, one millisecond less does not", [
        decided(old, attempt, age) for attempt in (1, 4, 5) for age in (0, 119999, 120000, 120001, YEAR)])
    yield behaviour("retry.age.unlimited", "5", "a limit of 0 is none: no age gives up", [
        decided(POLICIES["exponential"], attempt, age) for attempt in (1, 4) for age in (0, 120000, YEAR)])
    yield behaviour("retry.age.unknown", "5", "an unknown age counts as young", [decided(old, 1, None), decided(old, 4, None)])


def placed(policy, delay, queue="orders"):
    where, rung = policy.place(queue, delay)
    return case(f"{policy.text()}, {delay} ms", "place", {"policy": policy.text(), "queue": queue, "delay": delay},
                {"where": where, "rung": rung})


def placing():
    # Each delay of the table is a wait of the policy, so that a rung for it exists.
    yield behaviour("retry.threshold", "5", "a wait that reaches the threshold goes to the broker, one below it does not", [
        placed(Policy.fixed(2, max(delay, 1), threshold=threshold), delay) for threshold in (30000, 60000)
        for delay in (0, 1, 500, 1000, 29999, 30000, 30001, 59999, 60000, 60001, 90000, 300000)])
    yield behaviour("retry.threshold.zero", "5", "a threshold of 0 sends nothing to the broker", [
        placed(Policy.fixed(2, delay, threshold=0), delay) for delay in (1, 29999, 30000, 60000, YEAR)])
    yield behaviour("retry.rung.choice", "5", "a wait takes the smallest rung that is long enough, else the longest", [
        placed(POLICIES["capped"], delay) for delay in (30000, 39999, 40000, 40001, 59999, 60000, 60001, 90000)] + [
        placed(POLICIES["exponential"], delay) for delay in (30000, 40000, 40001, 80000, 80001)])
    yield behaviour("retry.rung.distinct", "5", "one rung for each distinct wait, in the order they are first reached", [
        case(policy.text(), "schedule", {"policy": policy.text(), "queue": "orders"}, {"rungs": policy.schedule("orders")["rungs"]})
        for policy in (POLICIES["fixed"], POLICIES["capped"], POLICIES["five minutes"], Policy.exponential(9, 15000, 60000))])
    low = [Policy.fixed(2, delay, threshold=1) for delay in (1, 500, 1500, 1000, 30000, 40000, 60000, 90000, 300000, 5400000, 7200000, 86400000)]
    yield behaviour("retry.rung.names", "1", "a rung is named by its wait in one unit, never compound", [
        placed(policy, policy.initial, "orders.new") for policy in low])
    whole = [Policy.fixed(2, delay, threshold=1, whole_seconds=True) for delay in (1, 500, 999, 1000, 1500, 60000, 60500, 90000, 3600999)]
    yield behaviour("retry.rung.whole-seconds", "16.1", "named in whole seconds, a rung of 500 ms is `0s` and one of 1.5 s `1s`", [
        placed(policy, policy.initial, "orders.new") for policy in whole])
    yield behaviour("retry.rung.arguments", "4", "a rung has exactly three arguments: its wait, the retry exchange, its queue", [
        case(policy.text(), "schedule", {"policy": policy.text(), "queue": "orders.new"},
             {"rungs": policy.schedule("orders.new")["rungs"]}) for policy in low])
    durable = Policy.fixed(3, 40000, durable=True)
    yield behaviour("retry.rung.durable", "4", "a durable rung has a name of its own, is a quorum queue and loses nothing", [
        case(durable.text(), "schedule", {"policy": durable.text(), "queue": "orders"}, durable.schedule("orders"))])


def jittering():
    policy = Policy.exponential(5, 1000, 24 * HOUR)
    tight = Policy.exponential(5, 1000, 0, jitter=1.0)

    def one(which, delay, unit):
        return case(f"{which.text()}, {delay} ms, {unit}", "jitter", {"policy": which.text(), "delay": delay, "unit": unit},
                    {"delay": which.jittered(delay, unit)})
    yield behaviour("retry.jitter", "5", "a wait here strays by the factor to both sides", [
        one(policy, delay, unit) for delay in (1000, 2000, 8000) for unit in (-1.0, -0.5, 0.0, 0.25, 0.5)])
    yield behaviour("retry.jitter.floor", "16.2", "a wait here is at least 1 ms", [
        one(tight, delay, -1.0) for delay in (1, 10, 1000)])


def texts():
    policies = [*POLICIES.values(), Policy.none(threshold=0), Policy.exponential(5, 1000, 24 * HOUR, age=120000),
                Policy.exponential(3, 1500, 90000, jitter=0.0), Policy.fixed(1, 1),
                Policy.exponential(4, 30000, 0, age=120000, threshold=60000, jitter=0.5, multiplier=3.0, whole_seconds=True, durable=True)]
    yield behaviour("policy.text", "5", "a policy's text reads and is written the same again", [
        case(policy.text(), "policy", {"text": policy.text()}, {"text": policy.text(), "maxAttempts": policy.attempts}) for policy in policies])
    yield behaviour("policy.fields", "5", "a policy's text sets its limits, its threshold and its jitter", [
        case(policy.text(), "policy", {"text": policy.text()},
             {"maxAttempts": policy.attempts, "maxAge": policy.age, "threshold": policy.threshold, "jitter": policy.jitter})
        for policy in policies])
    same = {"none()": "none", "fixed(4,30s)": "fixed(4, 30s)", "exponential(5, 10000ms, 300s)": "exponential(5, 10s, 5m)",
            "exponential(5, 10s, none)": "exponential(5, 10s, 0)", "fixed(2, 1d)": "fixed(2, 24h)",
            "exponential(2, 1s, 1m).multiplier(2.0).jitter(0.20)": "exponential(2, 1s, 1m)",
            "fixed(2, 1s).threshold(30s).giveUpAfter(0)": "fixed(2, 1s)",
            "exponential(2, 1s, 1d).durableRungs().threshold(1s)": "exponential(2, 1s, 24h).threshold(1s).durableRungs()"}
    yield behaviour("policy.canonical", "5", "other spellings of a policy come out in the one form", [
        case(text, "policy", {"text": text}, {"text": wanted}) for text, wanted in same.items()])
    refused = ["", "nothing", "fixed", "fixed (4, 30s)", " none", "none ", "fixed(0, 30s)", "fixed(4, 0)", "fixed(4, -1s)", "fixed(4, 30)",
               "fixed(4, 30 s)", "fixed(4, 1.5s)", "fixed(4)", "fixed(4, 30s", "exponential(4, 30s)", "fixed(4, 30s).jitter(2)",
               "fixed(4, 30s).jitter(-0.1)", "exponential(4, 1s, 0).multiplier(0.5)", "fixed(4, 30s).jitter(1e-1)",
               "fixed(4, 30s).threshold(1s).threshold(1s)", "fixed(4, 30s).other(1)", "fixed(2147483648, 1s)"]
    yield behaviour("policy.refused", "5", "anything else is refused", [
        case(text or "empty", "policy", {"text": text}, error=["parse", "limit"]) for text in refused])


def durations():
    reads = ["0", "0s", "1ms", "500ms", "10s", "5m", "2h", "1d", "007s", "9223372036854775807ms"]
    refused = ["", "s", "10", "00", "-1s", "+1s", "1.5s", "10 s", " 10s", "10s ", "10sec", "10S", "1h30m", "9223372036854775808ms"]
    yield behaviour("duration.read", "5", "a duration is a whole number with one unit, or 0", [
        case(text, "duration.parse", {"text": text}, {"milliseconds": parse_duration(text)}) for text in reads])
    yield behaviour("duration.refused", "5", "a duration with a sign, a space, a fraction or two units is refused", [
        case(text or "empty", "duration.parse", {"text": text}, error=["parse", "limit"]) for text in refused])
    yield behaviour("duration.write", "1", "a duration is written in the largest unit that is whole", [
        case(str(value), "duration.format", {"milliseconds": value}, {"text": format_duration(value)})
        for value in (0, 1, 500, 999, 1000, 1500, 40000, 60000, 60500, 90000, 3600000, 5400000, 7200000, 86400000, INT64)])


def behaviours():
    for group in (waiting, deciding, placing, jittering, texts, durations):
        yield from group()
