"""The starting points run as they are, and what the README, the container file and the wheel promise holds.

Those on Spark are in tests/spark/test_starting_points.py.
"""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from examples import first

ROOT = Path(__file__).parent.parent
RESULTS = {
    "changing_dimension": ("day 6: the sale of day 2 is cancelled", "gifts            17         7"),
    "access_rights": ("cyd becomes an admin\n  cyd may read code\n  cyd may read passwords\n",),
    "bill_of_materials": ("+1 needs: bicycle spoke 48", "-1 costs: bicycle 4380\n  +1 costs: bicycle 4060"),
    "reachable_services": ("up again: checkout, login, orders, shop", "one outcome in"),
    "shortest_paths": ("28           7           5          20           0          24   the road from Hamar",),
    "shop_sessions": ("ann  09:00  5 clicks in 55 min, got to: payment",),
}


@pytest.mark.parametrize("name", RESULTS)
def test_it_runs_and_shows_its_result(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    importlib.import_module(f"examples.{name}").main()
    shown = capsys.readouterr().out
    assert all(part in shown for part in RESULTS[name])
    pictures = re.findall(r"\w+\.(?:svg|html)", shown)
    assert pictures
    assert all((tmp_path / picture).stat().st_size for picture in pictures)


def test_the_first_program_shows_a_result_a_rejection_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    first.main(tmp_path)
    shown = capsys.readouterr().out
    assert "revenue  [115, 10]" in shown
    assert "`fold` waits for the end of its input" in shown
    assert (tmp_path / "first.html").stat().st_size
    picture, kept = (tmp_path / "first.svg").read_text(encoding="utf-8"), ROOT / "docs" / "first.svg"
    if request.config.getoption("--update-golden"):
        kept.write_text(picture, encoding="utf-8")
    assert picture == kept.read_text(encoding="utf-8"), "pytest tests/test_starting_points.py --update-golden"


def test_every_starting_point_is_on_its_page() -> None:
    page = (ROOT / "docs" / "starting-points.md").read_text(encoding="utf-8")
    for name in re.findall(r"python -m examples\.(\w+)", page):
        assert (ROOT / "examples" / f"{name}.py").exists()
    runnable = {file.stem for file in (ROOT / "examples").glob("*.py") if "def main(" in file.read_text("utf-8")}
    assert runnable - set(re.findall(r"python -m examples\.(\w+)", page)) == {"demo"}


def test_the_container_runs_the_demo_on_what_it_copies() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", "").splitlines() if line and not line.startswith("#")]
    assert lines[0].startswith("FROM docker.io/library/python:3.13-")
    for line in lines:
        if line.startswith("COPY"):
            *sources, _ = [part for part in shlex.split(line)[1:] if not part.startswith("--")]
            assert all((ROOT / source).exists() for source in sources), line
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    command = re.search(r"^demo:.*\n\t@\$\(BIN\)/(.*)$", makefile, re.MULTILINE)
    assert command
    assert lines[-1] == f"CMD {command[1].split()!r}".replace("'", '"')
    assert "USER flo" in lines[lines.index(lines[-1]) - 1]
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    assert not {"src", "examples", "pyproject.toml"} & set(ignored)


@pytest.mark.thorough
def test_the_wheel_runs_in_an_empty_environment(tmp_path: Path) -> None:
    """Builds the wheel, installs it with what it needs, and runs a program in a folder without Flo's sources."""
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(wheel, check=True)
    (built,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    python = str(tmp_path / "empty" / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), str(built)]
    subprocess.run(install, check=True)
    (tmp_path / "elsewhere").mkdir()
    program = tmp_path / "elsewhere" / "first.py"
    program.write_text((ROOT / "examples" / "first.py").read_text(encoding="utf-8"), encoding="utf-8")
    run = [python, "-I", str(program)]
    done = subprocess.run(run, capture_output=True, text=True, cwd=program.parent, check=True)
    assert "revenue  [115, 10]" in done.stdout
    assert (program.parent / "first.svg").exists()
    flo = subprocess.run([str(tmp_path / "empty" / "bin" / "flo"), "--version"], capture_output=True, text=True)
    assert flo.stdout.startswith("flo ")
