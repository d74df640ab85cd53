"""Lint and format: what `make check` does before its tests, so that `make test` holds them, too. Strict types are in
tests/typing/test_typecheckers.py, where mypy is started once for all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("command", ["ruff check .", "ruff format --check ."])
def test_tool_finds_nothing(command: str) -> None:
    tool, *arguments = command.split()
    run = [sys.executable, "-m", tool, *arguments]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
