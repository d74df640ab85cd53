"""Tables with a primary key on Spark: DataFrames of rows, with a column that names deletes."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flo
from flo.shards.tasks.input_task import InputColumns
from tests.spark import simulated


class Customer(NamedTuple):
    id: int
    name: str
    at: int


def shop(**options: Any) -> flo.Flow:
    flow = flo.Flow("shop")
    flow.output("customers", flow.table("customers", Customer, key="id", bounded=True, **options))
    return flow


def test_micro_batches_come_one_after_the_other(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without positions, and with rows in any order."""
    monkeypatch.setattr(simulated, "InputColumns", lambda code, columns, *_: InputColumns(code, columns))
    flow = flo.Flow("shop")
    flow.output("customers", flow.table("customers", Customer, key="id"))
    query = simulated.Simulated(flow, tmp_path, shards=2, seed=3)
    first = [Customer(id, "a", 1) for id in range(9)]
    query.turn({"customers": [*first, first[0]]})
    query.turn({"customers": [flo.delete(1), Customer(2, "b", 0), Customer(0, "b", 0), flo.delete(11)]})
    query.turn({"customers": [Customer(1, "c", 1)]})
    changed = {Customer(0, "b", 0): 1, Customer(1, "c", 1): 1, Customer(2, "b", 0): 1}
    assert query.values()["customers"] == dict.fromkeys(first[3:], 1) | changed
    with pytest.raises(flo.ElementError, match="two changes of `customers` with the key id=7 came in one micro-batch"):
        query.turn({"customers": [Customer(7, "b", 2), flo.delete(7)]})


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
