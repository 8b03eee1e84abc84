"""Compares the benches of two builds. They run in the order A B, B A, so that other work on the machine affects both.

Each bench runs a few short rounds for each build. The figure of a build is the median over its rounds of criterion's
median. The ratio is after divided by before: below 1 is faster. The table also has the ratio of the fastest rounds, on
which other work has the least influence, and the spread: the smallest and the largest ratio within one round. Compare a
build with itself first, to see how much two equal builds differ on this machine.

Prints a Markdown table and writes benches/results/before-after.json. TOISE_BENCH_ROWS and TOISE_BENCH_ALERTS set the
sizes, as for all benches.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "support"), str(HERE.parent / "docs")]
import collect  # noqa: E402
import render  # noqa: E402
import results  # noqa: E402

SIDES = ["before", "after"]
# A bench is reported as slower if both of its ratios are above this.
SLOWER_MAX = 1.05
# `deliver` does not use criterion: its figures are read from its output. Rates are converted to times.
PRINTED = [
    ("deliver/one delivery", r"^(\d+) deliveries/s", lambda found: 1e9 / float(found)),
    ("deliver/commit to receipt, p50", r"^0 of .*p50 ([\d.]+) ms", lambda found: float(found) * 1e6),
    ("deliver/commit to receipt, p99", r"^0 of .*p99 ([\d.]+) ms", lambda found: float(found) * 1e6),
]
# The number of lines of a failed bench's output that are shown.
LINES_SHOWN = 20


def arguments():
    parser = argparse.ArgumentParser(
        prog="benches/compare.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE_DIR", type=pathlib.Path, help="bench executables of the build before")
    parser.add_argument("--keep", action="store_true", help="build the benches of this checkout into BASE_DIR, and end")
    parser.add_argument("new", metavar="NEW_DIR", type=pathlib.Path, nargs="?",
                        help="those of the build after [default: those of this checkout, built now]")
    parser.add_argument("--bench", action="append", metavar="NAME", help="only this bench; may be repeated")
    parser.add_argument("--filter", metavar="TEXT", help="only criterion ids that contain this")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each bench on either side [default: 3]")
    parser.add_argument("--seconds", type=float, default=2, help="criterion's measurement time [default: 2]")
    parser.add_argument("--warm-up", type=float, default=1, help="criterion's warm-up time, seconds [default: 1]")
    parser.add_argument("--samples", type=int, default=20, help="samples where a bench does not say [default: 20]")
    parser.add_argument("--base-commit", metavar="COMMIT", help="commit of the build before, for the results")
    parser.add_argument("--no-results", action="store_true", help="print the table only")
    return parser.parse_args()


def executables(folder):
    """Bench executables of a folder by name."""
    if not folder.is_dir():
        sys.exit(f"error: {folder} is no folder")
    return {path.name: path.resolve() for path in sorted(folder.iterdir())
            if path.is_file() and os.access(path, os.X_OK) and "." not in path.name}


def built():
    """Bench executables of this checkout, built if necessary."""
    command = ["cargo", "bench", "--no-run", "--message-format=json-render-diagnostics"]
    done = subprocess.run(command, cwd=results.ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("error: the benches of this checkout do not build")
    artifacts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {one["target"]["name"]: pathlib.Path(one["executable"]) for one in artifacts
            if one.get("executable") and "bench" in one["target"]["kind"]}


def keep(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, executable in built().items():
        shutil.copy2(executable, folder / name)


def run(executable, options):
    """Runs a bench; returns nanoseconds by id."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(executable), "--bench", "--noplot", "--warm-up-time", f"{options.warm_up:g}",
                   "--measurement-time", f"{options.seconds:g}", "--sample-size", str(options.samples)]
        command += [options.filter] if options.filter else []
        # An empty folder, because criterion compares with results that it finds. One round of `deliver` is enough here.
        environment = {"TOISE_ROUNDS": "1", **os.environ, "CRITERION_HOME": folder}
        done = subprocess.run(command, cwd=results.ROOT, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            shown = "\n".join(done.stdout.splitlines()[-LINES_SHOWN:])
            sys.exit(f"error: {executable.name} ended with {done.returncode}:\n{shown}")
        times = {one["id"]: one["ns"] for one in collect.estimates(pathlib.Path(folder))}
    if executable.name.split("-")[0] == "deliver":
        for name, pattern, as_ns in PRINTED:
            found = re.search(pattern, done.stdout, re.M)
            if found:
                times[name] = as_ns(found[1])
    return times


def measure(name, sides, options):
    """Nanoseconds of each round by side and id."""
    times = {side: {} for side in SIDES}
    for number in range(options.rounds):
        for side in SIDES if number % 2 == 0 else reversed(SIDES):
            for name_of, nanoseconds in run(sides[side], options).items():
                times[side].setdefault(name_of, []).append(nanoseconds)
        print(f"{name}: round {number + 1} of {options.rounds}", file=sys.stderr)
    return times


def rows_of(times):
    """A row for each id that both builds have; the other ids are named on standard error."""
    before, after = (times[side] for side in SIDES)
    for name in sorted(before.keys() ^ after.keys()):
        print(f"{name}: of one side only, left out", file=sys.stderr)
    rows = []
    for name in [one for one in before if one in after]:
        medians = [statistics.median(side[name]) for side in (before, after)]
        pairs = [new / old for old, new in zip(before[name], after[name])]
        rows.append(results.row(
            name, results.figure(medians[0], "ns", name="before"), results.figure(medians[1], "ns", name="after"),
            results.figure(medians[1] / medians[0], "times", name="ratio"),
            results.figure(min(after[name]) / min(before[name]), "times", "fastest", name="ratio"),
            {"name": "ratio", "statistic": "range", "low": min(pairs), "high": max(pairs), "unit": "times"},
        ))
    return rows


def beside_others(rows, parameters):
    """The rows of a run of some benches, and those of other benches from earlier results with the same parameters."""
    path = results.FOLDER / "before-after.json"
    former = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if former.get("parameters") != parameters:
        return rows
    own = {one["id"]: one for one in rows}
    kept = [own.pop(one["id"], one) for one in former["rows"]]
    return kept + list(own.values())


def main():
    options = arguments()
    if options.keep:
        keep(options.base)
        return
    base, new = executables(options.base), executables(options.new) if options.new else built()
    names = [name for name in base if name in new and name in (options.bench or base)]
    for name in sorted(set(options.bench or base.keys() ^ new.keys()) - set(names)):
        print(f"{name}: not in both folders, left out", file=sys.stderr)
    if not names:
        sys.exit("error: the two folders have no bench in common")
    rows = []
    for name in names:
        rows += rows_of(measure(name, dict(zip(SIDES, (base[name], new[name]))), options))
    parameters = {**collect.sizes(), "rounds": options.rounds, "seconds": options.seconds,
                  "base_commit": options.base_commit}
    if options.bench:
        rows = beside_others(rows, parameters)
    document = {"rows": [results.rounded(one) for one in rows]}
    if not options.no_results:
        document = results.write("before-after", "benches/compare.sh BASE_DIR", rows, parameters)
    print("\n".join(render.before_after(document)))
    for one in rows:
        ratio = min(figure["value"] for figure in one["figures"] if figure.get("name") == "ratio" and "value" in figure)
        if ratio > SLOWER_MAX:
            print(f"{one['id']}: {100 * (ratio - 1):.0f} % slower or more", file=sys.stderr)


if __name__ == "__main__":
    main()
