"""Measures throughput, credits, idle connections and fairness of a running demo. Prints a line per measurement."""

import contextlib
import http.client
import json
import pathlib
import re
import resource
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402

SEARCH = "/v2/protected/opendata/dvf/search"
SMALLEST = {"filters": {"insee_code": "75111"}, "size": 1}
# Without a place, and sorted by a column by which the files are not sorted: every row is read.
HEAVY = {"filters": {"main_rooms": {"min": 2}, "surface_m2": {"min": 20}}, "sortBy": "surface_m2", "size": 100}
IDLE_CONNECTIONS = 1000
IDLE_SECONDS = 60
FAIRNESS_RUNS = 5
FAIRNESS_CALLS = 400
HEAVY_CLIENTS = 8
# The duration of a measurement in the documentation's figures.
USUAL_SECONDS = 10


class Demo:
    """A running demo in which searches of sales cost credits, with keys of a high rate."""

    def __init__(self, toise, data):
        self.toise, self.data = toise, data
        command = [toise, "--data", data, "--json", "demo", "--listen", "127.0.0.1:0"]
        command += ["--price", "API_OPENDATA_DVF_SEARCH=1"]
        # All connections come from one address.
        command += ["--set", f"server.connections_per_address_max={2 * IDLE_CONNECTIONS}"]
        log = open(pathlib.Path(data) / "log", "w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self.address = json.loads(self.process.stdout.readline())["address"]

    def key(self):
        made = self.command("keys", "create", "--scopes", "search")
        self.command("keys", "set-limit", made["key_id"], "--rate", "100000")
        return made["key"]

    def command(self, *arguments):
        done = subprocess.run([self.toise, "--data", self.data, "--json", *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(arguments)}: {done.stderr}")
        return json.loads(done.stdout)

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def ledger(self):
        """The number of rows of the ledger, and the sum of their credits."""
        ledger = sqlite3.connect(f"file:{self.data}/ledger.sqlite?mode=ro", uri=True)
        return ledger.execute("SELECT count(*), coalesce(sum(credits), 0) FROM ledger").fetchone()

    def connect(self):
        parts = urllib.parse.urlsplit(self.address)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)


def ask(connection, key, body):
    connection.request("POST", SEARCH, body, {"x-api-key": key, "content-type": "application/json"})
    response = connection.getresponse()
    response.read()
    if response.status != 200:
        raise RuntimeError(f"status {response.status}")
    return int(response.headers["x-credits"])


def wrk(url, seconds, connections, script=None):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += ["-s", script] if script else []
    output = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
    answered = int(re.search(r"(\d+) requests in", output)[1])
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    return rate, answered, int(refused[1]) if refused else 0


def wrk_script(key, body):
    return (
        'wrk.method = "POST"\n'
        f"wrk.body = {json.dumps(json.dumps(body))}\n"
        'wrk.headers["content-type"] = "application/json"\n'
        f'wrk.headers["x-api-key"] = "{key}"\n'
    )


def throughput(demo, seconds):
    plain, _, refused = wrk(demo.address + "/version", seconds, 64)
    print(f"GET /version                      {plain:9.0f} req/s, {refused} refused")
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(wrk_script(demo.key(), SMALLEST))
        script.flush()
        rows, credits = demo.ledger()
        rate, answered, refused = wrk(demo.address + SEARCH, seconds, 64, script.name)
        time.sleep(1)
        rows, credits = demo.ledger()[0] - rows, demo.ledger()[1] - credits
    print(f"POST dvf/search, smallest, priced {rate:9.0f} req/s, {refused} refused")
    # wrk does not read the responses of its last calls, so these cost credits and are not counted by wrk.
    print(f"  answers read by wrk {answered}, ledger rows {rows}, credits {credits}; the rest were in flight at the end")
    return [results.row("answers to `/version`", results.figure(plain, "a second")),
            results.row("priced searches, each answer in the ledger once", results.figure(rate, "a second"))]


def idle_connections(demo):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    before = demo.resident_mib()
    parts = urllib.parse.urlsplit(demo.address)
    request = f"GET /version HTTP/1.1\r\nhost: {parts.hostname}\r\n\r\n".encode()
    held = [socket.create_connection((parts.hostname, parts.port), 30) for _ in range(IDLE_CONNECTIONS)]

    def round_trip():
        failed = 0
        for connection in held:
            try:
                connection.sendall(request)
                failed += not connection.recv(4096).startswith(b"HTTP/1.1 200")
            except OSError:
                failed += 1
        return failed

    failed = round_trip()
    during = demo.resident_mib()
    time.sleep(IDLE_SECONDS)
    failed += round_trip()
    after = demo.resident_mib()
    for connection in held:
        connection.close()
    print(f"{IDLE_CONNECTIONS} idle connections, {IDLE_SECONDS} s: {failed} failed;"
          f" memory {before:.0f} MiB before, {during:.0f} with them, {after:.0f} a minute later")
    return [results.row(f"memory of {IDLE_CONNECTIONS:,} idle connections, held for a minute",
                        results.figure(after - before, "MiB"))]


def p99(demo, key):
    connection = demo.connect()
    body = json.dumps(SMALLEST)
    taken = []
    for _ in range(FAIRNESS_CALLS):
        start = time.perf_counter()
        ask(connection, key, body)
        taken.append((time.perf_counter() - start) * 1000)
        time.sleep(0.002)
    return statistics.quantiles(taken, n=100)[98]


def fairness(demo):
    modest, greedy = demo.key(), demo.key()
    alone, beside = [], []
    for _ in range(FAIRNESS_RUNS):
        alone.append(p99(demo, modest))
        with pressed(demo, greedy):
            beside.append(p99(demo, modest))
    alone, beside = statistics.median(alone), statistics.median(beside)
    bound = 1.5 * alone + 5
    print(f"p99 of one client {alone:.2f} ms alone, {beside:.2f} ms beside {HEAVY_CLIENTS} heavy ones of another key"
          f" (bound {bound:.2f} ms, median of {FAIRNESS_RUNS} runs)")
    return [results.row("requests of a modest client, alone", results.figure(alone, "ms", "p99")),
            results.row("the same while eight connections send heavy queries without pause",
                        results.figure(beside, "ms", "p99"))]


@contextlib.contextmanager
def pressed(demo, key):
    """Sends heavy requests without pauses, from another process: in this one, they would wait for its lock."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(wrk_script(key, HEAVY))
        script.flush()
        command = ["wrk", "-t1", f"-c{HEAVY_CLIENTS}", "-d600s", "-s", script.name, demo.address + SEARCH]
        load = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            yield
        finally:
            load.terminate()
            load.wait()


def main(toise, seconds):
    with tempfile.TemporaryDirectory() as data:
        demo = Demo(toise, data)
        try:
            rows = throughput(demo, int(seconds)) + fairness(demo) + idle_connections(demo)
            name = results.published_name("demo-load", int(seconds), USUAL_SECONDS)
            results.write(name, f"benches/load/run.sh {seconds}", rows, {"seconds": int(seconds)})
        finally:
            demo.process.terminate()
            demo.process.wait()


main(*sys.argv[1:3])
