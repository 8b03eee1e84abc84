"""A toise server on a data folder, and a persistent connection to it whose requests are timed."""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import time


class Service:
    """A server that runs until it is stopped."""

    def __init__(self, toise, data, *flags, scopes=None):
        """`flags` are those of `toise serve`; `scopes` are those of the key, separated by commas, or the usual ones."""
        key = subprocess.run(
            [toise, "keys", "create", "--kind", "production", "--rate", "100000", "--json", "--data", str(data),
             *(["--scopes", scopes] if scopes else [])],
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
        """Opens a new connection, because the server closes one that was idle for long. This is not timed."""
        self.connection.close()
        self.connection.connect()
        self.request("GET", "/version")

    def request(self, method, path, body=None):
        """Returns the response, and the seconds from the request until its last byte; parsing the JSON is not timed."""
        started = time.perf_counter()
        self.connection.request(method, path, body, self.headers)
        response = self.connection.getresponse()
        answer = response.read()
        seconds = time.perf_counter() - started
        if response.status != 200:
            raise SystemExit(f"toise answered {response.status} to {body}: {answer[:300]!r}")
        return json.loads(answer), seconds

    def resident_mib(self):
        """The resident memory now, and its peak."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        found = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.startswith("Vm")}
        return found["VmRSS"] / 1024, found["VmHWM"] / 1024

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def command(toise, data, *arguments):
    """Runs a command on a data folder; returns what it printed and its seconds. Ends the script if the command fails."""
    started = time.perf_counter()
    done = subprocess.run([toise, "--data", data, "--json", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout, time.perf_counter() - started


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
