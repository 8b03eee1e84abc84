#!/usr/bin/env python3
"""Generates the tables of the documentation from benches/results/*.json.

Usage: docs/tools/render.py [--check]

In each page of docs/, replaces the text between `<!-- results:NAME -->` and `<!-- /results -->` by the table NAME and a
line that says where its figures are from. --check changes no page, lists those that are out of date and exits with 1 if
there are any. TABLES below defines the rows of each table. All figures come from the results.
"""

import argparse
import json
import pathlib
import re
import sys
from dataclasses import dataclass

DOCS = pathlib.Path(__file__).resolve().parents[1]
RESULTS = DOCS.parent / "benches" / "results"
BLOCK = re.compile(r"(<!-- results:([a-z0-9-]+) -->\n).*?(<!-- /results -->)", re.S)
# At least this number of seconds is shown in minutes.
MINUTES_FROM_S = 120
# Statistics that are shown in a column.
SHOWN = ("median", "share", "interval")


@dataclass
class Line:
    """A row of a table whose rows come from several files.

    The row shows the first of `sources` that was recorded. A source is "FILE:ID", or "FILE:ID|ID" for a range over
    several results. `rate` is the unit of the throughput if that is shown instead of a time. The label may contain
    parameters of the run, such as `{TOISE_BENCH_ROWS}`.
    """

    label: str
    sources: list
    repeat: str = ""
    rate: str = ""


class Results:
    """Results by name. Reads a file on first use, and records which were used."""

    def __init__(self, folder=RESULTS):
        self.folder, self.read, self.used = folder, {}, []

    def get(self, name):
        if name not in self.read:
            path = self.folder / f"{name}.json"
            self.read[name] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        return self.read[name]

    def use(self, name):
        result = self.get(name)
        if result and name not in self.used:
            self.used.append(name)
        return result

    def rows(self, source):
        """The file of a source "FILE:ID|ID", and its rows; no rows unless all of them were recorded."""
        name, _, ids = source.partition(":")
        known = {row["id"]: row for row in (self.get(name) or {"rows": []})["rows"]}
        wanted = ids.split("|")
        return (name, [known[one] for one in wanted]) if all(one in known for one in wanted) else (name, [])


def number(value):
    """A number with two significant digits if small, three if large; whole numbers as recorded."""
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 1_000:
        return f"{int(float(f'{value:.3g}')):,}"
    if abs(value) >= 9.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 0.995 else f"{value:.2g}"


