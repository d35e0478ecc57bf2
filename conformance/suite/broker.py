"""A RabbitMQ to play on: the one that was named, or a private one for this run."""

import os
import pathlib
import socket
import subprocess
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Broker:
    """`needed`: no broker is started for nothing."""

    def __init__(self, url, needed=True):
        self.url, self.home, self.needed = url or os.environ.get("ACEMQ_TEST_URL") or None, None, needed

    def __enter__(self):
        if self.url is None and self.needed:
            self.home = tempfile.mkdtemp(prefix="conformance-broker-")
            self.control("start")
            self.url = self.control("url").strip()
        elif self.needed:
            self.answers()
        return self.url

    def answers(self):
        """Said once, instead of by every behaviour."""
        place = urllib.parse.urlsplit(self.url)
        port = place.port or (5671 if place.scheme == "amqps" else 5672)
        try:
            socket.create_connection((place.hostname or "localhost", port), 10).close()
        except OSError as failure:
            raise SystemExit(f"conformance/run: nobody answers at {place.hostname}:{port}: {failure.strerror or failure}")

    def __exit__(self, *failure):
        if self.home is not None:
            self.control("remove")

    def control(self, what):
        done = subprocess.run([str(ROOT / "packaging" / "broker"), what], env=dict(os.environ, ACEMQ_BROKER_HOME=self.home),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the private broker: {done.stderr.strip()}")
        return done.stdout
