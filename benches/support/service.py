"""A toise server on a data folder, and one kept connection to it, timed from outside."""

import http.client
import json
import os
import pathlib
import subprocess
import time


class Service:
    """Serves until it is stopped."""

    def __init__(self, toise, data, *flags):
        key = subprocess.run(
            [toise, "keys", "create", "--kind", "production", "--rate", "100000", "--json", "--data", str(data)],
            check=True, capture_output=True, text=True,
        )
        self.headers = {"x-api-key": json.loads(key.stdout)["key"], "content-type": "application/json"}
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [toise, "serve", "--json", "--listen", "127.0.0.1:0", "--data", str(data), *flags],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "RUST_LOG": "warn"},
        )
        self.address = json.loads(self.process.stdout.readline())["address"].removeprefix("http://")
        self.start_seconds = time.perf_counter() - self.started
        self.connection = http.client.HTTPConnection(self.address)

    def wake(self):
        """Opens the connection anew: the server closes one that has been idle for long. Not timed."""
        self.connection.close()
        self.connection.connect()
        self.request("GET", "/version")

    def request(self, method, path, body=None):
        """The answer, and the seconds from the question until its last byte; reading the JSON is not timed."""
        started = time.perf_counter()
        self.connection.request(method, path, body, self.headers)
        response = self.connection.getresponse()
        answer = response.read()
        seconds = time.perf_counter() - started
        if response.status != 200:
            raise SystemExit(f"toise answered {response.status} to {body}: {answer[:300]!r}")
        return json.loads(answer), seconds

    def resident_mib(self):
        """Resident memory now, and at most so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        found = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.startswith("Vm")}
        return found["VmRSS"] / 1024, found["VmHWM"] / 1024

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
