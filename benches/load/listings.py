"""Times searches of properties: by one client, then at 500 requests a second while 200 adverts a second are ingested.

Usage: listings.py TOISE DATA [SECONDS]
DATA is a data folder with properties, into which the adverts are ingested. benches/versus/postgres.sh creates one with
2,000,000 properties. Eight connections send requests at fixed times. A request is timed from the moment at which it was
due, so that delays of a slow server are counted. The first ten seconds do not count, because the server then reads its
columns. Bodies are drawn from properties of the folder. Prints a line for each kind of request, alone and in the mix,
a line for the adverts, and the time from the acknowledgement of a price until a search finds it.
"""

import http.client
import json
import multiprocessing
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import Service  # noqa: E402

RATE = 500
CONNECTIONS = 8
WARM_UP_SECONDS = 10
# Requests of each kind that the single client sends, one after another. The first hundred do not count.
ALONE = 600
ALONE_WARM_UP = 100
ADVERTS_PER_SECOND = 200
ADVERTS_PER_CALL = 20
# Requests of each kind in a hundred.
MIX = {"a page of 25 records of a place": 50, "a page of a hundred records of a place": 5, "a property by id": 25,
       "the number of matches, anywhere": 10, "words in a department": 10}
ADVERTS = f"adverts, {ADVERTS_PER_CALL} a call"
# The duration of the mix and the millions of properties in the documentation's figures.
USUAL_SECONDS = 60
USUAL_MILLIONS = 2
SEARCH = "/v2/protected/properties/search"


def command(toise, data, *arguments):
    done = subprocess.run([toise, "--data", data, "--json", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def call(connection, method, path, body, key):
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"x-api-key": key, "content-type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200:
        raise RuntimeError(f"{path}: {response.status} {answer[:200]!r}")
    return answer


def page(search, size):
    return {"search": search, "sortBy": "LAST_SEEN_AT", "orderBy": "DESC", "size": size}


def requests_of(home):
    place, price = home["location"], home["price"]["latest"]["value"]
    around = {"location": [{"postalCode": place["postalCode"]}],
              "price": {"latest": {"value": {"min": round(price / 2), "max": round(price * 2)}}}}
    broad = {"type": [home["type"]], "meta": {"isTotallyOffline": False}}
    words = {"filterProperty": {"location": [{"department": place["department"]}]}, "keywords": ["vitrage"]}
    fitting = {"filterProperty": {}, "fullTexts": ["gardien velos"]}
    return {
        "a page of 25 records of a place": ("POST", SEARCH, page({"filterProperty": around}, 25)),
        "a page of a hundred records of a place": ("POST", SEARCH, page({"filterProperty": around}, 100)),
        "a property by id": ("GET", f"/v2/protected/properties/{home['flxId']}", None),
        "the number of matches, anywhere": ("POST", f"{SEARCH}/count", {"search": {"filterProperty": broad}}),
        "words in a department": ("POST", SEARCH, page(words, 25)),
        "words by relevance": ("POST", SEARCH, {**page(fitting, 25), "sortBy": "RELEVANCE"}),
    }


def ask_alone(connection, key, homes):
    """Sends every kind of request from one client without pauses; returns a row of results for each."""
    rows = []
    draw = random.Random(0)
    for kind in requests_of(homes[0]):
        taken = []
        for _ in range(ALONE):
            request = requests_of(draw.choice(homes))[kind]
            started = time.perf_counter()
            call(connection, *request, key)
            taken.append(time.perf_counter() - started)
        rows.append(figures(f"one client, {kind}", taken[ALONE_WARM_UP:]))
    return rows


def ask(number, address, key, homes, until, start, times):
    """Sends one connection's share of the requests, each at its time."""
    draw = random.Random(number)
    connection = http.client.HTTPConnection(address, timeout=60)
    kinds, weights = list(MIX), list(MIX.values())
    turn = 0
    taken = []
    while True:
        due = start + (turn * CONNECTIONS + number) / RATE
        if due > until:
            break
        time.sleep(max(0.0, due - time.monotonic()))
        kind = draw.choices(kinds, weights)[0]
        call(connection, *requests_of(draw.choice(homes))[kind], key)
        if due > start + WARM_UP_SECONDS:
            taken.append((kind, time.monotonic() - due))
        turn += 1
    times.put(taken)


def ingest(address, key, adverts, until, start, times):
    """Sends the adverts at their rate, and records the time of each call."""
    connection = http.client.HTTPConnection(address, timeout=60)
    taken = []
    for turn in range(len(adverts) // ADVERTS_PER_CALL):
        due = start + turn * ADVERTS_PER_CALL / ADVERTS_PER_SECOND
        if due > until:
            break
        time.sleep(max(0.0, due - time.monotonic()))
        some = adverts[turn * ADVERTS_PER_CALL:(turn + 1) * ADVERTS_PER_CALL]
        call(connection, "POST", "/v2/protected/admin/adverts", {"adverts": some}, key)
        if due > start + WARM_UP_SECONDS:
            taken.append((ADVERTS, time.monotonic() - due))
    times.put(taken)


def freshness(connection, key, admin_key):
    """Seconds from the acknowledgement of a new price until a search finds it."""
    address = f"https://toits-et-murs.example/annonce/fraicheur-{time.time_ns()}"
    advert = {"url": address, "source": "toits-et-murs.example", "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"},
              "location": {"postalCode": "48000"}, "habitation": {"surface": {"total": 61}}, "title": "Fraîcheur"}
    waits = []
    for turn in range(20):
        price = 91_000_000 + random.randrange(1_000_000)
        sent = {**advert, "currentPrice": {"value": price}}
        call(connection, "POST", "/v2/protected/admin/adverts", {"adverts": [sent]}, admin_key)
        acknowledged = time.monotonic()
        wanted = {"search": {"filterProperty": {"price": {"latest": {"value": {"min": price, "max": price}}}}}}
        while json.loads(call(connection, "POST", f"{SEARCH}/count", wanted, key))["data"]["count"] == 0:
            time.sleep(0.005)
        waits.append(time.monotonic() - acknowledged)
    return waits


def figures(name, values):
    """Prints and returns the times of one kind of request."""
    values = sorted(values)
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))] * 1e3
    print(f"{name:56} {len(values):7} | p50 {at(0.5):7.1f} ms  p99 {at(0.99):7.1f} ms  most {values[-1] * 1e3:7.1f} ms")
    return results.row(name, results.figure(at(0.5), "ms"), results.figure(at(0.99), "ms", "p99"))


