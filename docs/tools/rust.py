"""Reads Rust for the other scripts of this folder: finds comments and strings, closing braces, and tests.

This is not a parser. It replaces comments and literals by spaces, so that every word and brace in the rest is code. It
keeps line breaks, so that line numbers remain correct.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

NOT_CODE = re.compile(
    r"""
      //[^\n]*                                        # line comment
    | /\*.*?\*/                                       # block comment (nested ones do not occur here)
    | \bb?r(?P<hashes>\#*)"(?s:.*?)"(?P=hashes)       # raw string
    | b?"(?:[^"\\]|\\.)*"                             # string
    | b?'(?:[^'\\\n]|\\(?:[^u\n]|u\{[0-9a-fA-F_]+\}))'   # character, but not a lifetime
    """,
    re.VERBOSE | re.DOTALL,
)
TEST_MODULE = re.compile(r"#\[cfg\((?:test|all\(test\b[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s*(?:\([^)]*\)\s*)?)?mod\s+(\w+)\s*([;{])")


def code_of(text):
    """The text with comments and literals replaced by spaces; line breaks are kept."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def closing(code, opening):
    """The position of the brace that closes the one at `opening`; the end of the text if there is none."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def blank(code, start, end):
    return code[:start] + re.sub(r"[^\n]", " ", code[start:end]) + code[end:]


def without_tests(code):
    """The code without modules that are compiled only for tests, and the names of such modules in other files."""
    in_files = []
    while match := TEST_MODULE.search(code):
        if match.group(2) == ";":
            in_files.append(match.group(1))
            code = blank(code, match.start(), match.end())
        else:
            code = blank(code, match.start(), closing(code, match.end() - 1) + 1)
    return code, in_files


def library_roots(metadata_file=None):
    """The root file of each member's library, by the name of the member."""
    if metadata_file:
        metadata = json.loads(pathlib.Path(metadata_file).read_text(encoding="utf-8"))
    else:
        command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: {' '.join(command)}: {done.stderr.strip()}")
        metadata = json.loads(done.stdout)
    roots = {}
    for package in metadata["packages"]:
        for target in package["targets"]:
            if "lib" in target["kind"]:
                roots[package["name"]] = pathlib.Path(target["src_path"])
    return roots


def modules(root):
    """Files of a crate by the path of their module (a tuple of names), and the paths of modules only for tests."""
    found, tests = {}, set()

    def visit(path, file, folder):
        found[path] = file
        code = code_of(file.read_text(encoding="utf-8"))
        code, in_files = without_tests(code)
        tests.update(path + (name,) for name in in_files)
        declared = [name for name, end in re.findall(r"\bmod\s+(\w+)\s*([;{])", code) if end == ";"]
        for name in declared + in_files:
            candidates = [folder / f"{name}.rs", folder / name / "mod.rs"]
            existing = next((candidate for candidate in candidates if candidate.exists()), None)
            if existing:
                if path in tests:
                    tests.add(path + (name,))
                visit(path + (name,), existing, folder / name)

    visit((), root, root.parent)
    return found, tests
