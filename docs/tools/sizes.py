#!/usr/bin/env python3
"""Prints the quantiles of the lengths of files and functions of src, and the longest of each.

Usage: docs/tools/sizes.py [--check] [--without FOLDER]...

The length of a file is its number of lines. The length of a function is that from its `fn` to its closing brace; a
nested function also counts separately. Functions in files and modules that are compiled only for tests are omitted, and
FILE_MAX does not apply to such files.

Warns if more than a tenth of all files are longer than FILE_P90_MAX lines, if a file is longer than FILE_MAX, or if
more than a hundredth of all functions are longer than FUNCTION_P99_MAX. --check prints only the warnings. The exit
status is always 0: a long file or function may have a second subject, but one subject should not be split because it is
long.
"""

import argparse
import re
import sys

from rust import ROOT, closing, code_of, library_roots, modules, without_tests

FILE_P90_MAX = 400
FILE_MAX = 500
FUNCTION_P99_MAX = 60
SHOWN = 10
FUNCTION = re.compile(r"(?<!\w)fn\s+(\w+)")


def functions(code):
    """Name, first line and length of each function that has a body."""
    for match in FUNCTION.finditer(code):
        # A signature ends at its body, or at a semicolon if it has none. Array types have semicolons too.
        depth = 0
        for position in range(match.end(), len(code)):
            letter = code[position]
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
            if depth == 0 and letter in "{;":
                break
        else:
            return
        if code[position] == "{":
            first = code.count("\n", 0, match.start()) + 1
            yield match.group(1), first, code.count("\n", match.start(), closing(code, position)) + 1


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def test_files():
    """Files of modules that are compiled only for tests."""
    found = set()
    for root in library_roots().values():
        files, tests = modules(root)
        found.update(files[path].resolve() for path in tests if path in files)
    return found


def report(what, sizes, is_check):
    lines = [size for size, _ in sizes]
    quantiles = {share: percentile(lines, share) for share in (0.5, 0.9, 0.99)}
    if not is_check:
        shown = "  ".join(f"p{int(100 * share)} {value}" for share, value in quantiles.items())
        print(f"{len(lines):,} {what}: {shown}  max {max(lines, default=0)}")
        for size, place in sorted(sizes, reverse=True)[:SHOWN]:
            print(f"  {size:5}  {place}")
    return quantiles


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print the warnings alone")
    parser.add_argument("--without", action="append", default=[], metavar="FOLDER", help="leave out a folder of src")
    options = parser.parse_args()
    tests = test_files()
    files, bodies = [], []
    for path in sorted((ROOT / "src").rglob("*.rs")):
        shown = path.relative_to(ROOT)
        if any(shown.is_relative_to(f"src/{folder}") for folder in options.without):
            continue
        text = path.read_text(encoding="utf-8")
        is_test = path.resolve() in tests
        files.append((text.count("\n"), f"{shown}{' (tests)' if is_test else ''}"))
        if not is_test:
            code, _ = without_tests(code_of(text))
            bodies.extend((lines, f"{shown}:{first} {name}") for name, first, lines in functions(code))
    of_files = report("files", files, options.check)
    of_functions = report("functions", bodies, options.check)
    warnings = []
    if of_files[0.9] > FILE_P90_MAX:
        warnings.append(f"one file in ten has {of_files[0.9]} lines or more, above {FILE_P90_MAX}")
    warnings += [
        f"{place} has {lines} lines, more than {FILE_MAX}"
        for lines, place in files
        if lines > FILE_MAX and not place.endswith("(tests)")
    ]
    if of_functions[0.99] > FUNCTION_P99_MAX:
        warnings.append(f"one function in a hundred has {of_functions[0.99]} lines or more, above {FUNCTION_P99_MAX}")
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
