"""Times imports of invented sales next to a server, without and with alerts on sales. See sales_alerts.sh.

Two editions are imported one after the other. The first has no work of alerts beside it: the server compares a version
with the alerts only after its publication. The second is imported while the server compares the first one and sends the
notifications, so it shows what alerts can cost an import.
"""

import collections
import http.server
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import results  # noqa: E402
from service import Service, command, percentile  # noqa: E402

SEARCH = "/v2/protected/opendata/dvf/search"
# Sales that are there before an import is timed.
SALES_BEFORE = 20_000
# Alerts in a call: the endpoint's maximum.
CALL = 100
# One alert in this number is on a department, the others are on a commune.
DEPARTMENT_IN = 10
# Seconds without a notification after which they are counted, and seconds after which missing ones are lost: the server
# repeats a delivery that failed after a pause.
QUIET_SECONDS = 10
LOST_SECONDS = 120
# The sizes in the documentation's figures.
USUAL = (1_000_000, 10_000)


class Receiver(http.server.ThreadingHTTPServer):
    """Counts how often each alert was notified of each sale."""

    daemon_threads = True
    # The server opens many connections at once.
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.told, self.deliveries, self.lock = collections.Counter(), set(), threading.Lock()
        self.latest = time.perf_counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Prints nothing when the server drops a connection that it no longer needs."""

    def take(self, delivery, body):
        entries = json.loads(body)["data"]["created"]
        with self.lock:
            # A delivery may arrive twice, under the same identifier.
            if delivery not in self.deliveries:
                self.deliveries.add(delivery)
                self.latest = time.perf_counter()
                self.told.update((entry["alert_id"], sale["id"]) for entry in entries for sale in entry["dvf"])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.take(self.headers["webhook-id"], body)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Prints nothing for each request."""


def filters_of(number, sales):
    """The filters of an alert: homes like one that was sold, at about its price, in its commune or department."""
    chance = random.Random(number)
    sale = chance.choice(sales)
    place = "departement_code" if number % DEPARTMENT_IN == 0 else "insee_code"
    least = round(sale["price_eur"] * chance.uniform(0.9, 1))
    return {
        place: sale[place], "property_type": [sale["property_type"]],
        "price_eur": {"min": least, "max": least + 20_000}, "surface_m2": {"min": round(sale["surface_m2"] * 0.9)},
    }


def create(service, filters, receiver):
    for first in range(0, len(filters), CALL):
        bodies = [
            {"search_query": {"filters": one}, "match": ["ALERT_MATCH_CREATED"], "search_name": "bench",
             "webhook_url": f"http://127.0.0.1:{receiver.server_port}/"} for one in filters[first:first + CALL]
        ]
        answer, _ = service.request("PUT", f"{SEARCH}/alerts/many", json.dumps({"alerts": bodies}))
        refused = [one for one in answer["data"]["alerts"] if "failed" in one]
        if refused:
            sys.exit(f"an alert was refused: {refused[0]}")


def found(service, filters):
    """The number of sales that the searches of all alerts find."""
    service.wake()
    bodies = (json.dumps({"filters": one, "size": 1}) for one in filters)
    return sum(service.request("POST", SEARCH, body)[0]["total"] for body in bodies)


def check(receiver, expected):
    """Waits for notifications that are repeated, and checks that each came once."""
    started = time.perf_counter()
    while len(receiver.told) < expected and time.perf_counter() - started < LOST_SECONDS:
        time.sleep(0.5)
    if len(receiver.told) != expected or max(receiver.told.values(), default=1) > 1:
        sys.exit(f"{receiver.told.total():,} notifications came of {len(receiver.told):,} matches, not {expected:,}")


def run(toise, files, alerts):
    """Seconds of both imports, seconds after the second until all notifications came, and their number."""
    with tempfile.TemporaryDirectory() as data:
        command(toise, data, "import", "dvf", files[0])
        sales = json.loads(command(
            toise, data, "sql", "select departement_code, insee_code, property_type, price_eur, surface_m2 from dvf "
            "where property_type in ('Appartement', 'Maison') and surface_m2 > 0 and price_eur > 0 and insee_code is not null "
            "order by id")[0])
        filters = [filters_of(number, sales) for number in range(alerts)]
        service, receiver = Service(toise, data, "--allow-webhook-hosts", "127.0.0.1"), Receiver()
        try:
            service.wake()
            create(service, filters, receiver)
            before = found(service, filters)
            taken = [command(toise, data, "import", "dvf", file)[1] for file in files[1:]]
            ended = time.perf_counter()
            while alerts and time.perf_counter() < max(ended, receiver.latest) + QUIET_SECONDS:
                time.sleep(0.5)
            expected = found(service, filters) - before
            check(receiver, expected)
            return *taken, max(0, receiver.latest - ended), expected
        finally:
            service.stop()
            receiver.shutdown()


def main(toise, *sizes):
    sales, alerts, rounds = map(int, sizes)
    taken = {0: [], alerts: []}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for seed, count in enumerate([SALES_BEFORE, sales, sales]):
            made = f"{folder}/{seed}"
            command(toise, folder, "synth", "--dvf", str(count), "--seed", str(seed + 1), "--output", made)
            files.append(f"{made}/dvf-synth.csv")
        for number in range(rounds):
            for count, runs in taken.items():
                runs.append(run(toise, files, count))
                print(f"round {number + 1}, {count:,} alerts: {runs[-1]}", file=sys.stderr)
    columns = {count: [percentile(column, 0.5) for column in zip(*runs)] for count, runs in taken.items()}
    rows = []
    for place, name in enumerate(["import of sales", "the next import, while the first one is compared with the alerts"]):
        without, beside = columns[0][place], columns[alerts][place]
        rows.append(results.row(
            name, results.figure(without, "s", name="without"), results.figure(beside, "s", name="with"),
            results.figure(beside / without, "times", name="ratio")))
    _, _, seconds, notified = columns[alerts]
    rows.append(results.row(f"{notified:,} notifications received, after the second import",
                            results.figure(seconds, "s", name="with")))
    for row in rows:
        print(row["id"], *(f"{one['name']} {one['value']:.2f} {one['unit']}" for one in row["figures"]))
    name = "sales-alerts" if (sales, alerts) == USUAL else f"sales-alerts-{sales}-{alerts}"
    parameters = {"sales": sales, "alerts": alerts, "rounds": rounds}
    results.write(name, f"benches/load/sales_alerts.sh {sales} {alerts} {rounds}", rows, parameters)


main(*sys.argv[1:5])
