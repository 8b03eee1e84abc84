"""Measures the response times of one modest client and the server's memory while others attack.

Usage: python3 benches/load/attacks.py --toise FILE --data FOLDER

The modest client searches the sales of a commune over one persistent connection, twenty times a second. Attackers use
other loopback addresses. Before each attack the modest client is timed alone, so that each attack has its own baseline.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import results  # noqa: E402
from service import percentile  # noqa: E402

PATH = "/v2/protected/opendata/dvf/search"
QUESTION = json.dumps({"filters": {"insee_code": "75111"}, "size": 10})
PAUSE_S = 0.05
LARGE_QUESTION = json.dumps({"filters": {"insee_code": "75111"}, "size": 500})
BODY_BYTES = 4 << 20
# The maximum number of values in a body; here each takes two bytes.
VALUES = 1_000_000
# Open streams per HTTP/2 connection: the minimum that servers should accept.
STREAMS = 100
# Connections per address, for attacks that need many.
CONNECTIONS = 200
# The niceness of processes that get only time that no other process needs.
LOWEST = 19
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toise", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=15, help="of each attack")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=ATTACKS, nargs="+", help="the attacks to run, all if left out")
    parser.add_argument("--elsewhere", action="store_true",
                        help="attack another server on this machine: what the attackers take by themselves")
    parser.add_argument("--equal", action="store_true", help="attackers at the priority of everybody else")
    parser.add_argument("--json", action="store_true", help="also write benches/results/attacks.json")
    options = parser.parse_args()
    if options.json and (options.elsewhere or options.equal):
        parser.error("--json records neither attacks --elsewhere nor those of --equal priority")
    return options


def frame(kind, flags, stream, payload):
    """An HTTP/2 frame."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


HEADERS, RESET, SETTINGS, GOAWAY, WINDOW_UPDATE = 1, 3, 4, 7, 8
PREFACE = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b"")
           + frame(WINDOW_UPDATE, 0, 0, (2**31 - 1 - 65_535).to_bytes(4, "big")))
CANCEL = (8).to_bytes(4, "big")


def get(path):
    """The headers of an HTTP/2 GET: literals without indexing. A length from 127 continues in bytes of seven bits."""
    rest = len(path) - 127
    length = bytes([len(path)]) if rest < 0 else bytes([0x7F, rest & 0x7F | 0x80, rest >> 7])
    return b"\x82\x86\x04" + length + path.encode() + b"\x01\x01x"


