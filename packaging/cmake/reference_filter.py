#!/usr/bin/python3
"""usage: reference_filter.py HEADER

What Doxygen reads in place of a public header: each function with its whole description, what holds for all of its kind
included, so that nobody has to look up a convention."""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import reference  # noqa: E402


# Fields that mean the same in every struct.
FIELDS = [
    (r"size_t size", "sizeof this struct, as the caller knows it"),
    (r"void \*(?:\w+_)?user", "handed to the callbacks before it"),
    (r"u?int(?:32|64)_t reserved", "0"),
]


def comment(text):
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in text.split("\n")) + " */\n"


def main():
    path = pathlib.Path(sys.argv[1])
    text, types = path.read_text(encoding="utf-8"), reference.opaque_types()
    out, end = "", 0
    for function, match in reference.functions_of(path):
        out += text[end:match.start()] + comment(reference.described(function, types)) + match["code"]
        end = match.end()
    out += text[end:]
    # The macro of an option struct is what the function of its name does.
    out = re.sub(r"(?m)^#define (ACEMQ_\w+_INIT)\b", r"/** The defaults, as the function of that name has them. */\n#define \1", out)
    for pattern, meaning in FIELDS:
        out = re.sub(rf"(?m)(?<!\*/\n)^(    {pattern};)$", rf"    /** {meaning} */\n\1", out)
    sys.stdout.write(out)


main()
