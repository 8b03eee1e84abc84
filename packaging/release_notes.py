#!/usr/bin/env python3
"""Prints the notes of a release: the section of its version in the changelog, then the checksums of its files.

Usage: packaging/release_notes.py TAG [SHA256SUMS]

The same tag, changelog and checksums give the same text. If the changelog has no section for the version, or an empty
one, the script fails, so that nothing is released without notes.
"""

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parent.parent / "docs/CHANGELOG.md"


def section(changelog: str, version: str) -> str:
    """The text under the heading of a version, without the heading."""
    heading = re.compile(rf"^## \[{re.escape(version)}\].*$", re.MULTILINE)
    found = heading.search(changelog)
    if found is None:
        raise SystemExit(f"docs/CHANGELOG.md has no section [{version}]")
    text = re.split(r"^(?:## |\[[^\]]+\]: )", changelog[found.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not re.search(r"^- ", text, re.MULTILINE):
        raise SystemExit(f"docs/CHANGELOG.md says nothing of [{version}]")
    return text


def notes(changelog: str, version: str, sums: str) -> str:
    """The section and the checksums, sorted by the names of the files."""
    text = section(changelog, version)
    lines = sorted(sums.splitlines(), key=lambda line: line.split(maxsplit=1)[1])
    if lines:
        text += "\n\n### SHA-256\n\n```text\n" + "\n".join(lines) + "\n```"
    return text + "\n"


def main() -> None:
    """Reads the files named by the arguments, and prints the notes."""
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    sums = Path(sys.argv[2]).read_text(encoding="utf-8") if len(sys.argv) == 3 else ""
    version = sys.argv[1].removeprefix("v")
    sys.stdout.write(notes(CHANGELOG.read_text(encoding="utf-8"), version, sums))


if __name__ == "__main__":
    main()
