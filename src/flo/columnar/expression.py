"""Column expressions as functions: Narwhals' own, which run on tables here and natively on Spark.

Where a verb takes a function of rows, it takes a column's name, an expression, a tuple of these, or a dict from names
to them: `"price"`, `nw.col("price") * 2`, `("user", "day")`, `{"user": "user", "total": nw.col("price") * 2}`. A dict
makes rows. Elements that are no rows have one column, `value`; those of a tuple are `0`, `1` and so on. Of two rows,
the columns of the second get `_right` behind their names where the first has the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Optional, TypeAlias, cast

import narwhals as nw
import pyarrow as pa

from flo.columnar import trial
from flo.columnar.faults import calling
from flo.columnar.keys import one_chunk
from flo.columnar.layout import VALUE, Layout
from flo.columnar.row_types import python_type, row_type
from flo.core.errors import ElementError, FloError, TypeMismatch
from flo.values.canonical import canonical_element

Column: TypeAlias = str | nw.Expr
Columns: TypeAlias = Column | tuple[Column, ...] | Mapping[str, Column]
"""What stands for a function of rows."""
RIGHT = "_right"


WEIGHTS = replace(cast(Layout, Layout.of(int)), names=("weight",))
"""The weight of a row, as the second argument of a function of both."""


def maybe(layout: Layout) -> Layout:
    """The columns of a row that may be missing: they are null then."""
    cells = tuple(replace(cell, nullable=True) for cell in layout.cells)
    missing = (None,) * len(cells)

    def split(rows: list[Any]) -> list[list[Any]]:
        there = layout.split([row for row in rows if row is not None]) if any(row is not None for row in rows) else ()
        found = iter(list(zip(*there, strict=True)))
        whole = [missing if row is None else next(found) for row in rows]
        return [list(column) for column in zip(*whole, strict=True)]

    return replace(layout, element=_or_none(layout.element), cells=cells, split=split)


def _or_none(kind: Any) -> Any:
    return Optional[kind]  # noqa: UP045


class Expression:
    """A function of one row, or of two, made of column expressions: known by its text."""

    def __init__(self, given: Any, inputs: tuple[Layout, ...]) -> None:
        self.given = given
        self.inputs = inputs
        self.text = shown(given)
        self.__name__ = self.text if len(self.text) <= 80 else f"{self.text[:79]}…"
        self.returns = self.kind  # read by `returned_type`

    @cached_property
    def columns(self) -> tuple[tuple[str, nw.Expr], ...]:
        """The columns of the result, by name."""
        return tuple((name, nw.col(each) if isinstance(each, str) else each) for name, each in self._named.items())

    @cached_property
    def _named(self) -> dict[str, Any]:
        match self.given:
            case Mapping():
                return dict(self.given)
            case tuple():
                return {str(place): each for place, each in enumerate(self.given)}
            case _:
                return {VALUE: self.given}

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        """These columns of the first row as columns of the result, if they all are."""
        if not isinstance(self.given, (Mapping, tuple)) and self.layout.form != "value":
            return None  # one column of rows becomes their columns
        named = {each: name for name, each in self._named.items() if isinstance(each, str)}
        found = tuple(named.get(self.arguments[0][column]) for column in columns)
        return None if None in found else found  # type: ignore[return-value]

    @cached_property
    def arguments(self) -> tuple[dict[str, str], ...]:
        """For the columns of each row, what they are called in the expression."""
        return _called(self.inputs)

    @staticmethod
    def names_of(inputs: tuple[Layout, ...]) -> list[str]:
        """What the columns of such rows are called in an expression."""
        return [name for called in _called(inputs) for name in called.values()]

    @cached_property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each row that the expression looks at, at least one in all."""
        seen = set().union(*self._seen.values()) or {next(iter(self.arguments[0].values()))}
        return tuple(tuple(name for name, called in names.items() if called in seen) for names in self.arguments)

    @cached_property
    def _seen(self) -> dict[str, set[str]]:
        """For each column of the result, those that it needs: it is the same without the others."""
        return {name: self._needed(name, each) for name, each in self.columns}

    def _needed(self, name: str, expression: nw.Expr) -> set[str]:
        given = self._named[name]
        if isinstance(given, str):
            return {given}
        frame = nw.from_native(self._no_rows.append_column("=", pa.array([], pa.int64())), eager_only=True)
        wanted = frame.select(expression.alias(name)).schema
        for column in self._no_rows.column_names:
            try:
                if frame.drop(column).select(expression.alias(name)).schema == wanted:
                    frame = frame.drop(column)
            except Exception:  # it does need this one
                continue
        return set(frame.columns) - {"="}

    @cached_property
    def _no_rows(self) -> pa.Table:
        table = self.beside(*(layout.schema.empty_table() for layout in self.inputs))
        fields = [field.with_type(pa.int64()) if field.name in self._wide else field for field in table.schema]
        return pa.schema(fields).empty_table()

    def beside(self, *tables: pa.Table) -> pa.Table:
        """One table of the rows side by side: all of their columns, or some."""
        names, arrays = [], []
        for called, table in zip(self.arguments, tables, strict=True):
            names += [called[name] for name in table.column_names]
            arrays += table.columns
        fields = [
            layout.schema.field(name)
            for layout, table in zip(self.inputs, tables, strict=True)
            for name in table.column_names
        ]
        return pa.Table.from_arrays(
            arrays, schema=pa.schema([f.with_name(n) for f, n in zip(fields, names, strict=True)])
        )

    @calling
    def over(self, table: pa.Table) -> pa.Table:
        """The result for every row. Integers of 128 bits are computed with as 64, or are as they are."""
        frame = nw.from_native(self._narrowed(table), eager_only=True)
        result = frame.select(**dict(self.columns))
        if len(result) != table.num_rows:  # nothing but literals
            result = frame.with_columns(**{f"={name}": each for name, each in self.columns})
            result = result.select(nw.col(f"={name}").alias(name) for name, _ in self.columns)
        found = cast(pa.Table, result.to_native())
        for place, (name, given) in enumerate(self._named.items()):
            if isinstance(given, str) and given in self._wide:
                found = found.set_column(place, table.schema.field(given).with_name(name), table[given])
        return found

    @cached_property
    def _wide(self) -> set[str]:
        """The columns that have integers of 128 bits."""
        sides = zip(self.arguments, self.inputs, strict=True)
        return {called[n] for called, side in sides for n, c in zip(side.names, side.cells, strict=True) if c.wide}

    @cached_property
    def _computed_with(self) -> set[str]:
        """The columns that are more than passed on."""
        return set().union(*(self._seen[name] for name, given in self._named.items() if not isinstance(given, str)))

    def _narrowed(self, table: pa.Table) -> pa.Table:
        """With 64 bits for what is computed with: Arrow's arithmetic on decimals of 38 digits does not fit itself."""
        for name in self._wide & self._computed_with & set(table.column_names):
            place = table.schema.get_field_index(name)
            narrow = table.schema.field(name).with_type(pa.int64())
            try:
                table = table.set_column(place, narrow, table[name].cast(pa.int64()))
            except pa.ArrowInvalid as error:
                raise ElementError(
                    f"the expression {self.__name__} computes with 64 bits, and `{name}` of a row does not fit them",
                    facts=(("fault", str(error)),),
                    instead=(("a Python function", "whose integers are of any size"),),
                ) from None
        return table

    @calling
    def results(self, *tables: pa.Table) -> pa.Table:
        """The result for every row of these tables, of exactly the types it says."""
        found = self.over(self.beside(*tables))
        for field in self.schema:
            if not field.nullable and found[field.name].null_count:
                raise TypeError(
                    f"the expression {self.__name__} gives null here, and fill_null(…) would say what instead"
                )
        if found.column_names == [VALUE] and self.layout.form != "value":  # rows in one column
            found = pa.Table.from_arrays(one_chunk(found[VALUE]).flatten(), names=list(self.layout.names))
        return found if found.schema.equals(self.layout.schema) else self.layout.fitted(found)

    @cached_property
    def schema(self) -> pa.Schema:
        empty = self.beside(*(layout.schema.empty_table() for layout in self.inputs))
        nullable = {field.name for field in empty.schema if field.nullable}
        try:
            found = self.over(empty).schema
            for name in self._named:
                python_type(found.field(name))
        except FloError:
            raise
        except Exception as error:
            raise TypeMismatch(
                f"the expression {self.__name__} does not fit its rows: {str(error).strip().splitlines()[0]}",
                facts=(("columns", ", ".join(f"{field.name}: {field.type}" for field in empty.schema)),),
            ) from None
        fields = []
        null_seen = trial.may_be_null(self)
        for field, given in zip(found, self._named.values(), strict=True):
            null = bool(self._seen[field.name] & nullable) or _chooses_null(given)
            arrow = field.type if isinstance(given, str) else _widened(field.type)
            fields.append(pa.field(field.name, arrow, null or field.name in null_seen or pa.types.is_null(arrow)))
        return pa.schema(fields)

    @cached_property
    def kind(self) -> Any:
        """The Python type of the results."""
        own = {
            called[name]: _or_none(cell.kind) if cell.nullable else cell.kind
            for called, layout in zip(self.arguments, self.inputs, strict=True)
            for name, cell in zip(layout.names, layout.cells, strict=True)
        }
        fields = {
            field.name: own[given] if isinstance(given, str) else python_type(field)
            for field, given in zip(self.schema, self._named.values(), strict=True)
        }
        if isinstance(self.given, Mapping):
            return row_type(fields)
        if isinstance(self.given, tuple):
            return tuple[tuple(fields.values())]  # type: ignore[misc]
        return fields[VALUE]

    @cached_property
    def layout(self) -> Layout:
        """The columns of the results."""
        layout = Layout.of(self.kind)
        assert layout is not None
        return layout

    def __call__(self, *elements: Any) -> Any:
        tables = [layout.to_table([element]) for layout, element in zip(self.inputs, elements, strict=True)]
        return canonical_element(self.layout.to_elements(self.results(*tables))[0])  # one object for every nan

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self is other or (self.text, self.inputs, self.kind) == (other.text, other.inputs, other.kind)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.__name__


