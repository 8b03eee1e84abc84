#!/usr/bin/env python3
"""Runs the evaluations for the figures of the documentation, and writes them to benches/results.

Usage: benches/evaluate.py TOISE_LAB dedup
       benches/evaluate.py TOISE estimate LABEL=DATA:TRAIN_UNTIL:TEST ...
       benches/evaluate.py TOISE horizon LABEL=DATA ...
       benches/evaluate.py TOISE leave-out LABEL=DATA:PLACES:COUNT ...

`dedup` needs only the executable toise-lab, and takes some minutes. `estimate` needs data folders with real recorded
sales. Each case is a folder with the last day of the training data and the period to test, such as
`Paris=/data/paris:2022-12-31:2023`. The table shows LABEL; the name of the folder is not recorded. `horizon` trains at
up to twelve origins of each folder. `leave-out` trains without each of COUNT departments or cities (PLACES).
"""

import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "support"))
import results  # noqa: E402

# Seeds of the synthetic adverts; no weight was fitted on synthetic adverts.
DEDUP_SEED = 2
INGESTED_SEEDS = range(1, 7)
NOISE = {
    "clean": "clean: portals copy", "light": "light: rounded, some blurred",
    "middle": "middle: rewritten, recompressed, late prices, second agencies", "heavy": "heavy: half missing or wrong",
    "market": "market: several agencies a portal, thin, lots alike",
    "thin": "thin: one dense city, price, surface, rooms, district and energy class alone",
}


def report_of(toise, *arguments):
    done = subprocess.run([toise, "--json", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: {toise} {' '.join(arguments)} ended with {done.returncode}")
    return json.loads(done.stdout)


def percent(share, name):
    return results.figure(100 * share, "%", "share", name)


def dedup(toise_lab):
    report = report_of(toise_lab, "dedup", "--seed", str(DEDUP_SEED))
    rows = [results.row(
        NOISE[level["level"]], percent(level["precision"], "pair precision"), percent(level["recall"], "pair recall"),
        percent(level["purity"], "purity"), percent(level["blockingRecall"], "met in a block"),
    ) for level in report["levels"]]
    sizes = {"adverts": report["adverts"], "seed": report["seed"]}
    results.write("dedup", f"toise-lab dedup --seed {DEDUP_SEED}", rows, sizes)
    rows = []
    for level in ("middle", "thin"):
        ingested = []
        for seed in INGESTED_SEEDS:
            arguments = ["dedup", "--ingested", "--level", level, "--seed", str(seed)]
            ingested += report_of(toise_lab, *arguments)["levels"]
        seeds = f"seeds {INGESTED_SEEDS[0]} to {INGESTED_SEEDS[-1]}"
        rows.append(pairs_of_all(f"{level}, {seeds}", ingested))
        rows.append(pairs_of_all(f"{level}, {seeds}, rebuilt", [one["rebuilt"] for one in ingested]))
    results.write("dedup-ingested", "toise-lab dedup --ingested --level LEVEL --seed SEED", rows,
                  {"adverts": report["adverts"]})


def pairs_of_all(label, groupings):
    """The row of pairs for several groupings together."""
    joined, true, right = (sum(one[key] for one in groupings) for key in ("joinedPairs", "truePairs", "rightPairs"))
    return results.row(label, percent(right / joined, "pair precision"), percent(right / true, "pair recall"))


def estimate(toise, cases):
    rows = []
    for case in cases:
        label, _, told = case.rpartition("=")
        data, until, test = told.rsplit(":", 2)
        arguments = ["evaluate", "estimate", "--data", data, "--train-until", until, "--test", test]
        report = report_of(toise, *arguments)["report"]
        against, quality = report["difference"], report["all"]
        best = dict(report["baselines"])[against["against"]]
        low, high = against["interval"]
        rows.append(results.row(
            f"{label}: {quality['sales']:,} sales of {test}, known to {until}",
            results.figure(quality["mdape"], "%", name="estimator"),
            results.figure(best["mdape"], "%", name="best baseline", note=against["against"]),
            {"name": "difference", "statistic": "interval", "low": low, "high": high, "unit": "points"},
            results.figure(quality["within_20"], "%", "share", "within 20 %"),
            results.figure(quality["coverage"], "%", "share", "held"),
        ))
    results.write("estimate-accuracy", "toise evaluate estimate --train-until DATE --test YEAR", rows)


def horizon(toise, cases):
    rows, origins = [], {}
    for case in cases:
        label, _, data = case.partition("=")
        report = report_of(toise, "evaluate", "estimate", "--data", data)["report"]["horizon"]
        known = [origin["origin"] for origin in report["origins"]]
        origins[label] = f"{len(known)} from {known[0]} to {known[-1]}"
        for month in report["horizons"]:
            rows.append(results.row(
                f"{label}: month {month['month']} ({month['sales']:,} sales, {month['origins']} origins)",
                results.figure(month["bias"], "%", name="bias"),
                results.figure(month["bias_size"], "%", name="size of bias"),
                results.figure(month["mdape"], "%", name="error"),
                results.figure(month["coverage"], "%", "share", "held"),
                results.figure(month["width"], "%", name="width"),
            ))
    results.write("estimate-horizon", "toise evaluate estimate", rows, {"origins": origins})


def leave_out(toise, cases):
    rows = []
    for case in cases:
        label, _, told = case.rpartition("=")
        data, places, count = told.rsplit(":", 2)
        arguments = ["evaluate", "estimate", "--data", data, "--leave-out", places, "--places", count]
        report = report_of(toise, *arguments)["report"]
        every = report["all"]
        rows.append(results.row(
            f"{label}: {len(report['places'])} left out in turn, {every['sales']:,} sales",
            results.figure(every["bias"], "%", name="bias"),
            results.figure(every["mdape"], "%", name="error"),
            results.figure(every["coverage"], "%", "share", "held"),
            results.figure(report["mean_coverage"], "%", "share", "held, mean of places"),
            results.figure(every["width"], "%", name="width"),
        ))
    results.write("estimate-leave-out", "toise evaluate estimate --leave-out PLACES --places N", rows)


def main():
    if len(sys.argv) == 3 and sys.argv[2] == "dedup":
        dedup(sys.argv[1])
    elif len(sys.argv) > 3 and sys.argv[2] == "estimate":
        estimate(sys.argv[1], sys.argv[3:])
    elif len(sys.argv) > 3 and sys.argv[2] == "horizon":
        horizon(sys.argv[1], sys.argv[3:])
    elif len(sys.argv) > 3 and sys.argv[2] == "leave-out":
        leave_out(sys.argv[1], sys.argv[3:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
