"""Reads the public headers for the reference: every function with its description, and what it owes to others.

A function has a comment of its own, and that of the group it stands in. What holds for many is written once, and nothing
is taken for granted: at the type of a handle; at the head of a header, in paragraphs that begin with "Threads:",
"Ownership:" or "Errors:"; and in common.h for parameters of the same name. The reference shows it at each function, and
tests/check/reference sees that nothing is left to guess."""

import functools
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "abi" / "include" / "acemq"

COMMENT = re.compile(r"/\*\*(?!<)(.*?)\*/", re.S)
DECLARATION = re.compile(
    r"(?P<comment>/\*\*(?!<)(?:(?!\*/).)*\*/\n)?(?P<code>ACEMQ_API\s(?P<returns>[^;(]*?)\b(?P<name>acemq_\w+)\((?P<parameters>[^;]*)\);)"
    r"(?P<trailing>[ \t]*/\*\*<(?:(?!\*/).)*\*/)?", re.S)
OPAQUE = re.compile(r"/\*\*(?!<)((?:(?!\*/).)*)\*/\s*typedef struct (acemq_\w+) \2;", re.S)

# How a comment says whose something is, which threads may call, and what comes back.
OWNERSHIP = re.compile(r"\b([Oo]wned|owns|[Bb]orrowed|[Ss]tatic|the library's|interceptor's own)\b")
THREADS = re.compile(r"\b([Aa]ny thread|[Tt]hread-safe|[Oo]ne thread at a time|[Aa]s many threads as)\b")
ERRORS = re.compile(r"\bErrors\b|\bACEMQ_E_")
PARTS = ("Threads", "Ownership", "Errors")
# What a comment leaves to that of another function, or to the one before it.
OTHER = re.compile(r"\b[Aa]s (?:of )?(acemq_\w+)\(\)")
BEFORE = re.compile(r"\b([Tt]he same|[Aa]s above|[Ll]ikewise)\b")


def plain(comment):
    """The text of a comment, without its stars."""
    inner = re.sub(r"^/\*+<?|\*/$", "", comment.strip())
    return re.sub(r"\n[ \t]*\*[ \t]?", "\n", inner).strip()


class Function:
    """One declaration: returns, name, parameters [(type, name)]; `own` is said at it alone, `text` also for its group."""

    def __init__(self, header, line, match, own, group):
        self.header, self.line, self.own = header, line, own
        self.text = "\n\n".join(part for part in (own, group) if part)
        self.name = match["name"]
        self.returns = " ".join(match["returns"].split())
        self.parameters = [split_parameter(one) for one in split_list(match["parameters"])]
        self.others = []

    def whole_text(self):
        """With what it leaves to other functions."""
        return " ".join(" ".join([self.text] + [other.text for other in self.others]).split())

    def brief(self):
        """What it says of itself before parameters and errors."""
        return re.split(r"@param|@return|\bErrors\b", self.own)[0].strip()

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


@functools.lru_cache
def rules_of(path):
    """{part: rule} of the paragraphs in the comment at a header's head."""
    head = plain(COMMENT.search(path.read_text(encoding="utf-8"))[0])
    found = re.findall(rf"(?ms)^({'|'.join(PARTS)}): (.*?)(?=\n\n|\n(?:{'|'.join(PARTS)}): |\Z)", head)
    return {part: " ".join(rule.split()) for part, rule in found}


def functions_of(path):
    """(function, match) of each declaration of a header."""
    text = path.read_text(encoding="utf-8")
    group, last_end = "", 0
    for match in DECLARATION.finditer(text):
        own = "\n\n".join(plain(match[part]) for part in ("comment", "trailing") if match[part])
        group = group_text(text[last_end:match.start()], group)
        line = text.count("\n", 0, match.start("code")) + 1
        yield Function(path, line, match, own, "" if match["name"].endswith("_free") else group), match
        last_end = match.end()


def functions():
    found = [function for path in sorted(HEADERS.glob("*.h")) for function, _ in functions_of(path)]
    resolve(found)
    return found


