"""Rows with more columns: the row of an operator that adds its results to the rows it reads."""

from __future__ import annotations

from typing import Any

from flo.columns.layout import Layout
from flo.columns.row_types import row_type


class Widened:
    """A function of a row and more values that makes the row with these as named columns.

    A new column with the name of an old one replaces it, in its place; the others follow in their order.
    """

    def __init__(self, layout: Layout, more: dict[str, Any]) -> None:
        own = dict(zip(layout.names, map(_kind, layout.cells), strict=True))
        self.inputs = layout
        self.more = tuple(more)
        self.returns = row_type({**own, **more})  # read by `returned_type`
        self.names = tuple(own | more)
        self.__name__ = f"with_columns({', '.join(self.more)})"
        places = {name: len(layout.names) + place for place, name in enumerate(self.more)}
        self._places = tuple(places.get(name, place) for place, name in enumerate(layout.names)) + tuple(
            place for name, place in places.items() if name not in own
        )

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the row that are passed on."""
        return tuple(name for name in self.inputs.names if name not in self.more)

    def __call__(self, row: Any, results: tuple[Any, ...]) -> Any:
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

    def __repr__(self) -> str:
        return self.__name__


def _kind(cell: Any) -> Any:
    return cell.kind | None if cell.nullable and cell.kind is not type(None) else cell.kind
