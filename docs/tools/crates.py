#!/usr/bin/env python3
"""Prints the crates of this workspace and how they depend on one another, as a Mermaid graph.

Usage: docs/tools/crates.py [--metadata FILE] [--check]

Only members of the workspace appear, and only normal dependencies between them (neither build nor development
dependencies). Crates are grouped by floor: a crate that depends on no other member is on floor 0, and any other crate
is one floor above the highest one that it depends on. Each crate is shown with its number of lines of Rust. These are
all lines of the .rs files under the folder of its library or executable, without tests/, benches/ and the folders of
other members.

--check prints errors instead of the graph, and exits with 1 if there are any. It is an error if crates depend on one
another in a circle, if a crate depends on one of a higher floor in the drawing of src/ARCHITECTURE.md, and if a crate
is missing in this drawing. For a crate of more than LINES_MAX lines, --check prints a warning.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

LINES_MAX = 15_000
ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURE = ROOT / "src" / "ARCHITECTURE.md"
DRAWING = re.compile(r"^## Floors$.*?^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The root package, which is above all floors.
ROOT_PACKAGE = "toise"
# Kinds of targets whose sources count as the crate's.
OWN_KINDS = {"lib", "rlib", "cdylib", "staticlib", "dylib", "proc-macro", "bin"}


class Cycle(Exception):
    """Crates that depend on one another in a circle."""


def read_metadata(file):
    if file:
        return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def members(metadata):
    """Packages of the workspace by name."""
    wanted = set(metadata.get("workspace_members", []))
    packages = metadata["packages"]
    return {package["name"]: package for package in packages if not wanted or package["id"] in wanted}


def dependencies(packages):
    """Names of the members each member depends on."""
    found = {}
    for name, package in packages.items():
        normal = [dependency["name"] for dependency in package["dependencies"] if dependency["kind"] in (None, "normal")]
        found[name] = sorted({other for other in normal if other in packages and other != name})
    return found


def floors(graph):
    """The floor of each crate: the length of the longest chain of its dependencies."""
    known, on_the_way = {}, []

    def floor(name):
        if name in known:
            return known[name]
        if name in on_the_way:
            circle = on_the_way[on_the_way.index(name):] + [name]
            raise Cycle(" -> ".join(circle))
        on_the_way.append(name)
        known[name] = 1 + max((floor(other) for other in graph[name]), default=-1)
        on_the_way.pop()
        return known[name]

    for name in graph:
        floor(name)
    return known


def drawn_floors(graph):
    """The floor of each crate in the drawing of src/ARCHITECTURE.md. There, a line starts with the number of a floor or
    continues the floor above. Names of crates are separated by at least two spaces."""
    drawing = DRAWING.search(ARCHITECTURE.read_text(encoding="utf-8"))
    if not drawing:
        sys.exit(f"error: {ARCHITECTURE.relative_to(ROOT)} has no drawing of the floors")
    names = {short(name): name for name in graph}
    found, floor = {}, None
    for line in drawing.group(1).splitlines():
        number, *words = re.split(r"\s{2,}", line)
        floor = int(number) if number else floor
        found.update({names[word]: floor for word in words if word in names})
    return found


def upward(graph):
    """The errors in the dependencies between floors."""
    floor_of = drawn_floors(graph)
    for name in sorted(graph):
        if name == ROOT_PACKAGE:
            continue
        if name not in floor_of:
            yield f"{name} is missing in the drawing of the floors in {ARCHITECTURE.relative_to(ROOT)}"
            continue
        for other in graph[name]:
            if floor_of.get(other, 0) > floor_of[name]:
                yield f"{name} (floor {floor_of[name]}) depends on {other} (floor {floor_of[other]}), which is above it"


def source_folders(package):
    """Folders of the sources of a crate's library and executables, without those inside another one of them."""
    targets = [target for target in package["targets"] if OWN_KINDS & set(target["kind"])]
    folders = sorted({pathlib.Path(target["src_path"]).parent for target in targets})
    return [folder for folder in folders if not any(other in folder.parents for other in folders)]


def lines_of_rust(name, packages):
    """Number of lines of the .rs files of a crate, without those of members inside its folder."""
    homes = {other: pathlib.Path(package["manifest_path"]).parent for other, package in packages.items()}
    inner = [home for other, home in homes.items() if other != name and homes[name] in home.parents]
    inner += [homes[name] / "tests", homes[name] / "benches"]
    lines = 0
    for folder in source_folders(packages[name]):
        for file in folder.rglob("*.rs"):
            if not any(home in file.parents for home in inner):
                with open(file, "rb") as content:
                    lines += sum(1 for _ in content)
    return lines


def identifier(name):
    """A valid identifier for Mermaid, which reserves some words, such as `end`."""
    return "crate_" + "".join(letter if letter.isalnum() else "_" for letter in name)


def short(name):
    return name.removeprefix("toise-")


def mermaid(graph, floor_of, lines):
    text = ["graph TD"]
    for floor in sorted(set(floor_of.values()), reverse=True):
        text.append(f'  subgraph floor_{floor}["floor {floor}"]')
        for name in sorted(graph):
            if floor_of[name] == floor:
                text.append(f'    {identifier(name)}["{short(name)}<br/>{lines[name]:,} lines"]')
        text.append("  end")
    for name in sorted(graph):
        for other in graph[name]:
            text.append(f"  {identifier(name)} --> {identifier(other)}")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metadata", metavar="FILE", help="output of `cargo metadata` [default: ask cargo]")
    parser.add_argument("--check", action="store_true", help="exit 1 when a crate depends upwards or in a circle")
    options = parser.parse_args()
    packages = members(read_metadata(options.metadata))
    graph = dependencies(packages)
    lines = {name: lines_of_rust(name, packages) for name in graph}
    try:
        floor_of = floors(graph)
    except Cycle as circle:
        sys.exit(f"error: crates depend on one another in a circle: {circle}")
    if options.check:
        for name in sorted(name for name in graph if lines[name] > LINES_MAX):
            print(f"warning: {name} has {lines[name]:,} lines of Rust, more than {LINES_MAX:,}", file=sys.stderr)
        faults = list(upward(graph))
        for fault in faults:
            print(f"error: {fault}", file=sys.stderr)
        return 1 if faults else 0
    print(mermaid(graph, floor_of, lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
