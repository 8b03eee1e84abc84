#!/usr/bin/env python3
"""Runs the notebooks from a clean state against a served demo, and checks their outputs.

Usage: tests/python/notebooks.py [--write] [NAME...]

Every cell must run, print nothing to standard error, and have outputs of the same kinds (text, table, picture) as in
the stored notebook. --write stores the outputs instead of comparing them. The demo is named by `TOISE_URL`,
`TOISE_KEY`, `TOISE_ADMIN_KEY` and `TOISE_DATA`, the executable by `TOISE`.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "notebooks"
CELL_TIMEOUT_S = 120
BYTES_MAX = 1 << 20


def kinds(cell):
    """The outputs of a cell, as media types."""
    found = set()
    for output in cell.get("outputs", ()):
        found.update(output.get("data", {output["output_type"]: None}))
    return found


def faults(stored, run):
    """The differences between a stored notebook and its run."""
    for number, (before, after) in enumerate(zip(stored.cells, run.cells, strict=True), 1):
        if after.cell_type != "code":
            continue
        errors = [output.text for output in after.outputs if output.get("name") == "stderr"]
        if errors:
            yield f"cell {number} prints on standard error: {''.join(errors)}"
        if kinds(before) != kinds(after):
            yield f"cell {number} puts out {sorted(kinds(after))} where {sorted(kinds(before))} is stored"


def execute(path, is_write):
    """Runs one notebook; returns its faults."""
    stored = nbformat.read(path, as_version=4)
    run = nbformat.from_dict(stored)
    for cell in run.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as folder:
        # Outside the repository: a notebook must not depend on files next to it.
        resources = {"metadata": {"path": folder}}
        try:
            client = NotebookClient(
                run,
                timeout=CELL_TIMEOUT_S,
                kernel_name="python3",
                resources=resources,
                extra_arguments=["--log-level=ERROR"],
            )
            client.execute()
        except CellExecutionError as error:
            return [str(error)]
        left = [file.name for file in pathlib.Path(folder).iterdir()]
    if left:
        return [f"leaves {', '.join(left)} behind"]
    if not is_write:
        return list(faults(stored, run))
    for cell in run.cells:
        # The times of cells are useless to readers, and would change with every run.
        cell.metadata.pop("execution", None)
    nbformat.validate(run)
    nbformat.write(run, path)
    is_long = path.stat().st_size > BYTES_MAX
    return [f"has more than {BYTES_MAX} bytes"] if is_long else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    paths = sorted(FOLDER.glob("*.ipynb"))
    wrong = 0
    for path in paths:
        if arguments.names and path.stem not in arguments.names:
            continue
        begun = time.monotonic()
        found = execute(path, arguments.write)
        wrong += bool(found)
        print(f"{path.name}: {'; '.join(found) or 'ok'} ({time.monotonic() - begun:.0f} s)", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
