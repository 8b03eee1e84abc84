"""Measures the collection of pages on demand: reads of known listings, slow pages, and checks during searches.

Usage: collect.py TOISE [ADVERTS] Serves a portal on a hundred loopback addresses, so that the limits per host count a
hundred hosts, and a new data folder with ADVERTS synthetic adverts (default 50,000) for the searches. Prints - response
times of reads of known, fresh listings by address, at 500 a second; - the server's memory before, during and after 200
collections that wait for their pages at the same time; - in each of five runs: search times alone and while 10,000
checks are done, and the rate of these checks.

Requests are sent at fixed times and timed from the moment at which they were due.
"""

import asyncio
import http.client
import json
import multiprocessing
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from listings import SEARCH, call, command, page  # noqa: E402
import results  # noqa: E402
from service import Service, percentile  # noqa: E402

HOSTS = [f"127.0.1.{number}" for number in range(1, 101)]
# Time between two fetches from a host: at most 200 checks a second from a hundred hosts.
HOST_DELAY_MS = 500
KNOWN = 10_000
READS_PER_SECOND = 500
READ_SECONDS = 20
SLOW = 200
SLOW_SECONDS = 15
SEARCHES_PER_SECOND = 100
ALONE_SECONDS = 20
CONNECTIONS = 4
# Connections that request checks in parallel, so that most checks still wait when the last one is requested.
SCHEDULING = 32
RUNS = 5
# The number of adverts in the documentation's figures.
USUAL_ADVERTS = 50_000
ADVERTS_PER_CALL = 500


def portal(told):
    """Serves the page of a flat at every path; under /slow/ after a delay."""

    def flat(path):
        number = int(path.rsplit("/", 1)[1])
        node = {
            "@type": "RealEstateListing", "name": f"Appartement {number} à vendre",
            "about": {"@type": "Apartment", "floorSize": {"value": 20 + number % 100}, "numberOfRooms": 3,
                      "address": {"postalCode": f"{69001 + number % 9}", "addressLocality": "Lyon"}},
            "offers": {"price": 100_000 + 10 * number, "priceCurrency": "EUR"},
        }
        text = f"<script type='application/ld+json'>{json.dumps(node)}</script><h1>Appartement {number}</h1>"
        return text.encode()

    async def serve(reader, writer):
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                path = head.split(" ")[1]
                if path == "/robots.txt":
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                if path.startswith("/slow/"):
                    await asyncio.sleep(SLOW_SECONDS)
                body = flat(path)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n"
                             b"content-length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run():
        server = await asyncio.start_server(serve, "0.0.0.0", 0)
        told.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def address_of(port, kind, number):
    return f"http://{HOSTS[number % len(HOSTS)]}:{port}/{kind}/{number}"


def url_path(address):
    return "/v2/protected/adverts/url?" + urllib.parse.urlencode({"url": address})


def at_fixed_times(number, server, key, requests, rate, start, until, times):
    """Sends one connection's share of the requests, each at its time, until `until` is reached or set."""
    draw = random.Random(number)
    connection = http.client.HTTPConnection(server, timeout=60)
    taken, turn = [], 0
    while not until.is_set():
        due = start + (turn * CONNECTIONS + number) / rate
        time.sleep(max(0.0, due - time.monotonic()))
        call(connection, *draw.choice(requests), key)
        taken.append(time.monotonic() - due)
        turn += 1
    times.put(taken)


def timed(server, key, requests, rate, during):
    """Sends requests at a rate while `during` runs; returns the seconds of each."""
    times, until = multiprocessing.Queue(), multiprocessing.Event()
    start = time.monotonic() + 0.5
    workers = [multiprocessing.Process(target=at_fixed_times,
                                       args=(number, server, key, requests, rate, start, until, times))
               for number in range(CONNECTIONS)]
    for worker in workers:
        worker.start()
    during()
    until.set()
    taken = [one for _ in workers for one in times.get()]
    for worker in workers:
        worker.join()
    return taken


def known_reads(service, key, port):
    requests = [("GET", url_path(address_of(port, "known", number)), None) for number in range(KNOWN)]
    taken = timed(service.address, key, requests, READS_PER_SECOND, lambda: time.sleep(READ_SECONDS))
    p50, p99 = 1e3 * percentile(taken, 0.5), 1e3 * percentile(taken, 0.99)
    print(f"known and fresh, {READS_PER_SECOND} a second: {len(taken)} reads | p50 {p50:.1f} ms  p99 {p99:.1f} ms")
    return results.row(f"reads of a known and fresh listing by its address, {READS_PER_SECOND} a second",
                       results.figure(p50, "ms"), results.figure(p99, "ms", "p99"))


def slow_pages(service, key, port):
    answered = []

    def ask(number):
        connection = http.client.HTTPConnection(service.address, timeout=60)
        call(connection, "GET", url_path(address_of(port, "slow", number)), None, key)
        answered.append(number)

    before, _ = service.resident_mib()
    workers = [threading.Thread(target=ask, args=(number,)) for number in range(SLOW)]
    started = time.monotonic()
    for worker in workers:
        worker.start()
    during = []
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.5)
        during.append(service.resident_mib()[0])
    seconds = time.monotonic() - started
    time.sleep(2)
    after, _ = service.resident_mib()
    print(f"{len(answered)} of {SLOW} collections of pages that take {SLOW_SECONDS} s, all at once: {seconds:.1f} s |"
          f" resident {before:.0f} MiB before, {max(during):.0f} at most, {after:.0f} after")
    return results.row(f"resident memory while {SLOW} pages that take {SLOW_SECONDS} s are waited for",
                       results.figure(max(during), "MiB", "peak"))


