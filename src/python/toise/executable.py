"""The `toise` executable that comes in the same wheel.

`python -m toise …` runs it, and `path()` returns its path for your own programs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

__all__ = ["main", "path"]

NAME = "toise" + (sysconfig.get_config_var("EXE") or "")


def path() -> Path:
    """Returns the path of the executable: that in `TOISE`, else where pip put it, else the one in `PATH`.

    Raises:
        FileNotFoundError: it is in none of these places.
    """
    for candidate in _candidates():
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"{NAME} is not installed next to this package and not in PATH; set TOISE to its path")


def _candidates() -> Iterator[Path]:
    if os.environ.get("TOISE"):
        yield Path(os.environ["TOISE"])
    yield Path(sysconfig.get_path("scripts")) / NAME
    # `pip install --user` and `pip install --target DIR` put scripts elsewhere.
    yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))) / NAME
    yield Path(__file__).resolve().parent.parent / "bin" / NAME
    found = shutil.which(NAME)
    if found:
        yield Path(found)


def main() -> None:
    """Replaces this process with the executable."""
    try:
        arguments = [str(path()), *sys.argv[1:]]
    except FileNotFoundError as error:
        sys.exit(str(error))
    if sys.platform == "win32":
        sys.exit(subprocess.run(arguments, check=False).returncode)
    os.execv(arguments[0], arguments)
