"""Columns as arguments of verbs: bound to the rows of the streams that the verb works on.

Arrow and Narwhals are only loaded when columns are used.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Optional, TypeAlias

from flo.api.scope import AnyBase, StreamBase, T
from flo.core.errors import FloError, TypeMismatch, brief
from flo.core.type_names import type_name
from flo.values.keyed import Keyed

if TYPE_CHECKING:
    from flo.columns.expression import Columns as Columns
    from flo.columns.expression import Expression
    from flo.columns.layout import Layout
else:
    Columns = Any

Asked: TypeAlias = "Callable[[T], Any] | Columns"
"""A function of rows whose result type does not affect the type of the verb's result."""
AnyColumn: TypeAlias = "Asked[Any]"
"""A column, an expression, or a function of rows; or several in a tuple or a dict."""
COLUMNS = "columns"
"""The parameter of verbs that take columns as such, by position or by name."""


@dataclass(frozen=True)
class Perhaps:
    """A row of a stream, or None."""

    stream: AnyBase


@dataclass(frozen=True)
class KeyOf:
    """A key of a keyed stream."""

    stream: AnyBase


@dataclass(frozen=True)
class TypedValue:
    """A value of this type, without columns."""

    kind: Any
    name: str = "a value"


WEIGHTS = TypedValue(int, "the weight of a row")
"""The weight of a row, as the second argument of a function."""
Argument: TypeAlias = AnyBase | Perhaps | KeyOf | TypedValue
"""An argument of a function: a row of a stream, given as the stream itself, or one of the others."""


def stream_of(row: Argument) -> AnyBase | None:
    """Return the stream that the rows belong to; None if there is none."""
    stream = row.stream if isinstance(row, (Perhaps, KeyOf)) else row
    return stream if isinstance(stream, StreamBase) else None


def kind_of(row: Argument) -> Any:
    """Return the Python type of a row, as far as it is known."""
    if isinstance(row, TypedValue):
        return row.kind
    collection = getattr(stream_of(row), "collection", None)
    if isinstance(row, KeyOf):
        return getattr(collection, "key", Any)
    kind = getattr(collection.inner if isinstance(collection, Keyed) else collection, "element", Any)
    return Optional[kind] if isinstance(row, Perhaps) and kind is not Any else kind  # noqa: UP045


def describe_row(row: Argument) -> str:
    """Return what a row is, for error messages."""
    if isinstance(row, TypedValue):
        return row.name
    kind = "keys" if isinstance(row, KeyOf) else "elements"
    return f"{kind} of {{input}}" + (" or None" if isinstance(row, Perhaps) else "")


def expect_columns(verb: str, parameter: str, given: object) -> tuple[object, ...]:
    """Return a column, or a list of columns, as a tuple. Raises if it is something else."""
    columns = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if not columns or not is_expression(columns):
        raise TypeMismatch(
            f"`{parameter}` of `{verb}` must be a column, or a list of columns; got {brief(given)}"
        ).at_users_line()
    return columns


def is_expression(given: object) -> bool:
    """Return whether it is a column, a tuple of columns, or a dict of columns."""
    parts = given.values() if isinstance(given, Mapping) else given if isinstance(given, tuple) else (given,)
    return bool(parts) and all(map(_is_column, parts))


def _is_column(given: object) -> bool:
    if isinstance(given, str):
        return True
    evaluation = sys.modules.get("flo.columns.evaluation")  # loaded if there is an expression
    narwhals = sys.modules.get("narwhals")
    return (narwhals is not None and isinstance(given, narwhals.Expr)) or (
        evaluation is not None and isinstance(given, evaluation.ColumnFunction)
    )


