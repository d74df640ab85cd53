"""What is done when a function raises: rows at fault hold up themselves only, all others are consumed.

What is raised elsewhere is a mistake of the engine: no row is to blame, and nothing goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from flo.columnar.places import taken
from flo.columnar.rows import WEIGHT, Rows, layout_of, ordered
from flo.columnar.trace import added, alike, weighing
from flo.core.errors import EngineError, FloError, is_users
from flo.core.operator import Step
from flo.values.operators import unary
from flo.values.operators.unary import noted
from flo.values.weighted import ZSet

F = TypeVar("F", bound=Callable[..., Any])
ON_VALUES = str(Path(unary.__file__).parent.parent)
CALLING: set[CodeType] = set()


def calling(function: F) -> F:
    """Marks what calls functions of the user, or looks at their results: what is raised in there is about them."""
    CALLING.add(function.__code__)
    return function


def of_a_row(error: Exception) -> bool:
    """Whether a function of the user has raised, or an element is refused, as it would be on values."""
    if isinstance(error, (FloError, OverflowError)) or (
        isinstance(error, pa.ArrowInvalid) and "overflow" in str(error)
    ):
        return True
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code in CALLING or is_users(code.co_filename) or code.co_filename.startswith(ON_VALUES):
            return True
        trace = trace.tb_next
    return False


def expect_of_a_row(operator: Any, error: Exception) -> None:
    if not of_a_row(error):
        raise EngineError(f"`{operator.like.name}` on tables raised {type(error).__name__}: {error}") from error


def piecewise(operator: Any, inputs: tuple[Rows, ...], error: Exception, *, onwards: bool) -> Iterator[Step]:
    """Steps that consume the rows which can be, from here or `onwards` from the one before; at last what was raised.

    Rows that cancel each other are not there. Of a sequence, nothing behind the row at fault is consumed.
    """
    expect_of_a_row(operator, error)
    values = [Rows(value.of, present(value), value.end) for value in inputs]
    if not any(value.table.num_rows for value in values):
        yield Step(operator.rule, tuple(value.drained() for value in inputs), operator, (None,) * operator.arity[1])
        return
    fault: Exception | None = None
    left = [np.ones(value.table.num_rows, bool) for value in values]
    for place, value in enumerate(values):
        waiting = [(0, value.table.num_rows)] if value.table.num_rows else []
        while waiting:
            start, count = waiting.pop()
            part = value.table.slice(start, count)
            try:
                after, outputs = operator.consume(*_alone(values, place, part))
            except Exception as error:
                expect_of_a_row(operator, error)
                if count > 1:
                    half = count // 2
                    waiting += [(start + half, count - half), (start, half)]
                    continue
                fault = fault or noted(error, operator.unit(value.of, part))
                if ordered(value.of):
                    break
                continue
            rest = [each.copy() for each in left]
            rest[place][start : start + count] = False
            yield Step(operator.rule, tuple(map(_kept, values, rest)), after, outputs)
            if onwards:
                operator, left = after, rest
            elif ordered(value.of):
                break
    if fault is not None:
        raise fault


def unit(of: Any, part: pa.Table) -> str:
    """The one row of a table, as an error shows it: of a z-set with its weight."""
    (element,) = layout_of(of).to_elements(part)
    return repr((element, part[WEIGHT][0].as_py()) if isinstance(of, ZSet) else element)


def present(value: Rows) -> pa.Table:
    """Every row that is there once, in the order in which they came."""
    if ordered(value.of) or not value.table.num_rows:
        return value.table
    order, firsts = alike(value.table.drop_columns([WEIGHT]))
    weights = added(value.table[WEIGHT].to_numpy()[order], firsts)
    places = order[firsts]
    again = np.argsort(places)
    kept = again[weights[again] != 0]
    return weighing(taken(value.table, places[kept]), weights[kept])


def _alone(values: list[Rows], place: int, part: pa.Table) -> list[pa.Table]:
    return [part if at == place else value.table.slice(0, 0) for at, value in enumerate(values)]


def _kept(value: Rows, which: Any) -> Rows:
    return Rows(value.of, value.table.filter(pa.array(which)), value.end)
