"""Builds a country of invented data from official files, and times every kind of work on it. See national.sh.

Each step writes its figures to steps.json in the folder when it is done. A later run skips the steps that are done.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE / "support"))
import results  # noqa: E402
from homes import HOMES_SQL  # noqa: E402
from service import Service, percentile  # noqa: E402

# The size of the country: records of each table, and adverts of the portals.
SALES, DIAGNOSTICS, ADDRESSES, ADVERTS = 20_000_000, 15_000_000, 26_000_000, 3_000_000
# Rows of a bulk file, and requests of each kind over HTTP.
BULK_ROWS, REQUESTS, WARM_UP = 1_000_000, 300, 20
# The step that sends requests.
ASKING = "requests"
# Seconds between two looks at the disk.
DISK_SECONDS = 0.5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True, help="the toise executable")
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="where the data and the finished steps are")
    parser.add_argument("--percent", type=float, default=100, help="share of the country's size")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the comparison with DuckDB")
    parser.add_argument("--keep", action="store_true", help="keep the data")
    return parser.parse_args()


class Disk(threading.Thread):
    """Watches how much more of the disk is in use than at the start."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.stopped = folder, threading.Event()
        self.before = self.peak = shutil.disk_usage(folder).used

    def run(self):
        while not self.stopped.wait(DISK_SECONDS):
            self.peak = max(self.peak, shutil.disk_usage(self.folder).used)

    def stop(self):
        """The greatest growth and the growth at the end, in GB."""
        self.stopped.set()
        self.join()
        now = shutil.disk_usage(self.folder).used
        return (max(self.peak, now) - self.before) / 1e9, (now - self.before) / 1e9


