"""Verbs of rows with named columns, as in SQL, Polars and PySpark: projections, groups, aggregates and lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Never, overload

from flo.api.aggregates import AggregateSpec
from flo.api.arguments import expect_kind, expect_zset
from flo.api.columns import AnyColumn, Asked, column_layout
from flo.api.group_by import (
    Grouped,
    GroupedWindows,
    aggregated,
    are_windows,
    cube_sets,
    expect_names,
    expect_sets,
    group_rows,
    rollup_sets,
)
from flo.api.projections import bind_rows, columns_of, expect_column, expect_name, expect_new_name, named_columns
from flo.api.scope import B, B_co, C, C_co, D, StreamBase, T
from flo.core.errors import TypeMismatch, brief
from flo.core.nested import Nested
from flo.core.type_names import type_name
from flo.values.element_value import ElementKind
from flo.values.operators.elementwise import FlatMap, Map
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream


class RowVerbs(StreamBase[C_co, B_co]):
    def select(
        self: RowVerbs[ElementKind[T, C, D], B], *columns: Asked[T] | list[AnyColumn], **named: Asked[T]
    ) -> Stream[D, B]:
        """Return rows with these columns: names, expressions, `name=expression`, and `name=function` of the row."""
        given = named_columns("select", columns, named, self)
        if not given:
            raise TypeMismatch(
                "`select` must get at least one column",
                instead=(('select("a", b=…)', "names, and expressions by name"), ("select(nw.all())", "all columns")),
            ).at_users_line()
        return project_rows(self, "select", given)

    def with_columns(
        self: RowVerbs[ElementKind[T, C, D], B], *columns: Asked[T] | list[AnyColumn], **named: Asked[T]
    ) -> Stream[D, B]:
        """Return the rows with more columns, or with columns replaced."""
        own = {name: name for name in columns_of(self, "with_columns")}
        return project_rows(self, "with_columns", own | named_columns("with_columns", columns, named, self))

    def drop(self: RowVerbs[ElementKind[T, C, D], B], *columns: str | list[str]) -> Stream[D, B]:
        """Return the rows without these columns."""
        own = columns_of(self, "drop")
        dropped = [name for each in columns for name in (each if isinstance(each, (list, tuple)) else (each,))]
        for name in dropped:
            expect_name("drop", name)
            expect_column(self, "drop", name, own)
        left = {name: name for name in own if name not in dropped}
        if not left:
            raise TypeMismatch("`drop` must leave at least one column").at_users_line()
        return project_rows(self, "drop", left)

    def rename(
        self: RowVerbs[ElementKind[T, C, D], B], columns: Mapping[str, str] | None = None, /, **named: str
    ) -> Stream[D, B]:
        """Return the rows with columns renamed: `{"old": "new"}` or `old="new"`."""
        if columns is not None and not isinstance(columns, Mapping):
            raise TypeMismatch(
                f"`rename` must get new names by old ones; got {brief(columns)}",
                instead=(('rename({"old": "new"})', "a dict"), ('rename(old="new")', "keywords")),
            ).at_users_line()
        own, new = columns_of(self, "rename"), {**(columns or {}), **named}
        for name, other in new.items():
            expect_column(self, "rename", name, own)
            expect_name("rename", other)
        given: dict[str, str] = {}
        for name in own:
            if new.get(name, name) in given:
                raise TypeMismatch(f"`rename` makes two columns `{new.get(name, name)}`").at_users_line()
            given[new.get(name, name)] = name
        return project_rows(self, "rename", given)

    @overload
    def group_by(self: RowVerbs[ZSet[T], B], *columns: Asked[T] | list[AnyColumn], **named: Asked[T]) -> Grouped[B]: ...
    @overload
    def group_by(
        self: RowVerbs[Nested[C] | Nested[C, D], B], *columns: AnyColumn | list[AnyColumn], **named: AnyColumn
    ) -> GroupedWindows[B]: ...
    def group_by(self, *columns: AnyColumn | list[AnyColumn], **named: AnyColumn) -> Any:
        """Put rows into groups with equal columns; `agg` computes a row for each. Null is a value like others here.

        The groups of a z-set are there at once, and change with their rows. Those of windows come once, when the window
        closes."""
        if are_windows(self):
            return GroupedWindows(self, columns, named)
        return group_rows(self, "group_by", columns, named)

    def rollup(self: RowVerbs[ZSet[T], B], *columns: Asked[T] | list[AnyColumn], **named: Asked[T]) -> Grouped[B]:
        """Group by all columns, by all but the last, and so on to one group of all rows; columns left out are null."""
        return group_rows(self, "rollup", columns, named, rollup_sets)

    def cube(self: RowVerbs[ZSet[T], B], *columns: Asked[T] | list[AnyColumn], **named: Asked[T]) -> Grouped[B]:
        """Group by every subset of the columns; columns left out are null."""
        return group_rows(self, "cube", columns, named, cube_sets)

    def grouping_sets(self: RowVerbs[ZSet[Any], B], *sets: list[str] | tuple[str, ...] | str) -> Grouped[B]:
        """Group by each of these lists of columns; columns left out are null."""
        tuples = expect_sets(sets)
        columns = tuple(dict.fromkeys(name for some in tuples for name in some))
        return group_rows(self, "grouping_sets", columns, {}, lambda keys: tuple(tuples))

    def agg(self: RowVerbs[ZSet[Any], B], *unnamed: Never, **aggregates: AggregateSpec) -> Stream[ZSet[Any], B]:
        """Return one row with aggregates of all rows, also before any row has come."""
        expect_names(unnamed)
        expect_zset("agg", self)
        return aggregated(self, {}, aggregates)

    def explode(
        self: RowVerbs[ElementKind[T, C, D], B], column: str, *, keep_empty: bool = False, position: str | None = None
    ) -> Stream[D, B]:
        """Return one row for each item of a list column, which has the item instead of the list.

        A row whose list is empty or null is dropped, unless `keep_empty`: then its item is null. `position` names one
        more column, with the position of the item in its list, from 0.
        """
        from flo.columns.projection import Exploding

        expect_kind("explode", self, Sequence, Bag, Set, ZSet)
        layout = column_layout("explode", "column", column, self)
        if position is not None:
            if not isinstance(position, str) or not position:
                raise TypeMismatch(
                    f"`position` of `explode` must be the name of a column; got {brief(position)}"
                ).at_users_line()
            expect_new_name("explode", position, layout.names)
        f = Exploding.of(column, keep_empty, layout, position)
        if f is None:
            kind = layout.cells[layout.names.index(column)].kind
            raise TypeMismatch(
                f"`explode` needs a column of lists; `{column}` of {{input}} is {type_name(kind)}",
                facts=(("{input}", self.type.described()),),
                instead=(("list[T] or tuple[T, ...]", "the types of columns of lists"),),
            ).at_users_line(self)
        return self._then(FlatMap(f))


def project_rows(stream: StreamBase[Any, B], verb: str, given: Mapping[str, object]) -> Stream[Any, B]:
    columns_of(stream, verb)
    return stream._then_named(verb, Map(bind_rows(verb, given, stream)))
