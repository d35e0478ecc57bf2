"""Drivers: which there are, and their processes."""

import json
import os
import pathlib
import queue
import signal
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Longer than any timeout of a driver's own: 10 s by default, and a consumer has its `until` and drains at its end.
ANSWER_LIMIT_S = 45
START_LIMIT_S = 60
BUILD_LIMIT_S = 400
END_LIMIT_S = 10


class DriverFailed(Exception):
    """The process ended, was silent for too long, or did not speak the protocol."""


def answer_limit(parameters):
    """Seconds in which a driver has to answer."""
    return ANSWER_LIMIT_S + (parameters.get("until") or {}).get("timeout", 0) / 1000


class Kind:
    """A driver's folder."""

    def __init__(self, folder, build, peers):
        self.folder, self.name = folder, folder.name
        about = json.loads((folder / "driver.json").read_text(encoding="utf-8")) if (folder / "driver.json").exists() else {}
        self.title = about.get("title", self.name)
        self.kind = about.get("kind", "library")
        self.order = about.get("order", 500)
        self.peer, self.source = about.get("peer"), about.get("source", {})
        own = build / "conformance" / self.name
        self.environment = dict(os.environ, ACEMQ_TEST_BUILD=str(build), ACEMQ_CONFORMANCE_BUILD=str(own),
                                ACEMQ_LIBRARY=os.environ.get("ACEMQ_LIBRARY", str(build / "lib" / "libacemq.so")),
                                ACEMQ_CLI=os.environ.get("ACEMQ_CLI", str(build / "bin" / "acemq")))
        if self.peer in peers:
            self.environment["ACEMQ_PEER_SOURCE"] = peers[self.peer]
        self.own = own

    def fault_of_source(self, path):
        """Why that folder is not its peer's source, or None."""
        for name, words in self.source.items():
            file = pathlib.Path(path) / name
            if not file.is_file():
                return f"{name} is missing"
            if words not in file.read_text(encoding="utf-8", errors="replace"):
                return f"{name} does not say {words}"
        return None

    def build(self):
        """None, or what went wrong."""
        self.own.mkdir(parents=True, exist_ok=True)
        program = self.folder / "build"
        if not program.exists():
            return None
        try:
            done = subprocess.run([str(program)], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.STDOUT, text=True, check=False, timeout=BUILD_LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"its build did not end within {BUILD_LIMIT_S} s"
        return f"its build failed:\n{done.stdout[-3000:]}" if done.returncode else None


def kinds(build, peers):
    found = [Kind(program.parent, build, peers) for program in (ROOT / "conformance" / "drivers").glob("*/driver")]
    return sorted((kind for kind in found if kind.peer is None or kind.peer in peers), key=lambda kind: (kind.order, kind.name))


class Driver:
    """One process of a driver."""

    def __init__(self, kind):
        self.kind, self.number, self.silent = kind, 0, False
        self.errors = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen([str(kind.folder / "driver")], cwd=kind.folder, env=kind.environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        start_new_session=True)
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.listen, args=(self.process.stdout, self.lines), daemon=True).start()
        try:
            self.hello = self.line(START_LIMIT_S, "hello").get("hello") or {}
            if self.hello.get("protocol") != 1:
                raise DriverFailed(f"{kind.name} did not say hello in protocol 1")
        except DriverFailed:
            self.silent = True
            self.end()
            raise

    @staticmethod
    def listen(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def line(self, limit, step):
        try:
            text = self.lines.get(timeout=limit)
        except queue.Empty:
            self.silent = True
            raise DriverFailed(f"{self.kind.name} did not answer step {step} within {limit:g} s{self.last_words()}") from None
        if text is None:
            raise DriverFailed(f"{self.kind.name} ended{self.last_words()}")
        try:
            return json.loads(text)
        except ValueError:
            raise DriverFailed(f"{self.kind.name} said what is no JSON: {text[:200]!r}") from None

    def last_words(self):
        self.errors.seek(0)
        words = self.errors.read()[-2000:].strip()
        return f", its last words: {words}" if words else ""

    def ask_all(self, requests, limit=None):
        """Sends all requests, as (verb, parameters, the step's name), and takes the answers."""
        first = self.number + 1
        lines = []
        for verb, parameters, _ in requests:
            self.number += 1
            lines.append(json.dumps({"id": self.number, "do": verb, "with": parameters}, ensure_ascii=False) + "\n")
        writer = threading.Thread(target=self.write, args=("".join(lines).encode(),), daemon=True)
        writer.start()
        answers = []
        for number, (verb, parameters, step) in enumerate(requests, first):
            answer = self.line(limit or answer_limit(parameters), f"{step} ({verb})" if step else verb)
            if answer.get("id") != number:
                raise DriverFailed(f"{self.kind.name} answered request {answer.get('id')} instead of {number}")
            answers.append({name: answer[name] for name in ("ok", "error", "unsupported") if name in answer})
        writer.join()
        return answers

    def ask(self, verb, parameters, limit=None, step=None):
        return self.ask_all([(verb, parameters, step)], limit)[0]

    def write(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def end(self):
        try:
            self.process.stdin.close()
            self.process.wait(0 if self.silent else END_LIMIT_S)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            pass
        finally:
            self.kill()
            self.errors.close()

    def kill(self):
        """With what it started, and did not end; whoever waits for its answer hears that it ended."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Pool:
    """Processes to borrow: the idle one, or a new one."""

    def __init__(self):
        self.idle, self.lock = {}, threading.Lock()

    def borrow(self, kind):
        with self.lock:
            waiting = self.idle.setdefault(kind.name, [])
            if waiting:
                return waiting.pop()
        return Driver(kind)

    def give_back(self, driver):
        with self.lock:
            self.idle[driver.kind.name].append(driver)

    def end(self, names=None):
        with self.lock:
            ended = [driver for name, waiting in self.idle.items() if names is None or name in names for driver in waiting]
            for name in self.idle:
                if names is None or name in names:
                    self.idle[name] = []
        for driver in ended:
            driver.end()
