"""Expectations. An object expects of another what it names, and nothing of the rest; everything else is equality.

Objects with one member that begins with `$` say more: see MATCHERS, and conformance/vectors/README.md.
"""

import re
import time

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def faults(wanted, found, path=""):
    """What is other than expected, one line each; empty when all is well."""
    if isinstance(wanted, dict):
        special = [name for name in wanted if name.startswith("$")]
        if special and len(wanted) == 1:
            return MATCHERS[special[0]](wanted[special[0]], found, path)
        return object_faults(wanted, found, path)
    if isinstance(wanted, list):
        return list_faults(wanted, found, path)
    if type(wanted) is not type(found) and not (is_number(wanted) and is_number(found)) or wanted != found:
        return [f"{path or 'the answer'} is {brief(found)}, expected {brief(wanted)}"]
    return []


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def brief(value):
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "…"


def object_faults(wanted, found, path):
    if not isinstance(found, dict):
        return [f"{path or 'the answer'} is {brief(found)}, expected an object"]
    faulty = []
    for name, value in wanted.items():
        inner = f"{path}.{name}" if path else name
        if name not in found and value is not None and not (isinstance(value, dict) and "$absent" in value):
            faulty.append(f"{inner} is missing, expected {brief(value)}")
        else:
            faulty += faults(value, found.get(name), inner)
    return faulty


def list_faults(wanted, found, path):
    if not isinstance(found, list):
        return [f"{path} is {brief(found)}, expected a list"]
    if len(wanted) != len(found):
        return [f"{path} has {len(found)} members, expected {len(wanted)}: {brief(found)}"]
    return [fault for at, pair in enumerate(zip(wanted, found)) for fault in faults(*pair, f"{path}[{at}]")]


def exactly(wanted, found, path):
    """All that it names and no more; a member that is null may be missing."""
    faulty = faults(wanted, found, path)
    if isinstance(found, dict):
        extra = [name for name in found if name not in wanted and found[name] is not None]
        faulty += [f"{path}.{name} is {brief(found[name])}, expected nothing" for name in extra]
    return faulty


def any_order(wanted, found, path):
    if not isinstance(found, list) or len(wanted) != len(found):
        return list_faults(wanted, found, path)
    left = list(found)
    for one in wanted:
        match = next((other for other in left if not faults(one, other)), None)
        if match is None:
            return [f"{path} has no {brief(one)}: {brief(found)}"]
        left.remove(match)
    return []


def among(wanted, found, path):
    if not isinstance(found, list):
        return list_faults(wanted, found, path)
    missing = [one for one in wanted if not any(not faults(one, other) for other in found)]
    return [f"{path} has no {brief(one)}: {brief(found)}" for one in missing]


def holds(test, words):
    def check(wanted, found, path):
        try:
            good = test(wanted, found)
        except (TypeError, ValueError):
            good = False
        return [] if good else [f"{path or 'the answer'} is {brief(found)}, expected {words.format(wanted)}"]
    return check


MATCHERS = {
    "$any": holds(lambda wanted, found: True, "anything"),
    "$absent": holds(lambda wanted, found: found is None, "nothing"),
    "$text": holds(lambda wanted, found: isinstance(found, str) and found != "", "a text"),
    "$uuid": holds(lambda wanted, found: bool(UUID.fullmatch(found)), "a UUID v4"),
    "$matches": holds(lambda wanted, found: bool(re.fullmatch(wanted, found, re.S)), "what matches {}"),
    "$lacks": holds(lambda wanted, found: wanted not in found, "nothing with {}"),
    "$near": holds(lambda wanted, found: abs(found - wanted[0]) <= wanted[1], "{0[0]} ± {0[1]}"),
    "$between": holds(lambda wanted, found: wanted[0] <= found <= wanted[1], "{0[0]} to {0[1]}"),
    "$now": holds(lambda wanted, found: abs(found - time.time() * 1000) <= wanted, "now ± {} ms"),
    "$not": holds(lambda wanted, found: bool(faults(wanted, found)), "anything but {}"),
    "$oneOf": holds(lambda wanted, found: any(not faults(one, found) for one in wanted), "one of {}"),
    "$exactly": exactly,
    "$anyOrder": any_order, "$among": among,
}


def answer_faults(expected, answer):
    """`expected` is {"ok": …} or {"error": name or object}."""
    if answer is None:
        return ["nothing was answered"]
    if "ok" in expected:
        if "ok" not in answer:
            return [f"answered {brief(answer)}, expected a result"]
        return faults(expected["ok"], answer["ok"])
    if "error" not in answer:
        return [f"answered {brief(answer)}, expected the error {expected['error']}"]
    wanted = expected["error"]
    if isinstance(wanted, str):
        wanted = {"name": wanted}
    elif isinstance(wanted, list):
        wanted = {"name": {"$oneOf": wanted}}
    return faults(wanted, answer["error"])
