"""The report on expressions that are computed on Arrow."""

from __future__ import annotations

import pyarrow as pa

from flo.sql import plan
from flo.sql.coverage import measure_coverage
from flo.sql.nodes import Node, column, literal
from flo.sql.plan import Named

TEXT, NUMBER = column("text", pa.string(), True), column("number", pa.int64(), True)
SCAN = plan.Scan((TEXT, NUMBER), "rows", ("text", "number"))


def rlike(given: Node) -> Node:
    return Node("RLike", pa.bool_(), True, (given, literal("a", pa.string())))


def test_expressions_of_an_input_are_not_counted():
    assert measure_coverage({"q": plan.Filter(SCAN.columns, SCAN, rlike(TEXT))}).left == {}


def test_expressions_above_an_aggregate_and_its_arguments_are_counted():
    length = Node("Length", pa.int32(), True, (TEXT,))
    total = Node("Max", pa.int32(), True, (length,))
    aggregate = Node("AggregateExpression", pa.int32(), True, (total,), (("distinct", False),))
    more = Node("Add", pa.int32(), True, (aggregate, literal(1, pa.int32())), (("mode", "ANSI"),))
    result = column("more", pa.int32(), True)
    grouped = plan.Aggregate((TEXT, result), SCAN, (TEXT,), (Named(TEXT, TEXT), Named(result, more)))
    found = measure_coverage({"one": grouped, "two": plan.Filter(grouped.columns, grouped, rlike(TEXT))})
    assert found.computed == {"Length": 2, "Add": 2}
    assert found.left == {"RLike (string, string) -> bool": 1}
    assert list(found.incomplete) == ["two"]
    assert "RLike" in str(found)
