"""The statements of a file of views, read by Spark's own lexer and parser: `CREATE VIEW name AS SELECT …;`.

A query is padded so that its lines have their numbers in the file: Spark's errors then tell those of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from flo.core.errors import FloError, NameTakenError, Origin, TypeMismatch
from flo.sql.catalyst import quoted, tokens_of
from flo.sql.java import Java, items_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END = ";"


class StatementError(FloError):
    """A statement that Spark cannot parse, with Spark's message.

    Fix: correct the statement on the line that the message names.
    """


@dataclass(frozen=True)
class ViewStatement:
    """A view that a statement creates."""

    name: str
    query: str
    """The query, on the lines that it has in the file."""
    where: Origin


def read_statements(spark: SparkSession, file: str) -> list[ViewStatement]:
    """Return the views that the statements of a file create. Raises with the line of a statement that is none."""
    with open(file, encoding="utf-8") as source:
        text = source.read()
    views: list[ViewStatement] = []
    for start, end, line in _split(text):
        statement = _read(spark, _blank(text[:start]) + text[start:end], Origin(file, line))
        first = next((each for each in views if each.name.lower() == statement.name.lower()), None)
        if first is not None:
            raise NameTakenError(
                f"the view `{statement.name}` is created twice",
                facts=(("first", str(first.where)),),
                where=statement.where,
            )
        views.append(statement)
    if not views:
        raise FloError("the file has no statement", instead=(("CREATE VIEW name AS SELECT …;", ""),))
    return views


def _split(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where each statement starts and ends, and its line. Comments and texts may have semicolons."""
    start: tuple[int, int] | None = None
    for token in tokens_of(text):
        if token.getText() == END:
            if start is not None:
                yield (start[0], token.getStartIndex(), start[1])
            start = None
        elif start is None:
            start = token.getStartIndex(), token.getLine()
    if start is not None:
        yield (start[0], len(text), start[1])


def _read(spark: SparkSession, text: str, where: Origin) -> ViewStatement:
    plan = _parsed(spark, text, where)
    kind = plan.nodeName()
    types: list[str] = []
    match kind:
        case "CreateView":
            names, query = items_of(plan.child().nameParts()), plan.originalText().get()
            columns = [each._1() for each in items_of(plan.userSpecifiedColumns())]
        case "CreateViewCommand":
            names, query = [plan.name().table()], plan.originalText().get()
            columns = [each._1() for each in items_of(plan.userSpecifiedColumns())]
        case "CreateMaterializedViewAsSelect":
            names, query = items_of(plan.name().nameParts()), plan.originalText()
            columns = [each.name() for each in items_of(plan.columns())]
            types = [each.dataType().sql() for each in items_of(plan.columns())]
            if plan.partitioning().size():
                raise TypeMismatch("a view that Flo maintains has no PARTITIONED BY or CLUSTER BY", where=where)
        case _:
            raise TypeMismatch(
                f"the file must have statements that create views; this one is {kind}",
                instead=(("CREATE VIEW name AS SELECT …;", ""),),
                where=where,
            )
    if len(names) > 1:
        raise TypeMismatch(f"the view `{'.'.join(names)}` must have a name without a schema", where=where)
    start = text.rindex(query)
    blank = _blank(text[:start])
    if columns:
        named = ", ".join(map(quoted, columns))
        selected = ", ".join(
            f"CAST({name} AS {kind}) AS {name}" for name, kind in zip(map(quoted, columns), types, strict=False)
        )
        return ViewStatement(names[0], f"SELECT {selected or '*'} FROM ({blank}{query}\n) AS `view`({named})", where)
    return ViewStatement(names[0], blank + query, where)


def _parsed(spark: SparkSession, text: str, where: Origin) -> Java:
    """Return the plan of a statement. Where Spark does not parse a materialized view, it is read as a plain one, which
    may have columns without types, and replace another."""
    from pyspark.errors import ParseException

    parse, failed = spark._jsparkSession.sessionState().sqlParser().parsePlan, None
    for each in (text, _plain_view(text)):
        try:
            if each is not None:
                return parse(each)
        except ParseException as error:
            failed = error
    first = str(failed).strip().splitlines()[0]
    raise StatementError(f"Spark cannot parse the statement: {first}", where=_line(failed, where))


def _plain_view(text: str) -> str | None:
    """Return the statement of a materialized view as one of a plain view, every word in its place; None if it is
    another statement."""
    tokens = list(islice(tokens_of(text), 5))
    words = [token.getText().upper() for token in tokens]
    if words[:1] != ["CREATE"] or ("MATERIALIZED", "VIEW") not in pairwise(words):
        return None
    dropped = ["MATERIALIZED", *(("OR", "REFRESH") if words[1:3] == ["OR", "REFRESH"] else ())]
    for token, word in zip(tokens, words, strict=True):
        if word in dropped:
            start, end = token.getStartIndex(), token.getStopIndex() + 1
            text = text[:start] + _blank(text[start:end]) + text[end:]
    return text


def _blank(text: str) -> str:
    """Return blanks with the line ends of a text."""
    return "".join(each if each == "\n" else " " for each in text)


def _line(error: Any, where: Origin) -> Origin:
    """Return the line that a parse error names."""
    line = error._origin.line() if getattr(error, "_origin", None) is not None else None
    return Origin(where.file, line.get()) if line is not None and line.isDefined() else where
