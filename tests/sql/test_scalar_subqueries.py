"""Scalar subqueries: their value is null without a row, and several rows are an error, as in batch Spark."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flo
from flo.sql.nodes import SqlError


class A(NamedTuple):
    x: int


class B(NamedTuple):
    y: int


@pytest.fixture
def loop(spark: Any) -> Any:
    flow = flo.Flow("subqueries")
    a, b = flow.input("a", flo.ZSet[A]), flow.input("b", flo.ZSet[B])
    flow.output("value", flow.sql("SELECT x, (SELECT y FROM b) AS y FROM a", a=a, b=b))
    flow.output("above", flow.sql("SELECT x FROM a WHERE x > 1 AND x > (SELECT y FROM b) AND x < 9", a=a, b=b))
    return flow.on(flo.here).loop()


def changes(loop: Any, name: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in loop.pull(name).to_pylist()), key=repr)


def test_the_value_follows_the_row(loop: Any) -> None:
    loop.push(a={A(1): 1, A(5): 2})
    assert changes(loop, "value") == [(1, None, 1), (5, None, 2)]
    assert changes(loop, "above") == []
    loop.push(b={B(3): 1})
    assert changes(loop, "value") == [(1, 3, 1), (1, None, -1), (5, 3, 2), (5, None, -2)]
    assert changes(loop, "above") == [(5, 2)]
    loop.push(b={B(3): -1, B(6): 1})
    assert changes(loop, "value") == [(1, 3, -1), (1, 6, 1), (5, 3, -2), (5, 6, 2)]
    assert changes(loop, "above") == [(5, -2)]


def test_several_rows_are_an_error(loop: Any) -> None:
    loop.push(a={A(1): 1}, b={B(3): 1})
    with pytest.raises(SqlError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        loop.push(b={B(4): 1})
    with pytest.raises(SqlError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        loop.push(b={B(3): 1})
