"""The plan of a program on tables: how each operator runs, and what state it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa

from flo.columns.projection import Projection, Widened
from flo.columns.rewriting import plain_function, suggest_columns, why_row_by_row
from flo.core.collection import Form, FormedValue
from flo.core.graph import Node, Parallel, Sequential, nodes
from flo.core.labels import label
from flo.core.operator import Operator
from flo.core.persistent import Elements, PersistentMap
from flo.core.source_calls import call_text
from flo.core.structural import Wire
from flo.core.text_rows import format_heading, lines_of_rows
from flo.program.outline import describe_operator
from flo.tables.functions import runs_on_columns
from flo.tables.keyed import KeyedRows
from flo.tables.operator import Cut, OnTables
from flo.tables.operators.fixpoint import FixpointTables
from flo.tables.operators.rounds import GroupRounds
from flo.tables.operators.weights import Partners
from flo.tables.state.trace import Trace
from flo.tables.translate import ToColumns, ToValues
from flo.tables.values import Rows
from flo.values.lvar import LVarValue

TABLES, BY_ROW, VALUES, CONVERSION = "on tables", "on tables, row by row in Python", "on values", "conversion"
ONE_VALUE = "on one value"
"""For operators that read LVars only, which have no rows."""


@dataclass(frozen=True)
class Planned:
    """One operator: how it runs, what it keeps, and its depth in bodies."""

    node: Node
    how: str
    keeps: tuple[str, ...]
    depth: int

    @property
    def operator(self) -> Operator:
        """The operator as the user wrote it."""
        operator = self.node.operator
        return operator.like if isinstance(operator, OnTables) else operator

    @property
    def described(self) -> str:
        """The operator with its arguments, further to the right if it is in a body."""
        return "  " * self.depth + describe_operator(self.operator)

    @property
    def verb(self) -> str:
        """The call that made it, as the user wrote it; nothing for a query, whose operators Spark has planned."""
        origin = self.node.origin
        return "" if origin is None or origin.verb == "sql" else call_text(origin) or origin.verb


def plan(operators: Iterable[Node], depth: int = 0) -> Iterator[Planned]:
    """Every operator except wires. The operators of a body follow their own."""
    for node in operators:
        if isinstance(node.operator, Wire):
            continue
        yield Planned(node, _how(node), tuple(_keeps(node.operator)), depth)
        if isinstance(node.operator, FixpointTables):
            yield from _plan_rounds(node.operator, depth + 1)
        for part in _parts(node.operator):
            if isinstance(part, (Node, Sequential, Parallel)):
                yield from plan(nodes(part), depth + 1)
                break  # the current graph; another field may have the initial one


def _plan_rounds(fixpoint: FixpointTables, depth: int) -> Iterator[Planned]:
    """The operators of a body that runs in rounds: on changes, or anew for the keys that change."""
    for operator, traces in fixpoint.in_rounds():
        anew = isinstance(operator, GroupRounds)
        how = VALUES if isinstance(operator, GroupRounds) and operator.form is None else TABLES
        rows, _ = _size(traces)
        kept = f"{len(traces)} traces" if len(traces) > 1 else "a trace"
        text = f"{kept} with rounds" + (f" of {rows:,} rows" if rows else "")
        text += " (keys that change are computed anew)" if anew else ""
        yield Planned(operator.node, how, (text,) if traces else (), depth)


def _how(node: Node) -> str:
    operator = node.operator
    if isinstance(operator, (ToColumns, ToValues)):
        return CONVERSION
    if not isinstance(operator, OnTables):
        if _holds_tables((node.state, *_parts(operator))):
            return TABLES  # passes tables on, or runs a body on them
        return ONE_VALUE if node.state and all(isinstance(v, LVarValue) for v in node.state) else VALUES
    return BY_ROW if operator.by_row else TABLES


def _holds_tables(part: Any) -> bool:
    return any(map(_holds_tables, part)) if type(part) is tuple else isinstance(part, (Form, FormedValue))


def _keeps(operator: Operator) -> Iterator[str]:
    ended = getattr(operator, "ended_side", None) is not None
    for field in fields(operator):
        value = getattr(operator, field.name)
        if ended and isinstance(value, (Trace, Partners)) and _size(value) == (0, 0):
            continue  # the state of this side was dropped when the other side ended
        if field.metadata.get("cut") is Cut.NONE and not _size(value)[0]:
            continue  # no key is hot
        if isinstance(value, Partners):
            rows, _ = _size(value)
            yield f"{field.name}: which keys there are" + (f", {rows:,} rows" if rows else "")
        elif isinstance(value, Trace):
            yield f"{field.name}: a trace" + (f" of {value.rows:,} rows" if value.rows else "")
        elif type(value) is tuple and value and all(isinstance(each, Trace) for each in value):
            rows, _ = _size(value)
            yield f"{field.name}: {'a trace' if len(value) == 1 else f'{len(value)} traces'}" + (
                f" of {rows:,} rows" if rows else ""
            )
        elif isinstance(value, (PersistentMap, Elements)):
            yield f"{field.name}: Python values" + (f", {len(value):,}" if value else "")
        elif isinstance(value, pa.Table):
            yield f"{field.name}: a table" + (f" of {value.num_rows:,} rows" if value.num_rows else "")
        elif isinstance(value, OnTables):  # the operator that runs for every key
            yield from _keeps(value)


@dataclass(frozen=True)
class Called:
    """A function that is called for every row: why, and the columns to write instead, if there are any."""

    verb: str
    function: Any
    why: str
    instead: str | None
    where: str

    def lines(self) -> Iterator[str]:
        """The text below the table."""
        yield f"  {self.verb}({label(self.function)})   {self.why}   {self.where}".rstrip()
        if self.instead is not None:
            yield f"    write {self.verb}({self.instead})"


def called_by_row(planned: Planned) -> Iterator[Called]:
    """The functions of an operator that are called for every row."""
    operator = planned.node.operator
    if planned.how != BY_ROW or not isinstance(operator, OnTables):
        return
    origin = planned.node.origin
    verb, where = (origin.verb if origin else "") or operator.like.name, str(origin or "")
    for name, function in _functions(operator.like):
        if isinstance(function, Projection):
            for column, each in function.functions.items():
                if runs_on_columns(each):
                    continue
                call = _called(verb, each, operator.inputs[0], where)
                yield replace(call, instead=call.instead and f"{column}={call.instead}")
        elif isinstance(function, Widened):
            if any(getattr(each, "aggregator", None) is not None for each in getattr(operator.like, "functions", ())):
                yield Called(verb, function, "an aggregate slides over its frames", None, where)
        elif not runs_on_columns(function):
            side = 1 if name == "other_on" else 0
            if name in ("f", "keep", "by", "of", "key", "on", "other_on", "time"):
                call = _called(verb, function, operator.inputs[side], where)
                yield call if name in ("f", "keep") else replace(call, instead=_keyword(name, call.instead))
            else:
                yield Called(verb, plain_function(function), "it takes more than one row", None, where)


def _keyword(name: str, instead: str | None) -> str | None:
    return None if instead is None else f"…, {name}={instead}"


def _called(verb: str, function: Any, of: Any, where: str) -> Called:
    element = getattr(getattr(of, "inner", of), "element", Any)
    plain = plain_function(function)
    return Called(verb, plain, why_row_by_row(function, element), suggest_columns(function, element), where)


def _functions(holder: Any) -> Iterator[tuple[str, Any]]:
    """The user's functions in an operator, by name."""
    for field in fields(holder):
        part = getattr(holder, field.name)
        if callable(part) and not isinstance(part, type):
            yield field.name, part


