"""The package: generated files are up to date, types are correct, and the executable is found."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

import toise
from toise import executable

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_generated_files_follow_from_the_openapi_document():
    check(sys.executable, "src/python/generate.py", "--check")


def test_mypy_finds_nothing():
    pytest.importorskip("mypy")
    check(sys.executable, "-m", "mypy", "-p", "toise")


def test_pyright_finds_nothing():
    # The package from PyPI downloads its program from the npm registry at its first run.
    pytest.importorskip("pyright")
    if not shutil.which("node"):
        pytest.skip("pyright needs node")
    ready = subprocess.run([sys.executable, "-m", "pyright", "--version"], capture_output=True, check=False)
    if ready.returncode != 0:
        pytest.skip("pyright cannot be installed here")
    check(sys.executable, "-m", "pyright", "--pythonpath", sys.executable)


def test_ruff_finds_nothing():
    pytest.importorskip("ruff")
    check(sys.executable, "-m", "ruff", "check")


def test_types_are_part_of_the_package():
    assert (pathlib.Path(toise.__file__).parent / "py.typed").exists()


def test_the_executable_is_found_where_the_environment_says(tmp_path, monkeypatch):
    there = tmp_path / "toise"
    there.touch()
    monkeypatch.setenv("TOISE", str(there))
    assert executable.path() == there
