"""Compares toise with PostgreSQL and PostGIS: same properties, same queries in turn, results checked to be equal.

toise is timed from outside, end to end: JSON body, HTTP over a persistent connection, key check, a row of the ledger
for every response, JSON response. A read by id costs credits, so its row is on disk before the response. PostgreSQL is
timed from outside too, over its own protocol on a persistent connection, without a service in front of it. Rounds
alternate between the formulations below. For each query, the one that is faster over the whole run counts:

  two     count(*), then the hundred best joined to their records
  once    one pass that counts and picks the hundred best, then their records

Every round has new places, and each query runs twice in a row: the first time it mostly reads from disk, the second
time from memory. Before the first round both are stopped, their files are dropped from the page cache, and both are
started: so neither has the advantage of recently written files in memory.

Results of full-text queries are not checked: toise also finds words with typing errors, PostgreSQL only their stems,
and each orders by its own measure.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import postgres_server
import property_questions as questions
sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import Service, percentile  # noqa: E402

FORMULATIONS = ["two", "once"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True, help="the toise executable")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="data folder; made when missing")
    parser.add_argument("--postgres", required=True, type=pathlib.Path, help="folder of PostgreSQL; made when missing")
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of PostgreSQL's programs")
    parser.add_argument("--properties", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=4, help="rounds that are not counted")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    return parser.parse_args()


def make_lake(options):
    if (options.data / "lake" / "_properties" / "snapshot.json").exists():
        # Compaction moves records that were ingested since into the files: PostgreSQL is loaded from the files only.
        command = [options.toise, "compact", "properties", "adverts", "--data", str(options.data)]
        subprocess.run(command, check=True, stdout=sys.stderr)
        return
    print(f"making {options.properties:,} properties with their adverts", file=sys.stderr)
    # The generator makes 21 homes from 32 adverts.
    adverts = str(options.properties * 32 // 21)
    command = [options.toise, "synth", "--lake", "--adverts", adverts, "--data", str(options.data)]
    subprocess.run(command, check=True)


def drop_from_memory(folder):
    """Drops the files of a folder from the page cache, so that they are read from disk again."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Toise(Service):
    """Runs the queries over HTTP."""

    def ask(self, question, cursor=None):
        """Returns count, ids in order, cursor of the next page, records, seconds."""
        if question.kind == "id":
            flx_id = question.where[0].split("'")[1]
            answer, seconds = self.request("GET", f"/v2/protected/properties/{flx_id}")
            return 1, [answer["data"]["flxId"]], None, [answer["data"]], seconds
        body = question.body if cursor is None else {**question.body, "searchAfterHash": cursor}
        answer, seconds = self.request("POST", question.path, json.dumps(body))
        data = answer["data"]
        items = data.get("items", [])
        return data["count"], [item["flxId"] for item in items], data.get("searchAfterHash"), items, seconds


def walk_to_page(toise, question):
    """Follows cursors; returns the cursor of the wanted page and the last record before it."""
    cursor, last = None, None
    for _ in range(question.pages_before):
        _, _, after, records, _ = toise.ask(question, cursor)
        if after is None:
            break
        cursor, last = after, records[-1]
    return cursor, last


def beyond(question, last):
    """The SQL condition for rows after a record; sort values of queries with pages are never missing."""
    if last is None:
        return "true"
    value, against = last["price"]["latest"]["value"], "<" if question.descending else ">"
    return (f"({question_sort(question)} {against} {value!r} or "
            f"({question_sort(question)} = {value!r} and flx_id > '{last['flxId']}'))")


def question_sort(question):
    return questions.SORTS[question.sort]


def ask_postgres(connection, question, formulation, after):
    """Returns count, ids in order, seconds."""
    sort, direction = question_sort(question), "desc" if question.descending else "asc"
    order = f"{sort} {direction} nulls last, flx_id"
    if question.kind == "words":
        order = f"{question.rank} desc, flx_id"
    where, page = question.condition, f"limit {questions.PAGE}"
    started = time.perf_counter()
    if question.kind == "id":
        rows = connection.execute(f"select flx_id::text, record::text from records where {where}").fetchall()
        return 1, [row[0] for row in rows], time.perf_counter() - started
    count = f"select count(*) from properties where {where}"
    if question.kind == "count":
        total = connection.execute(count).fetchone()[0]
        return total, [], time.perf_counter() - started
    if formulation == "two":
        total = connection.execute(count).fetchone()[0]
        rows = connection.execute(
            f"with best as (select flx_id, row_number() over (order by {order}) as place from properties "
            f"where {where} and {after} order by {order} {page}) "
            "select flx_id::text, record::text from best join records using (flx_id) order by place"
        ).fetchall()
    else:
        rows = connection.execute(
            f"with found as materialized (select flx_id, {sort}, {question.rank or 0} as rank, {after} as is_after "
            f"from properties where {where}), "
            "best as (select flx_id, row_number() over () as place from (select * from found where is_after "
            f"order by {'rank desc, flx_id' if question.kind == 'words' else order} {page}) as ordered) "
            "select flx_id::text, record::text, (select count(*) from found) "
            "from best join records using (flx_id) order by place"
        ).fetchall()
        total = rows[0][2] if rows else connection.execute(count).fetchone()[0]
    return total, [row[0] for row in rows], time.perf_counter() - started