def resolve(found):
    """Which others each refers to, and these in their turn."""
    by_name = {function.name: function for function in found}
    for before, function in zip([None] + found, found):
        names = [by_name[name] for name in OTHER.findall(function.text) if name in by_name]
        if BEFORE.search(function.text) and before is not None and before.header == function.header:
            names.append(before)
        function.others = names + [further for other in names for further in other.others]


def handle_of(kind):
    """The name of the struct that a parameter points to once, or None."""
    match = re.fullmatch(r"(?:const )?(?:struct )?(acemq_\w+) \*", kind)
    return match[1] if match else None


def first_sentence(text):
    first = re.split(r"(?<=[.:])\s", " ".join(text.split()))[0].rstrip(".:")
    return first[:1].lower() + first[1:]


@functools.lru_cache
def by_name():
    """{parameter: meaning}, what common.h says that it means wherever it stands."""
    text = plain(COMMENT.search((HEADERS / "common.h").read_text(encoding="utf-8"))[0])
    found = re.findall(r"(?ms)^- `(\w+)`: (.*?)(?=\n- |\n\n|\Z)", text)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def convention(kind, name, types):
    """What a parameter means by its type or its name; None where nothing says so."""
    handle = handle_of(kind)
    stored = re.fullmatch(r"(?:const )?(acemq_\w+) \*\*", kind)
    if name in by_name():
        return by_name()[name]
    if handle in types:
        return first_sentence(types[handle])
    if stored and stored[1] in types:
        return "receives it: " + first_sentence(types[stored[1]])
    if handle in structs():
        return f"see {handle}"
    if kind in enumerations():
        return f"one of {kind}"
    return None


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


def threads_of(function, types):
    """Which threads may call it: said at the function, else at every handle that it takes, else, where it takes none, at
    the head of its header. None where nobody says so."""
    if THREADS.search(function.whole_text()):
        return "As described."
    handles = {handle_of(kind) for kind, _ in function.parameters} & set(types)
    if not handles:
        return rules_of(function.header).get("Threads")
    said = [sentence_about(THREADS, types[handle]) for handle in sorted(handles)]
    return None if None in said else " ".join(dict.fromkeys(said))


def sentence_about(what, text):
    sentences = re.split(r"(?<=[.;])\s", " ".join(text.split()))
    return next((sentence for sentence in sentences if what.search(sentence)), None)


def results(function):
    """What a function hands out: (type, name) of pointers and views returned or stored."""
    found = [(function.returns, "what is returned")] if re.search(r"\*|acemq_bytes", function.returns) else []
    for kind, name in function.parameters:
        stored = kind.count("*") == 2 and "*const" not in kind and name not in ("error", "errors")
        if stored or kind == "acemq_bytes *":
            found.append((kind, name))
    return found


def ownership_of(function, types):
    """Whose each result is: said at the function, or at the type of what it makes, or at the head of its header for what is
    read from a handle. None where nobody says so."""
    said = []
    for kind, name in results(function):
        made = re.sub(r"const |[ *]", "", kind)
        if OWNERSHIP.search(function.whole_text()):
            said.append("As described.")
        elif not kind.startswith("const ") and made in types and OWNERSHIP.search(types[made]):
            said.append(f"{name}: {sentence_about(OWNERSHIP, types[made])}")
        elif any(handle_of(taken) in types for taken, _ in function.parameters) and "Ownership" in rules_of(function.header):
            said.append(rules_of(function.header)["Ownership"])
        else:
            return None
    return said


def errors_of(function):
    """What it can answer: said at the function, or for all that do not wait at the head of its header; one that makes
    something says when that is NULL. None where nobody says so."""
    if ("acemq_error **", "error") in function.parameters:
        if ERRORS.search(function.whole_text()):
            return "As described."
        waits = any(name == "timeout" for _, name in function.parameters)
        return None if waits else rules_of(function.header).get("Errors")
    makes = "*" in function.returns and not function.returns.startswith("const ")
    if not makes:
        return "None."
    return "As described." if "NULL" in function.whole_text() else rules_of(function.header).get("Errors")


