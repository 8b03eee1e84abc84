"""Trains a model on synthetic sales, then times estimates: one by one over HTTP, and a portfolio from a file."""

import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import results  # noqa: E402
from homes import HOMES_SQL  # noqa: E402
from service import Service, command, percentile  # noqa: E402

PATH = "/v2/protected/estimate/property/lite"
CALLS = 3_000
WARM_UP = 200
# The number of sales in the documentation's figures.
USUAL_SALES = 3_000_000


def body(home):
    return json.dumps({
        "location": {"locationCoordinate": {"location": [home["longitude"], home["latitude"]]}},
        "habitation": {"surface": {"total": home["surface_m2"]}, "roomCount": home["room_count"], "bedroomCount": 1},
        "type": "CLASS_HOUSE" if home["type"] == "Maison" else "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
    })


def one_by_one(toise, data, homes):
    service = Service(toise, data)
    try:
        bodies = [body(home) for home in random.Random(1).sample(homes, min(len(homes), CALLS))]
        service.wake()
        for text in bodies[:WARM_UP]:
            service.request("POST", PATH, text)
        taken = [1e3 * service.request("POST", PATH, text)[1] for text in bodies]
        resident, most = service.resident_mib()
        p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
        print(f"one estimate through the socket: p50 {p50:.2f} ms, p99 {p99:.2f} ms"
              f" ({len(taken)} calls); resident {resident:.0f} MiB, at most {most:.0f}")
        return results.row("one home through the socket", results.figure(p50, "ms"), results.figure(p99, "ms", "p99"))
    finally:
        service.stop()


def main(toise, sales, homes):
    with tempfile.TemporaryDirectory() as data:
        command(toise, data, "synth", "--lake", "--dvf", sales)
        _, seconds = command(toise, data, "train")
        print(f"trained on {sales} invented sales in {seconds:.0f} s")
        portfolio, valued = f"{data}/homes.parquet", f"{data}/valued.parquet"
        copies = int(homes) * 4 // int(sales) + 1
        command(toise, data, "sql", HOMES_SQL.format(copies=copies, homes=homes), "--output", portfolio)
        report = json.loads(command(toise, data, "estimate", "--input", portfolio, "--output", valued)[0])
        print(f"{report['rows']} homes in {report['seconds']:.1f} s, {report['rows_per_second']:.0f} a second,"
              f" {report['errors']} in error")
        sample = HOMES_SQL.format(copies=0, homes=CALLS)
        single = one_by_one(toise, data, json.loads(command(toise, data, "sql", sample)[0]))
        rows = [
            results.row("training", results.figure(seconds, "s")),
            results.row("homes of a portfolio", results.figure(report["rows_per_second"], "a second")),
            single,
        ]
        name = results.published_name("estimates", int(sales), USUAL_SALES)
        parameters = {"sales": int(sales), "homes": int(homes)}
        results.write(name, f"benches/load/estimate.sh {sales} {homes}", rows, parameters)


main(*sys.argv[1:4])