def jobs_left(service):
    connection = http.client.HTTPConnection(service.address, timeout=60)
    connection.request("GET", "/metrics")
    for line in connection.getresponse().read().decode().splitlines():
        if line.startswith("toise_collection_jobs "):
            return float(line.split()[1])
    raise SystemExit("no toise_collection_jobs among the metrics")


def schedule_checks(service, key, adverts):
    def schedule(share):
        connection = http.client.HTTPConnection(service.address, timeout=60)
        for advert in share:
            call(connection, "POST", f"/v2/protected/adverts/{advert}/check", None, key)

    workers = [threading.Thread(target=schedule, args=(adverts[number::SCHEDULING],)) for number in range(SCHEDULING)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def drained(service):
    while jobs_left(service) > 0:
        time.sleep(0.5)


def checks_beside_searches(service, key, adverts):
    requests = [("POST", SEARCH, page({"filterProperty": {"location": [{"postalCode": code}]}}, 25))
                for code in postal_codes(service, key)]
    ratios, rates = [], []
    for run in range(RUNS):
        alone = timed(service.address, key, requests, SEARCHES_PER_SECOND, lambda: time.sleep(ALONE_SECONDS))
        started = time.monotonic()
        schedule_checks(service, key, adverts)
        scheduled = time.monotonic() - started
        left = jobs_left(service)
        began = time.monotonic()
        beside = timed(service.address, key, requests, SEARCHES_PER_SECOND, lambda: drained(service))
        seconds = time.monotonic() - began
        p99 = [1e3 * percentile(taken, 0.99) for taken in (alone, beside)]
        ratios.append((p99[1] - 5) / p99[0])
        rates.append(left / seconds)
        print(f"run {run + 1}: {len(adverts)} checks asked for in {scheduled:.1f} s, {left:.0f} of them left; drained"
              f" {seconds:.1f} s later, {left / seconds:.0f} a second (politeness allows {1e3 * len(HOSTS) / HOST_DELAY_MS:.0f})"
              f" | search p99 {p99[0]:.1f} ms alone, {p99[1]:.1f} ms beside")
    ratio = statistics.median(ratios)
    print(f"search p99 beside, less 5 ms, over alone: {ratio:.2f} (median of {RUNS}; 1.5 is the bound)")
    return results.row("checks of a hundred hosts, drained", results.figure(statistics.median(rates), "a second"))


def postal_codes(service, key):
    connection = http.client.HTTPConnection(service.address, timeout=60)
    body = page({"filterProperty": {}}, 100)
    found = json.loads(call(connection, "POST", SEARCH, body, key))["data"]["items"]
    return sorted({home["location"]["postalCode"] for home in found if "postalCode" in home["location"]})


def take_in(service, admin_key, port):
    """Ingests the adverts of the portal's known pages, with the data of their pages; returns their identifiers."""
    connection = http.client.HTTPConnection(service.address, timeout=60)
    identifiers = []
    for first in range(0, KNOWN, ADVERTS_PER_CALL):
        adverts = [{
            "url": address_of(port, "known", number), "source": HOSTS[number % len(HOSTS)], "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "title": f"Appartement {number} à vendre",
            "currentPrice": {"value": 100_000 + 10 * number},
            "location": {"postalCode": f"{69001 + number % 9}", "city": "Lyon"},
            "habitation": {"surface": {"total": 20 + number % 100}, "roomCount": 3},
        } for number in range(first, first + ADVERTS_PER_CALL)]
        answer = call(connection, "POST", "/v2/protected/admin/adverts", {"adverts": adverts}, admin_key)
        identifiers += [taken["flxId"] for taken in json.loads(answer)["data"]]
    return identifiers


def main():
    toise = sys.argv[1]
    count = sys.argv[2] if len(sys.argv) > 2 else "50000"
    told = multiprocessing.Queue()
    serving = multiprocessing.Process(target=portal, args=(told,), daemon=True)
    serving.start()
    port = told.get()
    with tempfile.TemporaryDirectory() as data:
        subprocess.run([toise, "synth", "--adverts", count, "--output", data], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([toise, "--data", data, "ingest", f"{data}/adverts-synth.ndjson"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        admin_key = command(toise, data, "keys", "create", "--kind", "production", "--scopes", "admin")["key"]
        service = Service(toise, data, "--allow-collect-hosts", ",".join(HOSTS),
                          "--set", f"collect.host_delay_ms={HOST_DELAY_MS}")
        try:
            key = service.headers["x-api-key"]
            adverts = take_in(service, admin_key, port)
            rows = [known_reads(service, key, port), slow_pages(service, key, port),
                    checks_beside_searches(service, key, adverts)]
            parameters = {"adverts": int(count), "checks": len(adverts), "host_delay_ms": HOST_DELAY_MS}
            results.write(results.published_name("collecting", int(count), USUAL_ADVERTS),
                          f"python3 benches/load/collect.py target/release/toise {count}", rows, parameters)
        finally:
            service.stop()
    serving.terminate()


if __name__ == "__main__":
    main()