def scaled(value, unit):
    """A time or rate in a unit that suits its size."""
    if unit == "ns":
        for limit, factor, scale in [(1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")]:
            if value < limit:
                return value / factor, scale
        return value / 1e9, "s"
    if unit == "s" and value >= MINUTES_FROM_S:
        return round(value / 60), "minutes"
    if unit == "bytes a second":
        return value / 1e6, "MB a second"
    return value, unit


def text_of(figure, rate=""):
    """A figure with its unit, such as `12 ms` or `1.9 to 2.6 ms`."""
    unit = rate or figure["unit"]
    if "value" in figure:
        value, unit = scaled(figure["value"], unit)
        return f"{number(value)} {unit}"
    low, _ = scaled(figure["low"], figure["unit"])
    return f"{number(low)} to {number(figure['high'])} {unit}"


def texts_of(row):
    """All figures of a row, with their statistic unless that is the median. Omits a throughput, which only repeats a
    time."""
    texts = []
    told_of = [figure for figure in row["figures"] if figure["statistic"] != "throughput"]
    for figure in told_of or row["figures"]:
        told = " ".join(filter(None, [figure.get("name"), figure["statistic"]]))
        texts.append(text_of(figure) if told == "median" else f"{told} {text_of(figure)}")
    return ", ".join(texts)


def of_rate(rows, unit):
    """The throughput or the mean of one row, or the range over several rows."""
    figures = [figure for row in rows for figure in row["figures"] if figure["statistic"] in ("throughput", "mean")]
    values = sorted(value for figure in figures for value in
                    ([figure["value"]] if "value" in figure else [figure["low"], figure["high"]]))
    if not values:
        return ""
    span = {"value": values[0]} if values[0] == values[-1] else {"low": values[0], "high": values[-1]}
    return text_of({**span, "unit": unit}, unit)


def table(headings, rows):
    head, *body = ["| " + " | ".join(cells) + " |" for cells in [headings, *rows]]
    return [head, "|" + "---|" * len(headings), *body]


def figure_of(row, name, *statistics):
    """A figure by its name and its statistic: by default the median, a share or an interval."""
    for figure in row["figures"]:
        if figure.get("name") == name and figure["statistic"] in (statistics or SHOWN):
            return figure
    return None


def columns(file, first, *wanted, unit="", group=None, rows_like=""):
    """A table with one figure per column. Each of `wanted` is (heading, name of the figure, decimals or None), and the
    statistic if it is not the median. `group` restricts the table to rows "GROUP: NAME", or to those without a group if
    it is empty, and `rows_like` to rows whose name contains this pattern."""

    def cell(figure, decimals):
        if figure is None:
            return ""
        if "value" not in figure:
            return f"{figure['low']:.{decimals}f} to {figure['high']:.{decimals}f}"
        text = number(figure["value"]) if decimals is None else f"{figure['value']:.{decimals}f}"
        return " ".join(filter(None, [text, unit, figure.get("note")]))

    def make(results):
        result = results.use(file)
        rows = []
        for row in (result or {"rows": []})["rows"]:
            of_group, _, label = row["id"].rpartition(": ")
            if group in (None, of_group) and re.search(rows_like, row["id"]):
                cells = (cell(figure_of(row, name, *statistic), decimals) for _, name, decimals, *statistic in wanted)
                rows.append([row["id"] if group is None else label, *cells])
        return rows and table([first, *(heading for heading, *_ in wanted)], rows)

    return make


def measured(file, first, *more):
    """A table of all rows of a file with all their figures, followed by further lines."""

    def make(results):
        result = results.use(file)
        rows = [[row["id"], texts_of(row)] for row in (result or {"rows": []})["rows"]]
        return table([first, "Result"], rows + [cells[:2] for cells in cells_of(results, more)])

    return make


def lines(headings, *wanted):
    """A table of lines from several files, without those that were not recorded."""

    def make(results):
        found = cells_of(results, wanted)
        return found and table(headings, [cells[:len(headings)] for cells in found])

    return make


def cells_of(results, wanted):
    cells = []
    for line in wanted:
        for source in line.sources:
            name, rows = results.rows(source)
            if rows:
                rated = of_rate(rows, line.rate) if line.rate else ""
                sizes = results.use(name).get("parameters", {})
                label = line.label.format_map({key: f"{size:,}" for key, size in sizes.items() if isinstance(size, int)})
                cells.append([label, rated or ", ".join(texts_of(row) for row in rows), line.repeat])
                break
    return cells


def single_paths(results):
    """The table of all benches of the last run of criterion."""
    result = results.use("criterion")
    rows = []
    for row in (result or {"rows": []})["rows"]:
        time, rate = figure_of(row, None), figure_of(row, None, "throughput")
        if time and time["unit"] == "ns":
            low, high = (" ".join([number(value), unit]) for value, unit in
                         (scaled(time[bound], "ns") for bound in ("ci_low", "ci_high")))
            rows.append([f"`{row['id']}`", text_of(time), f"{low} to {high}", text_of(rate) if rate else ""])
    return rows and table(["Bench", "Median", "95 % interval", "Rate"], rows)


def before_after(result):
    """The table of benches/compare.sh."""
    rows = []
    for row in result["rows"]:
        before, after = (text_of(figure_of(row, side)) for side in ("before", "after"))
        ratio, spread = figure_of(row, "ratio"), figure_of(row, "ratio", "range")
        fastest = figure_of(row, "ratio", "fastest")
        rows.append([f"`{row['id']}`", before, after, f"{ratio['value']:.2f}", f"{fastest['value']:.2f}",
                     f"{spread['low']:.2f} to {spread['high']:.2f}"])
    return table(["Bench", "Before", "After", "Ratio", "of the fastest rounds", "Spread"], rows)


def compared(results):
    """The table of the benches of benches/compare.sh whose rounds all changed in one direction."""
    result = results.use("before-after")
    if not result:
        return None
    spreads = [(row, figure_of(row, "ratio", "range")) for row in result["rows"]]
    changed = [row for row, spread in spreads if spread["high"] < 1 or spread["low"] > 1]
    return before_after({**result, "rows": changed})


# Lines that are in more than one table.
MATCHED = Line("portfolio matched against {TOISE_BENCH_ROWS} diagnostics", ["criterion:match_bulk/diagnostics"],
               "`cargo bench --bench match_bulk`", "rows a second")
MATCHED_LARGE = Line("portfolio matched against five million diagnostics", ["bulk:match"], "`toise match dpe` prints it")
SALES = Line("import of sales", ["criterion:import/dvf_rows", "bulk:import sales"], "`cargo bench --bench import`",
             "rows a second")
DIAGNOSTICS = Line("import of full diagnostics", ["criterion:import/dpe_rows", "bulk:import diagnostics"],
                   "`cargo bench --bench import`", "rows a second")
INGEST = Line("`toise ingest` into a store of demo size",
              ["criterion:ingest/sightings_durable_with_dedup", "bulk:ingest small"], "`cargo bench --bench ingest`",
              "sightings a second")
INGEST_LARGE = Line("`toise ingest` into 2 million properties", ["bulk:ingest large"], "`toise ingest` prints it")
INGEST_LARGE_RANGE = Line("the same, depending on the disk", ["bulk:ingest large, range"], "`toise ingest` prints it")
INGEST_LARGE_COLD = Line("the same, with nothing in memory yet", ["bulk:ingest large, cold"], "`toise ingest` prints it")
COMPACT = Line("`toise compact` after 190,000 properties and their adverts changed", ["bulk:compact"],
               "`toise compact` prints it")
GROUPS = Line("adverts checked against 100,000 alerts, in groups",
              ["criterion:percolate_properties/indexed_100000|percolate_adverts/indexed_100000", "alerts:groups"],
              "`cargo bench --bench percolate`", "a second")
DELIVERIES = Line("deliveries to 50 receivers", ["criterion:deliver/deliveries", "alerts:deliveries"],
                  "`cargo bench --bench deliver`")
PORTFOLIO = Line("homes of a portfolio valued", ["estimates:homes of a portfolio"], "`benches/load/estimate.sh`")
CHECKS = Line("checks of pages on 100 hosts, `collect.host_delay_ms` at 500",
              ["collecting:checks of a hundred hosts, drained"], "`benches/load/collect.py`")

TABLES = {
    "duckdb": columns("duckdb", "Question", ("toise, ms", "toise", None), ("DuckDB, ms", "DuckDB", None),
                      ("ratio", "ratio", None)),
    "duckdb-server": measured("duckdb-server", "Measured of the same server"),
    **{f"national{part}": columns(
        f"national{part}", "Work", ("time, s", None, 0), ("rows a second", None, None, "rate"),
        ("peak memory, MiB", None, None, "peak"), ("disk, GB", "disk", None), ("at its peak", "disk", None, "peak"))
        for part in ("", "-10")},
    **{f"national-requests{part}": measured(f"national-requests{part}", "Measured") for part in ("", "-10")},
    "attacks": columns(
        "attacks", "Attack", ("alone, p99 ms", "alone", None, "p99"), ("attacked, p99 ms", "beside", None, "p99"),
        ("ratio", "ratio", None), ("memory, MiB", "memory", None, "max"), ("log, MB/s", "log", None, "max")),
    "console": measured("console", "In the browser"),
    "replica": columns(
        "replica", "Published", ("bare download, s", "bare download", None),
        ("replica from nothing to its first answer, s", "replica, first answer", None), ("ratio", "ratio", None)),
    "postgres": columns(
        "postgres", "Question", ("first: toise, ms", "first, toise", None), ("PostgreSQL, ms", "first, PostgreSQL", None),
        ("ratio", "first, ratio", None), ("again: toise, ms", "again, toise", None),
        ("PostgreSQL, ms", "again, PostgreSQL", None), ("ratio", "again, ratio", None)),
    "tiles": columns(
        "tiles", "Zoom", ("first: toise, ms", "toise, cold", None), ("PostGIS, ms", "PostGIS, cold", None),
        ("again: toise, ms", "toise, warm", None), ("p95", "toise, warm", None, "p95"),
        ("PostGIS, ms", "PostGIS, warm", None), ("p95", "PostGIS, warm", None, "p95")),
    "geocode-speed": columns(
        "geocode", "Work", ("toise, a second", "toise, per_second", None), ("p50, ms", "toise, p50_ms", 2),
        ("p99, ms", "toise, p99_ms", 2), ("addok, a second", "addok, per_second", None), ("p50, ms", "addok, p50_ms", 2),
        ("p99, ms", "addok, p99_ms", 1), ("ratio", "ratio", 0), group=""),
    "geocode-classes": columns(
        "geocode", "Written", ("toise, % right", "toise", 2), ("addok, % right", "addok", 2), group="right"),
    "listings-load": measured("listings-load", "Measured"),
    "bulk": lines(["Work", "Rate or time", "Repeat"], MATCHED, MATCHED_LARGE, SALES, DIAGNOSTICS, INGEST, INGEST_LARGE,
                  INGEST_LARGE_RANGE, INGEST_LARGE_COLD, COMPACT,
                  Line("`toise synth --adverts 3050000 --lake`", ["bulk:synth"], "`toise synth` prints it")),
    "alerts": lines(
        ["Measured", "Result", "Repeat"], GROUPS,
        Line("the same, one by one", ["criterion:percolate_properties/one_at_a_time_100000|"
                                      "percolate_adverts/one_at_a_time_100000", "alerts:one by one"],
             "`cargo bench --bench percolate`", "a second"),
        Line("alerts that one of these adverts matches",
             ["criterion:percolate_properties/matches|percolate_adverts/matches", "alerts:matches"],
             "`cargo bench --bench percolate`", "alerts"),
        Line("`toise ingest` into a small store with 10,000 alerts",
             ["criterion:ingest/sightings_with_10000_alerts", "alerts:ingest"], "`cargo bench --bench percolate`",
             "sightings a second"),
        Line("delivery received after the advert is on disk", ["criterion:deliver/commit_to_receipt", "alerts:receipt"],
             "`cargo bench --bench deliver`"),
        Line("the same for the others while one of 50 receivers hangs", ["criterion:deliver/commit_to_receipt_one_hanging"],
             "`cargo bench --bench deliver`"),
        DELIVERIES),
    "sales-alerts": columns(
        "sales-alerts", "Work", ("without alerts, s", "without", None), ("with 10,000 alerts, s", "with", None),
        ("ratio", "ratio", 2)),
    "estimates": measured("estimates", "Measured, 3 million sales"),
    "portfolio": measured("portfolio", "Measured, 1 million homes"),
    "collecting": measured(
        "collecting", "Measured",
        Line("a page of 500 kB, mostly scripts (`cargo bench --bench extract`)",
             ["criterion:extract/page of 500 kB, nine tenths scripts", "extract:scripts"]),
        Line("a page of 500 kB, all markup (`cargo bench --bench extract`)",
             ["criterion:extract/page of 500 kB, all markup", "extract:markup"])),
    "demo-load": measured("demo-load", "Measured"),
    "single-paths": single_paths,
    "before-after": compared,
    "capacity-sizes": lines(
        ["What was measured", "Needs"],
        Line("server with 5 million sales and as many diagnostics: memory", ["duckdb-server:resident memory"]),
        Line("the same: first answer after the start, files read from the disk",
             ["duckdb-server:start to first answer, page cache cold"]),
        Line("the same: first answer after the start",
             ["duckdb-server:start to first answer, page cache warm", "duckdb-server:start to first answer"]),
        Line("server with 2 million properties of 3 million adverts: memory", ["listings-load:resident memory"]),
        Line("1,000 idle connections: memory", ["demo-load:memory of 1,000 idle connections, held for a minute"]),
        Line("compaction of 190,000 changed properties and their adverts: time", ["bulk:compact"]),
        Line("training on 3 million sales: time", ["estimates:training"])),
    "capacity-rates": lines(["Work", "Rate on two cores"], SALES, DIAGNOSTICS, INGEST, INGEST_LARGE, INGEST_LARGE_RANGE,
                            GROUPS, DELIVERIES, MATCHED, MATCHED_LARGE, PORTFOLIO, CHECKS),
    "estimate-accuracy": columns(
        "estimate-accuracy", "Sales judged", ("Estimator", "estimator", 2), ("Best baseline", "best baseline", 2),
        ("Difference, 95 % interval", "difference", 2), ("Within 20 %", "within 20 %", 1), ("Coverage", "held", 1)),
    "estimate-horizon": columns(
        "estimate-horizon", "Months after the last known sale", ("Bias", "bias", 1), ("Size of bias", "size of bias", 1),
        ("Error", "error", 2), ("Coverage", "held", 1), ("Width", "width", 1), rows_like=r"month (1|3|6|9|12) "),
    "estimate-leave-out": columns(
        "estimate-leave-out", "Known without", ("Bias", "bias", 1), ("Error", "error", 1), ("Coverage", "held", 1),
        ("Coverage, mean of places", "held, mean of places", 1), ("Width", "width", 1)),
    "dedup": columns("dedup", "Noise", ("Pair precision", "pair precision", 2), ("Pair recall", "pair recall", 2),
                     ("Purity of properties", "purity", 2), ("Share compared", "met in a block", 2), unit="%"),
    "dedup-ingested": columns("dedup-ingested", "Noise", ("Pair precision", "pair precision", 1),
                              ("Pair recall", "pair recall", 1), unit="%"),
}


def origin(result):
    """A sentence that says where figures are from."""
    if not result.get("commit"):
        source = result["source"]
        return source[0].upper() + source[1:] + (f", {result['date']}" if result.get("date") else "")
    machine = result["machine"]
    state = ", with changes that were not committed" if result["dirty"] else ""
    return (f"Measured on {result['date']} at commit {result['commit'][:10]}{state}, on {machine['cores']} cores "
            f"({machine['cpu']}, {machine['memory_gib']} GiB, {machine['kernel']})")


def block(name, folder=RESULTS):
    """The text between the markers of a table."""
    results = Results(folder)
    made = TABLES[name](results)
    if not made or not results.used:
        return "Not recorded yet.\n"
    origins = {}
    for used in results.used:
        origins.setdefault(origin(results.get(used)), []).append(used)
    if len(origins) == 1:
        told = [f"{one}." for one in origins]
    else:
        told = [f"{one} ({', '.join(f'`{file}`' for file in files)})." for one, files in origins.items()]
    return "\n".join([*made, "", *told]) + "\n"


def rendered(text, page):
    def replaced(found):
        if found[2] not in TABLES:
            sys.exit(f"error: {page.name} asks for results:{found[2]}, which docs/tools/render.py does not know")
        return found[1] + block(found[2]) + found[3]

    if len(re.findall(r"<!-- results:", text)) != len(BLOCK.findall(text)):
        sys.exit(f"error: {page.name} opens a block of results that it does not close")
    return BLOCK.sub(replaced, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 when a page is out of date")
    options = parser.parse_args()
    stale = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        wanted = rendered(text, page)
        if wanted != text:
            stale.append(page)
            if not options.check:
                page.write_text(wanted, encoding="utf-8")
    for page in stale:
        told = "is out of date: run docs/tools/render.py" if options.check else "written"
        print(f"docs/{page.name} {told}", file=sys.stderr)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
