"""Verdicts by behaviour and driver."""

import threading


class Report:
    def __init__(self, behaviours, kinds, url=""):
        self.behaviours, self.kinds = behaviours, kinds
        # User and password of the broker, which no evidence may show.
        self.login = url.partition("//")[2].rpartition("@")[0]
        self.verdicts, self.lock = {}, threading.Lock()
        # Seconds: of the whole run, {driver: {part: seconds}}, and {(behaviour, driver): seconds} of scenarios.
        self.seconds, self.times, self.lasted = 0, {}, {}
        # What is wrong with no behaviour of its own.
        self.faults = []

    def add(self, behaviour, kind, verdict, seconds=0):
        with self.lock:
            self.verdicts[behaviour.name, kind.name] = verdict
            self.lasted[behaviour.name, kind.name] = seconds

    def of(self, behaviour):
        return {kind.name: self.verdicts[behaviour.name, kind.name] for kind in self.kinds
                if (behaviour.name, kind.name) in self.verdicts}

    def counts(self):
        with self.lock:
            results = [verdict.result for verdict in self.verdicts.values()]
        return {result: results.count(result) for result in ("pass", "quirk", "fail")}

    def failed(self):
        return self.counts()["fail"] + len(self.faults)
