"""Compares toise with DuckDB: same Parquet files, same queries in turn, results checked to be equal.

toise is timed from outside, end to end: JSON body, HTTP over a persistent connection, key check, JSON response. DuckDB
is timed inside the process, without a server. This favours DuckDB, most of all in short queries. DuckDB also has a
persistent connection with all cores, cached Parquet footers and file contents, explicit bounding boxes for circles, and
the keyset of the cursor as a plain condition. For each query, the formulation below counts that is fastest over the
whole run:

  records  count(*), then the twenty best, only the ready-made `record` column
  rows     count(*), then the twenty best, all columns (late materialisation is DuckDB's own)
  once     one pass over the narrow columns that counts and picks the twenty best, then their records by id
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import duckdb

import questions
sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import Service, percentile  # noqa: E402

FORMULATIONS = ["records", "rows", "once"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True, help="the toise executable")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="data folder; made when missing")
    parser.add_argument("--rows", type=int, default=5_000_000, help="sales and diagnostics to make, each")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warm-up", type=int, default=2, help="rounds that are not counted")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    return parser.parse_args()


def make_lake(options):
    if (options.data / "lake" / "_dpe" / "snapshot.json").exists():
        return
    print(f"making {options.rows:,} sales and as many diagnostics", file=sys.stderr)
    rows = str(options.rows)
    command = [options.toise, "synth", "--lake", "--dvf", rows, "--dpe", rows, "--data", str(options.data)]
    subprocess.run(command, check=True)


class Toise(Service):
    """Runs the queries over HTTP."""

    def ask(self, question, cursor=None):
        body = question.body if cursor is None else {**question.body, "cursor": cursor}
        return self.request("POST", f"/v2/protected/opendata/{question.table}/search", json.dumps(body))


def open_duckdb(data):
    connection = duckdb.connect()
    threads = os.cpu_count()
    connection.execute(f"set threads = {threads}")
    for setting, value in [
        ("parquet_metadata_cache", "true"),
        ("enable_object_cache", "true"),
        ("enable_external_file_cache", "true"),
        ("cache_local_files", "true"),
        ("validate_external_file_cache", "'NO_VALIDATION'"),
    ]:
        try:
            connection.execute(f"set {setting} = {value}")
        except duckdb.Error:
            pass  # This version does not have the setting.
    return connection


def source(data, table):
    """The current files of a table, as a table function, because a view would hide the names of the files."""
    return f"read_parquet('{data}/lake/{table}/*.parquet')"


def ask_duckdb(connection, data, question, formulation, after):
    """Returns total, ids in order, seconds. `after` is the sort value and the id at the end of the page before."""
    table, sort, name = source(data, question.table), question.sort_by, question.id_column
    beyond = "true"
    if after is not None:
        value, last = after
        against = ">" if not question.descending else "<"
        quoted = questions.quoted(value)
        beyond = (
            f"({sort} {against} {quoted} or ({sort} = {quoted} and {name} > {questions.quoted(last)}) or {sort} is null)"
            if value is not None
            else f"({sort} is null and {name} > {questions.quoted(last)})"
        )
    count = f"select count(*) from {table} where {question.condition}"
    page = f"from {table} where {question.condition} and {beyond} order by {question.order} limit {questions.PAGE}"
    started = time.perf_counter()
    if formulation == "once":
        best = connection.execute(
            f"with found as materialized (select {sort}, {name}, filename, {beyond} as beyond "
            f"from {table} where {question.condition}) "
            f"select {name}, filename, (select count(*) from found) from found where beyond "
            f"order by {question.order} limit {questions.PAGE}"
        ).fetchall()
        total = best[0][2] if best else connection.execute(count).fetchall()[0][0]
        if best:
            files = ", ".join(questions.quoted(name) for name in {row[1] for row in best})
            wanted = ", ".join(questions.quoted(row[0]) for row in best)
            connection.execute(
                f"select record from read_parquet([{files}]) where {name} in ({wanted})"
            ).fetchall()
        seconds = time.perf_counter() - started
        ids = [row[0] for row in best]
    else:
        total = connection.execute(count).fetchall()[0][0]
        columns = "record" if formulation == "records" else "*"
        cursor = connection.execute(f"select {columns} {page}")
        found = cursor.fetchall()
        seconds = time.perf_counter() - started
        if formulation == "records":
            ids = [json.loads(record)[name] for (record,) in found]
        else:
            at = [column[0] for column in cursor.description].index(name)
            ids = [row[at] for row in found]
    return total, ids, seconds


def walk_to_page(toise, question):
    """Follows cursors; returns the cursor of the wanted page, and the end of the page before it."""
    cursor, last = None, None
    for _ in range(question.pages_before):
        answer, _ = toise.ask(question, cursor)
        if "cursor" not in answer:
            break
        cursor, record = answer["cursor"], answer["data"][-1]
        last = (record.get(question.sort_by), record[question.id_column])
    return cursor, last


def forget_files(folder):
    """Drops the files from the page cache if the system allows it, so that a start reads from disk."""
    for path in folder.rglob("*"):
        if path.is_file() and hasattr(os, "posix_fadvise"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cold_start(options, asked):
    seconds = {}
    for name in ["page cache warm", "page cache cold"]:
        if name == "page cache cold":
            forget_files(options.data / "lake")
        toise = Toise(options.toise, options.data)
        toise.ask(asked)
        seconds[name] = time.perf_counter() - toise.started
        toise.stop()
    return seconds


def main():
    options = arguments()
    make_lake(options)
    connection = open_duckdb(options.data)
    count = options.rounds + options.warm_up
    rounds = questions.draw(connection, lambda table: source(options.data, table), count, options.seed)
    starts = cold_start(options, rounds[0][0])
    toise = Toise(options.toise, options.data)
    try:
        compare(options, connection, toise, rounds, starts)
    finally:
        toise.stop()


def compare(options, connection, toise, rounds, starts):
    names = [question.name for question in rounds[0]]
    ours = {name: [] for name in names}
    theirs = {name: {formulation: [] for formulation in FORMULATIONS} for name in names}
    totals = {name: [] for name in names}
    for number, asked in enumerate(rounds):
        for question in asked:
            toise.wake()
            cursor, after = walk_to_page(toise, question)
            answer, seconds = toise.ask(question, cursor)
            expected = (answer["total"], [record[question.id_column] for record in answer["data"]])
            counted = number >= options.warm_up
            if counted:
                ours[question.name].append(seconds)
                totals[question.name].append(answer["total"])
            for turn in range(len(FORMULATIONS)):
                formulation = FORMULATIONS[(number + turn) % len(FORMULATIONS)]
                total, ids, seconds = ask_duckdb(connection, options.data, question, formulation, after)
                if (total, ids) != expected:
                    raise SystemExit(
                        f"answers differ: {question.name}, {json.dumps(question.body, ensure_ascii=False)}\n"
                        f"toise {expected}\nDuckDB ({formulation}) {(total, ids)}"
                    )
                if counted:
                    theirs[question.name][formulation].append(seconds)
        print(f"round {number + 1} of {len(rounds)}: all answers equal", file=sys.stderr)
    memory = toise.resident_mib()
    report(options, rounds[0], ours, theirs, totals, starts, memory)


def report(options, asked, ours, theirs, totals, starts, memory):
    figures = []
    for question in asked:
        medians = {name: statistics.median(values) for name, values in theirs[question.name].items()}
        fastest = min(medians, key=medians.get)
        mine = statistics.median(ours[question.name])
        figures.append({
            "question": question.name,
            "placed": question.placed,
            "rows_matched_median": statistics.median(totals[question.name]),
            "toise_ms": {"p50": mine * 1e3, "p95": percentile(ours[question.name], 0.95) * 1e3},
            "duckdb_ms": {
                "p50": medians[fastest] * 1e3,
                "p95": percentile(theirs[question.name][fastest], 0.95) * 1e3,
            },
            "duckdb_formulation": fastest,
            "duckdb_p50_ms_by_formulation": {name: value * 1e3 for name, value in medians.items()},
            "ratio": medians[fastest] / mine,
        })
    print(f"{options.data.name}: {options.rounds} rounds after {options.warm_up} of warm-up, "
          f"{os.cpu_count()} cores, DuckDB {duckdb.__version__}, milliseconds")
    print(f"{'question':46} {'matched':>9} | {'toise p50':>9} {'p95':>8} | {'DuckDB p50':>10} {'p95':>8} {'':8} | ratio")
    for figure in figures:
        mine, other = figure["toise_ms"], figure["duckdb_ms"]
        print(
            f"{figure['question']:46} {figure['rows_matched_median']:9.0f} | {mine['p50']:9.2f} {mine['p95']:8.2f} | "
            f"{other['p50']:10.2f} {other['p95']:8.2f} {figure['duckdb_formulation']:8} | {figure['ratio']:5.1f}"
        )
    for placed, kind in [(True, "placed"), (False, "unplaced")]:
        p50 = [figure["toise_ms"]["p50"] for figure in figures if figure["placed"] == placed]
        print(f"{kind}: slowest toise p50 {max(p50):.2f} ms, median {statistics.median(p50):.2f} ms")
    ahead = sum(figure["ratio"] > 1 for figure in figures)
    print(f"toise ahead on {ahead} of {len(figures)}; smallest ratio {min(f['ratio'] for f in figures):.1f}")
    for name, seconds in starts.items():
        print(f"start to first answer, {name}: {seconds:.2f} s")
    print(f"resident memory of the server: {memory[0]:.0f} MiB, peak {memory[1]:.0f} MiB")
    record(options, figures, starts, memory)
    if options.json:
        options.json.write_text(json.dumps({
            "rows": options.rows, "rounds": options.rounds, "cores": os.cpu_count(), "machine": platform.machine(),
            "duckdb": duckdb.__version__, "questions": figures, "start_to_first_answer_s": starts,
            "resident_mib": {"now": memory[0], "peak": memory[1]},
        }, indent=1) + "\n")


# The number of rows in the documentation's figures.
USUAL_ROWS = 5_000_000


def record(options, figures, starts, memory):
    """Writes the results for the tables of docs/performance.md."""
    rows = [results.row(
        figure["question"], results.figure(figure["toise_ms"]["p50"], "ms", name="toise"),
        results.figure(figure["toise_ms"]["p95"], "ms", "p95", name="toise"),
        results.figure(figure["duckdb_ms"]["p50"], "ms", name="DuckDB"),
        results.figure(figure["duckdb_ms"]["p95"], "ms", "p95", name="DuckDB"),
        results.figure(figure["ratio"], "times", name="ratio"),
    ) for figure in figures]
    server = [
        results.row("resident memory", results.figure(memory[0], "MiB"), results.figure(memory[1], "MiB", "peak")),
        *(results.row(f"start to first answer, {name}", results.figure(seconds, "s")) for name, seconds in starts.items()),
    ]
    parameters = {"rows": options.rows, "rounds": options.rounds, "duckdb": duckdb.__version__}
    command = f"benches/versus/run.sh {options.rows} --rounds {options.rounds}"
    for name, told in [("duckdb", rows), ("duckdb-server", server)]:
        results.write(results.published_name(name, options.rows, USUAL_ROWS), command, told, parameters)


if __name__ == "__main__":
    main()
