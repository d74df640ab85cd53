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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns import arithmetic
from flo.columns.arithmetic import same_type
from flo.columns.indices import one_chunk
from flo.columns.node_functions import NULLABLE, OWN, RENAMES, arrow_type, broadcast
from flo.columns.nodes import ColumnNode, ComputeNode, Data, NodeValue, Options
from flo.columns.strict import SIGNS, expect_sound, unsupported_error
from flo.core.errors import ElementError

COLUMNS = frozenset({"COL", "NTH", "ALL", "EXCLUDE", "SELECTOR"})
"""The kinds of nodes that name columns."""
OF_EACH_ROW = COLUMNS | {"LITERAL", "ELEMENTWISE", "WHEN_THEN"}
"""The kinds of nodes whose result for a row only depends on that row."""
GUESSES = ("str.to_datetime", "str.to_date", "str.to_time")
"""Functions that, without a format, infer one from other rows."""


class FunctionCall(NamedTuple):
    """A function that an expression calls, with its operands and options."""

    function: str
    operands: tuple[str, ...]
    """The type of each operand; literals are prefixed with `literal`."""
    options: Options


@dataclass(frozen=True)
class InputRows:
    """The rows that an expression is evaluated on: at least the columns that it reads, and the schema of all."""

    columns: Mapping[str, pa.Array | pa.ChunkedArray]
    count: int
    schema: pa.Schema
    calls: list[FunctionCall] | None = None
    """Where to record the functions that are called; None to not record them."""

    @classmethod
    def of(cls, table: pa.Table, calls: list[FunctionCall] | None = None) -> InputRows:
        return cls(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows, table.schema, calls)

    def note(self, function: str, operands: list[NodeValue], options: Options) -> None:
        if self.calls is not None:
            self.calls.append(FunctionCall(function, tuple(each.kind for each in operands), options))

    def column(self, name: str) -> NodeValue:
        index = self.schema.get_field_index(name)
        if index < 0:
            raise TypeError(f"there is no column `{name}`")
        data = self.columns[name]
        data = one_chunk(data) if isinstance(data, pa.ChunkedArray) else data
        return NodeValue(data, self.schema.field(index).nullable, name)

    def only(self, mask: pa.Array) -> InputRows:
        some = {name: column.filter(mask) for name, column in self.columns.items()}
        return InputRows(some, pc.sum(mask, min_count=0).as_py(), self.schema, self.calls)


class ColumnFunction(ABC):
    """An expression in another language than Narwhals, such as Spark SQL, as a part of column expressions."""

    @abstractmethod
    def evaluate(self, rows: InputRows) -> NodeValue:
        """Return the result for every row."""

    @property
    @abstractmethod
    def reads(self) -> frozenset[str]:
        """The columns that are read."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The expression as text; different expressions have different texts."""

    @property
    def described(self) -> str:
        """The expression as people write it."""
        return self.text

    @property
    def can_fail(self) -> bool:
        """Whether it may raise for a row."""
        return True


def nodes_of(expression: nw.Expr) -> tuple[ColumnNode, ...]:
    """Return the nodes of an expression. This is a private attribute of Narwhals; a test detects if it changes."""
    return tuple(expression._nodes)


def arguments_of(node: ColumnNode) -> Iterator[Any]:
    """Yield the arguments of a node: expressions, and literals as Python values."""
    for given in node.exprs:
        yield nw.col(given) if isinstance(given, str) and not node.str_as_lit else given


def every_node(expression: nw.Expr) -> Iterator[ColumnNode]:
    """Yield the nodes of an expression and of its arguments."""
    for node in nodes_of(expression):
        yield node
        for given in arguments_of(node):
            if isinstance(given, nw.Expr):
                yield from every_node(given)


def find_use_of_other_rows(expression: nw.Expr | ColumnFunction) -> str | None:
    """Return the first function that needs other rows, with the reason; None if there is none."""
    if isinstance(expression, ColumnFunction):
        return None
    for node in every_node(expression):
        if node.kind.name not in OF_EACH_ROW:
            return f"`{node.name}` depends on other rows"
        if node.name in GUESSES and node.kwargs["format"] is None:
            return f"`{node.name}` without a format infers one from other rows"
    return None


def columns_read(expression: nw.Expr | ColumnFunction, schema: pa.Schema) -> set[str]:
    if isinstance(expression, ColumnFunction):
        return set(expression.reads)
    return {
        name for node in every_node(expression) if node.kind.name in COLUMNS for name in columns_named(node, schema)
    }


def columns_named(node: ColumnNode, schema: pa.Schema) -> list[str]:
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


Compute: TypeAlias = Callable[[InputRows], NodeValue]
"""Computes a column or a literal."""


def compile_expression(expression: nw.Expr | ColumnFunction, schema: pa.Schema) -> Compute:
    """Return a function that computes an expression with one column, on rows of this schema.

    The nodes are visited here, once. Only what depends on the rows is left to the function.
    """
    return expression.evaluate if isinstance(expression, ColumnFunction) else _compile_one(expression, schema)


def evaluate(expression: nw.Expr | ColumnFunction, rows: InputRows) -> NodeValue:
    """Return the result of an expression with one column."""
    return compile_expression(expression, rows.schema)(rows)


def _compile_one(given: object, schema: pa.Schema) -> Compute:
    """Return a function that computes an expression or a literal, which must have one result."""
    results = _compile(given, schema)
    if len(results) != 1:
        raise TypeError(f"the expression must return one column; it returns {len(results)}")
    return results[0]


