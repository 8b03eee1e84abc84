"""Runs a separate demo for tests and notebooks: few synthetic sales, diagnostics and adverts, a model trained on them,
and the service on a free port. Everything is in one folder, so that several demos do not affect each other.

Usage: tests/python/demo.py TOISE DIR COMMAND..., which runs the command while the demo serves, with the environment
that tests and notebooks read.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

SALES = 12_000
DIAGNOSTICS = 12_000
ADVERTS = 600
"""An unoptimised build makes about a hundred adverts a second."""
HOMES = """id,longitude,latitude,type,surface_m2
a,2.3795,48.8631,flat,50
b,2.3488,48.8534,flat,75
"""
"""The homes of a portfolio."""
READY_TIMEOUT_S = 300
STOP_TIMEOUT_S = 30


def run(executable: str, data: pathlib.Path, *arguments: str) -> str:
    """Runs a command on the data folder and returns its output."""
    command = [executable, "--data", str(data), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=READY_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def fill(executable: str, data: pathlib.Path) -> None:
    """Fills a data folder, unless this was done before."""
    if (data / "models").exists():
        return
    counts = ["--dvf", str(SALES), "--dpe", str(DIAGNOSTICS), "--adverts", str(ADVERTS)]
    run(executable, data, "synth", "--lake", *counts)
    run(executable, data, "train")
    homes = data / "homes.csv"
    homes.write_text(HOMES, encoding="utf-8")
    run(executable, data, "portfolio", "put", "demo", str(homes))


@contextmanager
def served(executable: str, data: pathlib.Path) -> Iterator[dict[str, str]]:
    """Serves a filled folder: `address`, `key`, `admin_key`, and `sql_key`. Webhooks may reach this machine."""
    fill(executable, data)
    ready = data / "ready.json"
    with ready.open("w", encoding="utf-8") as output, (data / "demo.log").open("w", encoding="utf-8") as log:
        command = [executable, "--data", str(data), "--json", "demo", "--listen", "127.0.0.1:0"]
        # Notebooks and tests send many requests in sequence, and would mostly wait for the rate of a key.
        command += ["--allow-webhook-hosts", "127.0.0.1", "--set", "limits.production_rate_per_s=1000"]
        environment = {**os.environ, "RUST_LOG": "error"}
        server = subprocess.Popen(command, stdout=output, stderr=log, env=environment)
    try:
        end = time.monotonic() + READY_TIMEOUT_S
        while not ready.read_text(encoding="utf-8").strip():
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the demo is not ready: {(data / 'demo.log').read_text(encoding='utf-8')}")
            time.sleep(0.1)
        yield json.loads(ready.read_text(encoding="utf-8"))
    finally:
        server.terminate()
        try:
            server.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def main() -> int:
    """Runs a command while a demo serves."""
    # The service must end with this process, even if a signal ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    executable, data, *command = sys.argv[1:]
    pathlib.Path(data).mkdir(exist_ok=True)
    with served(executable, pathlib.Path(data)) as ready:
        environment = {
            **os.environ,
            "TOISE": os.path.abspath(executable),
            "TOISE_DATA": os.path.abspath(data),
            "TOISE_URL": ready["address"],
            "TOISE_KEY": ready["key"],
            "TOISE_ADMIN_KEY": ready["admin_key"],
            "TOISE_SQL_KEY": ready.get("sql_key", ""),
        }
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
