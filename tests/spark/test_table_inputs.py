"""Tables with a primary key on Spark: DataFrames of rows, with a column that names deletes."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flo


class Customer(NamedTuple):
    id: int
    name: str
    at: int


def shop(**options: Any) -> flo.Flow:
    flow = flo.Flow("shop")
    flow.output("customers", flow.table("customers", Customer, key="id", bounded=True, **options))
    return flow


def test_frames_of_changes(spark: Any) -> None:
    columns = "id long, name string, at long, _deleted boolean"
    changes = [(1, "a", 1, False), (2, "b", 1, None), (3, None, 1, True)]
    found = shop().on(spark).run(customers=spark.createDataFrame(changes, columns))
    assert sorted(map(tuple, found["customers"].collect())) == [(1, "a", 1, 1), (2, "b", 1, 1)]

    both = spark.createDataFrame([*changes, (1, "c", 2, False), (2, None, 3, True), (2, "d", 2, False)], columns)
    with pytest.raises(
        flo.ElementError, match=r"two changes of `customers` with the key id=[12] .* no order"
    ) as caught:
        shop().on(spark).run(customers=both)
    assert 'flow.table("customers", …, order_by="at")' in str(caught.value)
    found = shop(order_by="at").on(spark).run(customers=both)
    assert sorted(map(tuple, found["customers"].collect())) == [(1, "c", 2, 1)]

    again = spark.createDataFrame([*changes, changes[0]], columns)
    assert shop().on(spark).run(customers=again)["customers"].count() == 2, "the same change twice is one"
    with pytest.raises(flo.ElementError, match="`name` is missing"):
        shop().on(spark).run(customers=both.drop("name"))