class Attack:
    """Attackers that run until they are stopped, each in a separate process with a separate address."""

    def __init__(self, address, key, slow_key, niceness):
        host, port = address.split(":")
        self.niceness = niceness
        self.to, self.key, self.slow_key = (host, int(port)), key, slow_key
        self.is_over, self.done, self.total = multiprocessing.Event(), 0, multiprocessing.Value("q", 0)
        self.processes = []

    def connect(self, source):
        return socket.create_connection(self.to, timeout=5, source_address=(source, 0))

    def loop(self, act, source):
        os.nice(self.niceness)
        while not self.is_over.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                act(self, source)
        with self.total.get_lock():
            self.total.value += self.done

    def start(self, act, count=2):
        for nth in range(count):
            process = multiprocessing.Process(target=self.loop, args=(act, f"127.0.{1 + nth}.2"), daemon=True)
            process.start()
            self.processes.append(process)

    def end(self):
        """Stops them; returns how many requests or connections they made."""
        self.is_over.set()
        for process in self.processes:
            process.join(10)
            # A process that hangs must not run during the next attack.
            process.kill()
        return self.total.value

    # Attacks.

    def long_paths(self, source):
        """Requests without a key, with the longest paths that are accepted."""
        request = f"GET /v2/{'a' * 6_000} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
        with self.connect(source) as connection:
            while not self.is_over.is_set():
                connection.sendall(request * 8)
                if select.select([connection], [], [], 5)[0] and not connection.recv(1 << 20):
                    return
                self.done += 8

    def long_paths_2(self, source):
        """The same over HTTP/2, many at a time."""
        head = get("/v2/" + "a" * 6_000)
        with self.connect(source) as connection:
            connection.sendall(PREFACE)
            received, stream, ended = b"", 1, 0
            while not self.is_over.is_set():
                if (stream - 1) // 2 - ended < STREAMS // 2:
                    opened = range(stream, stream + STREAMS, 2)
                    connection.sendall(b"".join(frame(HEADERS, 5, one, head) for one in opened))
                    stream += STREAMS
                part = connection.recv(1 << 20)
                if not part:
                    return
                received += part
                while len(received) >= 9 and len(received) >= (size := 9 + int.from_bytes(received[:3], "big")):
                    kind, flags = received[3], received[4]
                    received = received[size:]
                    ended += kind in (0, HEADERS) and flags & 1
                    self.done += kind in (0, HEADERS) and flags & 1
                    if kind == GOAWAY:
                        return

    def many_streams(self, source, reset=False):
        """Requests without a key on all streams of many connections; responses do not matter. `reset` cancels each
        one."""
        head = get("/v2/nowhere")
        held = {}
        while not self.is_over.is_set():
            for place in range(CONNECTIONS):
                try:
                    if place not in held:
                        connection = self.connect(source)
                        connection.sendall(PREFACE)
                        connection.setblocking(False)
                        held[place] = [connection, 1]
                    connection, stream = held[place]
                    opened = range(stream, stream + STREAMS, 2)
                    frames = b"".join(frame(HEADERS, 5, one, head) for one in opened)
                    if reset:
                        frames += b"".join(frame(RESET, 0, one, CANCEL) for one in opened)
                    # An incomplete frame would break the connection; the next pass opens a new one.
                    if connection.send(frames) < len(frames) or not connection.recv(1 << 20):
                        raise ConnectionError
                    held[place][1] = stream + STREAMS
                    self.done += STREAMS // 2
                except BlockingIOError:
                    held[place][1] = stream + STREAMS
                    self.done += STREAMS // 2
                except OSError:
                    if place in held:
                        held.pop(place)[0].close()
        for connection, _ in held.values():
            connection.close()

    def reset_streams(self, source):
        """The same, each cancelled at once."""
        self.many_streams(source, reset=True)

    def unread_answers(self, source):
        """Requests for large responses, which are not read, on many connections."""
        request = (f"POST {PATH} HTTP/1.1\r\nhost: x\r\nx-api-key: {self.key}\r\ncontent-type: application/json\r\n"
                   f"content-length: {len(LARGE_QUESTION)}\r\n\r\n{LARGE_QUESTION}").encode()
        held = []
        for _ in range(CONNECTIONS):
            with contextlib.suppress(OSError):
                connection = socket.socket()
                held.append(connection)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                connection.bind((source, 0))
                connection.connect(self.to)
                connection.settimeout(0.02)
                connection.sendall(request * 100)
                self.done += 100
        self.is_over.wait()
        for connection in held:
            connection.close()

    def unfolding_bodies(self, source):
        """Bodies that take fifty times their length in memory when parsed."""
        self.asked(source, self.key, "[" + "0," * (VALUES - 10) + "0]", path="/v2/protected/properties/_many")

    def asked(self, source, key, question, name=None, path=PATH):
        """Requests with a key, one after another; with a name, each with its own `Idempotency-Key`."""
        connection = http.client.HTTPConnection(*self.to, timeout=5, source_address=(source, 0))
        headers = {"x-api-key": key, "content-type": "application/json"}
        while not self.is_over.is_set():
            if name:
                headers["idempotency-key"] = f"{name}-{source}-{self.done}-{random.random()}"
            connection.request("POST", path, question, headers)
            connection.getresponse().read()
            self.done += 1

    def past_rate(self, source):
        """Requests with a key far above its rate."""
        self.asked(source, self.slow_key, QUESTION)

    def stored_answers(self, source):
        """Requests for large responses, each to be stored for its own `Idempotency-Key`."""
        self.asked(source, self.key, LARGE_QUESTION, "attack")

    def half_bodies(self, source):
        """Bodies of 4 MiB without their last byte."""
        head = (f"POST {PATH} HTTP/1.1\r\nhost: x\r\nx-api-key: {self.key}\r\ncontent-type: application/json\r\n"
                f"content-length: {BODY_BYTES}\r\n\r\n").encode()
        begun = head + b" " * (BODY_BYTES - 1)
        held = []
        for _ in range(300):
            with contextlib.suppress(OSError):
                connection = self.connect(source)
                held.append(connection)
                self.done += 1
                # A connection that accepts no more for now remains open; the next one starts.
                connection.settimeout(0.02)
                connection.sendall(begun)
        self.is_over.wait()
        for connection in held:
            connection.close()

    def half_open(self, source):
        """Connections that send only the start of a head."""
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
        """Requests with well-formed keys that do not exist."""
        draw = random.Random()
        connection = http.client.HTTPConnection(*self.to, timeout=5, source_address=(source, 0))
        while not self.is_over.is_set():
            key = "toise_live_" + "".join(draw.choices(ALPHABET, k=len(self.key) - len("toise_live_")))
            connection.request("GET", "/v2/protected/consumption", headers={"x-api-key": key})
            connection.getresponse().read()
            self.done += 1

    def garbage(self, source):
        """Random bytes instead of HTTP."""
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


