#!/usr/bin/env python3
"""Writes the files of a release that name its other files: install.sh, the Homebrew formula toise.rb, and SHA256SUMS.

Usage: packaging/release_files.py VERSION RELEASES DIR

RELEASES is the address of the release page, such as https://github.com/OWNER/toise/releases. DIR holds the archives,
and everything else that is released. The formula leaves out the systems without an archive.
"""

import hashlib
import re
import shutil
import sys
from pathlib import Path

PACKAGING = Path(__file__).parent
SUMS = "SHA256SUMS"
# A system of the formula, with the two lines about one archive.
SYSTEM = re.compile(r"    on_\w+ do\n      url \"@URL (\S+)@\"\n      sha256 .*\n    end\n")
EMPTY = re.compile(r"  on_\w+ do\n  end\n\n")


def sha256(file: Path) -> str:
    """The checksum of a file, hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def formula(version: str, releases: str, folder: Path) -> str:
    """The Homebrew formula for the archives of a folder."""

    def system(found: re.Match[str]) -> str:
        target = found[1]
        archive = folder / f"toise-{version}-{target}.tar.gz"
        if not archive.exists():
            return ""
        url = f"{releases}/download/v{version}/{archive.name}"
        return found[0].replace(f"@URL {target}@", url).replace(f"@SHA256 {target}@", sha256(archive))

    text = (PACKAGING / "homebrew/toise.rb").read_text(encoding="utf-8")
    text = EMPTY.sub("", SYSTEM.sub(system, text))
    return text.replace("@VERSION@", version).replace("@HOMEPAGE@", releases.removesuffix("/releases"))


def main() -> None:
    """Writes the files into the folder that the arguments name."""
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    version, releases, folder = sys.argv[1].removeprefix("v"), sys.argv[2].rstrip("/"), Path(sys.argv[3])
    script = (PACKAGING / "install.sh").read_text(encoding="utf-8")
    installer = folder / "install.sh"
    installer.write_text(script.replace("@RELEASES@", releases), encoding="utf-8")
    shutil.copymode(PACKAGING / "install.sh", installer)
    (folder / "toise.rb").write_text(formula(version, releases, folder), encoding="utf-8")
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name != SUMS)
    sums = "".join(f"{sha256(file)}  {file.name}\n" for file in files)
    (folder / SUMS).write_text(sums, encoding="utf-8")


if __name__ == "__main__":
    main()
