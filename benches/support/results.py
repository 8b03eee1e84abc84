"""Writes the results of a bench to a file of benches/results: figures, machine, commit and command.

The scripts under benches/ use this module, and docs/tools/render.py makes the tables of the documentation from the
files. One file is one run:

    {"name", "source", "date", "command", "commit", "dirty", "rustc", "machine", "parameters", "rows"}

A row is {"id", "figures"}: what was measured, and its figures. A figure is {"name"?, "statistic", "value", "unit"}. A
range has "low" and "high" instead of "value". A confidence interval has "ci_low" and "ci_high" in addition. The files
never name the host or its folders.
"""

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benches" / "results"
# The variable that names another folder, for results that are not published.
FOLDER_VARIABLE = "TOISE_RESULTS"


def figure(value, unit, statistic="median", name=None, **bounds):
    """A number with its unit. `name` distinguishes the sides of a comparison."""
    told = {"name": name, "statistic": statistic, "value": value, **bounds, "unit": unit}
    return {key: item for key, item in told.items() if item is not None}


def row(question, *figures):
    return {"id": question, "figures": list(figures)}


def write(name, command, rows, parameters=None, folder=None):
    """Writes benches/results/NAME.json and names it on standard error. `command` repeats the run from the checkout."""
    folder = pathlib.Path(folder or os.environ.get(FOLDER_VARIABLE) or FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    document = {"name": name, **header(command), "parameters": parameters or {}, "rows": [rounded(one) for one in rows]}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"results: {os.path.relpath(path)}", file=sys.stderr)
    return document


def header(command):
    return {
        "source": "measured",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "command": command,
        "commit": COMMIT,
        "dirty": bool(CHANGED),
        "rustc": output_of("rustc", "--version"),
        "machine": machine(),
    }


def machine():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # Only the numbers of the kernel's version: distributions append text that may name the provider of the host.
    kernel = re.match(r"[\d.]*\d", platform.release())
    return {
        "cpu": first_match("/proc/cpuinfo", r"model name\s*:\s*(.+)") or platform.machine(),
        "cores": cores,
        "memory_gib": round(int(first_match("/proc/meminfo", r"MemTotal:\s*(\d+)") or 0) / 2**20) or None,
        "kernel": f"{platform.system()} {kernel[0] if kernel else ''}".strip(),
    }


def first_match(path, pattern):
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(pattern, text)
    return found[1].strip() if found else None


def output_of(*command):
    """The output of a program, or nothing if it cannot be run."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def rounded(one):
    """A row rounded to five significant digits: further ones are noise, and make files hard to compare."""
    figures = []
    for told in one["figures"]:
        figures.append({key: float(f"{item:.5g}") if isinstance(item, float) else item for key, item in told.items()})
    return {**one, "figures": figures}


def published_name(name, size, usual):
    """The name of a run's file: the documentation shows runs of the usual size, so other sizes have other files."""
    return name if size == usual else f"{name}-{size}"


# Read when a run starts, because the checkout may change during the run. Changed results, and pages generated from
# them, do not count as changes of the code.
COMMIT = output_of("git", "rev-parse", "HEAD")
CHANGED = output_of("git", "status", "--porcelain", "--", ".", ":(exclude)benches/results", ":(exclude)docs/*.md")
