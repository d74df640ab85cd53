"""Evaluation of column expressions on Arrow tables, node by node; the same on values, tables and Spark.

Narwhals represents an expression as a tree of nodes, each with the name of a function, its arguments and its options.
Functions whose meaning in Flo differs from Narwhals' Arrow backend are computed here: integers are checked, comparisons
are exact, and times with a zone follow `zoneinfo`. All others are passed to Narwhals, one node at a time.

Evaluating on a table without rows tells what must be known before an expression runs: the type of its results, whether
they can be null, and which functions it calls on which types. These follow from its structure alone. A function that is
not listed as null-preserving may return null.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import arithmetic, functions, times
from flo.columns.arithmetic import Data
from flo.columns.indices import one_chunk
from flo.core.errors import ElementError

COLUMNS = frozenset({"COL", "NTH", "ALL", "EXCLUDE", "SELECTOR"})
"""The kinds of nodes that name columns."""
OF_EACH_ROW = COLUMNS | {"LITERAL", "ELEMENTWISE", "WHEN_THEN"}
"""The kinds of nodes whose result for a row only depends on that row."""
GUESSES = ("str.to_datetime", "str.to_date", "str.to_time")
"""Functions that, without a format, infer one from other rows."""


class Call(NamedTuple):
    """A function that an expression calls, with its operands and options."""

    function: str
    operands: tuple[str, ...]
    """The type of each operand; literals are prefixed with `literal`."""
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Value:
    """A column or a literal, and what is known about it."""

    data: Data
    nullable: bool
    name: str

    @property
    def kind(self) -> str:
        return f"literal {self.data.type}" if isinstance(self.data, pa.Scalar) else str(self.data.type)


@dataclass(frozen=True)
class Rows:
    """The rows that an expression is evaluated on: at least the columns that it reads, and the schema of all."""

    columns: Mapping[str, pa.Array | pa.ChunkedArray]
    count: int
    schema: pa.Schema
    calls: list[Call] | None = None
    """Where to record the functions that are called; None to not record them."""

    @classmethod
    def of(cls, table: pa.Table, calls: list[Call] | None = None) -> Rows:
        return cls(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows, table.schema, calls)

    def note(self, function: str, operands: list[Value], options: dict[str, Any]) -> None:
        if self.calls is not None:
            self.calls.append(Call(function, tuple(each.kind for each in operands), options))

    def column(self, name: str) -> Value:
        index = self.schema.get_field_index(name)
        if index < 0:
            raise TypeError(f"there is no column `{name}`")
        data = self.columns[name]
        data = one_chunk(data) if isinstance(data, pa.ChunkedArray) else data
        return Value(data, self.schema.field(index).nullable, name)

    def only(self, mask: pa.Array) -> Rows:
        some = {name: column.filter(mask) for name, column in self.columns.items()}
        return Rows(some, pc.sum(mask, min_count=0).as_py(), self.schema, self.calls)


def nodes_of(expression: nw.Expr) -> tuple[Any, ...]:
    """Return the nodes of an expression. This is a private attribute of Narwhals; a test detects if it changes."""
    return tuple(expression._nodes)


def arguments_of(node: Any) -> Iterator[Any]:
    """Yield the arguments of a node: expressions, and literals as Python values."""
    for given in node.exprs:
        yield nw.col(given) if isinstance(given, str) and not node.str_as_lit else given


def every_node(expression: nw.Expr) -> Iterator[Any]:
    """Yield the nodes of an expression and of its arguments."""
    for node in nodes_of(expression):
        yield node
        for given in arguments_of(node):
            if isinstance(given, nw.Expr):
                yield from every_node(given)


def looks_elsewhere(expression: nw.Expr) -> str | None:
    """Return the first function that needs other rows, with the reason; None if there is none."""
    for node in every_node(expression):
        if node.kind.name not in OF_EACH_ROW:
            return f"`{node.name}` depends on other rows"
        if node.name in GUESSES and node.kwargs["format"] is None:
            return f"`{node.name}` without a format infers one from other rows"
    return None


def columns_read(expression: nw.Expr, schema: pa.Schema) -> set[str]:
    return {name for node in every_node(expression) if node.kind.name in COLUMNS for name in _named(node, schema)}


def _named(node: Any, schema: pa.Schema) -> list[str]:
    """Return the columns that a node names."""
    match node.kind.name:
        case "COL":
            return list(node.kwargs["names"])
        case "NTH":
            return [schema.names[index] for index in node.kwargs["indices"]]
        case "ALL":
            return list(schema.names)
        case "EXCLUDE":
            return [name for name in schema.names if name not in node.kwargs["names"]]
        case _:
            return list(nw.from_native(schema.empty_table(), eager_only=True).select(nw.Expr(node)).columns)


def output_name(expression: nw.Expr) -> str | None:
    """Return the name of the result: its alias, or the first column that it reads; None if there is neither."""
    first, *more = nodes_of(expression)
    name = first.kwargs["names"][0] if first.kind.name == "COL" else None
    if name is None and first.kind.name not in COLUMNS:
        parts = [output_name(each) for each in arguments_of(first) if isinstance(each, nw.Expr)]
        name = parts[1 if first.name == "when_then" and len(parts) > 1 else 0] if parts else None
    for node in more:
        if node.name in RENAMES:
            name = RENAMES[node.name](name or "", node.kwargs)
    return name


def evaluate(expression: nw.Expr, rows: Rows) -> Value:
    """Return the result of an expression with one column."""
    found = _results(expression, rows)
    if len(found) != 1:
        raise TypeError(f"the expression must return one column; it returns {len(found)}")
    return found[0]


def broadcast(data: Data, count: int) -> pa.Array:
    """Return a column with `count` rows."""
    return pa.repeat(data, count) if isinstance(data, pa.Scalar) else data


def _results(given: Any, rows: Rows) -> list[Value]:
    """Return the results of an expression or a literal: several if it names several columns."""
    if not isinstance(given, nw.Expr):
        return [_literal(given, None, rows)]
    first, *more = nodes_of(given)
    if first.kind.name in COLUMNS:
        found = [rows.column(name) for name in _named(first, rows.schema)]
        for each in found:
            rows.note("col", [each], {"name": each.name})
    elif first.name == "lit":
        found = [_literal(first.kwargs["value"], first.kwargs["dtype"], rows)]
    elif first.name == "when_then":
        found = [_chosen(first, rows)]
    else:
        found = [_applied(first, rows, [value for each in arguments_of(first) for value in _results(each, rows)])]
    for node in more:
        arguments = [_one(each, rows) for each in arguments_of(node)]
        found = [_applied(node, rows, [value, *arguments]) for value in found]
    return found


def _one(given: Any, rows: Rows) -> Value:
    return evaluate(given, rows) if isinstance(given, nw.Expr) else _literal(given, None, rows)


def _literal(value: Any, dtype: Any, rows: Rows) -> Value:
    data = arithmetic.literal(value) if dtype is None else pa.scalar(value, arrow_type(dtype))
    found = Value(data, value is None, "literal")
    rows.note("lit", [found], {"value": value, "dtype": dtype})
    return found


@lru_cache(maxsize=256)
def arrow_type(dtype: Any) -> pa.DataType:
    """Return the Arrow type of a Narwhals type."""
    empty = nw.from_native(pa.table({"0": pa.array([], pa.null())}), eager_only=True)
    return empty.select(nw.col("0").cast(dtype)).to_native().schema[0].type


def _applied(node: Any, rows: Rows, operands: list[Value]) -> Value:
    if node.name in RENAMES:
        return Value(operands[0].data, operands[0].nullable, RENAMES[node.name](operands[0].name, node.kwargs))
    rows.note(node.name, operands, node.kwargs)
    compute = OWN.get(node.name)
    try:
        data = _by_narwhals(node, rows, operands) if compute is None else compute(node, operands)
    except ElementError:
        raise
    except (pa.ArrowInvalid, OverflowError, nw.exceptions.NarwhalsError) as error:
        raise ElementError(f"`{node.name}` cannot be computed: {str(error).strip()}") from error
    may_be_null = NULLABLE.get(node.name)
    name = node.kwargs["name"] if node.name == "struct.field" else operands[0].name
    return Value(data, may_be_null is None or may_be_null(node, operands), name)


def _by_narwhals(node: Any, rows: Rows, operands: list[Value]) -> Data:
    """Return the result of one node on computed columns. Literal arguments of a method stay literals."""
    function = len(operands) == len(node.exprs)
    columns = {
        str(index): broadcast(each.data, rows.count)
        for index, each in enumerate(operands)
        if function or index == 0 or not isinstance(each.data, pa.Scalar)
    }
    given = [nw.col(str(index)) if str(index) in columns else each for index, each in _places(node, function=function)]
    alone = copy.copy(node)
    alone.exprs = tuple(given)
    expression = nw.Expr(alone) if function else nw.Expr(*nodes_of(nw.col("0")), alone)
    found = nw.from_native(pa.table(columns), eager_only=True).select(expression).to_native()
    return one_chunk(found.column(0))


def _places(node: Any, *, function: bool) -> Iterator[tuple[int, Any]]:
    """Yield the arguments of a node with their position among the operands. A method's first operand is its object."""
    return enumerate(arguments_of(node), start=0 if function else 1)


