"""Plays all behaviours with all drivers, several scenarios at a time."""

import concurrent.futures
import contextlib
import sys
import threading
import time
import traceback

from . import behaviours, judge, play
from .process import Driver, DriverFailed, Pool
from .report import Report

AT_ONCE = 6
DRIVERS_AT_ONCE = 2


class Runner:
    """`limit`: seconds after which nothing more is begun, and what was not played is a failure."""

    def __init__(self, wanted, kinds, all_kinds, url, recorders=None, until_failure=False, limit=None):
        self.report = Report(wanted, kinds, url or "")
        self.named = {kind.name: kind for kind in all_kinds}
        self.url, self.recorders, self.until_failure, self.limit = url, recorders, until_failure, limit
        self.pool, self.began, self.builds = Pool(), time.monotonic(), {}

    def run(self):
        """The report; few drivers at a time, so that few of their processes live."""
        self.began = time.monotonic()
        # One build at a time, since drivers share what they build from, and ahead of those that play.
        with concurrent.futures.ThreadPoolExecutor(1) as builder, concurrent.futures.ThreadPoolExecutor(DRIVERS_AT_ONCE) as threads:
            self.builds = {kind.name: builder.submit(kind.build) for kind in self.report.kinds}
            list(threads.map(self.run_driver, self.report.kinds))
        self.pool.end()
        self.report.seconds = time.monotonic() - self.began
        return self.report

    def is_over(self):
        return self.limit is not None and time.monotonic() - self.began > self.limit

    def run_driver(self, kind):
        try:
            quirks = behaviours.Quirks(kind.name)
        except ValueError as fault:
            self.report.faults.append(str(fault))
            return
        with self.timed(kind, "build"):
            fault = self.builds[kind.name].result()
        print(f"{kind.name} …", file=sys.stderr, flush=True)
        applicable = [one for one in self.report.behaviours if kind.kind in one.kinds]
        for pattern in quirks.strangers(behaviours.load()):
            self.report.faults.append(f"quirks/{kind.name}.json names {pattern}, which is no behaviour")
        if fault:
            for one in applicable:
                self.report.add(one, kind, judge.Verdict("fail", fault, []))
            return
        with self.timed(kind, "cases"):
            self.run_cases(kind, [one for one in applicable if not one.needs_broker], quirks)
        with self.timed(kind, "scenarios"):
            self.run_scenarios(kind, [one for one in applicable if one.needs_broker], quirks)
            self.pool.end({kind.name} - {"c", "cli"})

    @contextlib.contextmanager
    def timed(self, kind, part):
        began = time.monotonic()
        yield
        self.report.times.setdefault(kind.name, {})[part] = time.monotonic() - began

    def run_cases(self, kind, cases, quirks):
        if not cases:
            return
        driver = None
        try:
            driver = Driver(kind)
            evidence = play.play_cases(cases, driver)
        except (DriverFailed, OSError) as failure:
            for one in cases:
                self.report.add(one, kind, judge.Verdict("fail", str(failure), []))
            return
        finally:
            if driver:
                driver.end()
        for one in cases:
            self.report.add(one, kind, judge.judge(one, evidence[one.name], quirks.of(one)))

    def run_scenarios(self, kind, scenarios, quirks):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(lambda one: self.run_scenario(kind, one, quirks), scenarios))

    def run_scenario(self, kind, behaviour, quirks):
        if self.until_failure and self.report.failed():
            return
        if self.is_over():
            self.report.add(behaviour, kind, judge.Verdict("fail", f"not played: the run has a limit of {self.limit:g} s", []))
            return
        began = time.monotonic()
        try:
            verdict = self.verdict_on(kind, behaviour, quirks.of(behaviour))
        except Exception:  # whatever goes wrong with one scenario, the others are played
            verdict = judge.Verdict("fail", traceback.format_exc(), [])
        self.report.add(behaviour, kind, verdict, time.monotonic() - began)

    def verdict_on(self, kind, behaviour, quirk):
        roles = {"this": kind, "libacemq": self.named["c"], "cli": self.named["cli"]}
        with contextlib.ExitStack() as opened:
            recorder = opened.enter_context(contextlib.closing(self.recorders(self.url))) if behaviour.records else None
            played = play.play_scenario(behaviour, roles, self.pool, self.url, recorder, (quirk or {}).get("instead"))
        return judge.judge(behaviour, played, quirk)
