#!/usr/bin/env python3
"""Writes the results of `cargo bench` to benches/results/criterion.json.

Usage: cargo bench && benches/collect.py [--target DIR]

Reads the estimates that criterion writes to target/criterion (median with its confidence interval, throughput) and the
figures that benches write to target/tmp/figures. Estimates more than a day older than the latest are from another run:
they are omitted, and the script names them.
"""

import argparse
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "support"))
import results  # noqa: E402

# Estimates that are further apart are not from the same run.
RUN_SECONDS_MAX = 24 * 3_600
# Default sizes of benches: see benches/support/mod.rs and benches/percolate.rs.
SIZES = {"TOISE_BENCH_ROWS": 200_000, "TOISE_BENCH_ALERTS": 100_000}


def estimates(folder):
    """Results of criterion under a folder: id, nanoseconds per iteration with their interval, throughput, and time."""
    for path in sorted(folder.rglob("new/estimates.json")):
        bench = json.loads((path.parent / "benchmark.json").read_text(encoding="utf-8"))
        median = json.loads(path.read_text(encoding="utf-8"))["median"]
        interval = median["confidence_interval"]
        yield {
            "id": bench["full_id"], "ns": median["point_estimate"],
            "ci_ns": (interval["lower_bound"], interval["upper_bound"]),
            "throughput": throughput(bench.get("throughput"), median["point_estimate"]),
            "written": path.stat().st_mtime,
        }


def throughput(counted, nanoseconds):
    """The rate per second, if the bench says that an iteration counts for more than one element."""
    if not counted:
        return None
    (kind, count), = counted.items()
    if not isinstance(count, int) or count <= 1:
        return None
    return count / nanoseconds * 1e9, "bytes a second" if kind.startswith("Bytes") else "a second"


def row_of(estimate):
    low, high = estimate["ci_ns"]
    figures = [results.figure(estimate["ns"], "ns", ci_low=low, ci_high=high)]
    if estimate["throughput"]:
        value, unit = estimate["throughput"]
        figures.append(results.figure(value, unit, "throughput"))
    return results.row(estimate["id"], *figures)


def figures(folder):
    """The figures that benches wrote themselves: a row for each id."""
    rows = {}
    for path in sorted(folder.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        told["written"] = path.stat().st_mtime
        rows.setdefault(told["id"], []).append(told)
    return rows


def sizes():
    return {name: int(os.environ.get(name, "").replace("_", "") or usual) for name, usual in SIZES.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or results.ROOT / "target")
    parser.add_argument("--target", type=pathlib.Path, default=default, help="cargo's target folder")
    options = parser.parse_args()
    found = list(estimates(options.target / "criterion"))
    recorded = figures(options.target / "tmp" / "figures")
    times = [one["written"] for one in found] + [one["written"] for row in recorded.values() for one in row]
    if not times:
        sys.exit("error: no estimates here: run `cargo bench` first, or name its folder with --target")
    since = max(times) - RUN_SECONDS_MAX
    for name in [one["id"] for one in found if one["written"] < since]:
        print(f"{name}: left out, of an earlier run", file=sys.stderr)
    rows = [row_of(one) for one in found if one["written"] >= since]
    for name, told in recorded.items():
        of_run = [results.figure(one["value"], one["unit"], one["statistic"]) for one in told if one["written"] >= since]
        if of_run:
            rows.append(results.row(name, *of_run))
    asked = sizes()
    changed = [f"{name}={size} " for name, size in asked.items() if size != SIZES[name]]
    results.write("criterion", f"{''.join(changed)}cargo bench && benches/collect.py", rows, asked)


if __name__ == "__main__":
    main()
