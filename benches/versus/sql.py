"""Compares SQL over HTTP and Flight SQL with DuckDB on the same Parquet files, for narrow rows.

python sql.py --http URL --key KEY --modest-key KEY --data FOLDER [--flight GRPC_URL] [--pid SERVER_PID] [--limit ROWS]

Each way reads the same columns of `dvf` to Arrow several times; the best time counts. With the process id of the
server, the script also prints the CPU time of both sides and the server's peak memory. Then a modest client searches
sales at fixed times, alone and while another process runs heavy queries without pauses. A search is timed from the
moment at which it was due.
"""

import argparse
import glob
import io
import multiprocessing
import os
import resource
import threading
import time

import duckdb
import pyarrow.ipc
import requests

COLUMNS = "price_eur, surface_m2, main_rooms, lat, lon, transaction_date"
RUNS = 3
# The queries of the heavy client, in turn: groups, a join of a table with itself, a sort, a long result.
HEAVY = [
    "select insee_code, property_type, median(price_eur), count(distinct address) from dvf group by 1, 2",
    "select count(*) from dvf a join dvf b on a.insee_code = b.insee_code and a.price_eur = b.price_eur and a.id < b.id",
    f"select {COLUMNS} from dvf order by price_eur, lat limit 1000000",
    f"select {COLUMNS} from dvf",
]
SEARCHES_PER_SECOND = 50
SEARCH_SECONDS = 20

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--http", required=True)
parser.add_argument("--key", required=True)
parser.add_argument("--modest-key", required=True)
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
    """The peak memory of the server in MiB while this context is open, and its memory before."""

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


def message(field, content):
    """A length-delimited field of a protocol buffer."""
    length, digits = len(content), bytearray()
    while length > 127:
        digits.append(length & 127 | 128)
        length >>= 7
    return bytes([field << 3 | 2, *digits, length]) + content


def over_arrow_flight():
    """The same calls by Arrow's client, which is written in C++; the ADBC driver is written in Go."""
    from pyarrow import flight

    kind = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
    command = message(1, kind) + message(2, message(1, query.encode()))
    options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {arguments.key}".encode())])
    with flight.connect(arguments.flight.replace("grpc://", "grpc+tcp://")) as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command), options)
        return sum(chunk.data.num_rows for chunk in client.do_get(info.endpoints[0].ticket, options))


def cpu_seconds():
    """Returns the CPU times of this process and of the server."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    if not arguments.pid:
        return own.ru_utime + own.ru_stime, 0.0
    with open(f"/proc/{arguments.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return own.ru_utime + own.ru_stime, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def by_duckdb():
    files = glob.glob(f"{arguments.data}/lake/dvf/*.parquet")
    assert files
    rows = duckdb.sql(f"select {COLUMNS} from read_parquet({files}){limit}")
    return sum(batch.num_rows for batch in rows.to_arrow_reader(65_536))


ways = [("DuckDB", by_duckdb), ("HTTP, Arrow", over_http("none")), ("HTTP, Arrow zstd", over_http("zstd"))]
if arguments.flight:
    ways += [("Flight SQL, ADBC", over_flight), ("Flight SQL, Arrow", over_arrow_flight)]
results = {}
for name, read in ways:
    best, rows, (client, server) = float("inf"), 0, cpu_seconds()
    with Memory() as memory:
        for _ in range(RUNS):
            started = time.perf_counter()
            rows = read()
            best = min(best, time.perf_counter() - started)
    results[name] = best
    client, server = ((after - before) / RUNS for after, before in zip(cpu_seconds(), (client, server)))
    grown = f"{memory.before:8.0f} -> {memory.most:6.0f} MiB" if arguments.pid else ""
    ratio = best / results["DuckDB"]
    print(f"{name:18} {rows:>10,} rows {best:8.3f} s {rows / best / 1e6:7.2f} M rows/s {ratio:6.2f} x DuckDB "
          f"CPU {client:5.2f} s client {server:5.2f} s server {grown}")


def ask_heavily(until):
    """Sends one heavy query after another until a time, and returns the number of responses."""
    answered = 0
    while time.time() < until:
        body = {"query": HEAVY[answered % len(HEAVY)], "format": "arrow"}
        headers = {"x-api-key": arguments.key}
        with requests.post(arguments.http + "/v2/protected/sql", headers=headers, json=body, stream=True) as answer:
            # A query that reaches a limit of the server ends with an error; this counts as a response.
            for _ in answer.iter_content(1 << 20):
                pass
        answered += 1
    return answered


def search_times():
    """Sends searches at fixed times; returns their times in milliseconds."""
    session = requests.Session()
    session.headers["x-api-key"] = arguments.modest_key
    taken, begun = [], time.perf_counter()
    for nth in range(SEARCHES_PER_SECOND * SEARCH_SECONDS):
        due = begun + nth / SEARCHES_PER_SECOND
        time.sleep(max(0.0, due - time.perf_counter()))
        body = {"filters": {"insee_code": f"7510{nth % 9 + 1}", "surface_m2": {"min": 20 + nth % 40}}, "size": 20}
        answer = session.post(arguments.http + "/v2/protected/opendata/dvf/search", json=body, timeout=60)
        answer.raise_for_status()
        taken.append((time.perf_counter() - due) * 1e3)
    return sorted(taken)


def shown(taken):
    return f"p50 {taken[len(taken) // 2]:6.2f} ms, p99 {taken[len(taken) * 99 // 100]:6.2f} ms"


search_times()
alone = search_times()
with multiprocessing.Pool(1) as pool:
    heavy = pool.apply_async(ask_heavily, (time.time() + SEARCH_SECONDS,))
    beside = search_times()
    answered = heavy.get()
print(f"a search alone                 {shown(alone)}")
print(f"a search beside heavy queries  {shown(beside)} ({answered} answered meanwhile)")
