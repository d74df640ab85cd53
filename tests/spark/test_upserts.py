"""Rows by their keys: which outputs have a key, the latest row of each, and tables of a database that has no server."""

from __future__ import annotations

import datetime
import json
import sqlite3
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
import flo.spark
from flo.core.stream_type import StreamType
from flo.shards.sinks.databases import without_secrets
from flo.shards.sinks.keyed_output import KeyedOutput
from flo.shards.sinks.output_changes import OutputChanges
from flo.shards.sinks.upserts import KINDS
from flo.shards.tasks.latest_rows import LatestRows
from flo.shards.tasks.output_files import PARTS, Output
from flo.spark import SparkSink, Upsert
from flo.spark.driver.spark_changes import SparkChanges
from flo.spark.driver.upsert_tables import merge_statement
from flo.spark.driver.upsert_topics import _json
from flo.tables.io.diverted import SCHEMA as DIVERTED
from flo.tables.io.diverted import Diverted
from flo.tables.io.files import WEIGHTS
from flo.tables.values import Columns


class Sale(NamedTuple):
    shop: str
    item: str
    price: int


class Shop(NamedTuple):
    shop: str
    city: str


class Total(NamedTuple):
    shop: str
    day: datetime.date
    total: Decimal
    mean: float
    at: datetime.datetime
    note: str | None
    seen: bool
    raw: bytes


def price_of(sale: Sale) -> int:
    return sale.price


def renamed(sale: Sale) -> Sale:
    return sale


