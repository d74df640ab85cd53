"""Column expressions as functions: Narwhals expressions, which run on tables here and natively on Spark.

Where a verb takes a function of rows, it also takes a column name, an expression, a tuple of these, or a dict from
names to these: `"price"`, `nw.col("price") * 2`, `("user", "day")`, `{"user": "user", "total": nw.col("price") * 2}`. A
dict makes rows. Elements that are not rows have one column, `value`; those of a tuple are `0`, `1` and so on. With two
rows, columns of the second have the suffix `_right` if the first has a column of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from operator import attrgetter, itemgetter
from pathlib import Path
from types import CodeType
from typing import Any, Optional, TypeAlias, TypeVar, cast, get_origin

import narwhals as nw
import pyarrow as pa

from flo.columns.arithmetic import is_wide
from flo.columns.evaluation import (
    ColumnFunction,
    FunctionCall,
    InputRows,
    columns_read,
    compile_expression,
    find_use_of_other_rows,
)
from flo.columns.expression_text import expression_text, plain_column
from flo.columns.indices import one_chunk
from flo.columns.layout import MISFITS, VALUE, Layout
from flo.columns.node_functions import broadcast
from flo.columns.nodes import NodeValue
from flo.columns.readable import readable
from flo.columns.row_types import python_type, row_type
from flo.core.errors import ElementError, EngineError, FloError, LawError, TypeMismatch, is_users, shorten
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.values.canonical import instant_element
from flo.values.exact import IntSum
from flo.values.operators import shapes
from flo.values.row_functions import RowFunction

F = TypeVar("F", bound=AnyFunction)
ON_VALUES = str(Path(shapes.__file__).parent.parent)
CALLING: set[CodeType] = set()


def calling(function: F) -> F:
    """Mark a function that calls user functions or inspects their results: its exceptions are the rows' fault."""
    CALLING.add(function.__code__)
    return function


def is_row_fault(error: Exception) -> bool:
    """Return whether a user's function raised, or an element was rejected, as it would be on values."""
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


Column: TypeAlias = str | nw.Expr | ColumnFunction
Columns: TypeAlias = Column | tuple[Column, ...] | Mapping[str, Column]
"""Anything that can be used as a function of rows."""
RIGHT = "_right"
Results: TypeAlias = dict[tuple[int, ...], tuple[tuple[Any, ...], Any]]
"""Elements and results, by the identities of the elements: as long as they are here, these are not reused."""
REMEMBERED = 4096
"""The number of results of single calls that are cached: small steps and law checks repeat calls."""


WEIGHTS = replace(cast(Layout, Layout.of(int)), names=("weight",))
"""The weight of a row, as the second argument of a function."""


def nullable_layout(layout: Layout) -> Layout:
    """Return the layout of a row that may be missing: its columns are null then."""
    cells = tuple(replace(cell, nullable=True) for cell in layout.cells)
    missing = (None,) * len(cells)

    def split(rows: list[Element]) -> list[list[Any]]:
        there = layout.split([row for row in rows if row is not None]) if any(row is not None for row in rows) else ()
        present = iter(list(zip(*there, strict=True)))
        whole = [missing if row is None else next(present) for row in rows]
        return [list(column) for column in zip(*whole, strict=True)]

    return replace(layout, element=_or_none(layout.element), cells=cells, split=split)


def _or_none(kind: TypeForm) -> Any:
    return Optional[kind]  # noqa: UP045


