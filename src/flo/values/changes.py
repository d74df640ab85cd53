"""Changes of a table with a primary key: rows to insert or replace, and keys to delete.

A change is a row of the key's columns, of the order column if there is one, and of one column with the rest of the
row, which is None if the key is deleted. So every such row is a change: no two columns can contradict each other. The
class of the changes of a table is made by `flo.columns.changes`, and has the `TableShape` as its attribute `_shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flo.core.elements import Misfit, belongs, find_misfit, find_mismatch
from flo.core.errors import ElementError, brief
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.values.canonical import canonical_element, order_key

DELETED = "_deleted"
"""The column that names deletes, in tables and dicts of the user."""


@dataclass(frozen=True)
class Delete:
    """The deletion of a key, made by `flo.delete`."""

    key: tuple[Element, ...]
    others: tuple[tuple[str, Element], ...] = ()
    """More columns by name: the one that orders changes."""

    def __repr__(self) -> str:
        """Show the call that makes it."""
        parts = [*map(repr, self.key), *(f"{name}={value!r}" for name, value in self.others)]
        return f"flo.delete({', '.join(parts)})"


def delete(*key: object, **order: object) -> Delete:
    """Delete a row of a `flow.table` by its key: `flo.delete(1)`, or `flo.delete(1, "x")` for a key of two columns.

    A row of the table, or one tuple of all key columns, is accepted too. A table with `order_by` also needs the column
    that orders changes: `flo.delete(1, at=…)`.
    """
    return Delete(key, tuple(order.items()))


@dataclass(frozen=True)
class TableShape:
    """A table with a primary key: what its changes are made of."""

    name: str
    row: Element
    """The row type."""
    columns: tuple[str, ...]
    key: tuple[str, ...]
    order: str | None
    kinds: tuple[TypeForm, ...]
    """The types of the key columns, and of the order column if there is one. They cannot be null."""
    split: Callable[[list[Element]], list[list[Element]]]
    """Converts rows to a list per column."""
    make: AnyFunction
    """Converts one value per column to a row."""
    rest: AnyFunction
    """Converts the values of the other columns to the rest of a row."""
    from_dict: Callable[[dict[str, Any]], Any]
    """Converts a dict to a row."""

    @property
    def leading(self) -> tuple[str, ...]:
        """The columns that every change has, deletes included: the key and the order."""
        return self.key if self.order is None else (*self.key, self.order)

    @cached_property
    def _places(self) -> list[int]:
        """For each column of the row, where it stands in a change whose last column is spread out."""
        others = [name for name in self.columns if name not in self.leading]
        spread = (*self.leading, *others)
        return [spread.index(name) for name in self.columns]

    def read(self, change: Any) -> tuple[Element, Element, Element]:
        """Return the key of a change, its place in the order (None if there is no order), and its row (or None)."""
        *leading, rest = tuple.__iter__(change)
        key = canonical_element(tuple(leading[: len(self.key)]))
        order = canonical_element(leading[-1]) if self.order is not None else None
        if rest is None:
            return key, order, None
        if isinstance(rest, tuple):
            leading += rest
        return key, order, self.make(*[leading[place] for place in self._places])

    def text_of(self, change: object) -> str:
        """Return what a user writes for the change."""
        key, order, row = self.read(change)
        if row is not None:
            return repr(row)
        return repr(Delete(key, () if self.order is None else ((self.order, order),)))

    def rank(self, order: object, row: object) -> Any:
        """Return what the latest change of a key has most of: its order, then a row instead of none, then the row."""
        return order_key(order), row is not None, order_key(row)

    def changes(self, change_class: object, items: list[Element]) -> list[Element]:
        """Convert what users give to changes of the class `made`. Raises at the first that is none."""
        rows = self._of_rows(change_class, [item for item in items if type(item) is self.row])
        changes: list[Element] = []
        for position, item in enumerate(items):
            if rows is not None and type(item) is self.row:
                changes.append(next(rows))
                continue
            try:
                changes.append(item if type(item) is change_class else self._change(change_class, item))
            except ElementError as error:
                error.position = position
                error.summary = f"element {position} of {{input}} {error.summary}"
                error.facts = (("given", brief(item, 120)), *error.facts)
                raise
        return changes

    def _of_rows(self, change_class: Any, rows: list[Element]) -> Iterator[Element] | None:
        """Convert many rows at once; None if one of them does not fit."""
        if not rows or find_mismatch(rows, self.row) is not None or find_misfit(rows, self.row) is not None:
            return None
        columns = dict(zip(self.columns, self.split(rows), strict=True))
        leading = [columns.pop(name) for name in self.leading]
        if any(find_mismatch(column, kind) is not None for column, kind in zip(leading, self.kinds, strict=True)):
            return None
        rest = map(self.rest, *columns.values()) if columns else (self.rest() for _ in rows)
        return map(change_class, *leading, rest)

    def _change(self, change_class: Any, item: object) -> Any:
        if isinstance(item, Delete):
            return change_class(*self._deleted(item), None)
        if type(item) is dict:
            item, gone = {name: item[name] for name in item if name != DELETED}, bool(item.get(DELETED))
            if gone and set(self.leading) <= item.keys():
                return change_class(*self._expect_leading([item[name] for name in self.leading]), None)
            missing = next((name for name in self.columns if name not in item), None)
            if missing is not None:
                raise ElementError(f"has no `{missing}`", facts=(("columns", ", ".join(self.columns)),))
            item = self.from_dict(item)
        values = dict(zip(self.columns, self._values(item), strict=True))
        leading = self._expect_leading([values[name] for name in self.leading])
        if (misfit := find_misfit((item,), self.row)) is not None:
            raise self._misfit(misfit)
        return change_class(*leading, self.rest(*(value for name, value in values.items() if name not in self.leading)))

    def _values(self, item: object) -> list[Element]:
        """Return the values of a row, by column. They may be of other types."""
        if not isinstance(item, self.row):
            raise self._stranger(item)
        return [column[0] for column in self.split([item])]

    def _misfit(self, misfit: Misfit) -> ElementError:
        given, wanted = brief(misfit.value), type_name(misfit.kind)
        if misfit.value is not None:
            return ElementError(
                f"has {given} in `{misfit.field}`: expected {wanted}", facts=(("type", type_name(type(misfit.value))),)
            )
        nullable = (f"{misfit.field}: {wanted} | None", f"in {type_name(self.row)}, if it may be null")
        return ElementError(f"has null in `{misfit.field}`: expected {wanted}", instead=(nullable,))

    def _stranger(self, item: object) -> ElementError:
        return ElementError(
            f"is neither a {type_name(self.row)} nor a deletion",
            facts=(("type", type_name(type(item))),),
            instead=((f"flo.delete({', '.join(self.key)})", "deletes the row of a key"),),
        )

    def _deleted(self, item: Delete) -> list[Element]:
        key, others = list(item.key), dict(item.others)
        if len(key) == 1 and isinstance(key[0], self.row):
            values = dict(zip(self.columns, self._values(key[0]), strict=True))
            return self._expect_leading([values[name] for name in self.leading])
        if len(key) == 1 and len(self.key) > 1 and isinstance(key[0], tuple):
            key = list(key[0])
        if len(key) != len(self.key):
            raise ElementError(
                f"deletes {len(key)} column{'s' if len(key) != 1 else ''}, but the key has {len(self.key)}",
                instead=((f"flo.delete({', '.join(self.key)})", "all columns of the key"),),
            )
        if self.order is not None and self.order not in others:
            raise ElementError(
                f"must have `{self.order}`, which orders the changes of `{self.name}`",
                instead=((f"flo.delete({', '.join(self.key)}, {self.order}=…)", "with the order column"),),
            )
        return self._expect_leading([*key, *([others[self.order]] if self.order is not None else [])])

    def _expect_leading(self, values: list[Element]) -> list[Element]:
        """Return the values of the key and order columns, if they are of their types and not null."""
        for name, value, kind in zip(self.leading, values, self.kinds, strict=True):
            what = "the key" if name in self.key else "the order"
            if value is None:
                raise ElementError(
                    f"has null in `{name}`, a column of {what}",
                    instead=((f"[row for row in rows if row.{name} is not None]", f"nulls are not allowed in {what}"),),
                )
            if not belongs(value, kind):
                raise ElementError(
                    f"has {brief(value)} in `{name}`, a column of {what}: expected {type_name(kind)}",
                    facts=(("type", type_name(type(value))),),
                )
        return values


def shape_of(element: object) -> TableShape | None:
    """Return the table that elements of this type change; None if they are no changes."""
    shape = getattr(element, "_shape", None)
    return shape if isinstance(shape, TableShape) else None