KEYS: dict[str, tuple[Any, tuple[str, ...] | None]] = {
    "rows": (lambda sales, shops: sales, None),
    "groups": (lambda sales, shops: sales.group_by("shop").agg(n=flo.count()), ("shop",)),
    "one group": (lambda sales, shops: sales.agg(n=flo.count()), ()),
    "groups by an expression": (lambda sales, shops: sales.group_by(z=nw.col("price") + 1).agg(n=flo.count()), ("z",)),
    "rollup": (lambda sales, shops: sales.rollup("shop").agg(n=flo.count()), None),
    "a table": (lambda sales, shops: shops, ("shop",)),
    "distinct": (lambda sales, shops: sales.distinct(), ("shop", "item", "price")),
    "distinct on": (lambda sales, shops: sales.distinct(on=["shop", "item"]), ("shop", "item")),
    "top 1": (lambda sales, shops: sales.top(1, order_by="price", by="shop"), ("shop",)),
    "top 1 of all": (lambda sales, shops: sales.top(1, order_by="price"), ()),
    "top 1 with ties": (lambda sales, shops: sales.top(1, order_by="price", by="shop", with_ties=True), None),
    "top 2": (lambda sales, shops: sales.top(2, order_by="price", by="shop"), None),
    "top 2 of a table": (lambda sales, shops: shops.top(2, order_by="city"), ("shop",)),
    "top 1 by a function": (lambda sales, shops: sales.top(1, price_of, by=price_of), None),
    "filter": (lambda sales, shops: shops.filter(nw.col("city") == "Oslo"), ("shop",)),
    "select": (lambda sales, shops: shops.select("city", name="shop"), ("name",)),
    "select without it": (lambda sales, shops: shops.select("city"), None),
    "with_columns": (lambda sales, shops: shops.with_columns(city=nw.lit("x")), ("shop",)),
    "with_columns over it": (lambda sales, shops: shops.with_columns(shop=nw.lit("x")), None),
    "a function": (lambda sales, shops: sales.distinct(on="shop").map(renamed), None),
    "union": (lambda sales, shops: shops.union(shops), None),
    "minus": (lambda sales, shops: shops.minus(shops), None),
    "join of a table": (lambda sales, shops: sales.distinct().join(shops, on="shop"), ("shop", "item", "price")),
    "join of rows": (lambda sales, shops: sales.join(shops, on="shop"), None),
    "join of a table with rows": (lambda sales, shops: shops.join(sales, on="shop"), None),
    "join from a table": (lambda sales, shops: shops.join(sales.distinct(), on="shop"), ("shop", "item", "price")),
    "left join": (lambda sales, shops: sales.distinct(on="item").join(shops, on="shop", how="left"), ("item",)),
    "right join": (lambda sales, shops: sales.distinct(on="item").join(shops, on="shop", how="right"), None),
    "semi join": (lambda sales, shops: shops.join(sales, on="shop", how="semi"), ("shop",)),
    "anti join": (lambda sales, shops: shops.join(sales, on="shop", how="anti"), ("shop",)),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_follow_from_the_program(name: str) -> None:
    """And no two rows of a run have the same values in them."""
    flow = flo.Flow("keys")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.table("shops", Shop, key="shop")
    made, key = KEYS[name]
    stream = made(sales, shops)
    assert stream.key == key
    flow.output("made", stream)
    flow.output("read", sales.join(shops, on="shop"))
    if key is None:
        return
    rows = {
        Sale("a", "x", 1): 2,
        Sale("a", "x", 2): 1,
        Sale("b", "y", 1): 1,
        Sale("b", "x", 3): 1,
        Sale("c", "z", 9): 1,
    }
    found = flow.run(sales=rows, shops=[Shop("a", "Oslo"), Shop("b", "Rome"), Shop("d", "Oslo")])["made"]
    assert set(found.values()) <= {1}
    assert len({tuple(getattr(row, column) for column in key) for row in found}) == len(found)


def table(rows: dict[Any, int]) -> pa.Table:
    names = ["k", "n"]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return pa.table({**columns, WEIGHTS: pa.array(rows.values(), pa.int64())})


def latest(*changes: dict[Any, int], key: tuple[str, ...] = ("k",)) -> list[tuple[Any, ...]]:
    found = LatestRows("sums", key).of(pa.concat_tables(map(table, changes)))
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_the_latest_row_of_each_key() -> None:
    assert latest({("a", 1): 1}) == [("a", 1, "insert")]
    assert latest({("a", 1): -1, ("a", 2): 1, ("b", 5): -1}) == [("a", 2, "update"), ("b", 5, "delete")]
    assert latest({("a", 1): -1, ("a", 2): 1}, {("a", 2): -1, ("a", 1): 1}) == []
    assert latest({("a", 1): 1, ("a", 2): -1}, {("a", 1): -1}) == [("a", 2, "delete")]
    assert latest({("a", 1): -1, ("a", 2): 1}, key=()) == [("a", 2, "update")]
    for several in ({("a", 1): 1, ("a", 2): 1}, {("a", 1): 2}, {("a", 1): -1, ("a", 2): -1}):
        with pytest.raises(flo.ElementError, match="two rows with the key k='a'"):
            latest(several)


@dataclass(frozen=True)
class Given(SparkChanges):
    """Changes that are there."""

    given: pa.Table | None = None

    def table(self) -> pa.Table:
        assert self.given is not None
        return self.given


def changes(rows: dict[Any, int], version: int, checkpoint: str = "1f") -> OutputChanges:
    columns = {name: [getattr(row, name) for row in rows] for name in Total._fields}
    given = pa.Table.from_pydict(columns, output().schema).append_column(WEIGHTS, pa.array(rows.values(), pa.int64()))
    file = f"{version} {sorted(map(str, rows.items()))}"
    return Given("", "sums", version, 1, given.schema, (file,), checkpoint=checkpoint, given=given)  # type: ignore[arg-type]


def planned(element: Any = Total, kind: Any = flo.ZSet) -> Output:
    return Output("sums", 0, StreamType(Columns(kind(element)), False), PARTS)


def output(declared: bool = False) -> KeyedOutput:
    return KeyedOutput.of(planned(), None if declared else ("shop", "day"), ("shop", "day"))


def total(shop: str, total: str, note: str | None = None) -> Total:
    at = datetime.datetime(2026, 1, 2, 3, 4, 5)
    return Total(shop, datetime.date(2026, 1, 1), Decimal(total), 0.5, at, note, True, b"\x00")


READERS = {"sqlite": "adbc_driver_sqlite.dbapi", "duckdb": "adbc_driver_duckdb.dbapi"}


def rows_in(kind: str, uri: str) -> list[tuple[Any, ...]]:
    driver = pytest.importorskip(READERS[kind])
    with driver.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute('SELECT shop, total, note FROM "sums" ORDER BY shop')
        return [(shop, Decimal(str(total)), note) for shop, total, note in cursor.fetchall()]


@pytest.mark.parametrize("kind", READERS)
def test_a_database_in_a_file(kind: str, tmp_path: Path) -> None:
    """A version that comes again changes nothing, and that of another checkpoint is another."""
    uri = str(tmp_path / "file.db")
    to, rows = KINDS[kind]("sums", {"uri": uri}), output()
    for _ in range(2):  # once more for a table that is there
        to.prepare(None, rows)  # type: ignore[arg-type]
    first = changes({total("a", "1"): 1, total("b", "2", "x"): 1, total("c", "3"): 1}, 0)
    to.write(first, rows)
    assert rows_in(kind, uri) == [("a", 1, None), ("b", 2, "x"), ("c", 3, None)]
    second = changes({total("a", "1"): -1, total("a", "12345678901234567890"): 1, total("b", "2", "x"): -1}, 1)
    for _ in range(2):
        to.write(second, rows)
        found = rows_in(kind, uri)
        assert [(shop, note) for shop, _, note in found] == [("a", None), ("c", None)]
        assert kind == "sqlite" or found[0][1] == 12345678901234567890
    with pytest.raises(flo.CheckpointError, match="holds version 1, and is given 0"):
        to.write(first, rows)
    with pytest.raises(flo.CheckpointError, match="holds version 1 with rows that the checkpoint did not give it"):
        to.write(changes({total("e", "5"): 1}, 1), rows)
    to.write(changes({total("d", "4"): 1}, 0, "2e"), rows)
    assert [shop for shop, *_ in rows_in(kind, uri)] == ["a", "c", "d"]


@pytest.mark.parametrize("kind", READERS)
def test_a_declared_key_is_checked(kind: str, tmp_path: Path) -> None:
    """A row whose key another row has is an error, and nothing of its micro-batch stays."""
    uri = str(tmp_path / "file.db")
    to, rows = KINDS[kind]("sums", {"uri": uri}), output(declared=True)
    to.prepare(None, rows)  # type: ignore[arg-type]
    to.write(changes({total("a", "1"): 1}, 0), rows)
    bad = changes({total("a", "2"): 1, total("b", "2"): 1}, 1)
    for _ in range(2):
        with pytest.raises(flo.ElementError, match="two rows with the key shop='a'"):
            to.write(bad, rows)
    assert rows_in(kind, uri) == [("a", 1, None)]


def test_a_row_that_a_table_cannot_hold(tmp_path: Path) -> None:
    """It is an error that names the row and the column, or it is diverted, and its key has no row."""
    uri = str(tmp_path / "file.db")
    to, rows = KINDS["sqlite"]("sums", {"uri": uri}), output(declared=True)
    to.prepare(None, rows)  # type: ignore[arg-type]
    with sqlite3.connect(uri) as connection:
        connection.execute("DROP TABLE sums")
        connection.execute(
            "CREATE TABLE sums (shop TEXT CHECK (length(shop) < 3), day TEXT, total NUMERIC, mean REAL, at TEXT,"
            " note TEXT CHECK (length(note) < 3), seen INTEGER, raw BLOB, PRIMARY KEY (shop, day))"
        )
    to.write(changes({total("a", "1"): 1, total("b", "2", "x"): 1}, 0), rows)
    bad = {total("a", "1"): -1, total("a", "1", "long"): 1, total("long", "3"): 1, total("d", "4"): 1}
    with pytest.raises(flo.ElementError, match="a row of the output `sums` cannot go to the table sums") as caught:
        to.write(changes(bad, 1), rows)
    assert dict(caught.value.facts)["column"] in ("`note`", "`shop`")
    assert rows_in("sqlite", uri) == [("a", 1, None), ("b", 2, "x")]
    for _ in range(2):  # also if it comes again
        unfit: list[Diverted] = []
        to.write(replace(changes(bad, 1), unfit=unfit), rows)
        assert sorted((each.row["shop"], each.reason.split(":")[0]) for each in unfit) == [
            ("a", "sqlite cannot hold the value of `note`"),
            ("long", "sqlite cannot hold the value of `shop`"),
        ]
    assert rows_in("sqlite", uri) == [("b", 2, "x"), ("d", 4, None)]
    later = {total("a", "1", "long"): -1, total("a", "1", "ok"): 1, total("long", "3"): -1}
    to.write(replace(changes(later, 2), unfit=unfit), rows)
    assert rows_in("sqlite", uri) == [("a", 1, "ok"), ("b", 2, "x"), ("d", 4, None)]
    assert len(unfit) == 2


def test_no_secret_is_shown() -> None:
    secret = Upsert("postgresql", "t", {"uri": "postgresql://flo:hunter2@[bad/db"})
    assert "hunter2" not in repr(secret) + str(secret) + repr(SparkSink("jdbc", {"password": "hunter2"}))
    assert (
        repr(Upsert("delta", "s3a://flo:hunter2@bucket/t", key="id"))
        == 'Upsert("delta", "s3a://flo:•••@bucket/t", key=\'id\')'
    )
    rows = output()
    with pytest.raises(flo.FloError, match="cannot reach the postgresql database") as caught:
        secret.bound(None, planned(), ("shop", "day"))._to.held("1f sums", rows)  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)
    for uri in ("postgresql://flo:hunter%202@h/db", "host=h password = 'hunter 2'", "h?password=hunter%202&x=1"):
        assert without_secrets("no role with the password hunter 2 there", uri) == "no role with the password … there"


