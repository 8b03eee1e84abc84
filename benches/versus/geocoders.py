"""Compares toise with addok on the same addresses and queries, in turn.

Each round draws new addresses and alternates between both. First, both run in process on one core: addresses as
officially written (one result), prefixes of an address as it is typed (five results), and positions near an address.
Then four clients send requests over HTTP, and a file is sent. The times of toise in process are those of `toise-lab
geocode`, which draws the addresses and writes the queries. The same queries go to addok through its library, without
its server.

Last, the results of both are judged on the same draw, for every class of errors. With --leave-out, the draw includes
addresses of departments that neither has; the score limit is then the one that keeps 99 % of the right results of each.
"""

import argparse
import collections
import csv
import datetime
import http.client
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata
import urllib.parse

import addok_side
sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import Service, percentile  # noqa: E402

CLIENTS = 4
# Seconds of requests over HTTP to each of both, per round.
HTTP_SECONDS = 4
# The same steps of typing and the same shift of positions as in `toise-lab geocode`.
TYPED_FIRST, TYPED_STEP, BESIDE = 5, 3, 3e-4
KEPT = 0.99
BOUNDARY = "7d1f0c2a9b"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True, help="the toise executable")
    parser.add_argument("--toise-lab", required=True, help="the toise-lab executable")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="data folder with the table ban")
    parser.add_argument("--redis", required=True, help="redis-server")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="folder for addok")
    parser.add_argument("--leave-out", default="", help="departments that neither is given, to ask for absent addresses")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sample", type=int, default=300, help="addresses of a round")
    parser.add_argument("--judged", type=int, default=600, help="addresses that both are judged on")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="workers of addok's server")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    return parser.parse_args()


def evaluated(options, sample, seed, path):
    """Returns toise's report on a draw, and writes the queries to a file."""
    command = [options.toise_lab, "geocode", "--json", "--data", str(options.data), "--sample", str(sample),
               "--without", str(sample), "--seed", str(seed), "--write-cases", str(path), "--cases", str(path)]
    if options.leave_out:
        command += ["--leave-out", options.leave_out]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout), list(csv.DictReader(path.open(newline="", encoding="utf-8")))


def timed(queries, ask):
    """Returns the seconds of each query."""
    seconds = []
    for query in queries:
        started = time.perf_counter()
        ask(query)
        seconds.append(time.perf_counter() - started)
    return seconds


def beside(case, rng):
    lat, lon, _ = (float(part) for part in case["expected_coordinate"].split(","))
    return lat + rng.uniform(-BESIDE, BESIDE), lon + rng.uniform(-BESIDE, BESIDE)


# --- HTTP, by wrk: a client in Python would take more of the shared cores than the server that it measures.

LUA = """
local paths = {}
for line in io.lines(os.getenv("PATHS")) do paths[#paths + 1] = line end
local next = 0
request = function()
  next = next % #paths + 1
  return wrk.format("GET", paths[next])
end
done = function(summary, latency)
  io.write(string.format("%d %d %f %f %d\\n", summary.requests, summary.duration, latency:percentile(50),
                         latency:percentile(99), summary.errors.status + summary.errors.read + summary.errors.timeout))
end
"""


