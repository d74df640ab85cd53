"""Errors that end a script or a notebook cell show the user's lines, and none of Flo's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flo
from flo.core.tracebacks import render_traceback

SCRIPT = """\
import flo


def build():
    numbers = flo.Flow("sums").input("numbers", flo.Sequence[int])
    return numbers.fold(0, max)


def inverse(x: int) -> int:
    return 1 // x


def run():
    flow = flo.Flow("inverses")
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(inverse))
    return flow.run(numbers=[0])
"""


def printed(folder: Path, call: str, **environment: str) -> list[str]:
    script = folder / "script.py"
    script.write_text(f"{SCRIPT}\n\n{call}\n", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert ended.returncode == 1
    return ended.stderr.splitlines()


def test_a_script_shows_its_own_lines_and_the_message(tmp_path: Path) -> None:
    lines = printed(tmp_path, "build()")
    assert len(lines) <= 15
    assert [line.split('"')[1] for line in lines if line.startswith("  File ")] == [str(tmp_path / "script.py")] * 2
    assert any(line.startswith("flo.BoundednessError: `fold` waits for the end") for line in lines)


def test_a_function_that_raises_is_shown_once(tmp_path: Path) -> None:
    lines = printed(tmp_path, "run()")
    assert sum(line.startswith("ZeroDivisionError") for line in lines) == 1
    assert lines[[line.startswith("ZeroDivisionError") for line in lines].index(True) + 1] == "given   0"
    assert lines[-1].split() == ["given", "0"]
    assert not any(f"flo{os.sep}core" in line for line in lines)


def test_all_frames_on_request(tmp_path: Path) -> None:
    assert any(f"flo{os.sep}api" in line for line in printed(tmp_path, "build()", FLO_TRACEBACK="full"))


def test_notebooks_print_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLO_TRACEBACK", raising=False)
    with pytest.raises(flo.BoundednessError) as caught:
        flo.Flow("sums").input("numbers", flo.Sequence[int]).fold(0, max)
    lines = caught.value._render_traceback_()
    assert lines == render_traceback(caught.value)
    assert sum(line.startswith("  File ") for line in lines) == 1
    assert any(line.startswith("flo.BoundednessError: ") for line in lines)