def _chosen(node: Any, rows: Rows) -> Value:
    """Evaluate when(…).then(…).otherwise(…). If a branch fails, evaluate each branch only on the rows that need it."""
    asked, *branches = arguments_of(node)
    condition = evaluate(asked, rows)
    mask = pc.fill_null(condition.data, False)
    try:
        values = [_one(each, rows) for each in branches]
    except ElementError:
        return _by_branch(broadcast(mask, rows.count), branches, rows)
    then, *other = values
    otherwise = other[0] if other else Value(pa.scalar(None, then.data.type), True, "literal")
    rows.note("when_then", [condition, *values], {})
    data = pc.if_else(mask, *_same_type(then.data, otherwise.data))
    return Value(data, then.nullable or otherwise.nullable, then.name)


def _by_branch(mask: pa.Array, branches: list[Any], rows: Rows) -> Value:
    parts = []
    for branch, where in zip([*branches, None][:2], (mask, pc.invert(mask)), strict=True):
        some = rows.only(where)
        value = _one(branch, some)
        parts.append(Value(broadcast(value.data, some.count), value.nullable, value.name))
    then, otherwise = (each for each in parts)
    both = _same_type(then.data, otherwise.data)
    numbers = pc.cast(mask, pa.int64()), pc.cast(pc.invert(mask), pa.int64())
    first, second = (pc.subtract(pc.cumulative_sum(each), 1) for each in numbers)
    places = pc.if_else(mask, first, pc.add(second, len(both[0])))
    return Value(pa.concat_arrays(both).take(places), then.nullable or otherwise.nullable, then.name)


