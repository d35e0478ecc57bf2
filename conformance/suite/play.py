"""Plays one behaviour with one driver, and keeps what was asked, what was answered and what was expected."""

import json
import re
import shutil
import tempfile
import threading
import time
import uuid

from observer.observer import Observer

from . import matching
from .process import DriverFailed

REPEAT_EVERY_S = 0.05
# Longer than the drivers' default: a loaded machine is no failure.
CONSUMING_LIMIT_MS = 60000
REPEATED = re.compile(r"\{(.)\*([0-9]+)\}")


class Played:
    """One step: the evidence, and what was wrong with it."""

    def __init__(self, name, by, verb, parameters, expected):
        self.name, self.by, self.verb, self.parameters, self.expected = name, by, verb, parameters, expected
        self.answer, self.faults, self.instead, self.began = None, [], None, time.monotonic()

    def judge(self, answer, expected=None):
        self.answer = answer
        self.faults = matching.answer_faults(expected or self.expected, answer)
        return not self.faults

    @property
    def unsupported(self):
        return (self.answer or {}).get("unsupported")


def filled(value, known):
    """`{name}` in texts stands for what is known; a text that is nothing else takes its type too. `{a*256}` is a long one."""
    if isinstance(value, str):
        whole = value[1:-1]
        if value[:1] == "{" and value[-1:] == "}" and whole in known:
            return known[whole]
        for name, text in known.items():
            value = value.replace("{" + name + "}", str(text))
        return REPEATED.sub(lambda match: match[1] * int(match[2]), value)
    if isinstance(value, list):
        return [filled(member, known) for member in value]
    if isinstance(value, dict):
        return {filled(name, known): filled(member, known) for name, member in value.items()}
    return value


def member(value, path):
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def play_cases(behaviours, driver):
    """All cases of behaviours that need no broker, asked at once: {name: [Played]}."""
    evidence = {behaviour.name: [] for behaviour in behaviours}
    asked = []
    for behaviour in behaviours:
        for at, case in enumerate(behaviour.steps):
            step = Played(behaviour.step_name(at), "this", case["do"], case["with"], case["expect"])
            evidence[behaviour.name].append(step)
            asked.append(step)
    answers = driver.ask_all([(step.verb, step.parameters, step.name) for step in asked])
    for step, answer in zip(asked, answers):
        step.judge(answer)
    return evidence


class Stage:
    """What one scenario runs on: processes of drivers, an observer, names of its own."""

    def __init__(self, behaviour, roles, pool, url, recorder=None, instead=None):
        self.behaviour, self.roles, self.pool, self.recorder = behaviour, roles, pool, recorder
        self.instead = instead or {}
        self.folder = tempfile.mkdtemp(prefix="conformance-")
        self.observer = Observer(url)
        self.drivers, self.background, self.played = {}, {}, []
        self.known = {"q": f"cf.{uuid.uuid4().hex[:10]}", "url": url, "dir": self.folder, "uuid": str(uuid.uuid4())}
        self.url = url

    def driver(self, by):
        """`this`, `libacemq` or `cli`, and a number for another process of it."""
        if by not in self.drivers:
            driver = self.pool.borrow(self.roles[by.split()[0]])
            self.drivers[by] = driver
            url = self.recorder.url if self.recorder and by == "this" else self.url
            answer = driver.ask("connect", {"url": url}, step="before the first")
            if "ok" not in answer:
                raise DriverFailed(f"connect: {json.dumps(answer)}")
        return self.drivers[by]

    def ask(self, played):
        if played.by == "observer":
            return self.observer.perform(played.verb, played.parameters)
        if played.by == "recorder":
            return self.recorder.perform(played.verb, played.parameters)
        return self.driver(played.by).ask(played.verb, played.parameters, step=played.name)

    # --- steps ---

    def play(self):
        for at, step in enumerate(self.behaviour.steps):
            if not self.step(self.behaviour.step_name(at), step):
                break
        return self.played

    def step(self, name, step):
        """False ends the scenario: later steps would only repeat what is wrong."""
        step = filled(step, self.known)
        if "until" in step.get("with", {}):
            step["with"]["until"].setdefault("timeout", CONSUMING_LIMIT_MS)
        if "await" in step:
            played, thread = self.background.pop(step["await"])
            thread.join()
            played.expected = step.get("expect", {"ok": {}})
        else:
            played = Played(name, step.get("by", "this"), step["do"], step.get("with", {}), step.get("expect", {"ok": {}}))
            self.played.append(played)
            if "background" in step:
                return self.begin(played, step["background"])
            played.answer = self.answered(played, step.get("within"))
        if not played.judge(played.answer) and not self.differs_as_known(played):
            return False
        for variable, path in step.get("save", {}).items():
            self.known[variable] = member(played.answer["ok"], path)
        return True

    def differs_as_known(self, played):
        """Whether a step went as a quirk says: then the scenario goes on."""
        expected = filled(self.instead.get(played.name), self.known)
        return expected is not None and not matching.answer_faults(expected, played.answer)

    def begin(self, played, name):
        # A process that cannot start ends the scenario here, not in the thread.
        self.driver(played.by)

        def run():
            try:
                played.answer = self.ask(played)
            except DriverFailed as failure:
                played.answer = {"failed": str(failure)}

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.background[name] = (played, thread)
        return True

    def answered(self, played, within):
        """The answer; asked again until it is as expected where the step says for how long."""
        ends = time.monotonic() + (within or 0)
        while True:
            answer = self.ask(played)
            if not within or time.monotonic() > ends or not matching.answer_faults(played.expected, answer):
                return answer
            if played.verb == "take" and (answer.get("ok") or {}).get("messages"):
                return answer  # what was taken does not come again
            if played.name in self.instead and not matching.answer_faults(filled(self.instead[played.name], self.known), answer):
                return answer
            time.sleep(REPEAT_EVERY_S)

    def keep_known(self, played):
        """Names of this run, for the judge: what a quirk expects instead speaks of them too."""
        for step in played:
            if step.name in self.instead:
                step.instead = filled(self.instead[step.name], self.known)

    # --- the end ---

    def end(self, failed):
        """What a failure left behind might be heard by the next; those processes are ended."""
        for played, thread in self.background.values():
            if played.by in self.drivers:
                self.drivers[played.by].kill()
            thread.join()
            failed = True
        for driver in self.drivers.values():
            if failed:
                driver.end()
                continue
            try:
                driver.ask("close", {}, step="after the last")
                self.pool.give_back(driver)
            except DriverFailed:
                driver.end()
        self.tidy()
        self.observer.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tidy(self):
        prefix, names = self.known["q"], set()
        for text in texts(filled([self.behaviour.steps, self.behaviour.leftovers], self.known)):
            if text.startswith(prefix) and len(text) < 240:
                names |= {text, text + ".dlq", text + ".parked"}
        for name in names:
            self.observer.perform("delete", {"queue": name, "exchange": name})


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def play_scenario(behaviour, roles, pool, url, recorder=None, instead=None):
    stage = Stage(behaviour, roles, pool, url, recorder, instead)
    failed = True
    try:
        played = stage.play()
        # What is not offered, or goes as a quirk says, leaves a process as it was.
        failed = any(step.faults and step.unsupported is None and not stage.differs_as_known(step) for step in played)
        stage.keep_known(played)
    except (DriverFailed, OSError, KeyError, ValueError) as failure:
        step = Played("the process", "this", "", {}, {"ok": {}})
        step.faults = [f"{type(failure).__name__}: {failure}"]
        stage.played.append(step)
    finally:
        stage.end(failed)
    return stage.played
