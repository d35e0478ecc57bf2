"""Behaviours as files: one case a line, so that a change of a rule shows as the lines it changes."""

import json


def behaviour(name, section, title, cases, **more):
    return {"behaviour": name, "section": section, "title": title, **more, "cases": cases}


def case(name, verb, parameters, ok=None, error=None):
    return {"case": name, "do": verb, "with": parameters, "expect": {"error": error} if error else {"ok": ok}}


def line(value):
    return json.dumps(value, ensure_ascii=False)


def text(behaviours):
    blocks = []
    for one in behaviours:
        head = ",\n".join(f"   {line(name)}: {line(value)}" for name, value in one.items() if name != "cases")
        cases = ",\n".join(f"    {line(case)}" for case in one["cases"])
        blocks.append(f"  {{\n{head},\n   \"cases\": [\n{cases}\n   ]\n  }}")
    return "{\n \"behaviours\": [\n" + ",\n".join(blocks) + "\n ]\n}\n"
