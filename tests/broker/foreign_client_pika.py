#!/usr/bin/python3
"""A client that knows nothing of us: pika declares, publishes, consumes, settles and makes mistakes.

usage: foreign_client_pika.py URL [CHECK...]

The same assertions hold on RabbitMQ 3.10 and on the memory broker, wording of errors included; that is how
the memory broker is known to be no kinder. Prints one TAP line a check. Every queue is deleted at the end.
"""

import sys

sys.dont_write_bytecode = True

import pika.exceptions  # noqa: E402

from foreign_client import consuming, dead_letters, declarations, publishing, refusals  # noqa: E402,F401
from foreign_client.client import Client, checks  # noqa: E402


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    url = sys.argv[1]
    wanted = sys.argv[2:]
    refusals.encode_raw_fields()
    failed = 0
    run = [function for function in checks if not wanted or function.__name__ in wanted]
    print(f"1..{len(run)}")
    for number, function in enumerate(run, 1):
        client = Client(url)
        try:
            function(client, url)
            print(f"ok {number} - {function.__name__}")
        except Exception as error:  # whatever it was, the other checks still say something
            failed += 1
            print(f"not ok {number} - {function.__name__}")
            print(f"# {type(error).__name__}: {error}".replace("\n", " "))
            line = error.__traceback__
            while line:
                print(f"#   line {line.tb_lineno} of {line.tb_frame.f_code.co_name}")
                line = line.tb_next
        finally:
            try:
                client.clean()
            except pika.exceptions.AMQPError as error:
                print(f"# cleaning up: {error!r}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