def _same_type(left: Data, right: Data) -> tuple[Data, Data]:
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        kind = right.type if pa.types.is_null(left.type) else left.type
        return left.cast(kind), right.cast(kind)
    return arithmetic.alike(left, right)


# Functions that Flo computes itself.

Compute: TypeAlias = Callable[[Any, list[Value]], Data]
Nullable: TypeAlias = Callable[[Any, list[Value]], bool]


def _binary(function: arithmetic.Binary) -> Compute:
    return lambda node, operands: function(operands[0].data, operands[1].data)


def _reflected(function: arithmetic.Binary) -> Compute:
    return lambda node, operands: function(operands[1].data, operands[0].data)


def _unary(function: Callable[[Data], Data]) -> Compute:
    return lambda node, operands: function(operands[0].data)


def _in_order(function: Callable[..., Data]) -> Compute:
    """Fold a function of two operands over any number of them."""
    return lambda node, operands: reduce(lambda x, y: function(*_same_type(x, y)), (each.data for each in operands))


def _as_floats(name: str) -> Compute:
    """A function of floats that also accepts integers."""
    function = getattr(pc, name)
    return lambda node, operands: function(_floats(operands[0].data))


def _floats(data: Data) -> Data:
    return arithmetic.to_float(data, pa.float64()) if arithmetic.is_whole(data.type) else data


def _cast(node: Any, operands: list[Value]) -> Data:
    return times.cast(operands[0].data, arrow_type(node.kwargs["dtype"]))


def _tried(node: Any, operands: list[Value]) -> Data:
    return functions.try_cast(operands[0].data, arrow_type(node.kwargs["dtype"]))


