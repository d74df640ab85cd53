"""Every exception of Flo can be pickled and copied: Spark sends those of its tasks to the driver."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
from typing import Any

import pytest

import flo
from flo.core.errors import FloError, Origin
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import SqlError
from flo.verify.exploration.moves import BrokenStep, Move
from flo.verify.functions.trials import Raised
from flo.verify.time_limit import TimeUp

MOVE = Move("map", "map", "map")
MADE: dict[type[BaseException], Any] = {
    SqlError: lambda: SqlError("DIVIDE_BY_ZERO", "division by zero"),
    UnsupportedQueryError: lambda: UnsupportedQueryError("Sample", "why", "x", ("y", "z")),
    BrokenStep: lambda: BrokenStep("measure", "why", MOVE, advice="none"),
    Raised: lambda: Raised(ValueError("x"), (1, 2)),
    TimeUp: lambda: TimeUp(2.5, Origin("/program.py", 7), waited=True),
}
"""Exceptions that do not take one text."""


def exceptions() -> list[type[BaseException]]:
    """All classes of exceptions that a module of Flo defines."""
    found: dict[type[BaseException], None] = {}
    for module in pkgutil.walk_packages(flo.__path__, "flo."):
        if module.name.endswith("__main__"):
            continue
        for each in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(each) and issubclass(each, BaseException) and each.__module__.partition(".")[0] == "flo":
                found[each] = None
    return list(found)


def shown(error: BaseException) -> Any:
    """What distinguishes an error: its class, text and fields."""
    return type(error), str(error), repr(error.args), {name: repr(value) for name, value in vars(error).items()}


@pytest.mark.parametrize("kind", exceptions(), ids=lambda kind: kind.__name__)
def test_an_error_is_the_same_after_a_journey(kind: type[BaseException]) -> None:
    error = MADE[kind]() if kind in MADE else kind("what failed")
    if isinstance(error, FloError):
        error.facts, error.instead = (("expected", "one"),), (("two", "three"),)
        error.index, error.input_name = 1, "`sales`"
        error.located(Origin("/program.py", 7))
    error.add_note("a note")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert shown(pickle.loads(pickle.dumps(error, protocol))) == shown(error)
    assert shown(copy.copy(error)) == shown(error)
    assert shown(copy.deepcopy(error)) == shown(error)


def test_all_are_looked_at() -> None:
    assert {FloError, SqlError, UnsupportedQueryError, Raised} < set(exceptions())
    assert len(exceptions()) > 30


def test_a_class_of_a_user_may_take_other_arguments() -> None:
    error = pickle.loads(pickle.dumps(Odd(3, name="x")))
    assert (error.number, error.name, str(error)) == (3, "x", "3 is odd")


class Odd(FloError):
    def __init__(self, number: int, *, name: str) -> None:
        super().__init__(f"{number} is odd")
        self.number, self.name = number, name