def bind_columns(
    verb: str, parameter: str, given: object, rows: tuple[Argument, ...], gives: type | None = None
) -> Expression:
    """Return the function that the columns denote on one row of each stream; unchanged if one is not a stream."""
    streams = [stream for stream in map(stream_of, rows) if stream is not None]
    if len(streams) + rows.count(WEIGHTS) < len(rows):
        return given  # type: ignore[return-value]  # the verb will raise
    try:
        layouts = tuple(_layout(verb, parameter, row) for row in rows)
        expression = _make_expression(verb, parameter, given, layouts)
        if gives is not None and gives not in (expression.kind, *getattr(expression.kind, "__args__", ())):
            wanted = "true or false" if gives is bool else f"of type {gives.__name__}"
            raise TypeMismatch(
                f"`{parameter}` of `{verb}` must be {wanted}; got {type_name(expression.kind)}",
                facts=(("expression", expression.__name__), ("{input}", streams[0].type.described())),
                instead=((f"{verb}(nw.col({_example(given)}) > …)", "a comparison"),) if gives is bool else (),
            )
    except FloError as error:
        raise error.at_users_line(streams[error.index or 0]) from None
    return expression


def _example(given: object) -> str:
    return f'"{given}"' if isinstance(given, str) else "…"


def _layout(verb: str, parameter: str, row: Argument) -> Layout:
    from flo.columns import expression
    from flo.columns.layout import Layout

    stream = stream_of(row)
    if stream is None:
        return expression.WEIGHTS
    layout = Layout.of(kind_of(KeyOf(stream) if isinstance(row, KeyOf) else stream))
    if layout is None:
        raise TypeMismatch(
            f"`{parameter}` of `{verb}` is given as columns, but the elements of {{input}} have none",
            facts=(("{input}", stream.type.described()),),
            instead=(
                (
                    f"flo.{stream.collection.name}[Row]",
                    "where Row is a NamedTuple, a dataclass or another type with columns",
                ),
                (f"{parameter}=lambda …", "a function"),
            ),
        )
    return expression.nullable_layout(layout) if isinstance(row, Perhaps) else layout


def row_layout(verb: str, parameter: str, stream: AnyBase) -> Layout:
    """Return the layout of the rows of a stream. Raises if they have no columns."""
    try:
        return _layout(verb, parameter, stream)
    except FloError as error:
        raise error.at_users_line(stream) from None


def column_layout(verb: str, parameter: str, given: object, stream: AnyBase) -> Layout:
    """Return the layout of the rows of a stream. Raises if they have no column of that name."""
    try:
        layout = _layout(verb, parameter, stream)
        if not isinstance(given, str):
            raise TypeMismatch(
                f"`{parameter}` of `{verb}` must be the name of a column; "
                f"got {'an expression' if is_expression(given) else brief(given)}",
                facts=(("columns", ", ".join(layout.names)),),
            )
        if given not in layout.names:
            raise unknown_column(f"`{parameter}` of `{verb}`", given, layout.names)
    except FloError as error:
        raise error.at_users_line(stream) from None
    return layout


def _make_expression(verb: str, parameter: str, given: object, layouts: tuple[Layout, ...]) -> Expression:
    from flo.columns.expression import Expression, names_of

    known = [name for called in names_of(layouts) for name in called.values()]
    subject, owner = f"`{parameter}` of `{verb}`", "neither side has" if len(layouts) > 1 else "{input} does not have"
    expect_known_columns(f"`{verb}`" if parameter == COLUMNS else subject, given, known, owner)
    try:
        expression = Expression(given, layouts)
    except FloError as error:
        explain_misfit(error, f"`{verb}`" if parameter == COLUMNS else subject, given)
        raise
    return expression


NO_FIT = " does not fit its rows: "
_NO_KERNEL = re.compile(r"Function '(\w+)' has no kernel matching input types \((.*)\)")
_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and_kleene": "&",
    "or_kleene": "|",
    "invert": "~",
    "negate": "-",
}


