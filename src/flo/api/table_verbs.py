"""Verbs of rows: one row for each item of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from flo.api.arguments import expect_kind
from flo.api.columns import column_layout
from flo.api.scope import B_co, C_co, StreamBase, name_input
from flo.core.elements import type_name
from flo.core.errors import Origin, TypeMismatch
from flo.core.stream_type import Unbounded
from flo.values.operators.elementwise import FlatMap
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream

T = TypeVar("T")
B = TypeVar("B", bound=Unbounded)


class TableVerbs(StreamBase[C_co, B_co]):
    @overload
    def explode(
        self: TableVerbs[Sequence[T], B], column: str, *, keep_empty: bool = False
    ) -> Stream[Sequence[Any], B]: ...
    @overload
    def explode(self: TableVerbs[Bag[T], B], column: str, *, keep_empty: bool = False) -> Stream[Bag[Any], B]: ...
    @overload
    def explode(self: TableVerbs[Set[T], B], column: str, *, keep_empty: bool = False) -> Stream[Set[Any], B]: ...
    @overload
    def explode(self: TableVerbs[ZSet[T], B], column: str, *, keep_empty: bool = False) -> Stream[ZSet[Any], B]: ...
    def explode(self, column: Any, *, keep_empty: bool = False) -> Any:
        """Return one row for each item of a list column, which has the item instead of the list.

        A row whose list is empty or null is dropped, unless `keep_empty`: then its item is null.
        """
        from flo.columns.exploding import Exploding

        expect_kind("explode", self, Sequence, Bag, Set, ZSet)
        layout = column_layout("explode", "column", column, self)
        f = Exploding.of(column, keep_empty, layout)
        if f is None:
            kind = layout.cells[layout.names.index(column)].kind
            error = TypeMismatch(
                f"`explode` needs a column of lists; `{column}` of {{input}} is {type_name(kind)}",
                facts=(("{input}", self.type.described()),),
                instead=(("list[T] or tuple[T, ...]", "the types of columns of lists"),),
            )
            raise name_input(error, self).located(Origin.here())  # type: ignore[arg-type]
        return self._then(FlatMap(f))
