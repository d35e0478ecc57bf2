"""Test functions as TAP."""

import traceback


class Fault(Exception):
    pass


def same(what, found, wanted):
    if found != wanted:
        raise Fault(f"{what} is {found!r}, expected {wanted!r}")


def run(tests):
    """The exit status; each test is a function, its name what it shows."""
    print(f"1..{len(tests)}")
    failures = 0
    for number, test in enumerate(tests, 1):
        title = test.__name__.replace("_", " ")
        try:
            test()
            print(f"ok {number} - {title}", flush=True)
        except Fault as fault:
            failures += 1
            print(f"not ok {number} - {title}\n  {fault}", flush=True)
        except Exception:  # what a test did not expect is its failure, and the others still run
            failures += 1
            print(f"not ok {number} - {title}\n{traceback.format_exc()}", flush=True)
    return 1 if failures else 0