def expect_known_columns(
    subject: str, given: object, known: Iterable[str], owner: str = "{input} does not have"
) -> None:
    """Raise if columns name one that there is not: a name, an expression, or a tuple or dict of these."""
    known = list(known)
    parts = given.values() if hasattr(given, "values") else given if isinstance(given, tuple) else (given,)
    for part in parts:
        for name in _names_in(part):
            if name not in known:
                raise unknown_column(subject, name, known, None if isinstance(part, str) else part, owner)


def unknown_column(
    subject: str, name: str, known: Iterable[str], expression: object = None, owner: str = "{input} does not have"
) -> TypeMismatch:
    """Return the error for a column that there is not, with the one whose name is closest."""
    known = list(known)
    written = _as_expression(name, known) if expression is None else None
    if written is not None:
        return TypeMismatch(
            f"{subject} must get an expression, not a text; got {brief(name)}",
            instead=((written, "with `import narwhals as nw`"),),
        )
    facts = [("columns", ", ".join(known))]
    template = '"{}"' if expression is None else 'nw.col("{}")'
    if expression is not None:
        from flo.columns.readable import readable

        facts.insert(0, ("expression", readable(expression)))
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    verb = "gets" if expression is None else "reads"
    return TypeMismatch(
        f"{subject} {verb} the column `{name}`, which {owner}",
        facts=tuple(facts),
        instead=tuple((template.format(each), "the column with the closest name") for each in close),
    )


def _as_expression(text: str, known: Iterable[str]) -> str | None:
    """Return a text such as "price > 3" as an expression of these columns; None if it is none."""
    try:
        tree = ast.parse(re.sub(r"(?<![<>=!])=(?!=)", "==", text), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if isinstance(tree, ast.Name) or not read or not read <= set(known):
        return None
    return ast.unparse(_Columns().visit(tree)).replace("'", '"')


class _Columns(ast.NodeTransformer):
    """Writes names as columns, and `and` as `&`."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(f'nw.col("{node.id}")', mode="eval").body

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        sign: ast.operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        first, *others = (self.visit(value) for value in node.values)
        for other in others:
            first = ast.BinOp(first, sign, other)
        return first  # type: ignore[no-any-return]


FOREIGN = {"polars": "Polars", "pyspark": "PySpark", "pandas": "pandas", "duckdb": "DuckDB", "ibis": "Ibis"}
"""Libraries whose expressions are not those of Flo."""


def expect_own_expression(verb: str, given: object, example: str = 'nw.col("price") > 3') -> None:
    """Raise if a verb gets an expression of another library. The `example` is one that it takes."""
    what, how = ("expressions of Narwhals", "with `import narwhals as nw`")
    if "nw." not in example:
        what, how = "aggregates of Flo", "name=aggregate"
    library = FOREIGN.get(type(given).__module__.partition(".")[0])
    if library is not None and not callable(given):
        raise TypeMismatch(
            f"`{verb}` must get {what}; got an expression of {library}", instead=((example, how),)
        ).at_users_line()


def explain_misfit(error: FloError, subject: str, given: object) -> None:
    """Say what cannot be computed, and why, where an expression does not fit the types of its columns."""
    _, split, reason = error.summary.partition(NO_FIT)
    from flo.columns.readable import readable

    error.facts = (("expression", readable(given)), *(fact for fact in error.facts if fact[0] != "expression"))
    if split:
        error.summary = f"{subject} cannot be computed: {_in_plain_words(reason)}"


def _in_plain_words(reason: str) -> str:
    match = _NO_KERNEL.match(reason)
    if match is None:
        return reason
    name = match[1].removesuffix("_checked")
    return f"`{_SIGNS.get(name, name)}` does not take {' and '.join(match[2].split(', '))}"


def _names_in(given: object) -> Iterator[str]:
    """Yield the names of the columns that a column or an expression reads."""
    if isinstance(given, str):
        yield given
    elif hasattr(given, "_nodes"):
        from flo.columns.evaluation import every_node

        for node in every_node(given):  # type: ignore[arg-type]  # it has nodes
            if node.kind.name == "COL":
                yield from node.kwargs["names"]
