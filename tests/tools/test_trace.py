"""`flo trace`: a page of a flow's steps, from data on the command line or in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from flo.tools.cli import main
from tests.pictures.test_pages import read

PROGRAM = """
from typing import NamedTuple
import flo

class Sale(NamedTuple):
    item: str
    price: int

flow = flo.Flow("sales")
sold = flow.input("sold", flo.Sequence[Sale])
flow.output("prices", sold.map(lambda sale: sale.price))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "sales.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_a_page_is_written(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    given = "sold=[{'item': 'a', 'price': 3}, {'item': 'b', 'price': 4}]"
    assert main(["trace", str(program), "--input", given, "--html", str(page)]) == 0
    assert "6 states" in capsys.readouterr().out
    data = read(page)
    assert {slot["line"] for slot in data["slots"]} == {"sales.py:11", ""}
    assert any(move["text"] == "sold ← [Sale(item='a', price=3)]" for move in data["moves"])
    assert not data["cut"]


def test_data_may_be_in_a_file_and_the_states_be_bounded(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sold.json").write_text('[{"item": "a", "price": 3}, {"item": "b", "price": 4}]', encoding="utf-8")
    page = tmp_path / "page.html"
    arguments = ["trace", str(program), "--input", f"sold={tmp_path / 'sold.json'}", "--html", str(page)]
    assert main([*arguments, "--states", "2"]) == 0
    assert "cut" in capsys.readouterr().out
    assert "cut at 2 states" in read(page)["cut"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["--input", "sold=[1"], "must be a value of Python or a file of JSON"),
        (["--input", "sold=none.json"], "cannot be read"),
        (["--input", "other=[1]"], "no input called `other`"),
        (["--input", "sold=[1]"], "sold"),
        (["--states", "0"], "must be an integer ≥ 1"),
    ],
)
def test_what_cannot_be_traced_is_rejected(
    given: list[str], reason: str, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(program), *given, "--html", str(tmp_path / "page.html")]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
