"""What tests/bench/run and tests/bench/costs share: building the programs, running them, and the broker."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ACEMQ_BENCH_BUILD", ROOT / "build" / "bench"))
BROKER = ROOT / "packaging" / "broker"
PROGRAM_LIMIT = 600  # seconds
QUEUE = "acemq.bench"
BODY = 256  # bytes


def say(text):
    print(text, file=sys.stderr, flush=True)


def build():
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DACEMQ_BENCH=ON"]
    for command in (configure, ["cmake", "--build", BUILD, "--target", "bench_ours", "bench_reference"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            say(done.stdout + done.stderr)
            sys.exit("the programs could not be built")


JAVA_CLASSES = ("/usr/share/java/amqp-client.jar", "/usr/share/java/slf4j-api.jar", "/usr/share/java/slf4j-nop.jar")
# Programs that are not one file in the folder of the build; what a row compares with is named by its key.
PYTHON = "/usr/bin/python3"
PYTHON_PACKAGE = BUILD / "python" / "bench"
AIO_PIKA = BUILD / "python" / "aio-pika"
COMMANDS = {
    "java": ["java", "-cp", ":".join((*JAVA_CLASSES, str(BUILD / "bench" / "java"))), "Bench"],
    "ruby": ["env", f"ACEMQ_LIBRARY={BUILD}/lib/libacemq.so", "/usr/bin/ruby", str(ROOT / "tests/bench/ruby/ours.rb")],
    "bunny": ["/usr/bin/ruby", str(ROOT / "tests/bench/ruby/bunny.rb")],
    "python": ["env", f"PYTHONPATH={PYTHON_PACKAGE}", PYTHON, str(ROOT / "tests" / "bench" / "python" / "ours.py")],
    "aio-pika": [str(AIO_PIKA / "bin" / "python"), str(ROOT / "tests" / "bench" / "python" / "reference.py")],
}


def build_go():
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(BUILD / "go-cache")}
    run_builder(["/usr/bin/go", "build", "-o", str(BUILD / "bench" / "bench_go"), "main.go"], environment,
                ROOT / "tests" / "bench" / "go")


def build_java():
    run_builder(["javac", "-cp", ":".join(JAVA_CLASSES), "-d", str(BUILD / "bench" / "java"), "Bench.java"], os.environ,
                ROOT / "tests" / "bench" / "java")


def build_python():
    """The binding for Python, with the library of this build in it."""
    folder = ROOT / "bindings" / "python"
    run_builder(["cmake", "--build", str(BUILD), "--target", "acemq"], os.environ, folder)
    build = ["setup.py", "-q", "build", "--build-base", str(BUILD / "python" / "bench-work"), "--build-lib", str(PYTHON_PACKAGE)]
    run_builder([PYTHON, *build], {**os.environ, "ACEMQ_BUILD": str(BUILD)}, folder)


def build_aio_pika():
    """The newest there is, in an environment of its own, once."""
    if not (AIO_PIKA / "installed").exists():
        run_builder([PYTHON, "-m", "venv", "--clear", str(AIO_PIKA)], os.environ, ROOT)
        run_builder([str(AIO_PIKA / "bin" / "pip"), "install", "--quiet", "aio-pika"], os.environ, ROOT)
        (AIO_PIKA / "installed").touch()


# What has to be made before the program of that name runs.
BUILDERS = {"go": build_go, "java": build_java, "python": build_python, "aio-pika": build_aio_pika}


def run_builder(command, environment, folder):
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode != 0:
        say(done.stdout + done.stderr)
        sys.exit(f"{command[0]} could not build what a row compares with")


def run_program(side, arguments, environment, launcher=()):
    """What it prints, read, and its standard error."""
    command = [*launcher, *COMMANDS.get(side, [BUILD / "bench" / f"bench_{side}"]), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PROGRAM_LIMIT)
    if done.returncode != 0:
        sys.exit(f"bench_{side} {' '.join(arguments)}: {done.stderr.strip() or done.returncode}")
    return json.loads(done.stdout), done.stderr


def program(side, arguments, environment):
    return run_program(side, arguments, environment)[0]


def fill(count, environment, side="ours"):
    """The queue holds so many messages of that program's and no other."""
    program(side, ["fill", "--queue", QUEUE, "--count", str(count), "--size", str(BODY)], environment)


def control_broker(command):
    done = subprocess.run([BROKER, command], capture_output=True, text=True)
    if done.returncode != 0:
        say(done.stderr)
        sys.exit(f"packaging/broker {command} failed")
    return done.stdout.strip()


class Broker:
    """The one that ACEMQ_TEST_URL names, or one of our own while the measurements last."""

    def __enter__(self):
        self.environment = dict(os.environ)
        self.is_ours = "ACEMQ_TEST_URL" not in os.environ
        if self.is_ours:
            os.environ.setdefault("ACEMQ_BROKER_HOME", str(BUILD / "broker"))
            say("starting RabbitMQ")
            control_broker("start")
            self.environment["ACEMQ_TEST_URL"] = control_broker("url")
        return self.environment

    def __exit__(self, *_):
        if self.is_ours:
            control_broker("remove")
