#!/usr/bin/env python3
"""Prints the uses between top-level folders and files of each crate, and the circles among them.

Usage: docs/tools/modules.py [--metadata FILE] [--check] [CRATE...]

The script reads `use` declarations and paths in the code that start with `crate`, `super` or `self`. It omits tests. An
item that the root file only re-exports counts as part of the folder that defines it. Items that the root file defines
itself count as `lib.rs`: there is a circle if folders use them and they use folders. The script does not see methods
that one folder defines for a type of another.

--check prints only the circles, and exits with 1 if there are any. Circles inside a folder are not reported.
"""

import argparse
import re
import sys

from rust import closing, code_of, library_roots, modules, without_tests

ROOT_FILE = "lib.rs"
PATH = re.compile(r"(?<![\w:])((?:crate|super|self)(?:\s*::\s*\w+)+)")
USE = re.compile(r"(?<!\w)(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
INLINE_MODULE = re.compile(r"\bmod\s+(\w+)\s*\{")


def split_tree(tree):
    """The paths of a `use` tree, each as its names and the name under which it is imported."""
    tree = tree.strip()
    if tree.startswith("{"):
        return [path for part in split_list(tree[1:-1]) for path in split_tree(part)]
    head, brace, rest = tree.partition("{")
    if brace:
        start = [name for name in re.split(r"\s*::\s*", head.strip()) if name]
        return [(start + names, alias) for part in split_list(rest.rsplit("}", 1)[0]) for names, alias in split_tree(part)]
    path, _, alias = tree.partition(" as ")
    names = [name.strip() for name in path.split("::") if name.strip()]
    return [(names, alias.strip() or (names[-1] if names else ""))]


def split_list(text):
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part for part in parts + [text[start:]] if part.strip()]


def absolute(names, place):
    """The path from the crate's root to which a path at a place refers; `None` for a path into another crate."""
    at = list(place)
    if names[0] == "crate":
        at, names = [], names[1:]
    elif names[0] == "self":
        names = names[1:]
    elif names[0] != "super":
        return None
    while names and names[0] == "super":
        if not at:
            return None
        at, names = at[:-1], names[1:]
    return tuple(at) + tuple(names)


class Crate:
    """The modules of a crate, and which of them use which."""

    def __init__(self, root):
        self.files, tests = modules(root)
        self.code = {}
        for path, file in self.files.items():
            if path not in tests:
                self.code[path], _ = without_tests(code_of(file.read_text(encoding="utf-8")))
        self.top = {path[0] for path in self.code if path}
        self.exports = self.read_exports()

    def read_exports(self):
        """Names that the root file re-exports, with the module of each."""
        exports = {}
        for _, tree in USE.findall(self.code[()]):
            for names, alias in split_tree(tree):
                if names and names[0] in ("self", "crate"):
                    names = names[1:]
                if names and names[0] in self.top:
                    exports[names[-2] if alias == "self" else alias] = names[0]
        return exports

    def unit(self, path):
        """The top-level folder or file that contains a path."""
        if not path:
            return ROOT_FILE
        if path[0] in self.top:
            return path[0]
        return self.exports.get(path[0], ROOT_FILE)

    def uses(self):
        """For each unit, the units that it uses, each with one place as an example."""
        found = {}
        for path, code in self.code.items():
            here = self.unit(path) if path else ROOT_FILE
            for names, place, line in self.paths(path, code):
                target = absolute(names, place)
                # `crate::*` shows no particular use.
                if target is None or target == ("*",):
                    continue
                there = self.unit(target)
                if there != here:
                    shown = f"{self.files[path].name}:{line} {'::'.join(names)}"
                    found.setdefault(here, {}).setdefault(there, shown)
        return found

    def paths(self, path, code):
        """Paths of a file, each as its names, the module around it and its line."""
        spans = [(m.start(), closing(code, m.end() - 1), m.group(1)) for m in INLINE_MODULE.finditer(code)]

        def place(position):
            return path + tuple(name for start, end, name in spans if start < position < end)

        for match in USE.finditer(code):
            # Re-exports of the root file do not count as uses.
            is_map = not path and match.group(1)
            for names, _ in split_tree(match.group(2)):
                if names and not is_map:
                    if not path and names[0] in self.top:
                        names = ["crate"] + names
                    yield names, place(match.start()), code.count("\n", 0, match.start()) + 1
        rest = USE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)
        for match in PATH.finditer(rest):
            names = re.split(r"\s*::\s*", match.group(1))
            yield names, place(match.start()), rest.count("\n", 0, match.start()) + 1
        if not path:
            for match in re.finditer(r"(?<![\w:])(\w+)\s*::\s*\w+", rest):
                if match.group(1) in self.top:
                    yield ["crate", match.group(1)], (), rest.count("\n", 0, match.start()) + 1


def circles(graph):
    """Strongly connected groups of more than one unit (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        for other in graph.get(unit, {}):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in stack:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            group = stack[stack.index(unit):]
            del stack[stack.index(unit):]
            if len(group) > 1:
                found.append(sorted(group))

    for unit in sorted(graph):
        if unit not in index:
            visit(unit)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("crates", nargs="*", metavar="CRATE", help="crates to read, by name without `toise-` [default: all]")
    parser.add_argument("--metadata", metavar="FILE", help="output of `cargo metadata` [default: ask cargo]")
    parser.add_argument("--check", action="store_true", help="print circles alone, exit 1 when there is one")
    options = parser.parse_args()
    are_circles = False
    for name, root in sorted(library_roots(options.metadata).items()):
        short = name.removeprefix("toise-")
        if options.crates and short not in options.crates:
            continue
        uses = Crate(root).uses()
        if not options.check:
            print(short)
            for unit in sorted(uses):
                print(f"  {unit} -> {' '.join(sorted(uses[unit]))}")
        for group in circles(uses):
            are_circles = True
            print(f"{short}: a circle of {', '.join(group)}:", file=sys.stderr)
            for unit in group:
                for other in sorted(set(uses[unit]) & set(group)):
                    print(f"  {unit} -> {other}  ({uses[unit][other]})", file=sys.stderr)
    return 1 if options.check and are_circles else 0


if __name__ == "__main__":
    sys.exit(main())
