"""Runs addok in a separate folder: redis, documents made from the lake's rows, the library in this process, and its
server.

The documents are like those that the publisher of the national address base makes for addok: one per street with its
house numbers, and one per commune. The configuration is that of a service in production.
"""

import collections
import csv
import gzip
import json
import math
import os
import pathlib
import socket
import subprocess
import sys
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS_MAX = 60
CONFIGURATION = """
REDIS = {{"host": "127.0.0.1", "port": {port}, "unix_socket_path": None, "indexes": {{"db": 0}}, "documents": {{"db": 1}}}}
EXTRA_FIELDS = [{{"key": "citycode"}}, {{"key": "oldcitycode"}}, {{"key": "oldcity"}}]
FILTERS = ["type", "citycode", "postcode"]
QUERY_PROCESSORS_PYPATHS = ["addok.helpers.text.check_query_length", "addok_france.extract_address",
    "addok_france.clean_query", "addok_france.remove_leading_zeros"]
SEARCH_RESULT_PROCESSORS_PYPATHS = ["addok.helpers.results.match_housenumber", "addok_france.make_labels",
    "addok.helpers.results.score_by_importance", "addok.helpers.results.score_by_autocomplete_distance",
    "addok.helpers.results.score_by_ngram_distance", "addok.helpers.results.score_by_geo_distance"]
PROCESSORS_PYPATHS = ["addok.helpers.text.tokenize", "addok.helpers.text.normalize", "addok_france.glue_ordinal",
    "addok_france.fold_ordinal", "addok_france.flag_housenumber", "addok.helpers.text.synonymize",
    "addok_fr.phonemicize"]
LOG_DIR = {logs!r}
MIN_SCORE = 0.3
"""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(port, process):
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{process.args[0]} does not listen after {START_SECONDS_MAX} s")


def importance(population, numbers):
    return round((math.log(1 + population / 3) + math.log(1 + numbers)) / 20, 5)


def communes():
    """Code, name, population, postal codes and centre of every current commune and arrondissement."""
    with gzip.open(ROOT / "data" / "places.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["kind"] in "CA" and row["lat"]:
                yield row


def documents(data, left_out):
    """Yields streets with their house numbers, then communes."""
    known = {row["code"]: row for row in communes()}
    files = f"{data}/lake/ban/*.parquet"
    rows = duckdb.execute(
        "select id, number, coalesce(suffix, ''), name, coalesce(postal_code, ''), insee_code, city, "
        "coalesce(former_insee_code, ''), coalesce(former_city, ''), lat, lon, departement_code "
        f"from read_parquet('{files}') where number is not null and departement_code not in "
        f"(select unnest(?::varchar[]))", [left_out]).fetchall()
    streets = collections.defaultdict(list)
    for row in rows:
        street = "_".join(row[0].split("_")[:2])
        streets[street, row[3], row[5]].append(row)
    for (street, name, code), rows in streets.items():
        first = rows[0]
        numbers = {f"{row[1]}{row[2]}": {"id": row[0], "lat": row[9], "lon": row[10]} for row in rows}
        population = int(known[code]["population"] or 0) if code in known else 0
        document = {
            "id": street, "_id": f"{street}|{name}", "type": "street", "name": name, "postcode": first[4],
            "citycode": [part for part in (code, first[7]) if part], "city": [part for part in (first[6], first[8]) if part],
            "context": first[11], "lat": sum(row[9] for row in rows) / len(rows),
            "lon": sum(row[10] for row in rows) / len(rows), "importance": importance(population, len(numbers)),
            "housenumbers": numbers,
        }
        if first[7]:
            document |= {"oldcitycode": first[7], "oldcity": first[8]}
        yield document
    for row in known.values():
        code, population = row["code"], int(row["population"] or 0)
        yield {
            "id": code, "_id": code, "type": "municipality", "name": row["name"], "city": row["name"],
            "postcode": [part for part in row["postal_codes"].split("|") if part], "citycode": code,
            "context": code[:3] if code.startswith("97") else code[:2], "lat": float(row["lat"]),
            "lon": float(row["lon"]), "population": population, "importance": importance(population, 0),
        }


class Addok:
    """addok with its documents loaded; `stop` ends the processes that were started."""

    def __init__(self, options, left_out):
        self.folder = options.work
        self.folder.mkdir(parents=True, exist_ok=True)
        self.processes = []
        self.port = free_port()
        self.run(options.redis, "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                 "--daemonize", "no", "--dir", self.folder)
        wait_for(self.port, self.processes[-1])
        configuration = self.folder / "addok.conf"
        configuration.write_text(CONFIGURATION.format(port=self.port, logs=str(self.folder)))
        self.environment = {**os.environ, "ADDOK_CONFIG_MODULE": str(configuration)}
        os.environ["ADDOK_CONFIG_MODULE"] = str(configuration)
        try:
            self.fill(options.data, left_out)
            self.load_library()
        except BaseException:
            self.stop()
            raise

    def run(self, *command):
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=getattr(self, "environment", None), cwd=self.folder)
        self.processes.append(process)

    def fill(self, data, left_out):
        path = self.folder / "documents.ndjson"
        count = numbers = 0
        with path.open("w", encoding="utf-8") as file:
            for document in documents(data, left_out):
                file.write(json.dumps(document, ensure_ascii=False) + "\n")
                count += 1
                numbers += len(document.get("housenumbers", ()))
        print(f"filling addok: {count:,} documents, {numbers:,} house numbers", file=sys.stderr)
        started = time.perf_counter()
        program = pathlib.Path(sys.executable).parent / "addok"
        for command in (["batch", str(path)], ["ngrams"]):
            subprocess.run([str(program), *command], check=True, stdout=subprocess.DEVNULL, env=self.environment)
        self.fill_seconds = time.perf_counter() - started
        self.documents, self.numbers = count, numbers
        path.unlink()

    def load_library(self):
        """Loads addok into this process, with its output on standard error."""
        printed, sys.stdout = sys.stdout, sys.stderr
        try:
            from addok.config import config
            config.load()
            from addok.core import reverse, search
        finally:
            sys.stdout = printed
        self._search, self._reverse = search, reverse

    def search(self, text, limit=1, autocomplete=False, **filters):
        """Features, best first; none if addok fails."""
        try:
            return [result.format() for result in self._search(text, limit=limit, autocomplete=autocomplete, **filters)]
        except Exception:  # addok raises on some queries, such as long ones; its server then responds with 400.
            return []

    def reverse(self, lat, lon):
        return [result.format() for result in self._reverse(lat, lon, limit=1)]

    def serve(self, workers):
        """Starts its server; returns the address."""
        port = free_port()
        gunicorn = pathlib.Path(sys.executable).parent / "gunicorn"
        self.run(gunicorn, "addok.http.wsgi:application", "--bind", f"127.0.0.1:{port}", "--workers", workers,
                 "--timeout", 600)
        wait_for(port, self.processes[-1])
        return f"127.0.0.1:{port}"

    def memory_mib(self):
        """The resident memory of redis."""
        status = pathlib.Path(f"/proc/{self.processes[0].pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
