"""Fills of changed programs: the rows that a user gives, fills that were interrupted, and views that move."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo


class Sale(NamedTuple):
    shop: str
    price: int


SALES = [Sale("a", 1), Sale("b", 2), Sale("a", 3)]


def add(one: int, other: int) -> int:
    return one + other


def running_sums(*names: str) -> flo.Flow:
    """Sums of a sequence, with an output for each of these names."""
    flow = flo.Flow("sequence")
    sales = flow.input("sales", flo.Sequence[Sale])
    streams = {
        "all": lambda: sales,
        "by price": lambda: sales.key_by("price").map_values("shop"),
        "by shop": lambda: sales.key_by("shop").per_key(lambda own: own.map("price").scan(0, add)),
        "sum": lambda: sales.map("price").sum_lattice(),
    }
    for name in names:
        flow.output(name, streams[name]())
    return flow


@pytest.mark.parametrize("shards", [1, 3])
def test_keyed_views_move_between_stages_with_other_outputs(shards: int, tmp_path: Path) -> None:
    with running_sums("all").on(flo.here).start(checkpoint=tmp_path, shards=shards) as query:
        query.push(sales=SALES)
    fill: Any = {"sales": SALES}
    with running_sums("by shop", "all").on(flo.here).start(checkpoint=tmp_path, changed="fill", fill=fill) as query:
        query.push(sales=[Sale("b", 5)])
        assert query.view("by shop").value() == {"a": [1, 4], "b": [2, 7]}
    fill = {"sales": [*SALES, Sale("b", 5)]}
    names = "sum", "by price", "by shop"
    with running_sums(*names).on(flo.here).start(checkpoint=tmp_path, changed="fill", fill=fill) as query:
        query.push(sales=[Sale("a", 1)])
        assert query.view("by shop").value() == {"a": [1, 4, 5], "b": [2, 7]}
        assert query.view("by price").value() == {1: ["a", "a"], 2: ["b"], 3: ["a"], 5: ["b"]}
        assert query.view("sum").value() == 12
