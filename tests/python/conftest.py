"""Fixtures: a served demo, and a small server with scripted responses.

The demo is the one that `TOISE_URL`, `TOISE_KEY` and `TOISE_ADMIN_KEY` name, or one that the executable in `TOISE`
serves; without either, the tests that need it are skipped.

A skip is written to the end of the file named by `TOISE_SKIPPED`, which `.ci/run` reads, and is a failure if
`TOISE_REQUIRE=all`.
"""

from __future__ import annotations

import json
import os
import pathlib
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import toise
from demo import served


def _note_skip(report: Any) -> None:
    """Handles the report of a skipped test or file; other reports are unchanged."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2]).removeprefix("Skipped: ")
    line = f"skipped: {report.nodeid}: {reason}"
    if os.environ.get("TOISE_SKIPPED"):
        with open(os.environ["TOISE_SKIPPED"], "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    if os.environ.get("TOISE_REQUIRE") == "all":
        report.outcome = "failed"
        report.longrepr = f"TOISE_REQUIRE=all, but {line}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Records a skip by a test or its fixtures."""
    report = yield
    _note_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Records a skip of a whole file."""
    report = yield
    _note_skip(report)
    return report


@dataclass
class Answer:
    """A scripted response; status 0 closes the connection without one."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Received:
    """A request as received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Scripted(ThreadingHTTPServer):
    """Sends the responses of `script` in turn, repeats the last one, and records the requests."""

    daemon_threads = True

    def __init__(self, script: Callable[[Received], Answer] | list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[Received] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, request: Received) -> Answer:
        self.requests.append(request)
        if callable(self.script):
            return self.script(request)
        return self.script[min(len(self.requests), len(self.script)) - 1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.answer(Received(self.command, self.path, headers, body))
        if answer.status == 0:
            self.close_connection = True
            return
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[Callable[..., Scripted]]:
    """Starts servers with scripted responses."""
    servers: list[Scripted] = []

    def start(script: Callable[[Received], Answer] | list[Answer]) -> Scripted:
        servers.append(Scripted(script))
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A served demo: `address`, `key`, `admin_key`."""
    if os.environ.get("TOISE_URL"):
        environment = os.environ
        yield {
            "address": environment["TOISE_URL"],
            "key": environment["TOISE_KEY"],
            "admin_key": environment["TOISE_ADMIN_KEY"],
            "sql_key": environment.get("TOISE_SQL_KEY", ""),
        }
        return
    executable = os.environ.get("TOISE")
    if not executable or not pathlib.Path(executable).is_file():
        pytest.skip("needs a served demo: set TOISE to the executable, or TOISE_URL, TOISE_KEY and TOISE_ADMIN_KEY")
    with served(executable, tmp_path_factory.mktemp("demo")) as ready:
        yield ready


@pytest.fixture
def client(demo: dict[str, str]) -> Iterator[toise.Client]:
    """A client of the demo."""
    with toise.Client(demo["address"], demo["key"]) as client:
        yield client


@pytest.fixture
def operator(demo: dict[str, str]) -> Iterator[toise.Client]:
    """A client of the demo with the scope `admin`."""
    with toise.Client(demo["address"], demo["admin_key"]) as client:
        yield client