class Nested(NamedTuple):
    shop: str
    tags: tuple[str, ...]


class Nullable(NamedTuple):
    shop: str | None
    n: int


@pytest.mark.parametrize("kind", READERS)
def test_a_null_in_a_key_is_an_error(kind: str, tmp_path: Path) -> None:
    """Also where the database would take it."""
    to = KINDS[kind]("counts", {"uri": str(tmp_path / "file.db")})
    rows = KeyedOutput.of(planned(Nullable), ("shop",), None)
    to.prepare(None, rows)  # type: ignore[arg-type]
    given = pa.table({"shop": ["a", None], "n": [1, 2], WEIGHTS: [1, 1]})
    with pytest.raises(flo.ElementError, match="has null in `shop`, a key column"):
        to.write(Given("", "sums", 0, 1, given.schema, ("a",), given=given), rows)  # type: ignore[arg-type]


def test_what_an_upsert_rejects(tmp_path: Path) -> None:
    uri = {"uri": str(tmp_path / "file.db")}
    session: Any = SimpleNamespace()
    with pytest.raises(flo.UnknownNameError, match="must be one of postgresql, sqlite, duckdb, delta"):
        Upsert("oracle", "t")
    with pytest.raises(flo.TypeMismatch, match="no key that follows from the program"):
        Upsert("sqlite", "t", uri).bound(session, planned(), None)
    with pytest.raises(flo.UnknownNameError, match="names the column 'id'"):
        Upsert("sqlite", "t", uri, key="id").bound(session, planned(), None)
    with pytest.raises(flo.CollectionError, match="is a Sequence, whose rows are never replaced"):
        Upsert("sqlite", "t", uri, key="shop").bound(session, planned(kind=flo.Sequence), None)
    with pytest.raises(flo.TypeMismatch, match="has one row and no key"):
        Upsert("sqlite", "t", uri).bound(session, planned(), ())
    with pytest.raises(flo.TypeMismatch, match="`tags` of the output `sums` is list"):
        Upsert("sqlite", "t", uri).bound(session, planned(Nested), ("shop",))
    with pytest.raises(flo.TypeMismatch, match="the key column `tags`"):
        Upsert("kafka", "t").bound(session, planned(Nested), ("tags",))
    with pytest.raises(flo.TypeMismatch, match="cannot check the declared key"):
        Upsert("kafka", "t", {}, key="shop").bound(session, planned(), ("shop", "day"))
    with pytest.raises(flo.UnknownNameError, match="have no `uri`"):
        Upsert("sqlite", "t", key=("shop", "day", "seen")).bound(session, planned(Total), ("shop", "day"))


