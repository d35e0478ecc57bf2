"""A RabbitMQ to play on: the one that was named, or a private one for this run."""

import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Broker:
    def __init__(self, url):
        self.url, self.home = url or os.environ.get("ACEMQ_TEST_URL"), None

    def __enter__(self):
        if self.url is None:
            self.home = tempfile.mkdtemp(prefix="conformance-broker-")
            self.control("start")
            self.url = self.control("url").strip()
        return self.url

    def __exit__(self, *failure):
        if self.home is not None:
            self.control("remove")

    def control(self, what):
        done = subprocess.run([str(ROOT / "packaging" / "broker"), what], env=dict(os.environ, ACEMQ_BROKER_HOME=self.home),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the private broker: {done.stderr.strip()}")
        return done.stdout
