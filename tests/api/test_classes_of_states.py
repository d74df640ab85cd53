"""Rows in a state are read by another process, in which their classes are in another module."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.api import classes_program

SCRIPT = Path(classes_program.__file__)


def run_script(engine: str, action: str, where: Path) -> Any:
    return output_of(str(SCRIPT), engine, action, str(where))


def run_imported(engine: str, action: str, where: Path) -> Any:
    called = f"import classes_program; classes_program.main({engine!r}, {action!r}, {str(where)!r})"
    return output_of("-c", called)


def output_of(*arguments: str) -> Any:
    path = os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return ast.literal_eval(done.stdout.strip().splitlines()[-1])


@pytest.mark.every(test=2)
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["values", "tables"])
def test_a_script_and_the_same_program_as_a_module(engine: str, tmp_path: Path) -> None:
    run_script(engine, "save", tmp_path)
    again = run_script(engine, "restore", tmp_path)
    assert "Row(user='a', n=12, counts=(5, 7))" in dict(again)["sessions"]
    assert "Local(a=2, b=30)" in dict(again)["last"]
    assert run_imported(engine, "restore", tmp_path) == again


@pytest.mark.slow
@pytest.mark.thorough
def test_classes_of_a_script_on_spark(tmp_path: Path) -> None:
    run_script("spark", "save", tmp_path)
    again = run_imported("spark", "restore", tmp_path)
    assert "Row(user='a', n=12, counts=(5, 7))" in dict(again)["sessions"]
    assert "Local(a=2, b=30)" in dict(again)["last"]
    assert "Click(user='c', at=30, count=2)" in dict(again)["pairs"]