def test_a_sink_that_leaves_columns_out() -> None:
    """No weight and no column is lost in silence."""
    with pytest.raises(flo.TypeMismatch, match="cannot keep weights: it writes no columns but key, value"):
        SparkSink("kafka", {}, keeps_weight=True)
    with pytest.raises(flo.TypeMismatch, match="has the column `shop`, which SparkSink"):
        SparkSink("kafka").bound(SimpleNamespace(), planned(), None)  # type: ignore[arg-type]
    with pytest.raises(flo.TypeMismatch, match="has 8 columns, but SparkSink"):
        SparkSink("text").bound(SimpleNamespace(), planned(), None)  # type: ignore[arg-type]
    with pytest.raises(flo.TypeMismatch, match="`sales diverted` has the column `row`, which SparkSink"):
        SparkSink("kafka").expect_columns("sales diverted", DIVERTED.names)


def test_a_set_has_all_its_columns_as_a_key() -> None:
    flow = flo.Flow("sets")
    sales = flow.input("sales", flo.Bag[Sale])
    assert sales.to_set().key == ("shop", "item", "price")
    assert sales.to_set().to_zset().key == ("shop", "item", "price")
    assert sales.to_zset().key is None


def test_one_statement_for_all_changes() -> None:
    """Nulls are equal where there are some, and a declared key that is there already is an error."""
    text = merge_statement("t1", "v1", output())
    assert text.startswith("MERGE INTO t1 AS t USING `v1` AS s ON t.`shop` = s.`shop` AND t.`day` = s.`day` WHEN")
    assert " ON t.`shop` <=> s.`shop` WHEN" in merge_statement(
        "t", "v", KeyedOutput.of(planned(Nullable), ("shop",), None)
    )
    assert "raise_error" not in text
    assert "raise_error(concat('two rows of the output have the key ', to_json(struct(s.`shop`, " in merge_statement(
        "t1", "v1", output(declared=True)
    )
    assert " ON TRUE WHEN" in merge_statement("t1", "v1", KeyedOutput.of(planned(), (), None))


