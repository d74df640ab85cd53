"""A function of a join sees no row that is gone, also if the row and its retraction are in runs that are not merged."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import flo


class Sale(NamedTuple):
    shop: int
    price: int


class Discount(NamedTuple):
    shop: int
    off: int


def ratio(sale: Sale, discount: Discount) -> int:
    return sale.price // (sale.price + discount.off)


def ratio_or_none(sale: Sale, discount: Discount | None) -> int:
    return -1 if discount is None else ratio(sale, discount)


@pytest.mark.parametrize("others", [0, 2, 16])
@pytest.mark.parametrize("outer", [False, True])
def test_a_row_that_was_retracted_before_its_partner_came(outer: bool, others: int) -> None:
    flow = flo.Flow("ratios")
    sales, discounts = flow.input("sales", flo.ZSet[Sale]), flow.input("discounts", flo.ZSet[Discount])
    if outer:
        flow.output("ratios", sales.join(discounts, "shop", "shop", into=ratio_or_none, how="left"))
    else:
        flow.output("ratios", sales.join(discounts, "shop", "shop", into=ratio))
    loop = flow.on(flo.here).loop()
    loop.push(sales={Sale(7, price): 1 for price in range(3, 4 + others)})
    loop.push(sales={Sale(7, 3): -1})
    loop.push(discounts={Discount(7, -3): 1})
    ratios = [price // (price - 3) for price in range(4, 4 + others)]
    found = [each["value"] for each in loop.result()["ratios"].to_pylist() for _ in range(each.get("_weight", 1))]
    assert sorted(found) == sorted(ratios)


def test_a_row_that_is_there_is_still_at_fault() -> None:
    flow = flo.Flow("ratios")
    sales, discounts = flow.input("sales", flo.ZSet[Sale]), flow.input("discounts", flo.ZSet[Discount])
    flow.output("ratios", sales.join(discounts, "shop", "shop", into=ratio))
    loop = flow.on(flo.here).loop()
    loop.push(sales={Sale(7, 3): 2, Sale(7, 4): 1})
    loop.push(sales={Sale(7, 3): -1})
    with pytest.raises(flo.FunctionError, match="ZeroDivisionError"):
        loop.push(discounts={Discount(7, -3): 1})
