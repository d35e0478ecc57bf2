"""What cffi is told of the library: read from its public headers, so that nothing is declared twice."""

import pathlib
import re

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.MULTILINE)
NUMBER = re.compile(r"^#define\s+(ACEMQ_\w+)\s+(\d+)\s*$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
MARK = re.compile(r"\bACEMQ_(?:BEGIN|END|API)\b")


def in_order(folder, name, seen):
    """The headers below `name`, each after those that it includes."""
    if name in seen:
        return
    seen[name] = None
    text = (folder / name).read_text(encoding="utf-8")
    del seen[name]
    for inner in INCLUDE.findall(text):
        yield from in_order(folder, inner, seen)
    if name not in seen:
        seen[name] = text
        yield text


def of_headers(folder):
    texts = list(in_order(pathlib.Path(folder), "acemq.h", {}))
    numbers = dict(pair for text in texts for pair in NUMBER.findall(COMMENT.sub("", text)))
    return "\n".join(plain(text, numbers) for text in texts)


def plain(text, numbers):
    text = DIRECTIVE.sub("", COMMENT.sub("", text))
    text = MARK.sub("", text)
    return re.sub(r"\[(ACEMQ_\w+)\]", lambda size: f"[{numbers[size.group(1)]}]", text)
