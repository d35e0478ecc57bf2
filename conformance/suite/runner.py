"""Plays all behaviours with all drivers, several scenarios at a time."""

import concurrent.futures
import sys
import threading
import traceback

from . import behaviours, judge, play
from .process import Driver, DriverFailed, Pool
from .report import Report

AT_ONCE = 6
DRIVERS_AT_ONCE = 2


class Runner:
    def __init__(self, wanted, kinds, all_kinds, url, recorders=None, until_failure=False):
        self.report = Report(wanted, kinds, url or "")
        self.named = {kind.name: kind for kind in all_kinds}
        self.url, self.recorders, self.until_failure = url, recorders, until_failure
        self.pool, self.building = Pool(), threading.Lock()

    def run(self):
        """The report; few drivers at a time, so that few of their processes live."""
        with concurrent.futures.ThreadPoolExecutor(DRIVERS_AT_ONCE) as threads:
            list(threads.map(self.run_driver, self.report.kinds))
        self.pool.end()
        return self.report

    def run_driver(self, kind):
        print(f"{kind.name} …", file=sys.stderr, flush=True)
        try:
            quirks = behaviours.Quirks(kind.name)
        except ValueError as fault:
            self.report.faults.append(str(fault))
            return
        # Drivers share what they build from.
        with self.building:
            fault = kind.build()
        applicable = [one for one in self.report.behaviours if kind.kind in one.kinds]
        for pattern in quirks.strangers(behaviours.load()):
            self.report.faults.append(f"quirks/{kind.name}.json names {pattern}, which is no behaviour")
        if fault:
            for one in applicable:
                self.report.add(one, kind, judge.Verdict("fail", fault, []))
            return
        self.run_cases(kind, [one for one in applicable if not one.needs_broker], quirks)
        self.run_scenarios(kind, [one for one in applicable if one.needs_broker], quirks)
        self.pool.end({kind.name} - {"c", "cli"})

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
        roles = {"this": kind, "libacemq": self.named["c"], "cli": self.named["cli"]}
        quirk = quirks.of(behaviour)
        if quirk and quirk.get("played") is False:
            self.report.add(behaviour, kind, judge.Verdict("quirk", quirk["reason"], [], quirk["section"]))
            return
        recorder = self.recorders(self.url) if behaviour.records else None
        try:
            played = play.play_scenario(behaviour, roles, self.pool, self.url, recorder, (quirk or {}).get("instead"))
        except Exception:  # whatever goes wrong with one scenario, the others are played
            self.report.add(behaviour, kind, judge.Verdict("fail", traceback.format_exc(), []))
            return
        finally:
            if recorder:
                recorder.close()
        self.report.add(behaviour, kind, judge.judge(behaviour, played, quirk))
