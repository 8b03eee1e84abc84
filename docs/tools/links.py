#!/usr/bin/env python3
"""Checks that the files and headings exist to which Markdown files of this repository link.

Usage: docs/tools/links.py

Prints each broken link with its file and line, and exits with 1 if there are any. Addresses on the web are not checked.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", ".github/*.md", "docs/*.md", "src/*.md"]
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(\S+)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
ELSEWHERE = ("http://", "https://", "mailto:")


def lines(page):
    """Lines outside fenced code, with their numbers."""
    is_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def anchors(page):
    """Anchors of the headings of a page, as GitHub and others make them."""
    found = {}
    for _, line in lines(page):
        heading = HEADING.match(line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = found.get(slug, 0)
            found[slug] = count + 1
            yield f"{slug}-{count}" if count else slug


def fault(page, target):
    """The error of a link; None if it is correct."""
    if target.startswith(ELSEWHERE):
        return None
    path, _, anchor = target.partition("#")
    other = (page.parent / path) if path else page
    if not other.exists():
        return "no such file"
    if anchor and other.suffix == ".md" and anchor not in set(anchors(other)):
        return "no such heading"
    return None


def main():
    faults = 0
    for page in sorted(page for pattern in PAGES for page in ROOT.glob(pattern)):
        for number, line in lines(page):
            for target in LINK.findall(line) + REFERENCE.findall(line):
                wrong = fault(page, target)
                if wrong:
                    faults += 1
                    print(f"{page.relative_to(ROOT)}:{number}: {target}: {wrong}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
