"""Every refusal says what was expected, what was given, where, and what to write instead. Golden files hold the texts.

pytest tests/api/test_refusals.py --update-golden     writes them anew, to be read before they are committed
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import flo

pytestmark = pytest.mark.every(check=5)

GOLDEN = Path(__file__).parent.parent / "golden"
MODULES = ("functions", "joins", "programs", "recursion", "relations", "tables", "times")
PROGRAMS = {
    name: function
    for module in map(import_module, [*(f"tests.api.refused_{each}" for each in MODULES), "tests.api.typical_mistakes"])
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_"
}


WAITING = {"fold_that_never_returns"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in WAITING)) for name in PROGRAMS]
)
def test_refusal(name: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(flo.FloError) as caught:
        PROGRAMS[name]()
    text = f"{type(caught.value).__name__}: {caught.value}\n"
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["a\0b", "x" * 201, "é" * 101, "\ud800", ".", "..", "a/../b", "/a", "a/"])
def test_names_are_those_that_folders_can_have(name: str) -> None:
    flow = flo.Flow("sums")
    numbers = flow.input("eu/" + "x" * 200, flo.Sequence[int])
    for give in (lambda: flow.input(name, flo.Sequence[int]), lambda: flow.output(name, numbers)):
        with pytest.raises(flo.TypeMismatch, match="must be one that a folder can have"):
            give()


INTERNAL = re.compile(r"flo\.(core|api|values|columns|tables)\.|Annotated\[|<class |<function |\bat 0x|==\d|#\d")
"""What belongs to Flo or to Python, and not to the user's program."""


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.txt")), ids=lambda file: file.stem)
def test_errors_are_short_and_in_the_words_of_users(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 15
    assert not INTERNAL.search(text)


def test_typical_mistakes_are_many() -> None:
    assert sum(name.startswith("mistake_") for name in PROGRAMS) >= 40


def test_every_golden_file_has_its_program() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(PROGRAMS)
