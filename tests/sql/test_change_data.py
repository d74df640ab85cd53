"""Change data as inputs: upserts by key, Delta's change data feed, Debezium's envelopes."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import flo
import flo.spark
from tests.sql.feeding import Feed

pytestmark = pytest.mark.every(test=2)

USERS = pa.schema([("id", pa.int64()), ("city", pa.string()), ("age", pa.int32()), ("op", pa.string())])
USERS_DDL = "id long, city string, age int, op string"


def rows(frame: Any) -> Counter[Any]:
    return Counter(map(tuple, frame.collect()))


def total(frame: Any) -> dict[Any, int]:
    """The sums of weights: equal rows may come from several shards."""
    found: Counter[Any] = Counter()
    for *row, weight in frame.collect():
        found[tuple(row)] += weight
    return {row: weight for row, weight in found.items() if weight}


@pytest.mark.thorough
def test_upserts_are_replaced_before_they_are_filtered(spark: Any, tmp_path: Path) -> None:
    users, orders = (
        Feed(spark, tmp_path / "users", USERS_DDL, USERS),
        spark.createDataFrame([(1, 10), (2, 20), (3, 30)], "user long, price long"),
    )
    upserts = flo.spark.Upserts(users.frame, key="id", deleted="op = 'd'")
    views = flo.spark.views(
        spark,
        {
            "adults": "SELECT city, count(*) AS n FROM users WHERE age >= 18 GROUP BY city",
            "spent": "SELECT u.city, o.price FROM users u JOIN orders o ON u.id = o.user",
            "many": users.frame.where("age > 20").select("id"),
        },
        {"users": upserts, "orders": orders},
    )

    def step(*changes: tuple[Any, ...]) -> dict[str, list[Any]]:
        users.put(*changes)
        query = views.start(checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True}, shards=2)
        query.wait()
        return {name: sorted(view.arrow().to_pylist(), key=str) for name, view in query.views().items()}

    found = step((1, "Oslo", 20, "c"), (2, "Rome", 17, "c"), (3, "Oslo", 40, "c"))
    assert found["adults"] == [{"city": "Oslo", "n": 2, "_weight": 1}]
    found = step((1, "Oslo", 17, "u"), (2, "Rome", 18, "u"), (3, None, None, "d"), (4, "Bern", 30, None))
    assert found["adults"] == [{"city": "Bern", "n": 1, "_weight": 1}, {"city": "Rome", "n": 1, "_weight": 1}]
    assert found["spent"] == [{"city": "Oslo", "price": 10, "_weight": 1}, {"city": "Rome", "price": 20, "_weight": 1}]
    assert found["many"] == [{"id": 4, "_weight": 1}]


@pytest.mark.thorough
def test_upserts_with_an_order(spark: Any) -> None:
    changes = [(1, "old", 1, False), (1, "new", 2, False), (2, "gone", 5, True), (2, "late", 4, False)]
    frame = spark.createDataFrame(changes, "id long, name string, at int, _deleted boolean")
    query = {"names": "SELECT id, name FROM users"}
    views = flo.spark.views(spark, query, {"users": flo.spark.Upserts(frame, key=["id"], order_by="at")})
    assert rows(views.run()["names"]) == {(1, "new", 1): 1}
    views = flo.spark.views(spark, query, {"users": flo.spark.Upserts(frame, key="id")})
    with pytest.raises(flo.ElementError, match="two changes of `users` with the key id="):
        views.run()
    with pytest.raises(flo.TypeMismatch, match="`key` of `table` is the column `nr`"):
        flo.spark.views(spark, query, {"users": flo.spark.Upserts(frame, key="nr")})


FEED = "id long, name string, _change_type string, _commit_version long, _commit_timestamp timestamp"


def feed(spark: Any, *changes: tuple[Any, ...]) -> Any:
    return spark.createDataFrame([(*change, 3, datetime.datetime(2026, 1, 1)) for change in changes], FEED)


@pytest.mark.thorough
def test_debezium_without_old_rows(spark: Any) -> None:
    """An update has no `before`, and that of a deletion has the key alone."""

    def change(offset: int, op: str, before: Any = None, after: Any = None) -> tuple[int, str]:
        return offset, json.dumps({"payload": {"op": op, "before": before, "after": after}})

    changes = [
        change(1, "r", None, {"id": 1, "name": "Ann"}),
        change(3, "u", None, {"id": 2, "name": "Bobby"}),
        change(2, "c", None, {"id": 2, "name": "Bob"}),
        change(4, "d", {"id": 1}),
        (5, None),
    ]
    frame = spark.createDataFrame(changes, "offset long, value string")
    users = flo.spark.upserts_of_debezium(frame, "id long, name string", key="id", order_by="offset")
    found = flo.spark.views(spark, {"users": "SELECT id, name FROM users"}, {"users": users}).run(shards=1)
    assert total(found["users"]) == {(2, "Bobby"): 1}
    for wrong, reason in ((change(0, "u"), "`after` of the operation u is null"), (change(0, "t"), "operation is t")):
        frame = spark.createDataFrame([wrong], "offset long, value string")
        users = flo.spark.upserts_of_debezium(frame, "id long, name string", key="id")
        with pytest.raises(PySparkException, match=reason):
            users.frame.collect()


def test_delta_s_change_data_feed(spark: Any) -> None:
    changes = [
        (1, "Ann", "insert"), (2, "Bob", "insert"), (1, "Ann", "update_preimage"), (1, "Anne", "update_postimage"),
        (2, "Bob", "delete"), (3, None, "insert"),
    ]  # fmt: skip
    found = flo.spark.changes_of_delta(feed(spark, *changes))
    assert found.schema.simpleString() == "struct<id:bigint,name:string,_weight:bigint>"
    views = flo.spark.views(spark, {"users": "SELECT id, name FROM changes"}, {"changes": found})
    assert total(views.run()["users"]) == {(1, "Anne"): 1, (3, None): 1}
    for kind in ("truncate", None):
        views = flo.spark.views(
            spark,
            {"users": "SELECT name FROM changes"},
            {"changes": flo.spark.changes_of_delta(feed(spark, (1, "Ann", kind)))},
        )
        with pytest.raises(flo.ElementError, match=f"`_change_type` is {kind or 'null'}") as caught:
            views.run()
        assert '"name":"Ann"' in str(caught.value)
    with pytest.raises(flo.UnknownNameError, match="no column `_change_type`"):
        flo.spark.changes_of_delta(spark.range(3))
    with pytest.raises(flo.NameTakenError, match="have a column `_weight`"):
        flo.spark.changes_of_debezium(spark.createDataFrame([("{}",)], "value string"), "id long, _weight long")


ROW = "id long, name string, at timestamp"
ANN = {"id": 1, "name": "Ann", "at": "2026-01-01T00:00:00Z"}
ANNE = {**ANN, "name": "Anne"}
NEW_YEAR = datetime.datetime(2026, 1, 1)


def envelope(op: str | None, before: Any = None, after: Any = None, **more: Any) -> str:
    return json.dumps({"before": before, "after": after, "op": op, "ts_ms": 1, **more})


def debezium(spark: Any, *values: Any, kind: str = "string") -> Any:
    frame = spark.createDataFrame([(value,) for value in values], f"value {kind}")
    return flo.spark.changes_of_debezium(frame, ROW)


def test_debezium_s_envelopes(spark: Any) -> None:
    bob = {"id": 2, "name": None, "at": None, "unknown": [1]}
    wrapped = json.dumps({"schema": {}, "payload": {"before": None, "after": bob, "op": "r"}})
    values = [
        envelope("c", None, ANN),
        envelope("u", ANN, ANNE),
        wrapped,
        None,
        envelope("d", bob),
        envelope("c", None, bob),
    ]
    found = debezium(spark, *values)
    assert found.schema.simpleString() == "struct<id:bigint,name:string,at:timestamp,_weight:bigint>"
    views = flo.spark.views(spark, {"users": "SELECT id, name, at FROM users"}, {"users": found})
    assert total(views.run()["users"]) == {(1, "Anne", NEW_YEAR): 1, (2, None, None): 1}
    texts = debezium(spark, *(value and value.encode() for value in values), kind="binary")
    assert rows(texts) == rows(found)


@pytest.mark.thorough
def test_envelopes_that_are_structs(spark: Any) -> None:
    row = "struct<id: long, name: string>"
    frame = spark.createDataFrame(
        [((None, (1, "Ann"), "c"),), (((1, "Ann"), (1, "Anne"), "u"),), (None,)],
        f"value struct<before: {row}, after: {row}, op: string>",
    )
    wanted = Counter({(1, "Ann", 1): 1, (1, "Ann", -1): 1, (1, "Anne", 1): 1})
    assert rows(flo.spark.changes_of_debezium(frame, "id long, name string")) == wanted
    flat = frame.where("value is not null").select("value.*")
    assert rows(flo.spark.changes_of_debezium(flat, "id long, name string", column=None)) == wanted
    with pytest.raises(flo.TypeMismatch, match=r"`before\.age` of the envelope is missing"):
        flo.spark.changes_of_debezium(frame, "id long, age int")


@pytest.mark.every(test=12)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{", "it is not JSON"),
        (envelope("c", None, {**ANN, "id": "one"}), "it is not JSON with the columns of the schema"),
        (envelope("t"), "its operation is t"),
        (envelope(None, None, ANN), "its operation is missing"),
        (envelope("u", None, ANN), "`before` of the operation u is null: .* upserts_of_debezium"),
        (envelope("c", ANN, None), "`after` of the operation c is null"),
        (envelope("c", None, {**ANN, "at": 1767225600000000}), "`at` is not a time with a zone"),
    ],
    ids=["no JSON", "another type", "truncate", "no operation", "no old row", "no new row", "time as a number"],
)
def test_an_envelope_that_cannot_be_read(spark: Any, value: str, reason: str) -> None:
    with pytest.raises(PySparkException, match=f"a change cannot be read: {reason}") as caught:
        debezium(spark, envelope("c", None, ANN), value).select("id").collect()
    assert value in str(caught.value)


@pytest.mark.thorough
def test_times_inside_of_other_types(spark: Any) -> None:
    frame = spark.createDataFrame([("{}",)], "value string")
    with pytest.raises(flo.TypeMismatch, match="has times inside of array<timestamp>"):
        flo.spark.changes_of_debezium(frame, "id long, at array<timestamp>")


@pytest.mark.thorough
def test_a_change_that_cannot_be_read_is_not_lost(spark: Any, tmp_path: Path) -> None:
    changes = Feed(spark, tmp_path / "changes", "value string", pa.schema([("value", pa.string())]))

    def start() -> Any:
        frame = flo.spark.changes_of_debezium(changes.frame, ROW)
        views = flo.spark.views(spark, {"names": "SELECT name FROM users"}, {"users": frame})
        return views.start(checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True}, shards=1)

    changes.put((envelope("c", None, ANN),))
    start().wait()
    changes.put((envelope("c", None, ANNE),), (envelope("x"),))
    query = start()
    with pytest.raises(flo.ElementError, match="its operation is x"):
        query.wait()
    assert query.view("names").arrow()["name"].to_pylist() == ["Ann"], "nothing of the micro-batch"