@pytest.mark.slow
@pytest.mark.thorough
def test_a_view_of_sql_is_upserted(spark: Any, tmp_path: Path) -> None:
    """And without their packages, other places are rejected before anything runs."""
    schema = "shop string, price long, _weight long"
    put = spark.createDataFrame([("a", 1, 1), ("b", 2, 1)], schema).coalesce(1).write.mode("append")
    put.parquet(str(tmp_path / "sales"))
    source = spark.readStream.schema(schema).parquet(str(tmp_path / "sales"))
    text = "SELECT shop, sum(price) AS total FROM sales WHERE shop IS NOT NULL GROUP BY shop"
    views = flo.spark.views(spark, {"totals": text}, {"sales": source})

    def start(sink: Upsert) -> None:
        now = {"availableNow": True}
        views.start({"totals": sink}, checkpoint=tmp_path / "checkpoint", trigger=now).wait()

    for kind in ("delta", "iceberg", "kafka"):
        with pytest.raises(flo.FloError, match=f"the session has no format `{kind}`"):
            start(Upsert(kind, f"{tmp_path}/table", {"kafka.bootstrap.servers": "127.0.0.1:1"}))
    uri = str(tmp_path / "file.db")
    start(Upsert("sqlite", "totals", {"uri": uri}))
    spark.createDataFrame([("b", 2, -1), ("a", 4, 1)], schema).coalesce(1).write.mode("append").parquet(
        str(tmp_path / "sales")
    )
    start(Upsert("sqlite", "totals", {"uri": uri}))
    assert sqlite3.connect(uri).execute("SELECT * FROM totals").fetchall() == [("a", 5)]


def test_times_in_messages_have_all_their_digits(spark: Any) -> None:
    times = "timestamp '2026-03-29 01:02:03.000001Z' AS at, timestamp_ntz '2026-03-29 01:02:03.000002' AS plain"
    (row,) = spark.sql(f"SELECT {times}").select(_json(["at", "plain"]).alias("value")).collect()
    found = json.loads(row.value)
    assert datetime.datetime.fromisoformat(found["at"]) == datetime.datetime(
        2026, 3, 29, 1, 2, 3, 1, tzinfo=datetime.UTC
    )
    assert found["plain"] == "2026-03-29T01:02:03.000002"
