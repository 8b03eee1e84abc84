"""Times portfolios, and reports of a home, on invented sales. See portfolio.sh."""

import json
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import results  # noqa: E402
from homes import HOMES_SQL  # noqa: E402
from service import Service, command, percentile  # noqa: E402

PATH = "/v2/protected/estimate/property/lite"
# Estimates a second of the client next to a valuation, and the seconds that it asks alone.
RATE = 50
ALONE_SECONDS = 20
REPORTS = 60
REPORTS_WARM_UP = 5
# The sizes in the documentation's figures.
USUAL = (1_000_000, 1_000_000)


class Client(threading.Thread):
    """Asks for estimates at fixed times until it is stopped, each timed from the moment at which it was due."""

    def __init__(self, service, bodies):
        super().__init__()
        self.service, self.bodies, self.taken, self.stopped = service, bodies, [], threading.Event()

    def run(self):
        self.service.wake()
        started = time.perf_counter()
        for number in range(10**9):
            due = started + number / RATE
            if self.stopped.wait(max(0, due - time.perf_counter())):
                return
            self.service.request("POST", PATH, self.bodies[number % len(self.bodies)])
            self.taken.append(1e3 * (time.perf_counter() - due))

    def stop(self):
        """Returns the figures of a row: median and 99th percentile in milliseconds."""
        self.stopped.set()
        self.join()
        return [results.figure(percentile(self.taken, 0.5), "ms"), results.figure(percentile(self.taken, 0.99), "ms", "p99")]


def body(home):
    return json.dumps({
        "location": {"locationCoordinate": {"location": [home["longitude"], home["latitude"]]}},
        "habitation": {"surface": {"total": home["surface_m2"]}, "roomCount": home["room_count"], "bedroomCount": 1},
        "type": "CLASS_HOUSE" if home["type"] == "Maison" else "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
    })


def portfolio_of(toise, data):
    return json.loads(command(toise, data, "portfolio", "list")[0])[0]


def wait_for_values(toise, data, former):
    """Waits until the portfolio was valued after `former`; returns that moment."""
    while True:
        state = portfolio_of(toise, data)
        if state["status"] == "valued" and state["valued_at"] != former:
            return state["valued_at"]
        time.sleep(0.5)


def portfolio(toise, data, homes, sales):
    """The rows of storing, of valuing for the first time, and of valuing again next to a client."""
    file = f"{data}/homes.parquet"
    copies = homes * 4 // sales + 1
    query = HOMES_SQL.format(copies=copies, homes=homes).replace(" as id,", " as key,")
    command(toise, data, "sql", query, "--output", file)
    service = Service(toise, data)
    try:
        sample = json.loads(command(toise, data, "sql", HOMES_SQL.format(copies=0, homes=3_000))[0])
        bodies = [body(home) for home in random.Random(1).sample(sample, len(sample))]
        client = Client(service, bodies)
        client.start()
        time.sleep(ALONE_SECONDS)
        rows = [results.row("an estimate, nothing else running", *client.stop())]
        _, stored = command(toise, data, "portfolio", "put", "all", file)
        started = time.perf_counter()
        first = wait_for_values(toise, data, None)
        rows.append(results.row("homes stored", results.figure(stored, "s")))
        rows.append(results.row("first valuation", results.figure(time.perf_counter() - started, "s")))
        command(toise, data, "train")
        client = Client(service, bodies)
        started = time.perf_counter()
        client.start()
        wait_for_values(toise, data, first)
        rows.append(results.row("valuation after a new model", results.figure(time.perf_counter() - started, "s")))
        rows.append(results.row("an estimate during that valuation", *client.stop()))
        rows += reports(service, sample)
        rows.append(results.row("memory of the server", results.figure(service.resident_mib()[1], "MiB", "peak")))
        return rows
    finally:
        service.stop()


def reports(service, homes):
    rows = []
    for form in ["json", "html", "pdf"]:
        taken = []
        for home in homes[:REPORTS]:
            kind = "house" if home["type"] == "Maison" else "flat"
            path = (f"/v2/protected/reports/home?longitude={home['longitude']}&latitude={home['latitude']}&type={kind}"
                    f"&surface_m2={home['surface_m2']}&format={form}")
            started = time.perf_counter()
            service.connection.request("GET", path, headers=service.headers)
            response = service.connection.getresponse()
            answer = response.read()
            if response.status == 422:
                # Some invented homes are at sea.
                continue
            if response.status != 200:
                sys.exit(f"{path}: {response.status} {answer[:200]!r}")
            taken.append(1e3 * (time.perf_counter() - started))
        taken = taken[REPORTS_WARM_UP:]
        figures = [results.figure(percentile(taken, 0.5), "ms"), results.figure(percentile(taken, 0.99), "ms", "p99")]
        rows.append(results.row(f"report of a home, {form.upper()}", *figures))
    return rows


def main(toise, sales, homes):
    sales, homes = int(sales), int(homes)
    with tempfile.TemporaryDirectory() as data:
        command(toise, data, "synth", "--lake", "--dvf", str(sales))
        # The first model does not know the sales of the last year, so that the second one is another.
        until = json.loads(command(toise, data, "sql", "select max(transaction_date) - interval '1 year' as day from dvf")[0])[0]["day"]
        _, trained = command(toise, data, "train", "--until", until[:10])
        print(f"trained on {sales:,} invented sales in {trained:.0f} s", file=sys.stderr)
        rows = portfolio(toise, data, homes, sales)
    for row in rows:
        print(row["id"], *(f"{one.get('name', one['statistic'])} {one['value']:.1f} {one['unit']}" for one in row["figures"]))
    name = "portfolio" if (sales, homes) == USUAL else f"portfolio-{homes}"
    results.write(name, f"benches/load/portfolio.sh {sales} {homes}", rows, {"sales": sales, "homes": homes})


main(*sys.argv[1:4])
