"""The table on a terminal, and as JSON."""

import json
import os
import sys

SIGNS = {"pass": "·", "quirk": "q", "fail": "✗"}
LONGEST = 12
COLOURS = {"pass": "\033[32m", "quirk": "\033[33m", "fail": "\033[1;31m"}


def as_json(report):
    rows = [{"behaviour": behaviour.name, "title": behaviour.title, "section": behaviour.section,
             "results": {driver: verdict.result for driver, verdict in report.of(behaviour).items()}}
            for behaviour in report.behaviours]
    return json.dumps({"rows": rows, "failed": report.failed(), "seconds": round(report.seconds, 1)}, ensure_ascii=False, indent=1) + "\n"


def print_table(report, stream=sys.stdout):
    coloured = stream.isatty() and "NO_COLOR" not in os.environ
    width = max((len(behaviour.name) for behaviour in report.behaviours), default=0)
    heads = [kind.name for kind in report.kinds]
    for level in range(max(map(len, heads), default=0)):
        print(" " * (width + 10) + " ".join(head.rjust(max(map(len, heads)))[level] for head in heads), file=stream)
    for behaviour in report.behaviours:
        cells = []
        for kind in report.kinds:
            verdict = report.of(behaviour).get(kind.name)
            sign = SIGNS[verdict.result] if verdict else " "
            cells.append(f"{COLOURS[verdict.result]}{sign}\033[0m" if coloured and verdict else sign)
        print(f"{behaviour.name.ljust(width)}  §{behaviour.section[:6].ljust(6)} {' '.join(cells)}", file=stream)
    print_words(report, stream)


def print_words(report, stream):
    for result, head in (("quirk", "quirks"), ("fail", "failures")):
        lines = [(kind.name, verdict.section or behaviour.section, behaviour.name, verdict.reason)
                 for kind in report.kinds for behaviour in report.behaviours
                 if (verdict := report.of(behaviour).get(kind.name)) and verdict.result == result]
        if lines:
            print(f"\n{head}:", file=stream)
        for driver, section, name, reason in lines:
            print(f"  {driver}, §{section}, {name}: {reason}", file=stream)
    counts = report.counts()
    print(f"\n{len(report.behaviours)} behaviours, {len(report.kinds)} drivers: {counts['pass']} pass, {counts['quirk']} quirks, "
          f"{counts['fail']} failed", file=stream)
    for fault in report.faults:
        print(f"failed: {fault}", file=stream)


def print_times(report, stream=sys.stderr):
    """Where the time went."""
    print(f"{report.seconds:.0f} s:", file=stream)
    for kind in report.kinds:
        parts = report.times.get(kind.name, {})
        print(f"  {kind.name}: {', '.join(f'{part} {seconds:.1f} s' for part, seconds in parts.items())}", file=stream)
    longest = sorted(report.lasted.items(), key=lambda one: -one[1])[:LONGEST]
    print(f"  the longest: {', '.join(f'{name} of {driver} {seconds:.1f} s' for (name, driver), seconds in longest)}", file=stream)
