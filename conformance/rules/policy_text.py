"""Section 5: the text of a policy, read back."""

import re

from .policies import Policy, parse_duration

COUNT, DURATION, FACTOR = r"([0-9]+)", r"([0-9]+(?:ms|s|m|h|d)|0)", r"([0-9]+(?:\.[0-9]+)?)"
FACTORIES = [re.compile(r"none(?:\(\))?"), re.compile(rf"fixed\({COUNT}, *{DURATION}\)"),
             re.compile(rf"exponential\({COUNT}, *{DURATION}, *({DURATION[1:-1]}|none)\)")]
SUFFIX = re.compile(rf"\.(?:(giveUpAfter|threshold)\({DURATION}\)|(jitter|multiplier)\({FACTOR}\)|(wholeSecondNames|durableRungs)\(\))")
FIELDS = {"giveUpAfter": "age", "threshold": "threshold", "jitter": "jitter", "multiplier": "multiplier",
          "wholeSecondNames": "whole_seconds", "durableRungs": "durable"}


def factory(text):
    """(policy, where its suffixes begin)"""
    for at, form in enumerate(FACTORIES):
        match = form.match(text)
        if not match:
            continue
        if at == 0:
            return Policy.none(), match.end()
        attempts, wait = int(match[1]), parse_duration(match[2])
        if not 1 <= attempts < 2**31 or wait == 0:
            raise ValueError(text)
        if at == 1:
            return Policy.fixed(attempts, wait), match.end()
        return Policy.exponential(attempts, wait, 0 if match[3] == "none" else parse_duration(match[3])), match.end()
    raise ValueError(text)


def parse(text):
    policy, at = factory(text)
    seen = set()
    while at < len(text):
        match = SUFFIX.match(text, at)
        name = match and (match[1] or match[3] or match[5])
        if not match or name in seen:
            raise ValueError(text)
        seen.add(name)
        value = parse_duration(match[2]) if match[1] else float(match[4]) if match[3] else True
        if name == "jitter" and value > 1 or name == "multiplier" and value < 1:
            raise ValueError(text)
        setattr(policy, FIELDS[name], value)
        at = match.end()
    return policy