def main():
    options = arguments()
    make_lake(options)
    server = postgres_server.Server(options)
    connection = server.start()
    toise = None
    try:
        toise = Toise(options.toise, options.data)
        server.fill(connection, toise)
        version = connection.execute("select version(), postgis_lib_version()").fetchone()
        rounds = questions.draw(connection, options.rounds + options.warm_up, options.seed)
        toise.stop()
        connection.close()
        server.stop()
        for folder in (options.data, options.postgres):
            drop_from_memory(folder)
        connection, toise = server.start(), Toise(options.toise, options.data)
        compare(options, connection, toise, rounds, version)
    finally:
        if toise:
            toise.stop()
        connection.close()
        server.stop()


# The two runs of a query, one after the other.
TIMES = ["first", "again"]


def compare(options, connection, toise, rounds, version):
    ours = {question.name: {time: [] for time in TIMES} for question in rounds[0]}
    theirs = {name: {time: {formulation: [] for formulation in FORMULATIONS} for time in TIMES} for name in ours}
    totals = {name: [] for name in ours}
    for number, asked in enumerate(rounds):
        toise.wake()
        formulation = FORMULATIONS[number % len(FORMULATIONS)]
        for question in asked:
            cursor, last = walk_to_page(toise, question)
            after = beyond(question, last)
            for time_of in TIMES:
                total, ids, _, _, mine = toise.ask(question, cursor)
                other_total, other_ids, other = ask_postgres(connection, question, formulation, after)
                if question.kind != "words" and (total, ids) != (other_total, other_ids):
                    raise SystemExit(f"answers differ: {question.name}, {json.dumps(question.body, ensure_ascii=False)}\n"
                                     f"toise {total} {ids[:5]}\nPostgreSQL ({formulation}) {other_total} {other_ids[:5]}")
                if number >= options.warm_up:
                    ours[question.name][time_of].append(mine)
                    theirs[question.name][time_of][formulation].append(other)
            totals[question.name].append(total)
        print(f"round {number + 1} of {len(rounds)}: all answers equal", file=sys.stderr)
    report(options, connection, toise, rounds[0], ours, theirs, totals, version)


def figures_of(mine, theirs):
    """Medians and 95th percentiles of a query in milliseconds, and the faster formulation."""
    medians = {name: statistics.median(values) for name, values in theirs.items()}
    fastest = min(medians, key=medians.get)
    return {
        "toise_ms": {"p50": statistics.median(mine) * 1e3, "p95": percentile(mine, 0.95) * 1e3},
        "postgres_ms": {"p50": medians[fastest] * 1e3, "p95": percentile(theirs[fastest], 0.95) * 1e3},
        "formulation": fastest, "ratio": medians[fastest] / statistics.median(mine),
    }


def report(options, connection, toise, asked, ours, theirs, totals, version):
    figures = [
        {"question": question.name, "placed": question.placed, "matched": statistics.median(totals[question.name]),
         **{time_of: figures_of(ours[question.name][time_of], theirs[question.name][time_of]) for time_of in TIMES}}
        for question in asked
    ]
    rows = connection.execute("select count(*) from properties").fetchone()[0]
    print(f"{rows:,} properties, {options.rounds} rounds after {options.warm_up} of warm-up, {os.cpu_count()} cores, "
          f"{version[0].split(' on ')[0]}, PostGIS {version[1]}, {datetime.date.today()}, milliseconds")
    for time_of in TIMES:
        print(f"\n{'asked ' + time_of:56} {'matched':>9} | {'toise p50':>9} {'p95':>8} | {'PG p50':>9} {'p95':>9} {'':5} | ratio")
        for figure in figures:
            timed = figure[time_of]
            mine, other = timed["toise_ms"], timed["postgres_ms"]
            print(f"{figure['question']:56} {figure['matched']:9.0f} | {mine['p50']:9.2f} {mine['p95']:8.2f} | "
                  f"{other['p50']:9.2f} {other['p95']:9.2f} {timed['formulation']:5} | {timed['ratio']:6.1f}")
        ratios = [figure[time_of]["ratio"] for figure in figures]
        print(f"toise ahead on {sum(ratio > 1 for ratio in ratios)} of {len(ratios)}; smallest ratio {min(ratios):.1f}")
    now, peak = toise.resident_mib()
    print(f"start of the server: {toise.start_seconds:.1f} s; resident memory {now:.0f} MiB, peak {peak:.0f} MiB")
    record(options, figures, version)
    if options.json:
        options.json.write_text(json.dumps({"properties": rows, "rounds": options.rounds, "questions": figures}, indent=1))


# The number of properties in the documentation's figures.
USUAL_PROPERTIES = 2_000_000


def record(options, figures, version):
    """Writes the results for the table of docs/performance.md."""
    rows = []
    for figure in figures:
        told = []
        for time_of in TIMES:
            timed = figure[time_of]
            told += [
                results.figure(timed["toise_ms"]["p50"], "ms", name=f"{time_of}, toise"),
                results.figure(timed["toise_ms"]["p95"], "ms", "p95", name=f"{time_of}, toise"),
                results.figure(timed["postgres_ms"]["p50"], "ms", name=f"{time_of}, PostgreSQL"),
                results.figure(timed["postgres_ms"]["p95"], "ms", "p95", name=f"{time_of}, PostgreSQL"),
                results.figure(timed["ratio"], "times", name=f"{time_of}, ratio"),
            ]
        rows.append(results.row(figure["question"], *told))
    parameters = {"properties": options.properties, "rounds": options.rounds,
                  "postgresql": version[0].split(" on ")[0], "postgis": version[1]}
    command = f"benches/versus/postgres.sh {options.properties} --rounds {options.rounds}"
    name = results.published_name("postgres", options.properties, USUAL_PROPERTIES)
    results.write(name, command, rows, parameters)


if __name__ == "__main__":
    main()
