"""mypy and pyright accept what is right, and refuse what would hang or race, in the editor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def mypy_errors(file: Path) -> dict[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", str(file)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    found = re.findall(rf"{file.name}:(\d+): error: (.*)", done.stdout)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {int(line): message for line, message in found}


def pyright_errors(file: Path) -> dict[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(file)],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )  # fmt: skip
    report = json.loads(done.stdout)
    return {
        item["range"]["start"]["line"] + 1: item["message"]
        for item in report["generalDiagnostics"]
        if item["severity"] == "error"
    }


CHECKERS = {"mypy": mypy_errors, "pyright": pyright_errors}


@pytest.mark.parametrize("checker", CHECKERS)
def test_right_programs_are_accepted(checker: str) -> None:
    assert CHECKERS[checker](HERE / "accepted.py") == {}


@pytest.mark.parametrize("checker", CHECKERS)
def test_wrong_programs_are_refused(checker: str) -> None:
    lines = (HERE / "refused.py").read_text().splitlines()
    expected = {number for number, line in enumerate(lines, start=1) if line.endswith("# refused")}
    errors = CHECKERS[checker](HERE / "refused.py")
    assert set(errors) == expected, errors


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_hanging_fold_is_refused_for_its_boundedness(checker: str) -> None:
    lines = (HERE / "refused.py").read_text().splitlines()
    fold = next(number for number, line in enumerate(lines, start=1) if line.startswith("open_numbers.fold("))
    message = CHECKERS[checker](HERE / "refused.py")[fold]
    assert "Bounded" in message
    assert "Unbounded" in message
