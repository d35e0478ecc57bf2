"""What is to be shown: cases that need no broker, and scenarios that do."""

import fnmatch
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2] / "conformance"

# By the beginning of a name, in the order of a table.
AREAS = {
    "envelope": "Envelopes", "headers": "Headers", "publish": "Publishing", "read": "Reading", "connect": "Connecting",
    "policy": "Policy text", "duration": "Durations", "retry": "Retry policies", "names": "Names", "topology": "Topologies",
    "declare": "Declaring", "settle": "Settlement", "hop": "Hops", "rung": "Rungs", "replay": "Replay", "peek": "Looking at queues",
    "mixed": "Mixed pairs", "once": "Handling once", "claim": "Claims", "order": "Order", "partition": "Partitions",
    "outbox": "The outbox", "time": "Times", "codec": "Codecs", "claim.frame": "The claim check", "encrypted": "Encryption",
    "wire": "On the wire",
}


QUIRK = {"behaviours", "section", "reason", "instead", "fault"}


def area_of(name):
    """Its heading: that of the longest beginning."""
    fitting = [prefix for prefix in AREAS if name.startswith(prefix + ".")]
    if not fitting:
        raise ValueError(f"{name} begins with none of {', '.join(AREAS)}")
    return AREAS[max(fitting, key=len)]


class Behaviour:
    """`steps` are the cases or the steps, as they stand in the file."""

    def __init__(self, described, needs_broker, file):
        self.name, self.title = described["behaviour"], described["title"]
        self.section = described["section"]
        self.needs_broker = needs_broker
        self.steps = described["steps" if needs_broker else "cases"]
        self.kinds = described.get("kinds", ["library", "peer"])
        self.records = described.get("record", False)
        self.leftovers = described.get("leftovers", [])
        self.file = file

    def step_name(self, index):
        step = self.steps[index]
        return step.get("case") or step.get("step") or f"step {index + 1}"


def load(only=()):
    """All of them, by their areas; `only` are parts of names."""
    found = []
    for folder, needs_broker in (("vectors/cases", False), ("scenarios", True)):
        for file in sorted((ROOT / folder).glob("*.json")):
            described = json.loads(file.read_text(encoding="utf-8"))
            found += [Behaviour(one, needs_broker, file) for one in described["behaviours"]]
    names = [behaviour.name for behaviour in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two behaviours are called {', '.join(sorted(twice))}")
    headings = list(AREAS.values())
    found.sort(key=lambda behaviour: headings.index(area_of(behaviour.name)))
    return [behaviour for behaviour in found if not only or any(part in behaviour.name for part in only)]


class Quirks:
    """The written differences of one driver."""

    def __init__(self, driver_name):
        file = ROOT / "quirks" / f"{driver_name}.json"
        self.entries = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        self.file = file
        for entry in self.entries:
            if not {"behaviours", "section", "reason"} <= set(entry):
                raise ValueError(f"{file.name}: a quirk needs behaviours, section and reason")
            # None is taken on trust: whatever is written down is played.
            if set(entry) - QUIRK:
                raise ValueError(f"{file.name}: a quirk has no {', '.join(sorted(set(entry) - QUIRK))}")

    def of(self, behaviour):
        """The first that names it, or None."""
        for entry in self.entries:
            if any(fnmatch.fnmatchcase(behaviour.name, pattern) for pattern in entry["behaviours"]):
                return entry
        return None

    def strangers(self, behaviours):
        """Patterns that name nothing there is."""
        return [pattern for entry in self.entries for pattern in entry["behaviours"]
                if not any(fnmatch.fnmatchcase(behaviour.name, pattern) for behaviour in behaviours)]