def record(rows, properties, seconds):
    """Writes the results for the table of docs/performance.md."""
    usual = (USUAL_MILLIONS, USUAL_SECONDS)
    asked = (round(properties / 1e6, 1), seconds)
    name = "listings-load" if asked == usual else f"listings-load-{properties}-{seconds}"
    command = f"python3 benches/load/listings.py target/release/toise DATA {seconds}"
    results.write(name, command, rows, {"properties": properties, "seconds": seconds})


def main():
    toise, data = sys.argv[1], sys.argv[2]
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    made = tempfile.mkdtemp()
    seconds += WARM_UP_SECONDS
    count = seconds * ADVERTS_PER_SECOND
    subprocess.run([toise, "synth", "--adverts", str(count), "--seed", str(time.time_ns() % 100_000), "--output", made],
                   check=True, stdout=subprocess.DEVNULL)
    with open(pathlib.Path(made) / "adverts-synth.ndjson") as lines:
        adverts = [json.loads(next(lines)) for _ in range(count)]
    admin_key = command(toise, data, "keys", "create", "--kind", "production", "--scopes", "admin")["key"]
    service = Service(toise, data)
    try:
        address, key = service.address, service.headers["x-api-key"]
        connection = http.client.HTTPConnection(address, timeout=60)
        homes = []
        for order in ["ASC", "DESC"]:
            for sort in ["PRICE", "FIRST_SEEN_AT", "LAST_SEEN_AT"]:
                body = {"search": {"filterProperty": {"price": {"latest": {"value": {"min": 1000}}}}}, "sortBy": sort,
                        "orderBy": order, "size": 100}
                homes += json.loads(call(connection, "POST", SEARCH, body, key))["data"]["items"]
        homes = [home for home in homes if {"postalCode", "department"} <= home["location"].keys()]
        rows = ask_alone(connection, key, homes)
        times = multiprocessing.Queue()
        start = time.monotonic() + 1
        until = start + seconds
        workers = [multiprocessing.Process(target=ask, args=(number, address, key, homes, until, start, times))
                   for number in range(CONNECTIONS)]
        workers.append(multiprocessing.Process(target=ingest, args=(address, admin_key, adverts, until, start, times)))
        for worker in workers:
            worker.start()
        taken = [one for _ in workers for one in times.get()]
        for worker in workers:
            worker.join()
        for kind in [*MIX, ADVERTS]:
            figures(kind, [took for name, took in taken if name == kind])
        mixed = f"{RATE} requests a second while {ADVERTS_PER_SECOND} adverts a second are ingested"
        rows.append(figures(mixed, [took for name, took in taken if name in MIX]))
        # The server has closed it because it was idle.
        connection.close()
        found = freshness(connection, key, admin_key)
        rows.append(figures("a price is found by a search after its acknowledgement", found))
        now, peak = service.resident_mib()
        rows.append(results.row("resident memory", results.figure(now, "MiB"), results.figure(peak, "MiB", "peak")))
        print(f"ready {service.start_seconds:.1f} s after its start; resident memory {now:.0f} MiB, peak {peak:.0f} MiB")
        everything = call(connection, "POST", f"{SEARCH}/count", {"search": {"filterProperty": {}}}, key)
        record(rows, json.loads(everything)["data"]["count"], seconds - WARM_UP_SECONDS)
    finally:
        service.stop()


if __name__ == "__main__":
    main()