def faults_of(function, types):
    """What is missing from a function's description."""
    if not function.brief():
        yield "it has no description of its own"
    for kind, name in function.parameters:
        if not function.mentions(name) and convention(kind, name, types) is None:
            yield f"nothing is said of the parameter {name}"
    if ownership_of(function, types) is None:
        yield "nobody says whose its result is"
    if threads_of(function, types) is None:
        yield "nobody says which threads may call it"
    if errors_of(function) is None:
        yield "nobody says which errors it answers"


def described(function, types):
    """The whole description for the reference: what is said at the function, and what others say for it."""
    text = re.sub(r"(^|\s)Errors( besides)?(, none[^:]*)?: ", r"\n\n@par Errors\n", function.text)
    lines = [text, ""]
    for kind, name in function.parameters:
        if not re.search(rf"@param +{re.escape(name)}\b", text):
            lines.append(f"@param {name} {convention(kind, name, types) or 'as described'}")
    if function.returns != "void" and "@return" not in text:
        lines.append(f"@return {'ACEMQ_OK, or what failed' if function.returns == 'acemq_status' else 'as described'}")
    if "@par Errors" not in text:
        lines.append(f"@par Errors\n{errors_of(function)}")
    lines.append(f"@par Threads\n{threads_of(function, types)}")
    for said in dict.fromkeys(ownership_of(function, types) or []):
        lines.append(f"@par Ownership\n{said}")
    return "\n".join(lines)


NAME = re.compile(r"\b(acemq_[a-z]\w*|ACEMQ_[A-Z]\w*)([…*]?)")


def unknown_names(path):
    """(line, name) of what the comments of a header speak of and no header has; a name may be cut, as in acemq_delivery_*.
    Metrics have names of their own, which only the comments of metrics.h have."""
    known = {name for name, _ in NAME.findall(re.sub(r"/\*.*?\*/", "", all_headers(), flags=re.S))}
    text = path.read_text(encoding="utf-8")
    for comment in re.finditer(r"/\*.*?\*/", text, re.S):
        for match in NAME.finditer(comment[0]):
            name, cut = match.groups()
            is_metric = path.name == "metrics.h" and re.search(r"_(total|seconds|attempts|in_flight)$", name)
            if name not in known and not is_metric and not (cut and any(one.startswith(name) for one in known)):
                yield text.count("\n", 0, comment.start() + match.start()) + 1, name


FIELD = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*([^;/]*?)\b(\w+);", re.S)
UNITS = {"": 1, "ms": 1, "s": 1000, "minutes": 60_000, "h": 3_600_000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
DEFAULT = re.compile(r"\bdefault (ACEMQ_\w+|-?\d+(?: \d{3})*) ?(ms|s|minutes|h|KiB|MiB|GiB|)(?![\w])")


def told_defaults():
    """[(struct, field, what its description has for the default, as C reads it)] of the structs that have an INIT macro."""
    for name in sorted(structs()):
        if f"define {name.upper()}_INIT" not in all_headers():
            continue
        body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", all_headers(), re.S)[1]
        for match in FIELD.finditer(body):
            told = DEFAULT.search(" ".join(plain("/**" + match[1] + "*/").split()))
            if told and "*" not in match[2]:
                yield name, match[3], told[1] if told[1].startswith("ACEMQ") else f"{told[1].replace(' ', '')} * {UNITS[told[2]]}LL"


DEFAULTS = """#include <acemq/acemq.h>
#include <stdio.h>
int main(void)
{{
{rows}    return 0;
}}
"""


def wrong_defaults():
    """[(struct, field, what is told, what is filled in)] where they are not the same."""
    told = list(told_defaults())
    rows = "".join(f'    {{ {name} o = {name.upper()}_INIT; printf("%lld %lld\\n", (long long)({default}), (long long)o.{field}); }}\n'
                   for name, field, default in told)
    with tempfile.TemporaryDirectory() as work:
        program = pathlib.Path(work) / "defaults"
        subprocess.run(["gcc", "-x", "c", f"-I{HEADERS.parent}", "-o", program, "-"], input=DEFAULTS.format(rows=rows), text=True,
                       check=True)
        printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for (name, field, _), line in zip(told, printed.splitlines()):
        default, filled = line.split()
        if default != filled:
            yield name, field, default, filled
