"""Keys of streams: each operator says which key its rows have, and a program is followed once.

tests/spark/test_upserts.py has the keys that verbs give.
"""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

import flo


class Sale(NamedTuple):
    shop: str
    price: int


def test_a_stream_that_is_read_often_is_followed_once() -> None:
    flow = flo.Flow("often")
    rows = flow.input("sales", flo.ZSet[Sale]).distinct()
    for _ in range(60):
        rows = rows.union(rows)
    assert rows.key is None
    assert rows.distinct().key == ("shop", "price")


def test_a_long_program_is_followed_to_its_beginning() -> None:
    flow = flo.Flow("long")
    rows = flow.input("sales", flo.ZSet[Sale]).group_by("shop").agg(price=flo.max("price"))
    for _ in range(1500):
        rows = rows.filter(nw.col("price") > 0)
    assert rows.key == ("shop",)


def test_the_key_of_both_sides_of_a_join() -> None:
    flow = flo.Flow("sides")
    sales, others = (flow.input(name, flo.ZSet[Sale]).distinct() for name in ("sales", "others"))
    assert sales.join(others, on="shop").key == ("shop", "price", "price_right")
    assert sales.join(others, on="shop", how="left").key == ("shop", "price", "price_right")
    assert sales.join(others, on="shop", how="full").key is None
    assert sales.join(others, on=["shop", "price"]).key == ("shop", "price")
