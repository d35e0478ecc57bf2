#!/usr/bin/python3
"""usage: man_pages.py COMMAND FOLDER

Writes the manual pages of the command line into FOLDER, from what COMMAND says about itself with --help: acemq.1, and
acemq-NAME.1 for each of its commands. They bear the time in SOURCE_DATE_EPOCH, or now."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time


def ask(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def fill(text):
    """The same text in lines that a terminal shows whole; troff fills them anew."""
    return escape(textwrap.fill(" ".join(text.split()), 70, break_on_hyphens=False, break_long_words=False))


def escape(text):
    """Text as troff takes it: hyphens that can be copied, and no line that begins like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def title(name, version):
    day = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    return f'.TH {name.upper()} 1 "{day}" "acemq {version}" "AceMQ"\n.SH NAME\n'


def paragraphs(text):
    return [part for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip()]


def entries(lines):
    """(term, description) of lines as `  --max N   end after …`, continued where they are indented further, or with the
    term alone in a line."""
    found = []
    for line in lines:
        match = re.match(r" {2}(\S.*?)(?: {2,}(.*))?$", line)
        if match and not line.startswith("   "):
            found.append([match[1], [match[2]] if match[2] else []])
        elif found:
            found[-1][1].append(line.strip())
    return [(term, " ".join(text)) for term, text in found]


def tagged(lines):
    return "".join(f".TP\n.B {escape(term)}\n{fill(text)}\n" for term, text in entries(lines))


def is_list(lines):
    return all(re.match(r" {2}\S.*?( {2,}\S|$)| {3,}", line) for line in lines)


def body(parts):
    """Sections and paragraphs: what ends with a colon above an indented list is a heading, where it is one word."""
    text, in_description = "", False
    for part in parts:
        lines = part.split("\n")
        heading = re.fullmatch(r"(Options|Everywhere|Commands):", lines[0])
        if heading:
            text += f".SH {heading[1].upper()}\n{tagged(lines[1:])}"
            in_description = False
            continue
        if not in_description:
            text += ".SH NOTES\n"
            in_description = True
        elif not lines[0].startswith("  ") or not is_list(lines):
            text += ".PP\n"
        plain = [line for line in lines if not line.startswith(" ")]
        first_list = next((number for number, line in enumerate(lines) if line.startswith("  ")), len(lines))
        listed = [line for line in lines[first_list:] if line.startswith("  ")]
        after = [line for line in lines[first_list:] if not line.startswith("  ")]
        before = plain[: len(plain) - len(after)]
        if before:
            text += fill(" ".join(before)) + "\n"
        if listed and is_list(listed):
            text += tagged(listed)
        elif listed:
            text += ".PP\n.nf\n" + escape("\n".join(listed)) + "\n.fi\n"
        if after:
            text += ".PP\n" + fill(" ".join(after)) + "\n"
    return text


def synopsis(usage):
    return f".SH SYNOPSIS\n.nf\n{escape(usage)}\n.fi\n"


def page_of_command(command, name, version):
    parts = paragraphs(ask(command, name, "--help"))
    usage = re.sub(r"^usage: ", "", parts[0])
    summary = parts[1]
    one_line = " ".join(summary.split()).rstrip(".")
    return (title(f"acemq-{name}", version) + f"acemq\\-{name} \\- {escape(one_line[0].lower() + one_line[1:])}\n"
            + synopsis(usage) + body(parts[2:]) + ".SH SEE ALSO\n.BR acemq (1)\n")


def main_page(names, parts, version):
    described = "messages on RabbitMQ that survive what happens to them"
    pages = ",\n".join(f".BR acemq\\-{name} (1)" for name in names).replace("(1),\n", "(1),\n")
    return (title("acemq", version) + f"acemq \\- {described}\n" + synopsis(re.sub(r"^usage: ", "", parts[0]))
            + ".SH DESCRIPTION\n" + fill(parts[1]) + "\n" + body(parts[2:])
            + ".SH ENVIRONMENT\n.TP\n.B ACEMQ_URL\nThe broker, where no option names one.\n"
            + ".SH SEE ALSO\n" + pages + ",\n.BR acemq (3)\n")


def main():
    if len(sys.argv) != 3:
        print(__doc__.split("\n", maxsplit=1)[0], file=sys.stderr)
        return 2
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    version = re.match(r"acemq ([0-9.]+)", ask(command, "--version"))[1]
    parts = paragraphs(ask(command, "--help"))
    commands = next(part for part in parts if part.startswith("Commands:")).split("\n")[1:]
    names = [term for term, _ in entries(commands)]
    (folder / "acemq.1").write_text(main_page(names, parts, version), encoding="utf-8")
    for name in names:
        (folder / f"acemq-{name}.1").write_text(page_of_command(command, name, version), encoding="utf-8")
    return 0


sys.exit(main())
