"""Narrow rows of SQL over HTTP and Flight SQL, beside DuckDB on the same Parquet files.

python sql.py --http URL --key KEY --data FOLDER [--flight GRPC_URL] [--pid SERVER_PID] [--limit ROWS]

Each way reads the same columns of `dvf` to Arrow, several times; the best time counts. With the process id of the server,
the most memory it held is printed too.
"""

import argparse
import glob
import io
import json
import threading
import time

import duckdb
import pyarrow.ipc
import requests

COLUMNS = "price_eur, surface_m2, main_rooms, lat, lon, transaction_date"
RUNS = 3

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--http", required=True)
parser.add_argument("--key", required=True)
parser.add_argument("--data", required=True)
parser.add_argument("--flight")
parser.add_argument("--pid", type=int)
parser.add_argument("--limit", type=int)
arguments = parser.parse_args()
limit = f" limit {arguments.limit}" if arguments.limit else ""
query = f"select {COLUMNS} from dvf{limit}"


def resident_mib():
    with open(f"/proc/{arguments.pid}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


class Memory:
    """The most memory of the server while this is open, in MiB, and what it held before."""

    def __enter__(self):
        self.most = 0.0
        self.before = resident_mib() if arguments.pid else 0.0
        self.stopped = threading.Event()
        self.watching = threading.Thread(target=self.watch)
        self.watching.start()
        return self

    def watch(self):
        while arguments.pid and not self.stopped.wait(0.02):
            self.most = max(self.most, resident_mib())

    def __exit__(self, *_):
        self.stopped.set()
        self.watching.join()


def over_http(compression):
    def read():
        body = {"query": query, "format": "arrow", "compression": compression}
        answer = requests.post(
            arguments.http + "/v2/protected/sql",
            headers={"x-api-key": arguments.key}, json=body, stream=True, timeout=600,
        )
        answer.raise_for_status()
        answer.raw.decode_content = False
        reader = pyarrow.ipc.open_stream(io.BufferedReader(answer.raw, 1 << 20))
        return sum(batch.num_rows for batch in reader)

    return read


def over_flight():
    import adbc_driver_flightsql.dbapi as flight

    options = {"adbc.flight.sql.authorization_header": f"Bearer {arguments.key}"}
    with flight.connect(arguments.flight, db_kwargs=options, autocommit=True) as connection:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return sum(batch.num_rows for batch in cursor.fetch_record_batch())


def by_duckdb():
    snapshot = json.load(open(f"{arguments.data}/lake/dvf/snapshot.json"))
    files = [f"{arguments.data}/lake/dvf/{part['file']}" for part in snapshot["parts"]]
    assert files and all(glob.glob(file) for file in files)
    rows = duckdb.sql(f"select {COLUMNS} from read_parquet({files}){limit}")
    return sum(batch.num_rows for batch in rows.to_arrow_reader(65_536))


ways = [("DuckDB", by_duckdb), ("HTTP, Arrow", over_http("none")), ("HTTP, Arrow zstd", over_http("zstd"))]
if arguments.flight:
    ways.append(("Flight SQL", over_flight))
results = {}
for name, read in ways:
    best, rows = float("inf"), 0
    with Memory() as memory:
        for _ in range(RUNS):
            started = time.perf_counter()
            rows = read()
            best = min(best, time.perf_counter() - started)
    results[name] = best
    grown = f"{memory.before:8.0f} -> {memory.most:6.0f} MiB" if arguments.pid else ""
    ratio = best / results["DuckDB"]
    print(f"{name:18} {rows:>10,} rows {best:8.3f} s {rows / best / 1e6:7.2f} M rows/s {ratio:6.2f} x DuckDB {grown}")
