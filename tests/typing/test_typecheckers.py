"""mypy and pyright accept what is right, and refuse what would hang or race, in the editor; Flo has strict types."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("type checkers")]  # in one process, which keeps what they said

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


Errors = dict[str, dict[int, str]]
"""The message of each line, by the name of the file."""


@cache
def errors(checker: str) -> Errors:
    """What a type checker finds in both files: it is started once."""
    return CHECKERS[checker](HERE / "accepted.py", HERE / "refused.py")


def _mypy(*files: Path) -> Errors:
    """Also checks Flo itself, as `mypy` without arguments does: what takes long is to read it."""
    of_flo = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["files"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", *of_flo, *map(str, files)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Errors = {file.name: {} for file in files}
    for name, line, message in re.findall(r"^(.*?):(\d+): error: (.*)", done.stdout, re.MULTILINE):
        place = Path(name)
        found.setdefault(place.name if place.parent == HERE.relative_to(ROOT) else name, {})[int(line)] = message
    return found


def _pyright(*files: Path) -> Errors:
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, files)],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files), report["summary"]
    found: Errors = {file.name: {} for file in files}
    for item in report["generalDiagnostics"]:
        if item["severity"] == "error":
            found[Path(item["file"]).name][item["range"]["start"]["line"] + 1] = item["message"]
    return found


CHECKERS = {"mypy": _mypy, "pyright": _pyright}


@pytest.mark.always
def test_flo_has_strict_types() -> None:
    assert {name: lines for name, lines in errors("mypy").items() if name not in ("accepted.py", "refused.py")} == {}


@pytest.mark.parametrize("checker", CHECKERS)
def test_right_programs_are_accepted(checker: str) -> None:
    assert errors(checker)["accepted.py"] == {}


@pytest.mark.parametrize("checker", CHECKERS)
def test_wrong_programs_are_refused(checker: str) -> None:
    lines = (HERE / "refused.py").read_text().splitlines()
    expected = {number for number, line in enumerate(lines, start=1) if line.endswith("# refused")}
    found = errors(checker)["refused.py"]
    assert set(found) == expected, found


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_hanging_fold_is_refused_for_its_boundedness(checker: str) -> None:
    lines = (HERE / "refused.py").read_text().splitlines()
    fold = next(number for number, line in enumerate(lines, start=1) if line.startswith("open_numbers.fold("))
    message = errors(checker)["refused.py"][fold]
    assert "Bounded" in message
    assert "Unbounded" in message
