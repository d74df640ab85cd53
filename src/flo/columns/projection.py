"""Functions that make a row of a row: a projection, some columns of which are Python functions of the row, and a row
with the results of an operator as more columns.

Columns and expressions are evaluated together, on whole columns where rows are tables; functions row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flo.columns.cell import fields_of
from flo.columns.expression import Expression, expression_text
from flo.columns.layout import Layout
from flo.columns.readable import readable
from flo.columns.row_types import row_type
from flo.core.elements import returned_type
from flo.core.labels import identity, label
from flo.core.untyped import Element
from flo.values.canonical import instant_element
from flo.values.operators.shapes import expect_declared
from flo.values.row_functions import RowFunction


class Projection(RowFunction):
    """A function of a row that makes a row. Each column is a column, an expression, or a function with a known type."""

    takes = 1

    def __init__(self, given: Mapping[str, object], element: Any) -> None:
        """The functions in `given` are callables; all else is columns. Only these need rows with a layout."""
        self.given, self.element = dict(given), element
        self.functions: dict[str, Callable[[Any], Any]] = {name: each for name, each in given.items() if callable(each)}
        columns = {name: each for name, each in given.items() if name not in self.functions}
        self.columns: Expression | None = None
        if columns:
            layout = Layout.of(element)
            assert layout is not None, "rows have columns"
            self.columns = Expression(columns, (layout,))
        self.text = _text(given, identity)
        text = ", ".join(_described(name, each) for name, each in given.items())
        self.__name__ = text if len(text) <= 80 else f"{text[:79]}…"
        known = (fields_of(self.columns.kind) if self.columns is not None else None) or {}
        of_functions = {name: returned_type(f) for name, f in self.functions.items()}
        self.returns = row_type({name: {**known, **of_functions}[name] for name in given})
        row_layout = Layout.of(self.returns)
        assert row_layout is not None, "a column without a type"
        self.layout = row_layout

    def copies(self, column: str) -> tuple[str, ...]:
        return () if self.columns is None else self.columns.copies(column)

    def calling(self, functions: Mapping[str, Any]) -> Projection:
        """Return the same projection with other functions."""
        return Projection({**self.given, **functions}, self.element)

    def prepare(self, rows: list[Element]) -> None:
        """Evaluate the expressions for many rows at once."""
        if self.columns is not None:
            self.columns.prepare(rows)

    def __call__(self, row: object) -> Any:
        values = {} if self.columns is None else dict(zip(self.columns.layout.names, self.columns(row), strict=True))
        for name, function in self.functions.items():
            values[name] = value = function(row)
            expect_declared(function, [value])
        return instant_element(self.returns(*(values[name] for name in self.layout.names)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Projection):
            return NotImplemented
        mine, others = ((each.functions, each.columns, each.returns) for each in (self, other))
        return self is other or mine == others

    def __hash__(self) -> int:
        return hash(self.text)


class Widened(RowFunction):
    """A function of a row and more values that makes the row with these as named columns.

    A new column with the name of an old one replaces it, in its place; the others follow in their order.
    """

    def __init__(self, layout: Layout, more: dict[str, Any]) -> None:
        own = dict(zip(layout.names, (cell.annotation for cell in layout.cells), strict=True))
        self.inputs = layout
        self.more = tuple(more)
        self.returns = row_type({**own, **more})  # read by `returned_type`
        self.names = tuple(own | more)
        self.__name__ = f"with_columns({', '.join(self.more)})"
        places = {name: len(layout.names) + place for place, name in enumerate(self.more)}
        self._places = tuple(places.get(name, place) for place, name in enumerate(layout.names)) + tuple(
            place for name, place in places.items() if name not in own
        )

    def copies(self, column: str) -> tuple[str, ...]:
        return (column,) if column in self.inputs.names and column not in self.more else ()

    def __call__(self, row: object, results: tuple[object, ...]) -> Any:
        values = [*(column[0] for column in self.inputs.split([row])), *results]
        return self.returns(*(values[place] for place in self._places))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Widened) and (self.inputs, self.returns, self.more) == (
            other.inputs,
            other.returns,
            other.more,
        )

    def __hash__(self) -> int:
        return hash(self.__name__)


def _described(name: str, given: object) -> str:
    return f"{name}={label(given)}" if callable(given) else readable({name: given})


def _text(given: Mapping[str, object], named: Callable[[Any], str]) -> str:
    parts = (f"{name}: {named(each) if callable(each) else expression_text(each)}" for name, each in given.items())
    return f"{{{', '.join(parts)}}}"
