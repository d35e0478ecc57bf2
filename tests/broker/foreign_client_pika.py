#!/usr/bin/python3
"""A client that knows nothing of us: pika declares, publishes, consumes, settles and makes mistakes.

usage: foreign_client_pika.py [URL [CHECK...]]

Without a URL it runs against RabbitMQ at $ACEMQ_TEST_URL and against `acemq broker --listen` of $ACEMQ_CLI. The same
assertions hold on both, wording of errors included; that is how the memory broker is known to be no kinder. Prints one
TAP line a check. Every queue is deleted at the end.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True

import pika.exceptions  # noqa: E402

from foreign_client import consuming, dead_letters, declarations, publishing, refusals  # noqa: E402,F401
from foreign_client.client import Client, checks  # noqa: E402


class Report:
    """TAP lines as they come."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def passed(self, name):
        self.count += 1
        print(f"ok {self.count} - {name}", flush=True)

    def fails(self, name, error):
        self.count += 1
        self.failed += 1
        print(f"not ok {self.count} - {name}")
        print(f"# {type(error).__name__}: {error}".replace("\n", " "))
        line = error.__traceback__
        while line:
            print(f"#   line {line.tb_lineno} of {line.tb_frame.f_code.co_name}", flush=True)
            line = line.tb_next


def run_checks(broker, url, wanted, report):
    for function in checks:
        if wanted and function.__name__ not in wanted:
            continue
        client = Client(url)
        try:
            function(client, url)
            report.passed(f"{broker}: {function.__name__}")
        except Exception as error:  # whatever it was, the other checks still say something
            report.fails(f"{broker}: {function.__name__}", error)
        finally:
            try:
                client.clean()
            except pika.exceptions.AMQPError as error:
                print(f"# cleaning up: {error!r}")


def run_on_memory_broker(wanted, report):
    command = [os.environ["ACEMQ_CLI"], "broker", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        try:
            run_checks("memory broker", broker.stdout.readline().strip(), wanted, report)
        finally:
            broker.terminate()


def main():
    refusals.encode_raw_fields()
    report = Report()
    if len(sys.argv) > 1:
        run_checks("broker", sys.argv[1], sys.argv[2:], report)
    else:
        run_checks("RabbitMQ", os.environ["ACEMQ_TEST_URL"], [], report)
        run_on_memory_broker([], report)
    print(f"1..{report.count}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
