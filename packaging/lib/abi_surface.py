"""What the public headers promise, in forms that can be compared: the interface as abidw writes it, and what of it
begins with its size and may therefore grow."""

import pathlib
import re
import subprocess
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "abi" / "include"
BASELINE = ROOT / "abi" / "baseline"
SIZES = BASELINE / "option-sizes.txt"
CONSTANTS = "constants.txt"
SIZES_TITLE = "# What sizeof was in each release: release, struct, bytes of a 64-bit build.\n"


def run(*command, **options):
    """The output of a command, which has to succeed."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ends with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def version():
    """(major, minor, patch), as the headers have it."""
    text = (HEADERS / "acemq" / "version.h").read_text(encoding="utf-8")
    return tuple(int(re.search(rf"define ACEMQ_VERSION_{part} +(\d+)", text)[1]) for part in ("MAJOR", "MINOR", "PATCH"))


def series():
    """What has to stay compatible: a major version; before 1.0, when nothing is frozen, a minor one."""
    major, minor, _ = version()
    return str(major) if major > 0 else f"0.{minor}"


def prototypes():
    """{name: declaration} of every public function, types spelled out by the compiler."""
    printed = run("gcc", "-x", "c", f"-I{HEADERS}", "-fsyntax-only", "-aux-info", "/dev/stdout", HEADERS / "acemq/acemq.h")
    found = re.findall(r"\bextern ([^;]*?\b(acemq_[a-z0-9_]+) \(.*);", printed)
    return {name: declaration for declaration, name in found}


def interface(folder):
    """Writes folder/acemq.abi. It is that of a library of empty functions, which has the types that a caller sees and
    none of those behind it; the compiler holds the real functions to the same declarations."""
    source, library, script = folder / "surface.c", folder / "surface.so", folder / "surface.map"
    # A parameter without a name may be defined from C2x on.
    source.write_text("#include <acemq/acemq.h>\n" + "".join(
        f"{declaration} {{ __builtin_trap(); }}\n" for _, declaration in sorted(prototypes().items())), encoding="utf-8")
    script.write_text("ACEMQ { global: acemq_*; local: *; };\n", encoding="utf-8")
    run("gcc", "-std=gnu2x", "-g", "-O0", "-fPIC", "-shared", f"-I{HEADERS}", "-ffile-prefix-map=" + f"{folder}=.",
        f"-ffile-prefix-map={HEADERS}=.", source, f"-Wl,--version-script={script}", "-o", library)
    run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names", "--no-elf-needed",
        "--out-file", folder / "acemq.abi", library)
    return folder / "acemq.abi"


class Struct:
    """A struct that begins with `size_t size`: its size, and (name, offset, type) of each field, in bytes."""

    def __init__(self, element, types):
        self.name = element.get("name")
        self.size = int(element.get("size-in-bits")) // 8
        self.fields = []
        for member in element.findall("data-member"):
            field = member.find("var-decl")
            self.fields.append((field.get("name"), int(member.get("layout-offset-in-bits")) // 8,
                                spelled(types, field.get("type-id"))))


def spelled(types, name):
    """A type in words that two files of abidw share: the ids in them differ. Of structs and enumerations it is the name."""
    element = types[name]

    def inner(attribute="type-id"):
        return spelled(types, element.get(attribute))

    if element.tag == "typedef-decl":
        return inner()
    if element.tag == "pointer-type-def":
        return inner() + "*"
    if element.tag == "qualified-type-def":
        return inner() + "".join(f" {word}" for word in ("const", "volatile") if element.get(word) == "yes")
    if element.tag == "function-type":
        parameters = (spelled(types, part.get("type-id")) for part in element.findall("parameter"))
        return f"{spelled(types, element.find('return').get('type-id'))}({', '.join(parameters)})"
    if element.tag == "array-type-def":
        return f"{inner()}[{element.get('size-in-bits')}]"
    return element.get("name")


def parsed(interface_file):
    """(elements, {id: type}) of what abidw wrote."""
    tree = xml.etree.ElementTree.parse(interface_file)
    return tree, {element.get("id"): element for element in tree.iter() if element.get("id")}


def signatures(interface_file):
    """{function: its type in words}: whether an integer has a sign, and what is const, abidiff does not mind."""
    tree, types = parsed(interface_file)
    found = {}
    for element in tree.iter("function-decl"):
        parameters = (spelled(types, part.get("type-id")) for part in element.findall("parameter"))
        found[element.get("name")] = f"{spelled(types, element.find('return').get('type-id'))}({', '.join(parameters)})"
    return found


def sized_structs(interface_file):
    """{name: Struct} of what may grow."""
    structs = {}
    tree, types = parsed(interface_file)
    for element in tree.iter("class-decl"):
        if element.get("is-declaration-only") != "yes" and element.findall("data-member"):
            struct = Struct(element, types)
            if struct.fields[0][:2] == ("size", 0) and struct.name.startswith("acemq_"):
                structs[struct.name] = struct
    return structs


VALUES = """#include <acemq/acemq.h>
#include <stdio.h>
int main(void)
{{
{rows}    return 0;
}}
"""


def constants(folder):
    """{name: value, as C writes it} of every enumerator, and of every macro that stands for a value: what programs have
    compiled in. abidw knows the enumerators of types that a function takes, and no others."""
    umbrella = HEADERS / "acemq" / "acemq.h"
    text = run("gcc", "-x", "c", f"-I{HEADERS}", "-E", "-P", umbrella)
    names = [name for body in re.findall(r"\benum\b[^{};]*\{([^}]*)\}", text) for name in re.findall(r"\bACEMQ_\w+", body)]
    macros = run("gcc", "-x", "c", f"-I{HEADERS}", "-E", "-dM", umbrella)
    defined = dict(re.findall(r"^#define (ACEMQ_(?!VERSION|BEGIN|END|API)\w+) (?!\{)(\S.*)$", macros, re.M))
    texts = {name: value for name, value in defined.items() if value.startswith('"')}
    source, program = folder / "values.c", folder / "values"
    rows = "".join(f'    printf("{name} %lld\\n", (long long){name});\n' for name in sorted({*names, *defined} - {*texts}))
    source.write_text(VALUES.format(rows=rows), encoding="utf-8")
    run("gcc", f"-I{HEADERS}", source, "-o", program)
    return dict(line.split() for line in run(program).splitlines()) | texts


def recorded_constants():
    """{name: value} of the series."""
    return dict(line.split(" ", 1) for line in (BASELINE / series() / CONSTANTS).read_text(encoding="utf-8").splitlines())


def recorded_sizes():
    """[(release, struct, bytes)], oldest first."""
    rows = []
    for line in SIZES.read_text(encoding="utf-8").splitlines() if SIZES.exists() else []:
        if line and not line.startswith("#"):
            release, struct, size = line.split()
            rows.append((release, struct, int(size)))
    return rows