class National:
    """A run: its folders, sizes and finished steps."""

    def __init__(self, options):
        self.toise, self.folder = options.toise, options.folder
        self.data, self.files = self.folder / "data", self.folder / "files"
        self.sales, self.diagnostics, self.addresses, self.adverts = (
            round(count * options.percent / 100) for count in (SALES, DIAGNOSTICS, ADDRESSES, ADVERTS))
        self.bulk = min(BULK_ROWS, self.diagnostics)
        self.files.mkdir(parents=True, exist_ok=True)
        self.state = self.folder / "steps.json"
        self.done = json.loads(self.state.read_text()) if self.state.exists() else {}

    def command(self, *parts, data=True):
        """Runs a command; returns its JSON, seconds and peak memory in MiB."""
        line = [self.toise, "--json", *(["--data", self.data] if data else []), *parts]
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            started = time.perf_counter()
            process = subprocess.Popen([str(part) for part in line], stdout=output, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            errors.seek(0)
            if process.returncode:
                sys.exit(f"{' '.join(map(str, parts))}: {errors.read()[-2000:]}")
            text = output.read()
        return (json.loads(text) if text.strip() else None), seconds, usage.ru_maxrss / 1024

    def synth(self, *parts):
        self.command("synth", *parts, "--output", self.files, data=False)

    def timed(self, count, *parts):
        """Figures of a command: seconds, rows a second, peak memory, disk."""
        disk = Disk(self.folder)
        disk.start()
        _, seconds, memory = self.command(*parts)
        peak, grown = disk.stop()
        figures = [results.figure(seconds, "s"), results.figure(memory, "MiB", "peak")]
        if count:
            figures.insert(1, results.figure(count / seconds, "rows/s", "rate"))
        if peak > 0.01:
            figures += [results.figure(grown, "GB", name="disk"), results.figure(peak, "GB", "peak", name="disk")]
        return figures

    # The steps, in their order. Each returns rows of results.

    def import_sales(self):
        self.synth("--dvf", str(self.sales), "--gzip")
        rows = [results.row("import of sales", *self.timed(self.sales, "import", "dvf", self.files / "dvf-synth.csv.gz"))]
        self.clear()
        return rows

    def import_diagnostics(self):
        self.synth("--dpe", str(self.diagnostics), "--full-width", "--gzip", "--portfolio", str(self.bulk))
        file = self.files / "dpe-synth.csv.gz"
        rows = [results.row("import of diagnostics", *self.timed(self.diagnostics, "import", "dpe", file))]
        file.unlink()
        return rows

    def match(self):
        portfolio, output = self.files / "portfolio-synth.csv.gz", self.files / "candidates.parquet"
        figures = self.timed(self.bulk, "match", "dpe", "--input", portfolio, "--output", output)
        self.clear()
        return [results.row("bulk match with diagnostics", *figures)]

    def import_addresses(self):
        self.synth("--ban", str(self.addresses))
        files = sorted(self.files.glob("*.csv.gz"))
        rows = [results.row("import of addresses", *self.timed(self.addresses, "import", "ban", *files))]
        self.clear()
        return rows

    def make_adverts(self):
        figures = self.timed(self.adverts, "synth", "--adverts", str(self.adverts), "--lake")
        return [results.row("adverts and their properties, made and indexed", *figures)]

    def train(self):
        return [results.row("training on all sales", *self.timed(self.sales, "train"))]

    def estimate(self):
        homes, output = self.files / "homes.parquet", self.files / "valued.parquet"
        self.command("sql", HOMES_SQL.format(copies=4 * self.bulk // self.sales + 1, homes=self.bulk), "--output", homes)
        figures = self.timed(self.bulk, "estimate", "--input", homes, "--output", output)
        self.clear()
        return [results.row("bulk valuation", *figures)]

    def geocode(self):
        sample, output = self.files / "addresses.csv", self.files / "located.csv"
        self.command("sql", "select number, name, postal_code, city from ban where number is not null "
                            f"limit {self.bulk}", "--output", sample)
        figures = self.timed(self.bulk, "geocode", sample, "--output", output)
        self.clear()
        return [results.row("bulk geocoding", *figures)]

    def compact(self):
        return [results.row("compaction", *self.timed(0, "compact"))]

    def backup(self):
        target = self.folder / "backup.tar"
        figures = self.timed(0, "backup", target)
        target.unlink()
        return [results.row("backup to one file, verified", *figures)]

    def publish(self):
        target = self.folder / "published"
        figures = self.timed(0, "publish", f"file://{target.resolve()}")
        shutil.rmtree(target)
        return [results.row("publication for replicas", *figures)]

    def requests(self):
        service = Service(self.toise, self.data, scopes="search,geocoding,ai,analytics,sql")
        try:
            rows = [results.row("start of the server", results.figure(service.start_seconds, "s"))]
            for name, method, path, bodies in self.questions(service):
                service.wake()
                taken = [1e3 * service.request(method, path(body), None if method == "GET" else json.dumps(body))[1]
                         for body in bodies]
                figures = [results.figure(percentile(taken[WARM_UP:], share), "ms", statistic)
                           for share, statistic in ((0.5, "median"), (0.99, "p99"))]
                rows.append(results.row(name, *figures))
            rows.append(results.row("memory of the server", results.figure(service.resident_mib()[1], "MiB", "peak")))
            return rows
        finally:
            service.stop()

    def questions(self, service):
        """Kinds of requests, each with the parameters of its requests."""
        def sql(text):
            return service.request("POST", "/v2/protected/sql", json.dumps({"query": text}))[0]

        chance = random.Random(7)
        count = REQUESTS + WARM_UP
        homes = chance.sample(self.command("sql", HOMES_SQL.format(copies=0, homes=20 * count))[0], count)
        communes = [home for home in self.command(
            "sql", "select insee_code, count(*) as sales from dvf group by 1 order by 2 desc limit 1000")[0]]
        addresses = self.command("sql", "select number, name, postal_code, city from ban where number is not null "
                                        f"limit {100 * count}")[0]
        texts = [f"{one['number']} {one['name']} {one['postal_code']} {one['city']}"
                 for one in chance.sample(addresses, count)]
        valued = [{
            "location": {"locationCoordinate": {"location": [home["longitude"], home["latitude"]]}},
            "habitation": {"surface": {"total": home["surface_m2"]}, "roomCount": home["room_count"], "bedroomCount": 1},
            "type": "CLASS_HOUSE" if home["type"] == "Maison" else "CLASS_FLAT", "offer": {"type": "OFFER_BUY"},
        } for home in homes]
        places = [chance.choice(communes)["insee_code"] for _ in range(count)]
        median = "select count(*), median(price_eur) from dvf where insee_code = '{}'"
        sql("select 1")
        return [
            ("an address", "GET", lambda text: "/geocoding/search?" + urllib.parse.urlencode({"q": text}), texts),
            ("an estimate", "POST", lambda _: "/v2/protected/estimate/property/lite", valued),
            ("median price of a commune, SQL", "POST", lambda _: "/v2/protected/sql",
             [{"query": median.format(place)} for place in places]),
        ]

    def clear(self):
        for file in self.files.iterdir():
            file.unlink()

    def clean(self):
        """Deletes the data, and the finished steps with it. Results of a comparison stay."""
        for folder in (self.data, self.files):
            shutil.rmtree(folder)
        self.state.unlink()

    def compare_search(self, rounds):
        """Runs the comparison with DuckDB, which writes its own results. Those of a part of the country stay in the
        folder."""
        command = [sys.executable, HERE / "versus" / "run.py", "--toise", self.toise, "--data", self.data,
                   "--rows", str(self.sales), "--rounds", str(rounds)]
        other = {} if self.sales == SALES else {results.FOLDER_VARIABLE: str(self.folder)}
        if subprocess.run([str(part) for part in command], env={**os.environ, **other}).returncode:
            sys.exit("the comparison with DuckDB failed")
        return []

    def run(self, rounds):
        """Runs the steps that are not done. Returns the rows of the work, and those of the requests."""
        steps = [
            ("import sales", self.import_sales, 12), ("import diagnostics", self.import_diagnostics, 30),
            ("match in bulk", self.match, 1), ("import addresses", self.import_addresses, 15),
            ("make adverts", self.make_adverts, 12), ("compact", self.compact, 3), ("train", self.train, 20),
            ("estimate in bulk", self.estimate, 1), ("geocode in bulk", self.geocode, 1), (ASKING, self.requests, 2),
            ("search beside DuckDB", lambda: self.compare_search(rounds), 15), ("backup", self.backup, 3),
            ("publish", self.publish, 3),
        ]
        # The duration of a step is its share of all, corrected by the speed of the steps that this run has done.
        planned, spent = 0, 0
        for number, (name, work, minutes) in enumerate(steps, 1):
            if name in self.done:
                continue
            left = sum(share for later, _, share in steps if later not in self.done)
            pace = spent / planned if planned else None
            told = f", about {left * pace / 60:.0f} min left" if pace else ""
            bar = "#" * number + "." * (len(steps) - number)
            print(f"[{bar}] {name} ({number} of {len(steps)}{told})", file=sys.stderr)
            started = time.perf_counter()
            self.done[name] = work()
            spent, planned = spent + time.perf_counter() - started, planned + minutes
            self.state.write_text(json.dumps(self.done, indent=1))
        work = [row for name, *_ in steps if name != ASKING for row in self.done[name]]
        return work, self.done[ASKING]


def main():
    options = arguments()
    run = National(options)
    work, asked = run.run(options.rounds)
    for row in work + asked:
        figures = (f"{one.get('name', '')} {one['statistic']} {one['value']:,.1f} {one['unit']}" for one in row["figures"])
        print(f"{row['id']:46}", "; ".join(figures))
    sizes = {"sales": run.sales, "diagnostics": run.diagnostics, "addresses": run.addresses, "adverts": run.adverts}
    for name, rows in (("national", work), ("national-requests", asked)):
        name = results.published_name(name, f"{options.percent:g}", "100")
        results.write(name, f"benches/national.sh {options.percent:g}", rows, sizes)
    if not options.keep:
        run.clean()


main()