def over_http(address, path, headers, queries, folder):
    """Responses a second, and the median and 99th percentile in milliseconds; `None` if a request fails."""
    paths = folder / "paths.txt"
    paths.write_text("\n".join(
        f"{path}?{urllib.parse.urlencode({'q': query, 'limit': 1, 'autocomplete': 0})}" for query in queries))
    script = folder / "queries.lua"
    script.write_text(LUA)
    command = ["wrk", "-t", "1", "-c", str(CLIENTS), "-d", f"{HTTP_SECONDS}s", "-s", str(script)]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    done = subprocess.run([*command, f"http://{address}"], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PATHS": str(paths)})
    requests, duration_us, median_us, p99_us, failed = map(float, done.stdout.strip().splitlines()[-1].split())
    if failed or not requests:
        return None
    return requests / duration_us * 1e6, median_us / 1e3, p99_us / 1e3


def send_file(address, path, header, queries):
    """Rows a second of a file sent as a form; `None` if it is not accepted."""
    lines = "\r\n".join(["address", *('"' + query.replace('"', '""') + '"' for query in queries)])
    parts = [("data", 'filename="addresses.csv"\r\ncontent-type: text/csv', lines), ("columns", "", "address"),
             ("delimiter", "", ",")]
    body = "".join(
        f"--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"{'; ' + more if more else ''}\r\n\r\n{text}\r\n"
        for name, more, text in parts) + f"--{BOUNDARY}--\r\n"
    channel = http.client.HTTPConnection(address, timeout=600)
    started = time.perf_counter()
    channel.request("POST", path, body.encode(),
                    {**header, "content-type": f"multipart/form-data; boundary={BOUNDARY}"})
    response = channel.getresponse()
    answer = response.read()
    elapsed = time.perf_counter() - started
    channel.close()
    rows = list(csv.reader(answer.decode("utf-8-sig", "replace").splitlines())) if response.status == 200 else []
    return len(queries) / elapsed if len(rows) == len(queries) + 1 else None


# --- judging

def folded(text):
    text = (text or "").replace("œ", "oe").replace("Œ", "Oe").lower()
    plain = "".join(sign for sign in unicodedata.normalize("NFD", text) if unicodedata.category(sign) != "Mn")
    return " ".join(re.findall(r"[a-z]+|[0-9]+", plain))


def metres(lat, lon, other_lat, other_lon):
    degree = math.pi / 180
    east = (other_lon - lon) * degree * math.cos((lat + other_lat) / 2 * degree)
    return 6_371_008.8 * math.hypot(east, (other_lat - lat) * degree)


def is_right(case, feature):
    properties, (lon, lat) = feature["properties"], feature["geometry"]["coordinates"]
    if case["expected_type"] == "housenumber":
        expected_lat, expected_lon, within = (float(part) for part in case["expected_coordinate"].split(","))
        return properties["type"] == "housenumber" and metres(expected_lat, expected_lon, lat, lon) <= within
    return (properties["type"] != "housenumber" and properties.get("citycode") == case["expected_citycode"]
            and folded(properties.get("name")) == folded(case["expected_street"]))


def judge(addok, cases):
    """Right results and queries of each class; share of absent addresses whose result is another town."""
    classes = collections.defaultdict(lambda: [0, 0])
    scores, absent = [], []
    for case in cases:
        filters = {"citycode": case["citycode"]} if case["citycode"] else {}
        found = addok.search(case["query"], 5, case["autocomplete"] == "1", **filters)
        first = found[0] if found else None
        score = first["properties"]["score"] if first else 0.0
        if case["class"] == "absent":
            is_elsewhere = first is not None and first["properties"].get("citycode") != case["expected_citycode"]
            absent.append((score, is_elsewhere))
            continue
        right = first is not None and is_right(case, first)
        classes[case["class"]][0] += 1
        classes[case["class"]][1] += right
        if right:
            scores.append(score)
    scores.sort()
    threshold = scores[int((1 - KEPT) * len(scores))] if scores else 0.0
    elsewhere = sum(other and score >= threshold for score, other in absent)
    return {name: right / n for name, (n, right) in classes.items()}, (
        elsewhere / len(absent) if absent else None), threshold


# --- rounds

def main():
    options = arguments()
    left_out = [code for code in options.leave_out.split(",") if code]
    addok = addok_side.Addok(options, left_out)
    toise = None
    try:
        address = addok.serve(options.workers)
        toise = Service(options.toise, options.data)
        measured = collections.defaultdict(lambda: {"toise": [], "addok": []})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "questions.csv"
            for number in range(options.rounds):
                one_round(options, addok, address, toise, path, number, measured)
                print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
            report, cases = evaluated(options, options.judged, options.seed, path)
        judged = judge(addok, cases)
        tell(options, addok, toise, measured, report, judged)
    finally:
        if toise:
            toise.stop()
        addok.stop()


def one_round(options, addok, address, toise, path, number, measured):
    rng = random.Random(options.seed + number)
    report, cases = evaluated(options, options.sample, options.seed + 1 + number, path)
    official = [case for case in cases if case["class"] == "clean"]
    queries = [case["query"] for case in official]
    typed = [query[:end] for query in queries for end in range(TYPED_FIRST, len(query), TYPED_STEP)]
    typed = rng.sample(typed, min(len(typed), 2 * len(queries)))
    ours = {speed["kind"]: speed for speed in report["speed"]}
    theirs = {
        "forward, officially written": timed(queries, addok.search),
        "typing": timed(typed, lambda query: addok.search(query, 5, True)),
        "reverse": timed([beside(case, rng) for case in official], lambda at: addok.reverse(*at)),
    }
    for kind, seconds in theirs.items():
        speed = ours[kind]
        told = {"per_second": speed["per_second"], "p50_ms": speed["p50_us"] / 1e3, "p99_ms": speed["p99_us"] / 1e3}
        measured[kind]["toise"].append(told)
        measured[kind]["addok"].append({
            "per_second": len(seconds) / sum(seconds), "p50_ms": statistics.median(seconds) * 1e3,
            "p99_ms": percentile(seconds, 0.99) * 1e3,
        })
    key = {"x-api-key": toise.headers["x-api-key"]}
    sides = [
        ("toise", toise.address, "/geocoding/search", key, 10 * queries),
        ("addok", address, "/search/", {}, queries),
    ]
    for side, at, where, headers, asked in sides if number % 2 else sides[::-1]:
        told = over_http(at, where, headers, queries, path.parent)
        if told:
            figures = dict(zip(("per_second", "p50_ms", "p99_ms"), told))
            measured[f"HTTP, {CLIENTS} clients"][side].append(figures)
        rows = send_file(at, where.rstrip("/") + "/csv", headers, asked)
        if rows:
            measured["rows of a CSV file over HTTP"][side].append({"per_second": rows})


def middle(figures, key):
    values = [figure[key] for figure in figures if key in figure]
    return statistics.median(values) if values else None


def tell(options, addok, toise, measured, report, judged):
    classes, elsewhere, threshold = judged
    print(f"{addok.documents:,} documents with {addok.numbers:,} house numbers, {options.rounds} rounds of "
          f"{options.sample} addresses, {os.cpu_count()} cores, {datetime.date.today()}; medians of the rounds")
    print(f"\n{'':32} | {'toise/s':>9} {'p50 ms':>8} {'p99':>7} | {'addok/s':>9} {'p50 ms':>8} {'p99':>7} | "
          f"{'ratio':>5} {'of p50':>6}")
    rows = []
    shown = lambda value, form: "–" if value is None else format(value, form)  # noqa: E731
    for kind, sides in measured.items():
        ours, theirs = ({key: middle(sides[side], key) for key in ("per_second", "p50_ms", "p99_ms")}
                        for side in ("toise", "addok"))
        both = ours["per_second"] and theirs["per_second"]
        ratio = ours["per_second"] / theirs["per_second"] if both else None
        # Other work on the machine has the least influence on medians.
        medians = theirs["p50_ms"] / ours["p50_ms"] if both and ours["p50_ms"] else None
        print(f"{kind:32} | {shown(ours['per_second'], '9.0f'):>9} {shown(ours['p50_ms'], '8.3f'):>8} "
              f"{shown(ours['p99_ms'], '7.3f'):>7} | {shown(theirs['per_second'], '9.0f'):>9} "
              f"{shown(theirs['p50_ms'], '8.2f'):>8} {shown(theirs['p99_ms'], '7.1f'):>7} | "
              f"{shown(ratio, '5.1f'):>5} {shown(medians, '6.1f'):>6}")
        told = [results.figure(side[key], unit, name=f"{name}, {key}") for name, side in (("toise", ours), ("addok", theirs))
                for key, unit in (("per_second", "/s"), ("p50_ms", "ms"), ("p99_ms", "ms")) if side[key] is not None]
        rows.append(results.row(kind, *told, *([results.figure(ratio, "times", name="ratio")] if ratio else [])))
    print(f"\n{'right first results, %':32} | {'n':>6} | {'toise':>7} | {'addok':>7} |")
    behind = []
    for one in report["classes"]:
        mine, other = 100 * one["right"], 100 * classes.get(one["class"], math.nan)
        # A difference of one query is due to chance.
        if other - mine > 100.5 / one["n"]:
            behind.append(one["class"])
        print(f"{one['class']:32} | {one['n']:6} | {mine:7.2f} | {other:7.2f} | {'behind' if other > mine else ''}")
        rows.append(results.row(f"right: {one['class']}", results.figure(mine, "%", "share", "toise"),
                                results.figure(other, "%", "share", "addok")))
    if elsewhere is not None:
        absent = [one for one in report["absent"] if one["withheld"] == "departments" and one["written"] == "every class"]
        mine = 100 * absent[0]["other_town"]
        print(f"{'absent: another town accepted':32} | {absent[0]['n']:6} | {mine:7.2f} | {100 * elsewhere:7.2f} |")
        rows.append(results.row("absent: another town accepted", results.figure(mine, "%", "share", "toise"),
                                results.figure(100 * elsewhere, "%", "share", "addok")))
        print(f"scores that keep {KEPT:.0%} of the right answers: toise {report['threshold']:.3f}, addok {threshold:.3f}")
    print(f"behind addok by more than a query: {', '.join(behind) or 'no class'}")
    now, peak = toise.resident_mib()
    print(f"resident memory: toise {now:.0f} MiB (peak {peak:.0f}), redis of addok {addok.memory_mib():.0f} MiB; "
          f"addok was filled in {addok.fill_seconds:.0f} s")
    parameters = {"house_numbers": addok.numbers, "rounds": options.rounds, "sample": options.sample,
                  "judged": options.judged, "leave_out": options.leave_out}
    results.write("geocode", "benches/versus/addok.sh DATA" + (f" --leave-out {options.leave_out}" if options.leave_out else ""),
                  rows, parameters)
    if options.json:
        options.json.write_text(json.dumps({"speed": measured, "classes": classes, "absent": elsewhere}, indent=1))


if __name__ == "__main__":
    main()
