"""Programs that are cut where Catalyst runs a segment: they give what they give on values, and end as they do there.

The segments are functions in Python, which run between the simulated stages; tests/sql has Spark's.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.api.columns import kind_of
from flo.columns.layout import Layout
from flo.spark.on_spark import OnSpark
from flo.sql.native import Segment
from flo.values.operators.elementwise import FlatMap
from tests.spark.simulated import NO_SPARK, agree_simulated


class Sale(NamedTuple):
    shop: int
    price: int


class Priced(NamedTuple):
    shop: int
    cents: int


class Total(NamedTuple):
    shop: int
    sum: int | None


class InPython(Segment):
    """A segment that calls a function for each row."""

    def __init__(self, name: str, function: Any, layout: Layout, row: Any) -> None:
        self.input, self.row, self.function = layout, row, function
        self.returns = list[row]
        self.text = self.__name__ = self.explained = f"native: {name}"
        self.steps = ()
        self._known = OrderedDict()

    def flattened(self, table: pa.Table) -> tuple[pa.Table, Any]:
        found = [self.function(element) for element in self.input.to_elements(table)]
        places = np.repeat(np.arange(len(found)), [len(each) for each in found])
        return self.output.to_table([row for each in found for row in each]), places

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InPython) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def natively(stream: Any, name: str, function: Any, row: Any) -> Any:
    layout = Layout.of(kind_of(stream))
    assert layout is not None
    return stream._then_named("sql", FlatMap(InPython(name, function, layout, row)))


def priced(sales: Any) -> Any:
    """Some of the rows, in another form."""
    return natively(sales, "priced", lambda row: [Priced(row.shop, row.price * 100)] if row.price % 3 else [], Priced)


def totalled(stream: Any) -> Any:
    return natively(stream, "totalled", lambda row: [Total(row.shop, (row.sum or 0) // 2)], Total)


def sums(stream: Any, of: str) -> Any:
    return stream.group_by("shop").agg(sum=flo.sum(of))


PROGRAMS: dict[str, Any] = {
    "at an input": lambda sales, shops: {"a": sums(priced(sales), "cents")},
    "as an output": lambda sales, shops: {"a": priced(sales), "b": totalled(sums(sales, "price"))},
    "between groups": lambda sales, shops: {"a": sums(totalled(sums(priced(sales), "cents")), "sum")},
    "one after the other": lambda sales, shops: {"a": sums(natively(priced(sales), "half", half, Priced), "cents")},
    "with columns between": lambda sales, shops: {
        "a": natively(priced(sales).filter(lambda row: row.cents > 200), "half", half, Priced)
    },
    "read twice": lambda sales, shops: {
        "a": sums(one := priced(sales), "cents"),
        "b": one.group_by("cents").agg(n=flo.count()),
        "c": one,
    },
    "with what it comes from": lambda sales, shops: {
        "a": totalled(given := sums(sales, "price")).union(given).distinct(),
        "b": given.join(totalled(given), "shop", "shop"),
    },
    "joined with an input": lambda sales, shops: {"a": totalled(sums(sales, "price")).join(shops, "shop", "shop")},
    "in one place": lambda sales, shops: {
        "a": natively(sales.agg(sum=flo.sum("price")), "all", lambda row: [Total(0, row.sum)], Total).limit(3),
        "b": priced(sales).limit(2, order_by="cents"),
        "c": totalled(sums(sales, "price").limit(2, order_by="sum")),
    },
}


def half(row: Priced) -> list[Priced]:
    return [Priced(row.shop, row.cents // 2)]


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_segments_between_stages_give_what_they_give_on_values(tmp_path, program, bounded):
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale], bounded=bounded)
    shops = flow.input("shops", flo.ZSet[Sale], bounded=True)
    for name, stream in program(sales, shops).items():
        flow.output(name, stream)
    flow.output("shops", shops)
    rng = random.Random(7)
    rows = [Sale(rng.randrange(5), rng.randrange(9)) for _ in range(30)]
    data = {"sales": rows, "shops": [Sale(shop, 1) for shop in range(0, 5, 2)]}
    agree_simulated(flow, data, tmp_path, parts=3, shards=3, seed=2)


def test_explain_shows_segments_and_where_their_results_go():
    flow = flo.Flow("sales")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("found", totalled(sums(priced(sales), "cents")))
    lines = [line.strip() for line in OnSpark(flow, NO_SPARK).explain().splitlines()]
    shown = [line.partition("   ")[0] for line in lines if "native, in Catalyst" in line]
    assert shown == ["native: priced", "native: totalled"]
    assert "stage 2, 2 shards" in lines