class Expression(RowFunction):
    """A function of one row, or of two, made of column expressions. Identified by its text."""

    def __init__(
        self,
        given: Any,
        inputs: tuple[Layout, ...],
        kind: TypeForm = None,
        called: tuple[dict[str, str], ...] | None = None,
    ) -> None:
        """`kind` is a wider type than that of the results, such as the same columns with nulls. `called` has the names
        of the columns of each row in the expression, if they are not those of `names_of`."""
        self.given = given
        self.inputs = inputs
        if kind is not None:
            self.__dict__["kind"] = kind
        if called is not None:
            self.__dict__["arguments"] = called
        self.text = expression_text(given)
        self.__name__ = shorten(readable(given))
        self.takes = len(inputs)
        self._expect_of_each_row()
        self.returns = self.kind  # read by `returned_type`
        self._results: Results = {}

    @cached_property
    def columns(self) -> tuple[tuple[str, nw.Expr | ColumnFunction], ...]:
        """The columns of the result, by name."""
        return tuple((name, nw.col(each) if isinstance(each, str) else each) for name, each in self._named.items())

    @cached_property
    def _named(self) -> dict[str, Any]:
        match self.given:
            case Mapping():
                return dict(self.given)
            case tuple():
                return {str(index): each for index, each in enumerate(self.given)}
            case _:
                return {VALUE: self.given}

    def copies(self, column: str) -> tuple[str, ...]:
        if self._unpacks:
            return ()
        called = self.arguments[0][column]
        return tuple(name for name, each in self._named.items() if plain_column(each) == called)

    def passed_second(self, columns: tuple[str, ...], same: dict[str, str]) -> tuple[str, ...] | None:
        if not isinstance(self.given, Mapping):
            return None
        named = {called: name for name, called in self.given.items() if isinstance(called, str)}
        passed = []
        for column in columns:
            name = named.get(self.arguments[1].get(column, column))
            if name is None and column in same:
                name = named.get(self.arguments[0][same[column]])
            if name is None:
                return None
            passed.append(name)
        return tuple(passed)

    @cached_property
    def arguments(self) -> tuple[dict[str, str], ...]:
        """For each row, the names of its columns in the expression."""
        return names_of(self.inputs)

    def on_rows(self, inputs: tuple[Layout, ...]) -> Expression:
        """Return the expression on rows without some columns, which it does not read."""
        called = tuple(
            {name: names[name] for name in layout.names} for names, layout in zip(self.arguments, inputs, strict=True)
        )
        return Expression(self.given, inputs, self.kind, called)

    @cached_property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each row that the expression reads, at least one in total."""
        seen = self._needs or {next(iter(self.arguments[0].values()))}
        return tuple(tuple(name for name, called in names.items() if called in seen) for names in self.arguments)

    @cached_property
    def _needs(self) -> set[str]:
        """The columns that it needs, by their names in the expression; none of a literal."""
        return set().union(*(columns_read(each, self._schema) for _, each in self.columns))

    @cached_property
    def _schema(self) -> pa.Schema:
        """The columns of all rows, by their names in the expression."""
        parts = zip(self.arguments, self.inputs, strict=True)
        return pa.schema([f.with_name(called[f.name]) for called, layout in parts for f in layout.schema])

    @calling
    def results(self, *tables: pa.Table) -> pa.Table:
        """Return the results for every row of these tables, which have at least the columns that it reads."""
        columns = {called: tables[place][name] for place, name, called in self._read}
        return self._table(InputRows(columns, tables[0].num_rows, self._schema))

    @cached_property
    def _read(self) -> tuple[tuple[int, str, str], ...]:
        """The columns that it reads: the number of the row, the name there, and the name in the expression."""
        parts = enumerate(zip(self.arguments, self.reads, strict=True))
        return tuple((place, name, called[name]) for place, (called, names) in parts for name in names)

    @calling
    def over(self, table: pa.Table) -> pa.Table:
        """Return the results for every row of a table that has the columns by their names in the expression."""
        return self._table(InputRows(InputRows.of(table).columns, table.num_rows, self._schema))

    def _table(self, rows: InputRows) -> pa.Table:
        return pa.Table.from_arrays(self._arrays(rows), schema=self.layout.schema)

    def _arrays(self, rows: InputRows) -> list[pa.Array]:
        """Return the columns of the results, with exactly the declared types."""
        if self._selected is not None:
            return [one_chunk(rows.columns[name]) for name in self._selected]
        arrays = []
        for never_null, value in zip(self._never_null, self._evaluated(rows), strict=True):
            array = broadcast(value.data, rows.count)
            if never_null and array.null_count:
                raise EngineError(f"the expression {self.__name__} returned null, but its type has no nulls")
            arrays.append(array)
        if self._unpacks:
            arrays = arrays[0].flatten()
        return self.layout.cast(arrays)

    @cached_property
    def _never_null(self) -> tuple[bool, ...]:
        """For each column, whether its type has no nulls."""
        return tuple(not column.nullable for column in self.schema)

    @property
    def selects(self) -> bool:
        """Whether it only selects and renames columns, and computes nothing."""
        return self._selected is not None

    @cached_property
    def _selected(self) -> tuple[str, ...] | None:
        """The columns that the results are, by their names in the expression; None if one of them is computed."""
        names = tuple(name for name in map(plain_column, self._named.values()) if name is not None)
        if self._unpacks or len(names) < len(self._named):
            return None
        kinds = (self._schema.field(name).type for name in names)
        return names if all(map(pa.DataType.equals, kinds, self.layout.schema.types)) else None

    @cached_property
    def _unpacks(self) -> bool:
        """Whether the result is one column of rows, which becomes the columns of the rows."""
        return not isinstance(self.given, (Mapping, tuple)) and self.layout.form != "value"

    def _evaluated(self, rows: InputRows) -> list[NodeValue]:
        try:
            return [compute(rows) for compute in self._compiled]
        except ElementError as error:
            error.facts = (*error.facts, ("expression", self.__name__))
            raise

    @cached_property
    def _compiled(self) -> tuple[Callable[[InputRows], NodeValue], ...]:
        """The functions that compute the columns."""
        return tuple(compile_expression(each, self._schema) for _, each in self.columns)

    @cached_property
    def _built(self) -> tuple[pa.Schema, tuple[FunctionCall, ...]]:
        """The columns of the results and the functions called, from the structure of the expression alone."""
        calls: list[FunctionCall] = []
        # not `empty_table()`: to make an array from a list imports pandas, and programs need not wait for that
        nothing = [pa.nulls(0, each) for each in self._schema.types]
        rows = InputRows.of(pa.Table.from_arrays(nothing, schema=self._schema), calls)
        try:
            values = self._evaluated(rows)
            for value in values:
                rows.note("result", [value], {})
            fields = [
                pa.field(name, _widened(value.data.type, given), value.nullable or pa.types.is_null(value.data.type))
                for (name, given), value in zip(self._named.items(), values, strict=True)
            ]
            for field in fields:
                python_type(field)
        except Exception as error:
            columns = ", ".join(f"{field.name}: {field.type}" for field in rows.schema)
            raise TypeMismatch(
                f"the expression {self.__name__} does not fit its rows: {str(error).strip().splitlines()[0]}",
                facts=(("columns", columns),),
            ) from None
        return pa.schema(fields), tuple(calls)

    @property
    def schema(self) -> pa.Schema:
        return self._built[0]

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The functions that are called, with the types of their operands."""
        return self._built[1]

    def _expect_of_each_row(self) -> None:
        """Raise if the expression reads other rows: sums, ranks, shifts and the like."""
        for _, each in self.columns:
            reason = find_use_of_other_rows(each)
            if reason is not None:
                raise LawError(
                    "an expression must compute its result from one row; this one reads other rows",
                    facts=(("expression", self.__name__), ("because", reason)),
                    instead=(("group_by(…).agg(…), top(…), distinct()", "verbs that combine rows"),),
                )

    @cached_property
    def kind(self) -> TypeForm:
        """The Python type of the results."""
        own = {
            called[name]: cell.annotation
            for called, layout in zip(self.arguments, self.inputs, strict=True)
            for name, cell in zip(layout.names, layout.cells, strict=True)
        }
        fields = {
            field.name: own[given] if isinstance(given, str) else self._computed_type(field, given)
            for field, given in zip(self.schema, self._named.values(), strict=True)
        }
        if isinstance(self.given, Mapping):
            return row_type(fields)
        if isinstance(self.given, tuple):
            return tuple[tuple(fields.values())]  # type: ignore[misc]
        return fields[VALUE]

    def _computed_type(self, field: pa.Field, given: object) -> TypeForm:
        """Return the type of a computed column. Sums of integers and decimals share an Arrow type: it is an integer
        unless a decimal was read."""
        read = [cell for layout in self.inputs for cell in layout.cells if cell.arrow == field.type]
        is_sum = all(cell.wide for cell in read) and not isinstance(given, ColumnFunction) and not _is_cast(given)
        if is_wide(field.type) and is_sum:
            return _or_none(IntSum) if field.nullable else IntSum
        return python_type(field)

    @cached_property
    def layout(self) -> Layout:
        """The columns of the results."""
        layout = Layout.of(self.kind)
        assert layout is not None
        return layout

    def __call__(self, *elements: object) -> Any:
        if self._getter is not None:
            return instant_element(self._getter(*elements))
        key, results = tuple(map(id, elements)), self._results  # which another thread may replace
        if key not in results:
            if len(results) >= REMEMBERED:
                results = self._results = {}
            self._evaluate(results, *([element] for element in elements))
        return results[key][1]

    def prepare(self, *arguments: list[Any]) -> None:
        """Evaluate the expression for many rows at once. Until the next call of `prepare`, calls find these results.

        Rows on which it fails are left out: calling it on them raises.
        """
        if self._getter is not None:
            return
        results: Results = {}
        self._results = results

        def evaluate(start: int, stop: int) -> None:
            self._evaluate(results, *(each[start:stop] for each in arguments))

        for _ in shapes.find_faults(evaluate, len(arguments[0]), Exception):
            pass

    def _evaluate(self, known: Results, *elements: list[Element]) -> None:
        """Evaluate the expression for some rows, and add the results to those that are known."""
        columns: dict[str, pa.Array] = {}
        for called, layout, some, reads in zip(self.arguments, self.inputs, elements, self.reads, strict=True):
            needed = tuple(name for name in reads if called[name] in self._needs)
            try:
                arrays = layout.to_arrays(some, needed)
            except MISFITS as fault:
                raise layout.no_fit("an element", fault) from fault
            columns.update((called[name], array) for name, array in arrays.items())
        computed = self._arrays(InputRows(columns, len(elements[0]), self._schema))
        values = [cell.to_values(array) for array, cell in zip(computed, self.layout.cells, strict=True)]
        results = map(instant_element, map(self.layout.make, *values))
        for row, result in zip(zip(*elements, strict=True), results, strict=True):
            known[tuple(map(id, row))] = row, result

    @cached_property
    def _getter(self) -> AnyFunction | None:
        """A function that reads columns from elements, if the expression does nothing else: elements have the values of
        the columns, unless these round."""
        if not all(isinstance(each, str) for each in self._named.values()) or any(map(_may_be_missing, self.inputs)):
            return None
        indices = {
            called[name]: (which, _getter_of(layout, name), cell)
            for which, (called, layout) in enumerate(zip(self.arguments, self.inputs, strict=True))
            for name, cell in zip(layout.names, layout.cells, strict=True)
        }
        if any(indices[each][2].rounds for each in self._named.values()):
            return None
        taken = [indices[each][:2] for each in self._named.values()]
        if not isinstance(self.given, (Mapping, tuple)):
            which, get = taken[0]
            return get if len(self.inputs) == 1 else lambda *elements: get(elements[which])
        make = self.layout.make
        return lambda *elements: make(*[get(elements[which]) for which, get in taken])

    def __getstate__(self) -> dict[str, Any]:
        """Exclude cached results and functions. Include the row type, because a task would make another one."""
        state = {name: each for name, each in self.__dict__.items() if name not in ("_getter", "_compiled")}
        return {**state, "_results": {}, "layout": self.layout}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self is other or (
            (self.text, self.inputs, self.kind) == (other.text, other.inputs, other.kind)
            and self.arguments == other.arguments  # the same name may stand for a column of either row
        )

    def __hash__(self) -> int:
        return hash(self.text)


