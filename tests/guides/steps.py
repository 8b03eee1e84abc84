"""Runs the steps of pages that go from nothing to a result, and compares their output with what the page shows.

Usage: steps.py TOISE PAGE...

The shell blocks of a page run in order in one new folder, as printed, with these exceptions: servers and receivers use
free ports and run until the page ends; a request that fails is an error. Each line of a `text` or `json` block must be
in the output of the block before it, or of what still runs: numbers and identifiers may differ, and `…` stands for
anything.
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

STEPS = 5
BLOCK_TIMEOUT_S = 600
READY_TIMEOUT_S = 600
# Time in which what runs prints what the page shows.
SHOWN_TIMEOUT_S = 30
STOP_TIMEOUT_S = 30
SERVES = re.compile(r"^toise (?:demo|serve|webhook listen)\b")
FENCE = "```"
# What differs from run to run: identifiers, keys, numbers with units of size, days.
CHANGING = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}"), "ID"),
    (re.compile(r"\b(?:toise_live|toise_test|whsec)_[\w+/=]+"), "KEY"),
    (re.compile(r"-?\d[\d,.:]*(?:\s(?=\d{3}\b)\d{3})*"), "0"),
    (re.compile(r"[-─+|│╭╮╰╯┌┐└┘├┤┬┴┼═\s]+"), " "),
]


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Languages and texts of the fenced blocks of a page."""
    language, lines = None, []
    for line in page.splitlines():
        if not line.startswith(FENCE):
            lines.append(line)
        elif language is None:
            language, lines = line.removeprefix(FENCE), []
        else:
            yield language, "\n".join(lines)
            language = None


def even(text: str) -> str:
    """A line without what differs from run to run."""
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text.strip()


def missing(shown: str, output: str) -> list[str]:
    """The shown lines that are not in the output."""
    lines = [even(line) for line in output.splitlines()]

    def is_there(line: str) -> bool:
        parts = [even(part) for part in line.split("…")]
        pattern = re.compile(".*".join(re.escape(part) for part in parts))
        return any(pattern.search(line) for line in lines)

    return [line for line in shown.splitlines() if line.strip(" …") and not is_there(line)]


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Page:
    """A page that is being run, in a folder of its own."""

    def __init__(self, executable: str, page: pathlib.Path, folder: pathlib.Path) -> None:
        self.name = page.name
        self.text = page.read_text(encoding="utf-8")
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin/toise").symlink_to(pathlib.Path(executable).resolve())
        (folder / "work").mkdir()
        hidden = ("TOISE_", "RUST_LOG")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.environment.update(HOME=str(folder), PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
        self.ports = {port: free_port() for port in ("8080", "9000", "9001")}
        self.printed = ""
        self.running: list[tuple[subprocess.Popen[bytes], pathlib.Path]] = []

    def prepared(self, script: str) -> str:
        """A block with the exceptions of this test."""
        for port, own in self.ports.items():
            script = script.replace(f"127.0.0.1:{port}", f"127.0.0.1:{own}").replace(f"--port {port}", f"--port {own}")
        script = re.sub(r"^toise (demo|serve)\b(?!.*--listen)", rf"\g<0> --listen 127.0.0.1:{self.ports['8080']}",
                        script, flags=re.MULTILINE)
        return re.sub(r"\bcurl -s\b", "curl -sS --fail-with-body", script)

    def background(self) -> str:
        return "".join(path.read_text(encoding="utf-8", errors="replace") for _, path in self.running)

    def start(self, script: str) -> None:
        """Starts what runs until it is stopped, and waits until it accepts connections."""
        path = self.folder / f"output-{len(self.running)}.txt"
        with path.open("wb") as output:
            process = subprocess.Popen(
                ["sh", "-c", f"exec {script}"], cwd=self.folder / "work", env=self.environment, stdout=output,
                stderr=subprocess.STDOUT)
        self.running.append((process, path))
        port = re.search(r"(?:127\.0\.0\.1:|--port )(\d+)", script)[1]
        end = time.monotonic() + READY_TIMEOUT_S
        while not is_open(int(port)):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{script}: {path.read_text(encoding='utf-8')}")
            time.sleep(0.2)

    def run(self, script: str) -> None:
        """Runs a block with the variables that earlier ones have set."""
        variables = self.folder / "variables"
        done = subprocess.run(
            ["bash", "-aeuo", "pipefail", "-c", f"{script}\nenv -0 > {variables}"], cwd=self.folder / "work",
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=BLOCK_TIMEOUT_S, check=False)
        self.printed = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            raise RuntimeError(f"{script}\nends with {done.returncode}: {self.printed}{self.background()}")
        pairs = variables.read_text(encoding="utf-8").split("\0")
        self.environment = dict(pair.split("=", 1) for pair in pairs if pair)

    def compare(self, shown: str) -> None:
        end = time.monotonic() + SHOWN_TIMEOUT_S
        while lines := missing(shown, self.printed + self.background()):
            if not self.running or time.monotonic() > end:
                listed = "\n  ".join(lines)
                raise RuntimeError(f"not in the output:\n  {listed}\nbut:\n{self.printed}{self.background()}")
            time.sleep(0.2)

    def all(self) -> None:
        steps = re.findall(r"^## \d\. ", self.text, flags=re.MULTILINE)
        assert len(steps) == STEPS, f"{self.name} has {len(steps)} steps"
        for language, text in blocks(self.text):
            begun = time.monotonic()
            if language == "sh":
                script = self.prepared(text)
                (self.start if SERVES.match(script) else self.run)(script)
                print(f"{self.name}: {text.splitlines()[0]} ({time.monotonic() - begun:.1f} s)", flush=True)
            elif language in ("text", "json"):
                self.compare(text)

    def stop(self) -> None:
        for process, _ in self.running:
            process.send_signal(signal.SIGTERM)
        for process, _ in self.running:
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def is_open(port: int) -> bool:
    """Whether something accepts connections."""
    with socket.socket() as made:
        return made.connect_ex(("127.0.0.1", port)) == 0


def main() -> int:
    executable, *pages = sys.argv[1:]
    for path in map(pathlib.Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            page = Page(executable, path, pathlib.Path(folder))
            try:
                page.all()
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{path.name}: {error}", file=sys.stderr)
                return 1
            finally:
                page.stop()
    print(f"the steps of {len(pages)} pages run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
