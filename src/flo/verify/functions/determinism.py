"""Functions that do not return the same result every time are rejected when a program is built, if their code shows it:
it reads a clock or draws random numbers, or a function of the user's program that it calls does.
"""

from __future__ import annotations

from typing import Any

from flo.core.errors import LawError, is_users
from flo.core.labels import label
from flo.verify.data.constants import CLOCKS, LATER, OF_DATES, WITHOUT_A_TIME, function_of, impure_uses


def expect_deterministic(function: Any) -> None:
    """Raise if the code of a function calls one whose result is not determined by its arguments."""
    own = function_of(function)
    if own is None or not is_users(own.__code__.co_filename):
        return
    use = next((each for each in impure_uses(function) if each.endswith(LATER)), None)
    if use is None:
        return
    name = use.removeprefix("calls ").partition(",")[0]
    instead = ('flo.hash("id")', "a number that looks random, and is the same every time")
    if name.rpartition(".")[2] in OF_DATES or name.removeprefix("time.") in {*CLOCKS.split(), *WITHOUT_A_TIME}:
        instead = ('flow.now(because="…")', "the time of the outside world, recorded with the data")
    raise LawError(
        f"`{label(function)}` does not return the same result every time: it calls `{name}`",
        facts=(("why", "a micro-batch that runs again, and a row that is retracted, must give the same result"),),
        instead=(instead, ("a column of the input", "written by the producer")),
    )