def explain_calls(planned: Iterable[Planned]) -> list[str]:
    """Why operators run row by row, and what to write instead; nothing if none does."""
    lines = [line for each in planned for called in called_by_row(each) for line in called.lines()]
    return ["row by row in Python, because", *lines] if lines else []


def _parts(operator: Operator) -> Iterator[Any]:
    for field in fields(operator):
        yield getattr(operator, field.name)


def state_size(operators: Iterable[Node]) -> tuple[int, int]:
    """The number of rows and bytes in operators and their buffers. The bytes of Python values are not counted."""
    kept = [_size(part) for node in operators for part in (*(node.state or ()), *_parts(node.operator))]
    return sum(rows for rows, _ in kept), sum(size for _, size in kept)


def _size(part: Any) -> tuple[int, int]:
    match part:
        case Trace():
            return part.rows, part.bytes
        case Partners():
            return part.rows.rows + part.keys.rows, part.rows.bytes + part.keys.bytes
        case Rows() | KeyedRows():
            return part.table.num_rows, part.table.nbytes
        case pa.Table():
            return part.num_rows, part.nbytes
        case PersistentMap() | Elements():
            return len(part), 0
        case Node() | Sequential() | Parallel():
            return state_size(nodes(part))
        case OnTables():
            return state_size([Node(None, part)])
        case tuple():
            sizes = [_size(each) for each in part if isinstance(each, Trace)]
            return sum(rows for rows, _ in sizes), sum(size for _, size in sizes)
        case _:
            return 0, 0


def format_by_verb(operators: Sequence[tuple[str, str, Sequence[str]]], indent: str = "  ") -> list[str]:
    """The lines of operators, each with its verb, its line and its cells: below the verb as the user wrote it."""
    rows = [((f"  {name}" if verb else name), *cells) for verb, _, (name, *cells) in operators]
    lines: list[str] = []
    before = ("", "")
    for (verb, where, _), of_row in zip(operators, lines_of_rows(rows, indent), strict=True):
        if verb and before != (verb, where):
            lines += format_heading(verb, where, indent)
        before = (verb, where)
        lines += of_row
    return lines


def explain_plan(name: str, operators: Iterable[Node], state: Iterable[str] = ()) -> str:
    """The text of `explain`: a line for each operator, what bounds its `state`, and a summary."""
    planned = list(plan(operators))
    rows = [
        (each.verb, str(each.node.origin or ""), (each.described, each.how, "; ".join(each.keeps))) for each in planned
    ]
    lines = [f"flow {name}, in this process", *format_by_verb(rows)]
    lines += [*explain_calls(planned), *state]
    hows = (TABLES, BY_ROW, VALUES, ONE_VALUE, CONVERSION)
    counts = {how: sum(each.how == how for each in planned) for how in hows}
    one = f"{counts[ONE_VALUE]} on one value, " if counts[ONE_VALUE] else ""
    lines.append(
        f"{counts[TABLES]} on tables, {counts[BY_ROW]} row by row in Python, {counts[VALUES]} on values, "
        f"{one}{counts[CONVERSION]} conversions"
    )
    return "\n".join(lines)
