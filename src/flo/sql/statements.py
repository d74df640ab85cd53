"""The statements of a file of views, read by Spark's own lexer and parser: `CREATE VIEW name AS SELECT …;`.

A query is padded so that its lines have their numbers in the file: Spark's errors then tell those of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flo.core.errors import FloError, NameTakenError, Origin, TypeMismatch
from flo.sql.catalyst import items_of, quoted, tokens_of

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


def read_statements(spark: Any, file: str) -> list[ViewStatement]:
    """Return the views that the statements of a file create. Raises with the line of a statement that is none."""
    with open(file, encoding="utf-8") as source:
        text = source.read()
    found: list[ViewStatement] = []
    for start, end, line in _split(spark, text):
        statement = _read(spark, _blank(text[:start]) + text[start:end], Origin(file, line))
        first = next((each for each in found if each.name.lower() == statement.name.lower()), None)
        if first is not None:
            raise NameTakenError(
                f"the view `{statement.name}` is created twice",
                facts=(("first", str(first.where)),),
                where=statement.where,
            )
        found.append(statement)
    if not found:
        raise FloError("the file has no statement", instead=(("CREATE VIEW name AS SELECT …;", ""),))
    return found


def _split(spark: Any, text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where each statement starts and ends, and its line. Comments and texts may have semicolons."""
    start: tuple[int, int] | None = None
    for token in tokens_of(spark, text):
        if token.getText() == END:
            if start is not None:
                yield (start[0], token.getStartIndex(), start[1])
            start = None
        elif start is None:
            start = token.getStartIndex(), token.getLine()
    if start is not None:
        yield (start[0], len(text), start[1])


def _read(spark: Any, text: str, where: Origin) -> ViewStatement:
    from pyspark.errors import ParseException

    try:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except ParseException as error:
        lines = str(error).strip().splitlines()
        raise StatementError(f"Spark cannot parse the statement: {lines[0]}", where=_line(error, where)) from None
    kind = plan.nodeName()
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
            if plan.partitioning().size():
                raise TypeMismatch("a view that Flo maintains has no PARTITIONED BY", where=where)
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
        return ViewStatement(names[0], f"SELECT * FROM ({blank}{query}\n) AS `view`({named})", where)
    return ViewStatement(names[0], blank + query, where)


def _blank(text: str) -> str:
    """Return blanks with the line ends of a text."""
    return "".join(each if each == "\n" else " " for each in text)


def _line(error: Any, where: Origin) -> Origin:
    """Return the line that a parse error names."""
    line = error._origin.line() if getattr(error, "_origin", None) is not None else None
    return Origin(where.file, line.get()) if line is not None and line.isDefined() else where
