"""What one modest client sees, and what the server holds, while others attack: python3 benches/load/attacks.py

The modest client asks for the sales of a commune over one kept connection, twenty times a second. Attackers come from other
addresses of the loopback. Before each attack the modest client is timed alone, so that each has its own measure.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import percentile  # noqa: E402

PATH = "/v2/protected/opendata/dvf/search"
QUESTION = json.dumps({"filters": {"insee_code": "75111"}, "size": 10})
PAUSE_S = 0.05
BODY_BYTES = 4 << 20
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=15, help="of each attack")
    parser.add_argument("--json", action="store_true", help="also write benches/results/attacks.json")
    return parser.parse_args()


class Attack:
    """Attackers, each in a thread and from an address of its own, until they are called off."""

    def __init__(self, address, key):
        host, port = address.split(":")
        self.to, self.key, self.is_over, self.done = (host, int(port)), key, threading.Event(), 0

    def connect(self, source):
        return socket.create_connection(self.to, timeout=5, source_address=(source, 0))

    def loop(self, act):
        while not self.is_over.is_set():
            with contextlib.suppress(OSError):
                act()

    def start(self, act, count=2):
        threads = [threading.Thread(target=self.loop, args=(lambda nth=nth: act(f"127.0.{1 + nth}.2"),), daemon=True) for nth in range(count)]
        for thread in threads:
            thread.start()

    # The attacks.

    def long_paths(self, source):
        """Requests without a key whose paths are as long as is let in."""
        request = f"GET /v2/{'a' * 6_000} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
        with self.connect(source) as connection:
            while not self.is_over.is_set():
                connection.sendall(request * 8)
                if select.select([connection], [], [], 5)[0] and not connection.recv(1 << 20):
                    return
                self.done += 8

    def half_bodies(self, source):
        """Bodies of 4 MiB of which the last byte does not come."""
        head = (f"POST {PATH} HTTP/1.1\r\nhost: x\r\nx-api-key: {self.key}\r\ncontent-type: application/json\r\n"
                f"content-length: {BODY_BYTES}\r\n\r\n").encode()
        held = []
        for _ in range(300):
            with contextlib.suppress(OSError):
                connection = self.connect(source)
                held.append(connection)
                connection.settimeout(0.5)
                connection.sendall(head + b" " * (BODY_BYTES - 1))
                self.done += 1
        self.is_over.wait()
        for connection in held:
            connection.close()

    def half_open(self, source):
        """Connections that begin a head and say no more."""
        held = []
        for _ in range(300):
            with contextlib.suppress(OSError):
                connection = self.connect(source)
                connection.sendall(b"GET /version HTTP/1.1\r\nhost: x\r\nx-a")
                held.append(connection)
                self.done += 1
        self.is_over.wait()
        for connection in held:
            connection.close()

    def forged_keys(self, source):
        """Well-formed keys that nobody has."""
        draw = random.Random()
        connection = http.client.HTTPConnection(*self.to, timeout=5, source_address=(source, 0))
        while not self.is_over.is_set():
            key = "toise_live_" + "".join(draw.choices(ALPHABET, k=len(self.key) - len("toise_live_")))
            connection.request("GET", "/v2/protected/consumption", headers={"x-api-key": key})
            connection.getresponse().read()
            self.done += 1

    def garbage(self, source):
        """Bytes that are no HTTP."""
        with self.connect(source) as connection:
            connection.sendall(os.urandom(4_096))
            connection.recv(4_096)
            self.done += 1

    def new_connections(self, source):
        """A connection for each request."""
        with self.connect(source) as connection:
            connection.sendall(b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            while connection.recv(4_096):
                pass
            self.done += 1


ATTACKS = {
    "long paths without a key": Attack.long_paths, "bodies that do not end": Attack.half_bodies,
    "heads that do not end": Attack.half_open, "forged keys": Attack.forged_keys, "bytes that are no HTTP": Attack.garbage,
    "a connection for each request": Attack.new_connections,
}


def modest(address, key, seconds):
    """Milliseconds of each answer of the modest client, and how many were none."""
    taken, failed = [], 0
    connection = http.client.HTTPConnection(address, timeout=30)
    until = time.perf_counter() + seconds
    while (started := time.perf_counter()) < until:
        try:
            connection.request("POST", PATH, QUESTION, {"x-api-key": key, "content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            failed += answer.status != 200
        except (OSError, http.client.HTTPException):
            connection.close()
            failed += 1
        taken.append((time.perf_counter() - started) * 1_000)
        time.sleep(PAUSE_S)
    return taken, failed


def resident_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def main():
    options = arguments()
    keys = []
    for _ in range(2):
        made = subprocess.run([options.toise, "--data", str(options.data), "keys", "create", "--kind", "production",
                               "--rate", "100000", "--json"], check=True, capture_output=True, text=True)
        keys.append(json.loads(made.stdout)["key"])
    rows = []
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen([options.toise, "--data", str(options.data), "--json", "serve", "--listen", "127.0.0.1:0"],
                                   stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            address = json.loads(process.stdout.readline())["address"].removeprefix("http://")
            modest(address, keys[0], 2)
            for name, act in ATTACKS.items():
                alone, _ = modest(address, keys[0], options.seconds / 2)
                attack = Attack(address, keys[1])
                logged = os.path.getsize(log.name)
                attack.start(lambda source, attack=attack, act=act: act(attack, source))
                beside, failed = modest(address, keys[0], options.seconds)
                memory = resident_mib(process)
                attack.is_over.set()
                log_rate = (os.path.getsize(log.name) - logged) / options.seconds / 1e6
                time.sleep(1)
                one, two = percentile(alone, 0.99), percentile(beside, 0.99)
                rows.append(results.row(name, results.figure(one, "ms", "p99", name="alone"),
                                        results.figure(two, "ms", "p99", name="beside"),
                                        results.figure(two / one, "ratio", name="ratio"),
                                        results.figure(failed, "answers", "count", name="failed"),
                                        results.figure(memory, "MiB", "max", name="memory"),
                                        results.figure(log_rate, "MB/s", "mean", name="log")))
                print(f"{name:32} p99 alone {one:6.1f} ms, beside {two:6.1f} ms ({two / one:.1f} times), {failed} failed; "
                      f"{attack.done:,} done; {memory:.0f} MiB; log {log_rate:.2f} MB/s", flush=True)
        finally:
            process.terminate()
            process.wait()
    if options.json:
        results.write("attacks", "benches/load/attacks.py --toise TOISE --data DIR --json", rows, {"seconds": options.seconds})


if __name__ == "__main__":
    main()