# Control: the same bytes sent to another process on the same processors, which reads none of them.
CONTROL = "the same, sent to another process"
ATTACKS = {
    "long paths without a key": Attack.long_paths, "long paths over HTTP/2": Attack.long_paths_2,
    "all streams of many connections": Attack.many_streams, "streams that are reset": Attack.reset_streams,
    "queries above a key's rate": Attack.past_rate, "responses that are not read": Attack.unread_answers,
    "bodies of a million values": Attack.unfolding_bodies, "large responses to be stored": Attack.stored_answers,
    "bodies that do not end": Attack.half_bodies, CONTROL: Attack.half_bodies, "heads that do not end": Attack.half_open,
    "forged keys": Attack.forged_keys, "bytes that are not HTTP": Attack.garbage,
    "a connection for each request": Attack.new_connections,
}


@contextlib.contextmanager
def idle_listener():
    """Yields the address of a process that accepts connections and never reads."""
    def accept(listener):
        held = []
        while True:
            held.append(listener.accept())

    with socket.create_server(("127.0.0.1", 0), backlog=1_000) as listener:
        process = multiprocessing.Process(target=accept, args=(listener,), daemon=True)
        process.start()
        try:
            yield "127.0.0.1:{}".format(listener.getsockname()[1])
        finally:
            process.terminate()


@contextlib.contextmanager
def served(toise, data, log):
    """Yields the process and the address of a server."""
    process = subprocess.Popen([toise, "--data", str(data), "--json", "serve", "--listen", "127.0.0.1:0"],
                               stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield process, json.loads(process.stdout.readline())["address"].removeprefix("http://")
    finally:
        process.terminate()
        process.wait()


def modest(address, key, seconds):
    """Milliseconds of each response to the modest client, and the number of requests without one."""
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


def forget_peak(process):
    """Resets the peak of a process's memory."""
    pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")


def peak_mib(process):
    """The peak of a process's resident memory since `forget_peak`."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main():
    options = arguments()
    keys = []
    for rate in ("100000", "100000", "1"):
        made = subprocess.run([options.toise, "--data", str(options.data), "keys", "create", "--kind", "production",
                               "--rate", rate, "--json"], check=True, capture_output=True, text=True)
        keys.append(json.loads(made.stdout)["key"])
    taken = {name: [] for name in options.only or ATTACKS}
    with contextlib.ExitStack() as held:
        log, idle = held.enter_context(tempfile.NamedTemporaryFile()), held.enter_context(idle_listener())
        process, address = held.enter_context(served(options.toise, options.data, log))
        attacked = address
        if options.elsewhere:
            folder = held.enter_context(tempfile.TemporaryDirectory())
            _, attacked = held.enter_context(served(options.toise, folder, subprocess.DEVNULL))
        modest(address, keys[0], 2)
        for _ in range(options.rounds):
            for name, rounds in taken.items():
                alone, _ = modest(address, keys[0], options.seconds / 2)
                attack = Attack(idle if name == CONTROL else attacked, *keys[1:], 0 if options.equal else LOWEST)
                logged = os.path.getsize(log.name)
                forget_peak(process)
                attack.start(ATTACKS[name])
                beside, failed = modest(address, keys[0], options.seconds)
                memory = peak_mib(process)
                done = attack.end()
                log_rate = (os.path.getsize(log.name) - logged) / options.seconds / 1e6
                one, two = percentile(alone, 0.99), percentile(beside, 0.99)
                rounds.append((one, two, two / one, failed, memory, log_rate))
                print(f"{name:34} p99 alone {one:5.1f} ms, beside {two:5.1f} ms ({two / one:.1f} times), p90 beside"
                      f" {percentile(beside, 0.9):.1f} ms, {failed} failed; {done:,} done; {memory:.0f} MiB; log {log_rate:.2f} MB/s", flush=True)
    if options.json:
        rows = [results.row(name, *figures(rounds)) for name, rounds in taken.items()]
        results.write("attacks", "benches/load/attacks.py --toise TOISE --data DIR --json", rows,
                      {"seconds": options.seconds, "rounds": options.rounds})


def figures(rounds):
    """Over several rounds, the median of times and ratios, and the maximum of everything else."""
    alone, beside, ratio, failed, memory, log_rate = zip(*rounds, strict=True)
    return (results.figure(statistics.median(alone), "ms", "p99", name="alone"),
            results.figure(statistics.median(beside), "ms", "p99", name="beside"),
            results.figure(statistics.median(ratio), "ratio", name="ratio"),
            results.figure(sum(failed), "answers", "count", name="failed"),
            results.figure(max(memory), "MiB", "max", name="memory"),
            results.figure(max(log_rate), "MB/s", "max", name="log"))


if __name__ == "__main__":
    main()
