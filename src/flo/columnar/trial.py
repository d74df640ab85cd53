"""Column expressions, tried on examples when a program is built: what they give of a row must not depend on others."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flo.columnar.layout import Layout
from flo.core.errors import LawError
from flo.verify.data.examples import examples

if TYPE_CHECKING:
    from flo.columnar.expression import Expression

MOST = 24
"""So many rows an expression is tried on."""


def example_rows(layouts: tuple[Layout, ...]) -> list[tuple[Any, ...]]:
    """A few arguments of a function of such rows."""
    each = [[element for element in examples(layout.element) if _fits(layout, element)] for layout in layouts]
    return list(islice(product(*(some[: MOST if len(layouts) == 1 else 6] for some in each)), MOST))


def _fits(layout: Layout, element: Any) -> bool:
    try:
        layout.to_table([element])
    except Exception:  # the column is narrower than the type, as for large decimals
        return False
    return True


def tables(expression: Expression, rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [() for _ in expression.inputs]
    return expression.beside(
        *(layout.to_table(list(some)) for layout, some in zip(expression.inputs, columns, strict=True))
    )


def one_by_one(expression: Expression) -> list[tuple[tuple[Any, ...], pa.Table]]:
    """What the expression gives of each example by itself; those that it cannot take are left out."""
    found = []
    for row in example_rows(expression.inputs):
        try:
            found.append((row, expression.over(tables(expression, [row]))))
        except Exception:  # as a division by zero
            continue
    return found


def may_be_null(expression: Expression) -> set[str]:
    """The columns of the result that are null for some example."""
    return {name for _, result in one_by_one(expression) for name in result.column_names if result[name].null_count}


def expect_of_each_row(expression: Expression) -> None:
    """Refuses an expression that looks at other rows: sums, ranks, shifts and the like."""
    singles = one_by_one(expression) * 2  # twice: some expressions see nothing but repetitions
    if not singles:
        return
    rows = [row for row, _ in singles]
    alone = [result.to_pylist()[0] if result.num_rows == 1 else None for _, result in singles]
    try:
        together = expression.over(tables(expression, rows)).to_pylist()
        reason = f"it gives {len(together)} results for {len(rows)} rows"
    except Exception as error:
        together, reason = [], f"on several rows at once it raises {type(error).__name__}"
    different = [place for place in range(len(rows)) if len(together) != len(rows) or not _same(together, alone, place)]
    if not different:
        return
    facts: tuple[tuple[str, str], ...] = (("expression", expression.__name__), ("together", reason))
    if len(together) == len(rows):
        place = different[0]
        facts = (
            ("expression", expression.__name__),
            ("row", ", ".join(repr(part)[:80] for part in rows[place])),
            ("by itself", _shown(alone[place])),
            ("among others", _shown(together[place])),
        )
    raise LawError(
        "an expression must say something of each row by itself, and this one looks at other rows",
        facts=facts,
        instead=(("sum_by(…), top(…), distinct()", "the verbs that bring rows together"),),
    )


def _same(together: list[Any], alone: list[Any], place: int) -> bool:
    return repr(together[place]) == repr(alone[place])  # nan is nan


def _shown(result: dict[str, Any] | None) -> str:
    if result is None:
        return "no result"
    return repr(next(iter(result.values())) if len(result) == 1 else result)[:80]
