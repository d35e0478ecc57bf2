"""The binding for Python, spoken to in JSON lines (docs/conformance.md)."""

import json
import logging
import sys

import acemq

import client
import messages
import rules

VERBS = {**rules.VERBS, **client.VERBS}


def say(line):
    print(json.dumps(line, ensure_ascii=False), flush=True)


def answer(name, given):
    if name not in VERBS:
        return {"unsupported": f"the verb {name} is not known here"}
    run, known = VERBS[name]
    strangers = set(given) - set(known.split())
    if strangers:
        return {"unsupported": f"the parameter {min(strangers)} is not known here"}
    try:
        return {"ok": run(given) or {}}
    except messages.Unsupported as why:
        return {"unsupported": str(why)}
    except acemq.Error as error:
        return {"error": {"name": error.name or "invalid_argument", "message": str(error)}}
    except KeyError as missing:
        return {"error": {"name": "invalid_argument", "message": f"{missing} is missing"}}
    except (OverflowError, TypeError, ValueError) as error:
        return {"error": {"name": "invalid_argument", "message": str(error)}}


def main():
    logging.getLogger("acemq").setLevel(logging.ERROR)
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    say({"hello": {"protocol": 1, "name": "python", "version": acemq.version(), "verbs": sorted(VERBS)}})
    for line in sys.stdin:
        request = json.loads(line)
        say({"id": request["id"], **answer(request.get("do"), request.get("with") or {})})
    client.end()


main()