def _called(inputs: tuple[Layout, ...]) -> tuple[dict[str, str], ...]:
    taken: set[str] = set()
    found = []
    for layout in inputs:
        found.append({name: f"{name}{RIGHT}" if name in taken else name for name in layout.names})
        taken |= set(found[-1].values())
    return tuple(found)


def _widened(arrow: pa.DataType) -> pa.DataType:
    """Computed integers are `int`: of which width they are is the library's affair."""
    return pa.int64() if pa.types.is_integer(arrow) and not pa.types.is_uint64(arrow) else arrow


def _chooses_null(given: Any) -> bool:
    """Whether it says so: by a `when` without an `otherwise`, or by a literal."""
    for node in given._nodes if isinstance(given, nw.Expr) else ():
        if (node.name == "when_then" and len(node.exprs) == 2) or (node.name == "lit" and node.kwargs["value"] is None):
            return True
        if any(map(_chooses_null, node.exprs)):
            return True
    return False


def shown(given: Any) -> str:
    match given:
        case str():
            return f"col({given})"
        case tuple():
            return f"({', '.join(map(shown, given))})"
        case Mapping():
            return f"{{{', '.join(f'{name}: {shown(each)}' for name, each in given.items())}}}"
        case _:
            return repr(given)


__all__ = ["RIGHT", "WEIGHTS", "Column", "Columns", "Expression", "maybe", "shown"]
