"""A verdict on what was played: pass, quirk or fail, with its reason."""

import re

from . import matching


class Verdict:
    def __init__(self, result, reason, played, section=None):
        self.result, self.reason, self.played, self.section = result, reason, played, section


def first_fault(played):
    for step in played:
        if step.unsupported is not None and step.faults:
            return f"{step.name}: {step.verb} is unsupported: {step.unsupported}"
        if step.faults:
            return f"{step.name}: {step.faults[0]}"
    return None


def judge(behaviour, played, quirk):
    fault = first_fault(played)
    if quirk is None:
        return Verdict("pass" if fault is None else "fail", fault or "", played)
    if "instead" in quirk:
        return judge_instead(played, fault, quirk)
    if fault is None:
        return Verdict("fail", f"the quirk is no more: {quirk['reason']}", played)
    others = [step for step in played if step.faults and not is_excused(step, quirk)]
    if others:
        return Verdict("fail", f"not what the quirk is about: {first_fault(others)}", played)
    return Verdict("quirk", quirk["reason"], played, quirk["section"])


def is_excused(step, quirk):
    """What is not offered; anything else only when the quirk says how it shows."""
    return step.unsupported is not None or "fault" in quirk and re.search(quirk["fault"], step.faults[0]) is not None


def judge_instead(played, fault, quirk):
    """What the quirk names has to be as the quirk says, and the rest as the contract says."""
    instead = quirk["instead"]
    if fault is None:
        return Verdict("fail", f"the quirk is no more: {quirk['reason']}", played)
    missing = set(instead) - {step.name for step in played}
    if missing:
        return Verdict("fail", f"the quirk names {', '.join(sorted(missing))}, which was not reached", played)
    for step in played:
        if step.name in instead:
            wrong = matching.answer_faults(step.instead or instead[step.name], step.answer)
            if wrong:
                return Verdict("fail", f"{step.name}: not as the quirk says: {wrong[0]}", played)
        elif step.faults:
            return Verdict("fail", f"{step.name}: {step.faults[0]}", played)
    return Verdict("quirk", quirk["reason"], played, quirk["section"])