def _compile(given: object, schema: pa.Schema) -> list[Compute]:
    """Return functions that compute the results of an expression or a literal: several if it names several columns."""
    if not isinstance(given, nw.Expr):
        return [_compile_literal(given, None)]
    first, *more = nodes_of(given)
    if first.kind.name in COLUMNS:
        results = [_compile_column(name, schema) for name in columns_named(first, schema)]
    elif first.name == "lit":
        results = [_compile_literal(first.kwargs["value"], first.kwargs["dtype"])]
    elif first.name == "when_then":
        results = [_compile_choice(first, schema)]
    else:
        results = [_compile_node(first, [value for each in arguments_of(first) for value in _compile(each, schema)])]
    for node in more:
        arguments = [_compile_one(each, schema) for each in arguments_of(node)]
        results = [_compile_node(node, [value, *arguments]) for value in results]
    return results


def _compile_column(name: str, schema: pa.Schema) -> Compute:
    index = schema.get_field_index(name)
    if index < 0:
        raise TypeError(f"there is no column `{name}`")
    nullable = schema.field(index).nullable

    def compute(rows: InputRows) -> NodeValue:
        column = NodeValue(one_chunk(rows.columns[name]), nullable, name)
        if rows.calls is not None:
            rows.note("col", [column], {"name": name})
        return column

    return compute


def _compile_literal(value: object, dtype: object) -> Compute:
    data = arithmetic.literal(value) if dtype is None else _constant(value, arrow_type(dtype))
    literal = NodeValue(data, value is None, "literal")

    def compute(rows: InputRows) -> NodeValue:
        if rows.calls is not None:
            rows.note("lit", [literal], {"value": value, "dtype": dtype})
        return literal

    return compute


def _constant(value: object, kind: pa.DataType) -> pa.Scalar:
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise TypeError(f"the constant {value!r} does not fit into {kind}") from None


def _compile_node(node: ColumnNode, operands: list[Compute]) -> Compute:
    if node.name in RENAMES:
        return lambda rows: _rename(node, operands[0](rows))
    own = OWN.get(node.name)
    return lambda rows: _apply(node, own, rows, [each(rows) for each in operands])


def _rename(node: ColumnNode, operand: NodeValue) -> NodeValue:
    return NodeValue(operand.data, operand.nullable, RENAMES[node.name](operand.name, node.kwargs))


def _apply(node: ColumnNode, own: ComputeNode | None, rows: InputRows, operands: list[NodeValue]) -> NodeValue:
    """Return the result of one node. `own` is the function that computes it; None if Narwhals does."""
    if rows.calls is not None:
        rows.note(node.name, operands, node.kwargs)
        expect_sound(node, operands)
    try:
        data = _by_narwhals(node, rows, operands) if own is None else own(node, operands)
    except ElementError:
        raise
    except (pa.ArrowInvalid, OverflowError, nw.exceptions.NarwhalsError) as error:
        raise ElementError(f"`{SIGNS.get(node.name, node.name)}` cannot be computed: {str(error).strip()}") from error
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise unsupported_error(node, operands) from error
    name = node.kwargs["name"] if node.name == "struct.field" else operands[0].name
    return NodeValue(data, rows.calls is None or _may_be_null(node, operands), name)  # asked for without rows only


def _may_be_null(node: ColumnNode, operands: list[NodeValue]) -> bool:
    decide = NULLABLE.get(node.name)
    return decide is None or decide(node, operands)


def _by_narwhals(node: ColumnNode, rows: InputRows, operands: list[NodeValue]) -> Data:
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
    table = nw.from_native(pa.table(columns), eager_only=True).select(expression).to_native()
    return one_chunk(table.column(0))


def _places(node: ColumnNode, *, function: bool) -> Iterator[tuple[int, Any]]:
    """Yield the arguments of a node with their position among the operands. A method's first operand is its object."""
    return enumerate(arguments_of(node), start=0 if function else 1)


def _compile_choice(node: ColumnNode, schema: pa.Schema) -> Compute:
    """Return a function that computes when(…).then(…).otherwise(…). If a branch fails, it computes each branch only on
    the rows that need it."""
    asked, *branches = (_compile_one(each, schema) for each in arguments_of(node))

    def compute(rows: InputRows) -> NodeValue:
        condition = asked(rows)
        mask = pc.fill_null(condition.data, False)
        try:
            values = [each(rows) for each in branches]
        except ElementError:
            return _by_branch(broadcast(mask, rows.count), branches, rows)
        then, *other = values
        otherwise = other[0] if other else NodeValue(pa.scalar(None, then.data.type), True, "literal")
        rows.note("when_then", [condition, *values], {})
        try:
            data = pc.if_else(mask, *same_type(then.data, otherwise.data))
        except pa.ArrowNotImplementedError as error:
            raise unsupported_error(node, [then, otherwise]) from error
        return NodeValue(data, then.nullable or otherwise.nullable, then.name)

    return compute


def _by_branch(mask: pa.Array, branches: list[Compute], rows: InputRows) -> NodeValue:
    parts = []
    nothing = _compile_one(None, rows.schema)
    for branch, where in zip([*branches, nothing][:2], (mask, pc.invert(mask)), strict=True):
        some = rows.only(where)
        value = branch(some)
        parts.append(NodeValue(broadcast(value.data, some.count), value.nullable, value.name))
    then, otherwise = (each for each in parts)
    both = same_type(then.data, otherwise.data)
    numbers = pc.cast(mask, pa.int64()), pc.cast(pc.invert(mask), pa.int64())
    first, second = (pc.subtract(pc.cumulative_sum(each), 1) for each in numbers)
    places = pc.if_else(mask, first, pc.add(second, len(both[0])))
    return NodeValue(pa.concat_arrays(both).take(places), then.nullable or otherwise.nullable, then.name)