def _of_lists(function: Callable[..., Data]) -> Compute:
    return lambda node, operands: function(operands[0].data, **node.kwargs)


def _between(node: Any, operands: list[Value]) -> Data:
    value, low, high = (each.data for each in operands)
    closed = node.kwargs["closed"]
    above = COMPARISONS["__ge__" if closed in ("left", "both") else "__gt__"]
    below = COMPARISONS["__le__" if closed in ("right", "both") else "__lt__"]
    return pc.and_kleene(above(value, low), below(value, high))


def _filled(node: Any, operands: list[Value]) -> Data:
    value, instead = _same_type(operands[0].data, operands[1].data)
    return pc.coalesce(value, instead)


def _sum(node: Any, operands: list[Value]) -> Data:
    return reduce(arithmetic.add, (pc.fill_null(each.data, pa.scalar(0, each.data.type)) for each in operands))


def _mean(node: Any, operands: list[Value]) -> Data:
    there = [pc.cast(pc.is_valid(each.data), pa.float64()) for each in operands]
    total = reduce(pc.add, (pc.fill_null(_floats(each.data), pa.scalar(0.0)) for each in operands))
    return pc.divide(total, reduce(pc.add, there))


def _list_sum(node: Any, operands: list[Value]) -> Data:
    """Sum exactly: a sum that does not fit into 64 bits is an error."""
    (lists,) = (each.data for each in operands)
    kind = lists.type.value_type
    narrow = pa.types.is_integer(kind) and kind.bit_width < 64
    sums = [
        None if items is None else sum(item for item in items if item is not None)
        for items in (lists.to_pylist() if isinstance(lists, pa.Array) else [lists.as_py()])
    ]
    return pa.array(sums, pa.int64() if narrow else kind)


def _clip(least: Callable[..., Data], index: int, data: Data, operands: list[Value]) -> Data:
    return least(*_same_type(data, operands[index].data), skip_nulls=False)


def _clipped(node: Any, operands: list[Value]) -> Data:
    data = operands[0].data
    if node.name != "clip_lower":
        data = _clip(pc.min_element_wise, len(operands) - 1, data, operands)
    return data if node.name == "clip_upper" else _clip(pc.max_element_wise, 1, data, operands)


def _struct(node: Any, operands: list[Value]) -> Data:
    fields = [pa.field(each.name, each.data.type, each.nullable) for each in operands]
    counts = [len(each.data) for each in operands if isinstance(each.data, pa.Array)]
    if not counts:
        return pa.scalar({each.name: each.data.as_py() for each in operands}, pa.struct(fields))
    return pa.StructArray.from_arrays([broadcast(each.data, counts[0]) for each in operands], fields=fields)


