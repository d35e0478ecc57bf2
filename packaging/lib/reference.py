"""Reads the public headers for the reference: every function with its description, and what it owes to conventions.

A function has a comment of its own, or that of the group it stands in: declarations with no blank line between them share
the first one's. What holds everywhere is written once: in common.h, and at the type of a handle. The reference shows it
at each function, and tests/check/reference sees that nothing is left to guess."""

import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "abi" / "include" / "acemq"

COMMENT = re.compile(r"/\*\*(?!<)(.*?)\*/", re.S)
DECLARATION = re.compile(
    r"(?P<comment>/\*\*(?!<)(?:(?!\*/).)*\*/\n)?(?P<code>ACEMQ_API\s(?P<returns>[^;(]*?)\b(?P<name>acemq_\w+)\((?P<parameters>[^;]*)\);)"
    r"(?P<trailing>[ \t]*/\*\*<(?:(?!\*/).)*\*/)?", re.S)
OPAQUE = re.compile(r"/\*\*(?!<)((?:(?!\*/).)*)\*/\s*typedef struct (acemq_\w+) \2;", re.S)

OWNERSHIP = re.compile(r"\b([Oo]wned|[Bb]orrowed|[Ss]tatic|[Cc]opied|[Cc]opies|[Oo]wner|caller's|(its|'s) own|until)\b")
THREADS = re.compile(r"\b([Tt]hreads?|[Tt]hread-safe|[Ff]rom a handler|[Aa]nswers at once)\b")
ERRORS = re.compile(r"\bErrors?\b|ACEMQ_E_|[Aa]s above|[Rr]efused|the same", re.I)


def plain(comment):
    """The text of a comment, without its stars."""
    inner = re.sub(r"^/\*+<?|\*/$", "", comment.strip())
    return re.sub(r"\n[ \t]*\*[ \t]?", "\n", inner).strip()


class Function:
    """One declaration: returns, name, parameters [(type, name)], text, and whether the text is its own."""

    def __init__(self, header, line, match, text, inherited):
        self.header, self.line, self.inherited, self.text = header, line, inherited, text
        self.name = match["name"]
        self.returns = " ".join(match["returns"].split())
        self.parameters = [split_parameter(one) for one in split_list(match["parameters"])]

    def mentions(self, name):
        return re.search(rf"\b{re.escape(name)}\b", self.text) is not None


def split_list(text):
    text = " ".join(text.split())
    return [] if text in ("", "void") else [one.strip() for one in text.split(",")]


def split_parameter(text):
    match = re.match(r"(.*?)(\w+)(\[\w*\])?$", text)
    return match[1].strip() + ("[]" if match[3] else ""), match[2]


def opaque_types():
    """{name: what is said at the type}."""
    types = {}
    for path in sorted(HEADERS.glob("*.h")):
        for match in OPAQUE.finditer(path.read_text(encoding="utf-8")):
            types[match[2]] = plain(match[1])
    return types


def group_text(between, group):
    """What is said above a group of declarations, in a comment that belongs to none alone; a blank line ends it."""
    found = re.findall(r"/\*(?!\*)(.*?)\*/", between, re.S)
    if found and "---" not in found[-1]:
        return plain("/*" + found[-1] + "*/")
    return "" if found or "\n\n" in between else group


def functions_of(path):
    text = path.read_text(encoding="utf-8")
    shared, group, last_end = "", "", 0
    for match in DECLARATION.finditer(text):
        own = plain(match["comment"]) if match["comment"] else ""
        trailing = plain(match["trailing"]) if match["trailing"] else ""
        between = text[last_end:match.start()]
        group = group_text(between, group)
        if own or between.strip() or "\n\n" in between:
            shared = own
        inherited = not own and not trailing and bool(shared)
        line = text.count("\n", 0, match.start("code")) + 1
        frees = match["name"].endswith("_free") and not own
        said = "\n\n".join(part for part in (trailing, "" if frees else shared, "" if frees else group) if part)
        yield Function(path, line, match, said, inherited), match
        last_end = match.end()


def functions():
    return [function for path in sorted(HEADERS.glob("*.h")) for function, _ in functions_of(path)]


def handle_of(kind):
    """The name of the struct that a parameter points to once, or None."""
    match = re.fullmatch(r"(?:const )?(?:struct )?(acemq_\w+) \*", kind)
    return match[1] if match else None


def first_sentence(text):
    first = re.split(r"(?<=[.:])\s", " ".join(text.split()))[0].rstrip(".:")
    return first[:1].lower() + first[1:]


# What a parameter means wherever it stands, by its name.
BY_NAME = {
    "error": "receives an owned error when the call fails; may be NULL",
    "timeout": "in milliseconds; 0 does not wait, ACEMQ_FOREVER has no limit",
    "user": "handed to each callback",
    "destructor": "called once with `user` when nothing can call with it any more; may be NULL",
    "index": "from 0, below the count",
    "queue": "its name, UTF-8 of up to 255 bytes",
    "exchange": "its name, UTF-8 of up to 255 bytes; an empty one is the default exchange",
    "routing_key": "UTF-8 of up to 255 bytes",
    "length": "in bytes, of what stands before it",
}


