"""The table as one self-contained page: nothing is loaded from anywhere."""

import base64
import html
import json
import pathlib
import re
import zlib

from . import behaviours

TEMPLATE = pathlib.Path(__file__).resolve().parent / "page.html"
QUEUE_OF_A_RUN = re.compile(r"cf\.[0-9a-f]{10}")
SIGNS = {"pass": "", "quirk": "q", "fail": "✗"}


class Texts:
    """Each text once: many drivers answer the same. None has the login of the broker."""

    def __init__(self, login):
        self.login, self.texts, self.numbers = login, [], {}

    def number(self, value):
        text = QUEUE_OF_A_RUN.sub("cf.queue", json.dumps(value, ensure_ascii=False))
        if self.login:
            text = text.replace(f"//{self.login}@", "//")
        if text not in self.numbers:
            self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return self.numbers[text]


def evidence(report, texts):
    """{behaviour: {driver: [reason, [[step, by, verb, parameters, expected, answer, faults], …]]}}, texts by number."""
    found = {}
    for behaviour in report.behaviours:
        cells = found[behaviour.name] = {}
        for driver, verdict in report.of(behaviour).items():
            steps = [[texts.number(step.name), texts.number(step.by), texts.number(step.verb), texts.number(step.parameters),
                      texts.number(step.expected), texts.number(step.answer), texts.number(step.faults)] for step in verdict.played]
            reason = verdict.reason if verdict.section is None else f"{verdict.reason} (section {verdict.section})"
            cells[driver] = [texts.number(reason), steps]
    return found


def cell(report, behaviour, kind):
    verdict = report.of(behaviour).get(kind.name)
    if verdict is None:
        return "<td class='none'></td>"
    return f"<td><button class='{verdict.result}' data-d='{kind.name}'>{SIGNS[verdict.result]}</button></td>"


def rows(report):
    lines, area = [], None
    for behaviour in report.behaviours:
        if behaviours.area_of(behaviour.name) != area:
            area = behaviours.area_of(behaviour.name)
            lines.append(f"<tr class='area'><th colspan='{len(report.kinds) + 2}'><span>{html.escape(area)}</span></th></tr>")
        results = {verdict.result for verdict in report.of(behaviour).values()}
        lines.append(f"<tr data-b='{html.escape(behaviour.name, quote=True)}' data-has='{' '.join(sorted(results))}'><th scope='row'><span class='title'>{code(behaviour.title)}</span>"
                     f"<span class='name'>{html.escape(behaviour.name)}</span></th><td class='section'>{html.escape(behaviour.section)}</td>"
                     + "".join(cell(report, behaviour, kind) for kind in report.kinds) + "</tr>")
    return "\n".join(lines)


def code(text):
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(text))


def heads(report):
    cells = []
    for kind in report.kinds:
        results = [verdict.result for behaviour in report.behaviours if (verdict := report.of(behaviour).get(kind.name))]
        count = {result: results.count(result) for result in SIGNS}
        total = max(1, len(results))
        bar = "".join(f"<i class='{result}' style='height:{100 * count[result] / total:.1f}%'></i>" for result in ("fail", "quirk", "pass"))
        words = ", ".join(f"{count[result]} {result}" for result in SIGNS)
        cells.append(f"<th class='driver {kind.kind}' title='{html.escape(kind.title, quote=True)}: {words}'>"
                     f"<span class='label'>{html.escape(kind.title)}</span><span class='bar'>{bar}</span></th>")
    return "".join(cells)


def embedded(value):
    """JSON that may stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def packed(value):
    """The same evidence in a tenth of the bytes: the page decodes it."""
    return base64.b64encode(zlib.compress(embedded(value).encode(), 9)).decode()


def as_html(report):
    texts, counts = Texts(report.login), report.counts()
    found = evidence(report, texts)
    about = {behaviour.name: [behaviour.title, behaviour.section] for behaviour in report.behaviours}
    parts = {
        "BEHAVIOURS": str(len(report.behaviours)), "DRIVERS": str(len(report.kinds)), "PASS": str(counts["pass"]),
        "QUIRK": str(counts["quirk"]), "FAIL": str(report.failed()),
        "FAULTS": "".join(f"<p class='fault'>{html.escape(fault)}</p>" for fault in report.faults),
        "HEADS": heads(report), "ROWS": rows(report), "PACKED": packed([texts.texts, found]), "ABOUT": embedded(about), "TITLES": embedded({kind.name: kind.title for kind in report.kinds}),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], page)