def names_of(inputs: tuple[Layout, ...]) -> tuple[dict[str, str], ...]:
    """Return, for each row, the names of its columns in an expression of all rows."""
    taken: set[str] = set()
    every = []
    for layout in inputs:
        names: dict[str, str] = {}
        for name in layout.names:
            called = name
            while called in taken or (called != name and called in layout.names):
                called += RIGHT
            names[name] = called
        every.append(names)
        taken |= set(names.values())
    return tuple(every)


def _may_be_missing(layout: Layout) -> bool:
    """Return whether the layout is one of rows that may be missing."""
    plain = Layout.of(layout.element)
    return plain is None or plain.names != layout.names


def _getter_of(layout: Layout, name: str) -> Callable[[Any], Any]:
    """Return a function that reads one column from an element."""
    if layout.form == "value":
        return lambda element: element
    if issubclass(get_origin(layout.element) or layout.element, tuple):
        return itemgetter(layout.names.index(name))
    return attrgetter(name)


def _widened(arrow: pa.DataType, given: object) -> pa.DataType:
    """Make computed integers `int`: their width is an implementation detail."""
    narrow = pa.types.is_integer(arrow) and not pa.types.is_uint64(arrow)
    return pa.int64() if narrow and not isinstance(given, (str, ColumnFunction)) else arrow


def _is_cast(given: object) -> bool:
    """Return whether the result of the expression is a cast: then the user has chosen its type."""
    return isinstance(given, nw.Expr) and given._nodes[-1].name == "cast"
