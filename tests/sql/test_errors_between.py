"""An expression fails only if batch Spark fails on the rows so far, not on rows that come and go within a change."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flo
from flo.sql.nodes import SqlError


class A(NamedTuple):
    k: int
    x: int


class B(NamedTuple):
    k: int
    y: int


@pytest.fixture
def loop(spark: Any) -> Any:
    flow = flo.Flow("quotients")
    a, b = flow.input("a", flo.ZSet[A]), flow.input("b", flo.ZSet[B])
    sums = "SELECT k, sum(x) AS x FROM a GROUP BY k"
    flow.output("rows", flow.sql(f"SELECT 6 DIV (s.x - b.y) AS z FROM ({sums}) s JOIN b ON s.k = b.k", a=a, b=b))
    return flow.on(flo.here).loop()


def test_both_sides_of_a_join_change(loop: Any) -> None:
    loop.push(a={A(1, 1): 1}, b={B(1, 0): 1})
    loop.push(a={A(1, 1): -1, A(1, 0): 1}, b={B(1, 0): -1, B(1, 1): 1})  # 0 - 0 in between
    assert loop.pull("rows").to_pylist() == [{"z": -6, "_weight": 1}]


def test_an_error_that_stays_is_raised(loop: Any) -> None:
    loop.push(a={A(1, 1): 1}, b={B(1, 0): 1})
    with pytest.raises(SqlError, match="DIVIDE_BY_ZERO"):
        loop.push(a={A(1, 1): -1, A(1, 0): 1})
    loop.push(b={B(1, 0): -1})
    assert loop.pull("rows").num_rows == 0


def test_the_least_integer_is_no_place_in_an_array(spark: Any) -> None:
    """Batch Spark reads memory beside the array."""
    flow = flo.Flow("items")
    a = flow.input("a", flo.ZSet[A])
    query = "SELECT element_at(collect_list(x), CAST(min(k) AS INT)) AS x FROM a"
    flow.output("rows", flow.sql(query, a=a))
    with pytest.raises(SqlError, match="INVALID_ARRAY_INDEX_IN_ELEMENT_AT"):
        flow.run(a=[A(-(2**31), 1)])
