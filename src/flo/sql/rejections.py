"""Parts of a query that are rejected because the optimised plan does not show what they mean.

The optimiser makes constants of functions of the time, arbitrary rows of `dropDuplicates`, and nothing of a watermark.
So these are looked for in the analysed plan, before it is optimised.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flo.sql.catalyst import UnsupportedQueryError, tokens_of
from flo.sql.java import Java, items_of, java_package, scala_object

Rewrite = tuple[str, str]
PASS_THE_TIME: Rewrite = ("flow.sql(…, clock=clock)", "pass the time as an input, and join with it")
CLOCKS = {
    "CurrentTimestamp": "current_timestamp()",
    "Now": "now()",
    "CurrentDate": "current_date()",
    "CurrentTime": "current_time()",
    "LocalTimestamp": "localtimestamp()",
}
"""Functions of the time at which a query runs."""
SPECIAL_TIMES = ("now", "today", "tomorrow", "yesterday")
EPOCH = ("1970-01-01", "1969-12-31", "0")
"""How the constant for `epoch` begins: a date, a time in the zone of Java, or microseconds."""
_SPECIAL = re.compile(rf"r?['\"]\s*({'|'.join(SPECIAL_TIMES)})\b", re.IGNORECASE)
"""A text that begins with a special time, as a token of SQL."""
ANY_ROW = ("First", "Last")
"""Aggregates that take the value of whichever row comes first."""
SESSIONS = "spark.sessionWindow"
"""What marks a column of session windows: they are merged when the plan is executed."""
REWRITES: dict[str, tuple[str, Rewrite]] = {
    "Sample": (
        "which rows are sampled depends on how they are stored",
        ("WHERE pmod(xxhash64(id), 100) < 10", "a sample by key"),
    ),
    "EventTimeWatermark": (
        "a view has all rows, and a watermark drops those that are late",
        ("frame without withWatermark(…)", "a view of all rows"),
    ),
    "DeduplicateWithinWatermark": (
        "which of the rows is kept depends on the order in which they arrive",
        ("row_number() OVER (PARTITION BY key ORDER BY at) = 1", "says which row is kept; or `dedupe` in a program"),
    ),
    "Deduplicate": (
        "`dropDuplicates` of some columns keeps an arbitrary row",
        ("row_number() OVER (PARTITION BY key ORDER BY at) = 1", "says which row is kept"),
    ),
    "CollectMetrics": (
        "metrics that are observed are not a part of a view",
        ("frame without observe(…)", "or a view that counts"),
    ),
    **dict.fromkeys(
        ("MapInPandas", "MapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow", "FlatMapCoGroupsInPandas"),
        (
            "a function in Python of many rows needs all of them each time one changes",
            ("flow.on(spark)", "a program whose functions take a row, or Flo's aggregates"),
        ),
    ),
    "session_window": (
        "session windows are not a part of Flo's SQL",
        ("stream.session(…)", "the verb, before or after `flow.sql`"),
    ),
}
"""For a node, why it is rejected, and what to write instead."""


def reject(node: str, expression: str = "") -> UnsupportedQueryError:
    """Return the error for a node that is known not to be maintained."""
    reason, instead = REWRITES[node]
    return UnsupportedQueryError(node, reason, expression, instead)


@dataclass(frozen=True)
class _Part:
    """A node or an expression of an analysed plan, and those that it is a part of."""

    name: str
    fields: dict[str, Any]
    above: tuple[_Part, ...]


def expect_maintainable(analysed: Java) -> None:
    """Raise if an analysed plan has a part that an optimised one does not show."""
    for part in _parts(json.loads(analysed.toJSON()), ()):
        _expect_no_clock(part)
        if part.name in ANY_ROW and part.above[-1].name == "AggregateExpression":
            if not any(each.name == "WindowExpression" for each in part.above):
                raise UnsupportedQueryError(
                    part.name,
                    "its result depends on the order in which rows come",
                    f"{_WRITTEN[part.name]}(…)",
                    ("max_by(value, at)", "the value of the last row in an order")
                    if part.name == "Last"
                    else ("min_by(value, at)", "the value of the first row in an order"),
                )
        if part.name in ("EventTimeWatermark", "DeduplicateWithinWatermark"):
            raise reject(part.name)
        if part.name == "Deduplicate":
            _expect_all_columns(analysed)
    for plan in (analysed, *items_of(analysed.subqueriesAll())):
        _expect_no_clock_as_text(plan)


_WRITTEN = {"First": "first", "Last": "last"}


def expect_no_special_times(text: str) -> None:
    """Raise if a query has a constant such as `DATE 'today'`, which is read as the time when it is planned."""
    if not _SPECIAL.search(text):
        return  # tokens take their time
    for kind, value in pairwise(token.getText() for token in tokens_of(text)):
        special = _SPECIAL.match(value)
        if special and kind.upper() in ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"):
            raise _clock_error("Literal", f"{kind.upper()} '{special[1]}'")


def _expect_no_clock(part: _Part) -> None:
    if part.name in CLOCKS:
        raise _clock_error(part.name, CLOCKS[part.name])
    if part.name == "Literal" and part.above and part.above[-1].name == "Cast":
        value, kind = str(part.fields.get("value")).strip().lower(), part.above[-1].fields.get("dataType")
        if part.fields.get("dataType") == "string" and str(kind).startswith(("date", "timestamp")):
            if value.partition(" ")[0] in SPECIAL_TIMES:
                raise _clock_error("Cast", f"CAST('{value}' AS {str(kind).upper()})")


def _expect_no_clock_as_text(plan: Java) -> None:
    """Raise if the optimiser reads a text as the time when the query is planned, such as `to_date('today')`.

    Its own rule is tried: it replaces such texts, computed or not, by constants. `epoch` is always the same."""
    rules = java_package("org.apache.spark.sql.catalyst.optimizer")
    before = scala_object(rules, "ReplaceExpressions").apply(plan)
    after = scala_object(rules, "SpecialDatetimeValues").apply(before)
    if after.fastEquals(before):
        return
    for kind, value in (_times(after) - _times(before)).elements():
        if not value.startswith(EPOCH):
            raise _clock_error("Cast", f"a text as {kind.upper()}: one of {', '.join(SPECIAL_TIMES)}")


def _times(plan: Java) -> Counter[tuple[str, str]]:
    """Return the constant dates and timestamps of a plan, with their types."""
    literals = [part.fields for part in _parts(json.loads(plan.toJSON()), ()) if part.name == "Literal"]
    return Counter(
        (str(each["dataType"]), str(each["value"]))
        for each in literals
        if str(each["dataType"]).startswith(("date", "timestamp"))
    )


def _clock_error(node: str, expression: str) -> UnsupportedQueryError:
    return UnsupportedQueryError(
        node, "the time passes, and the rows of a view only change with its inputs", expression, PASS_THE_TIME
    )


def _expect_all_columns(plan: Java) -> None:
    """Raise if `dropDuplicates` compares some of the columns only."""
    if plan.nodeName() == "Deduplicate":
        keys, columns = items_of(plan.keys()), items_of(plan.children().apply(0).output())
        if len(keys) < len(columns):
            raise reject("Deduplicate", f"dropDuplicates({', '.join(repr(each.name()) for each in keys)})")
    for below in items_of(plan.children()):
        _expect_all_columns(below)


def _parts(data: Any, above: tuple[_Part, ...]) -> Iterator[_Part]:
    """Yield the nodes and expressions in a plan as JSON, which lists the nodes of a tree in preorder."""
    if isinstance(data, list) and data and isinstance(data[0], dict) and "num-children" in data[0]:
        yield from _tree(iter(data), above)
    elif isinstance(data, list):
        for each in data:
            yield from _parts(each, above)
    elif isinstance(data, dict):
        for each in data.values():
            yield from _parts(each, above)


def _tree(nodes: Iterator[dict[str, Any]], above: tuple[_Part, ...]) -> Iterator[_Part]:
    fields = next(nodes)
    part = _Part(fields["class"].rpartition(".")[2].removesuffix("$"), fields, above)
    yield part
    for each in fields.values():
        yield from _parts(each, (*above, part))
    for _ in range(fields["num-children"]):
        yield from _tree(nodes, (*above, part))
