"""What a bench measured, as a file of benches/results: the figures with the machine, the commit and the command.

Used by the drivers under benches/; docs/tools/render.py makes the tables of the documentation from these files. One file
is one run:

    {"name", "source", "date", "command", "commit", "dirty", "rustc", "machine", "parameters", "rows"}

A row is {"id", "figures"}: the question that was asked, and what came out. A figure is
{"name"?, "statistic", "value", "unit"}, with "low" and "high" instead of "value" for a range, and "ci_low" and "ci_high"
beside it for a confidence interval. Nothing names the host or a folder of it.
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
# Another folder for results that are not to be published.
FOLDER_VARIABLE = "TOISE_RESULTS"


def figure(value, unit, statistic="median", name=None, **bounds):
    """One number with its unit. `name` tells the sides of a comparison apart."""
    told = {"name": name, "statistic": statistic, "value": value, **bounds, "unit": unit}
    return {key: item for key, item in told.items() if item is not None}


def row(question, *figures):
    return {"id": question, "figures": list(figures)}


def write(name, command, rows, parameters=None, folder=None):
    """Writes benches/results/NAME.json and says so on standard error. `command` repeats the run from the checkout."""
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
    # The numbers of the kernel only: what distributions append can name a host's provider.
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
    """What a program prints, or nothing where it cannot be asked."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def rounded(one):
    """Five significant digits: more is noise, and makes files hard to compare."""
    figures = []
    for told in one["figures"]:
        figures.append({key: float(f"{item:.5g}") if isinstance(item, float) else item for key, item in told.items()})
    return {**one, "figures": figures}


def published_name(name, size, usual):
    """The documentation shows runs of the usual size; another size has a file of its own."""
    return name if size == usual else f"{name}-{size}"


# Looked at when a run begins: hours later the checkout may be another one. Results of earlier runs, and the pages made of
# them, do not make the code another one.
COMMIT = output_of("git", "rev-parse", "HEAD")
CHANGED = output_of("git", "status", "--porcelain", "--", ".", ":(exclude)benches/results", ":(exclude)docs/*.md")
