"""What the tests share: the package, built once for all scripts, brokers, and results as TAP."""

import fcntl
import logging
import os
import pathlib
import subprocess
import sys
import time
import traceback
import unittest
import uuid

HERE = pathlib.Path(__file__).resolve()
BINDING = HERE.parents[2]
ROOT = HERE.parents[4]
BUILD = pathlib.Path(os.environ.get("ACEMQ_TEST_BUILD", ROOT / "build"))
PACKAGE = BUILD / "python" / "lib"
PYTHON = "/usr/bin/python3"
PATIENCE = 60  # seconds that a condition may take on a machine that is busy


def _newest(folder, pattern):
    return max((path.stat().st_mtime for path in folder.rglob(pattern)), default=0)


def _is_built():
    made = PACKAGE / "acemq" / "py.typed"
    scripts = max(path.stat().st_mtime for path in BINDING.glob("*.py"))
    sources = max(_newest(BINDING / "src", "*"), scripts, _newest(BUILD / "lib", "libacemq.so.*"))
    return made.exists() and made.stat().st_mtime > sources


def build():
    """Two scripts may run at once."""
    (BUILD / "python").mkdir(parents=True, exist_ok=True)
    with open(BUILD / "python" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_built():
            command = [PYTHON, "setup.py", "-q", "build", "--build-base", BUILD / "python" / "work"]
            done = subprocess.run(
                [*command, "--build-lib", PACKAGE],
                cwd=BINDING,
                env={**os.environ, "ACEMQ_BUILD": str(BUILD)},
                capture_output=True,
                text=True,
            )
            if done.returncode != 0:
                sys.exit(f"the package could not be built:\n{done.stdout}{done.stderr}")
            (PACKAGE / "acemq" / "py.typed").touch()


build()
sys.path.insert(0, str(PACKAGE))
sys.dont_write_bytecode = True
logging.getLogger("acemq").setLevel(logging.CRITICAL)  # what handlers raise here is meant

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}


def broker_url():
    """Of RabbitMQ; a test without it fails."""
    if "ACEMQ_TEST_URL" not in os.environ:
        raise AssertionError("ACEMQ_TEST_URL names no broker")
    return os.environ["ACEMQ_TEST_URL"]


def memory_url():
    return f"memory://{uuid.uuid4()}"


def eventually(condition, what="the condition"):
    """Waits until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {PATIENCE} s")
        time.sleep(0.005)


def python(code, *arguments, **options):
    """Runs a program of its own, to its end."""
    return subprocess.run(
        [PYTHON, "-c", code, *map(str, arguments)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
        **options,
    )


def start(code, *arguments):
    """Runs a program of its own, with its output as pipes."""
    return subprocess.Popen(
        [PYTHON, "-u", "-c", code, *map(str, arguments)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Exchange(unittest.TestCase):
    """A client and queues of the test's own, deleted at its end. A subclass says on which broker."""

    url = staticmethod(memory_url)

    def setUp(self):
        import acemq

        self.acemq = acemq
        url = self.url()
        self.url = lambda: url
        self.mq = acemq.connect(self.url())
        self.queues = []
        self.addCleanup(self.leave)

    def leave(self):
        self.mq.close()
        with self.acemq.connect(self.url()) as mq:
            for queue in self.queues:
                for name in (queue, queue + ".dlq", queue + ".parked"):
                    mq.delete(name)

    def queue(self, **options):
        name = f"test.python.{uuid.uuid4()}"
        self.queues.append(name)
        self.mq.declare(name, **{"type": "classic", **options})
        return name


def on_both_brokers(*cases):
    """Each case against the broker in memory, and against RabbitMQ."""
    made = []
    for case in cases:
        for broker, url in (("memory", memory_url), ("RabbitMQ", broker_url)):
            made.append(type(f"{case.__name__} on {broker}", (case,), {"url": staticmethod(url)}))
    return made


class Tap(unittest.TestResult):
    number = 0

    def line(self, test, passed, failure=None):
        self.number += 1
        said = test.shortDescription() or test.id().rpartition(".")[2].replace("test_", "").replace("_", " ")
        broker = type(test).__name__.partition(" on ")[2]
        suffix = f" ({broker})" if broker else ""
        print(f"{'ok' if passed else 'not ok'} {self.number} - {said.rstrip('.')}{suffix}", flush=True)
        if failure is not None:
            for line in "".join(traceback.format_exception(*failure)).splitlines():
                print(f"# {line}", flush=True)

    def addSuccess(self, test):
        self.line(test, True)

    def addError(self, test, failure):
        super().addError(test, failure)
        self.line(test, False, failure)

    def addFailure(self, test, failure):
        super().addFailure(test, failure)
        self.line(test, False, failure)


def run(*cases):
    """All tests of these cases; the words behind the program choose among them."""
    loader = unittest.TestLoader()
    tests = [test for case in cases for test in loader.loadTestsFromTestCase(case)]
    wanted = sys.argv[1:]
    tests = [test for test in tests if not wanted or any(word in test.id() for word in wanted)]
    print(f"1..{len(tests)}", flush=True)
    result = Tap()
    unittest.TestSuite(tests).run(result)
    sys.stdout.flush()
    os._exit(0 if result.wasSuccessful() else 1)