COMPARISONS = {
    "__eq__": arithmetic.comparison("equal"),
    "__ne__": arithmetic.comparison("not_equal"),
    "__lt__": arithmetic.comparison("less"),
    "__le__": arithmetic.comparison("less_equal"),
    "__gt__": arithmetic.comparison("greater"),
    "__ge__": arithmetic.comparison("greater_equal"),
}
ARITHMETIC = {
    "__add__": _binary(arithmetic.add),
    "__sub__": _binary(arithmetic.subtract),
    "__rsub__": _reflected(arithmetic.subtract),
    "__mul__": _binary(arithmetic.multiply),
    "__pow__": _binary(arithmetic.power),
    "__rpow__": _reflected(arithmetic.power),
    "__truediv__": _binary(arithmetic.divide),
    "__rtruediv__": _reflected(arithmetic.divide),
    "__neg__": _unary(arithmetic.negate),
    "abs": _unary(arithmetic.absolute),
}
DIVISIONS = {
    "__floordiv__": _binary(arithmetic.floor_divide),
    "__rfloordiv__": _reflected(arithmetic.floor_divide),
    "__mod__": _binary(arithmetic.remainder),
    "__rmod__": _reflected(arithmetic.remainder),
}
KEEPING: dict[str, Compute] = {
    **{name: _binary(function) for name, function in COMPARISONS.items()},
    **ARITHMETIC,
    **{name: _as_floats(name) for name in ("exp", "sqrt", "sin", "cos", "is_nan", "is_finite")},
    **{name: times.FUNCTIONS[name] for name in times.FUNCTIONS},
    "__and__": _in_order(pc.and_kleene),
    "__or__": _in_order(pc.or_kleene),
    "__invert__": _unary(pc.invert),
    "log": lambda node, operands: pc.logb(_floats(operands[0].data), pa.scalar(float(node.kwargs["base"]))),
    "_is_close_float_promote": _unary(lambda data: _floats(data)),
    "cast": _cast,
    "clip": _clipped,
    "clip_lower": _clipped,
    "clip_upper": _clipped,
    "is_between": _between,
}
"""Computed here; the result is null exactly where an operand is."""
OWN: dict[str, Compute] = {
    **KEEPING,
    **DIVISIONS,
    **functions.FUNCTIONS,
    "try_cast": _tried,
    "list.contains": _of_lists(functions.list_contains),
    "list.get": _of_lists(functions.list_item),
    "list.sort": _of_lists(functions.sorted_lists),
    "coalesce": _in_order(pc.coalesce),
    "fill_null": _filled,
    "is_null": _unary(pc.is_null),
    "list.sum": _list_sum,
    "max_horizontal": _in_order(pc.max_element_wise),
    "mean_horizontal": _mean,
    "min_horizontal": _in_order(pc.min_element_wise),
    "struct": _struct,
    "sum_horizontal": _sum,
}
KEPT_BY_NARWHALS = (
    *("floor", "ceil", "round", "is_in", "list.len"),
    *("str.len_chars", "str.replace", "str.replace_all", "str.strip_chars", "str.strip_chars_start"),
    *("str.strip_chars_end", "str.starts_with", "str.ends_with", "str.contains", "str.slice", "str.split"),
    *("str.to_datetime", "str.to_date", "str.to_time", "str.to_uppercase", "str.to_lowercase", "str.to_titlecase"),
    *("str.zfill", "str.pad_start", "str.pad_end"),
)
"""Functions of Narwhals whose result is null exactly where the operand is."""


def _any_null(node: Any, operands: list[Value]) -> bool:
    return any(each.nullable for each in operands)


def _all_null(node: Any, operands: list[Value]) -> bool:
    return all(each.nullable for each in operands)


def _null_by_zero(node: Any, operands: list[Value]) -> bool:
    """Division by zero is null, so division by any column may be null."""
    divisor = operands[0 if node.name.startswith("__r") else 1].data
    return _any_null(node, operands) or not isinstance(divisor, pa.Scalar) or not divisor.as_py()


NULLABLE: dict[str, Nullable] = {
    **dict.fromkeys((*KEEPING, *KEPT_BY_NARWHALS), _any_null),
    **dict.fromkeys(DIVISIONS, _null_by_zero),
    **dict.fromkeys(("coalesce", "min_horizontal", "max_horizontal", "greatest", "least"), _all_null),
    **dict.fromkeys(("list.contains", "list.sort", "md5", "sha256", "split_part"), _any_null),
    "hash": lambda node, operands: False,
    **dict.fromkeys(("is_null", "list", "struct", "sum_horizontal", "mean_horizontal"), lambda node, operands: False),
    **dict.fromkeys(
        ("all_horizontal", "any_horizontal", "concat_str"),
        lambda node, operands: not node.kwargs["ignore_nulls"] and _any_null(node, operands),
    ),
    "fill_nan": lambda node, operands: node.kwargs["value"] is None or _any_null(node, operands),
    "fill_null": lambda node, operands: operands[1].nullable,
    "replace_strict": lambda node, operands: None in node.kwargs["new"] or operands[-1].nullable,
    "struct.field": lambda node, operands: (
        operands[0].nullable or operands[0].data.type.field(node.kwargs["name"]).nullable
    ),
}
"""Whether the result can be null, by function; functions that are not listed can return null."""
RENAMES: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "alias": lambda name, options: options["name"],
    "name.keep": lambda name, options: name,
    "name.map": lambda name, options: options["function"](name),
    "name.prefix": lambda name, options: options["prefix"] + name,
    "name.suffix": lambda name, options: name + options["suffix"],
    "name.to_lowercase": lambda name, options: name.lower(),
    "name.to_uppercase": lambda name, options: name.upper(),
}
"""Functions that only change the name of a column."""