def convention(function, kind, name, types):
    """The same by the kind of function or by the type; None where nothing holds everywhere."""
    handle = handle_of(kind)
    stored = re.fullmatch(r"(?:const )?(acemq_\w+) \*\*", kind)
    if function.name.endswith("_init"):
        return "its sizeof, as the caller knows it" if name == "size" else "the struct to fill"
    if name == "options" and handle:
        return "NULL: defaults. Copied"
    if re.search("_set_|_delivery_change_", function.name) and handle not in types:
        return "of the entry; copied" if name == "name" else "what it is set to; copied"
    if re.search(r"_(parse|read|to_json)$", function.name) and name in ("text", "json", "body") and "**" not in kind:
        return "what is read"
    if handle in types and not (kind.startswith("const") and name == "error"):
        return first_sentence(types[handle])
    if stored and stored[1] in types and name != "error":
        return "receives it: " + first_sentence(types[stored[1]])
    if handle in structs():
        return f"see {handle}"
    if re.fullmatch(r"acemq_\w+", kind) and kind in enumerations():
        return f"one of {kind}"
    return BY_NAME.get(name)


@functools.lru_cache
def all_headers():
    return "".join(path.read_text(encoding="utf-8") for path in sorted(HEADERS.glob("*.h")))


@functools.lru_cache
def structs():
    """Those that a caller fills or reads, which have a description at each field."""
    return set(re.findall(r"typedef struct (acemq_\w+) \{", all_headers()))


@functools.lru_cache
def enumerations():
    return set(re.findall(r"typedef enum (acemq_\w+) \{", all_headers()))


ONE_AT_A_TIME = "One thread at a time."
BORROWED = "Borrowed until the handle it is read from is changed or freed."


def threads_of(function, types):
    """Which threads may call it: said at the function, or at the handle that it takes; else what common.h says."""
    if THREADS.search(function.text):
        return "As described."
    for handle in (handle_of(kind) for kind, _ in function.parameters):
        if handle in types and handle != "acemq_error":
            found = [part for part in re.split(r"(?<=[.;])\s", " ".join(types[handle].split())) if THREADS.search(part)]
            return found[0] if found else ONE_AT_A_TIME
    return "Any thread."


def results(function):
    """What a function hands out: (type, name) of pointers returned or stored."""
    found = [(function.returns, "what is returned")] if "*" in function.returns else []
    for kind, name in function.parameters:
        if kind.count("*") == 2 and "*const" not in kind and name not in ("error", "errors"):
            found.append((kind, name))
    return found


def ownership_of(function, types):
    """Whose each result is: said at the function or at its type; what is read from a handle is the handle's, as common.h
    says. None where that leaves it open."""
    said = []
    for kind, name in results(function):
        type_name = re.sub(r"const |[ *]", "", kind)
        takes = [handle_of(kind) for kind, _ in function.parameters]
        if OWNERSHIP.search(function.text):
            said.append("as described")
        elif not kind.startswith("const ") and type_name in types and OWNERSHIP.search(types[type_name]):
            said.append(f"{name}: {' '.join(types[type_name].split())}")
        elif kind.startswith("const ") and kind.count("*") == 1 and any(handle in types for handle in takes):
            said.append(BORROWED)
        else:
            return None
    return said


def errors_of(function):
    """What it can answer. A call that waits says so itself; others may leave it at what common.h lists."""
    if function.returns != "acemq_status":
        return "None."
    if ERRORS.search(function.text):
        return "As described."
    if any(name == "timeout" for _, name in function.parameters):
        return None
    return "Those that many calls can answer: see common.h."


def faults_of(function, types):
    """What is missing from a function's description."""
    if not function.text and not re.search(r"_(init|free)$", function.name):
        yield "it has no description"
    for kind, name in function.parameters:
        if not function.mentions(name) and convention(function, kind, name, types) is None:
            yield f"nothing is said of the parameter {name}"
    if ownership_of(function, types) is None:
        yield "nobody says whose its result is"
    if errors_of(function) is None:
        yield "it waits, and lists no errors"


def described(function, types):
    """The whole description for the reference: what is said at the function, and what holds everywhere."""
    text = re.sub(r"(^|\s)Errors( besides)?(, none[^:]*)?: ", r"\n\n@par Errors\n", of_its_own(function))
    lines = [text or first_words(function), ""]
    for kind, name in function.parameters:
        if not re.search(rf"@param +{re.escape(name)}\b", text):
            lines.append(f"@param {name} {convention(function, kind, name, types) or 'as described'}")
    if function.returns != "void" and "@return" not in text:
        lines.append(f"@return {'ACEMQ_OK, or what failed' if function.returns == 'acemq_status' else 'as described'}")
    if "@par Errors" not in text:
        lines.append(f"@par Errors\n{errors_of(function)}")
    lines.append(f"@par Threads\n{threads_of(function, types)}")
    for said in ownership_of(function, types) or []:
        lines.append(f"@par Ownership\n{said}")
    return "\n".join(lines)


def of_its_own(function):
    """The text without the parameters that only another function of its group has."""
    names = {name for _, name in function.parameters}
    parts = re.split(r"(?=@param\s)", function.text)
    kept = [parts[0]]
    for part in parts[1:]:
        named = re.match(r"@param\s+(\w+)", part)[1]
        after = re.search(r"\n(?=\S)(?!\s).*|\n\n.*", part, re.S)
        kept.append(part if named in names else (after[0] if after else ""))
    return "".join(kept)


def first_words(function):
    return "Fills it with the defaults." if function.name.endswith("_init") else "Frees it; NULL is fine."
