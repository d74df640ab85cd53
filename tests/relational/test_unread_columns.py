"""A column that nothing reads: it fails for the same rows on every engine, and is not computed if it cannot fail."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.core.errors import ElementError, FloError
from tests.engines.engine import Engine

Digits = Annotated[Decimal, pa.decimal128(38, 2)]


class Item(NamedTuple):
    k: int
    x: int
    s: str
    f: float
    at: datetime
    d: Digits


LARGE = Item(1, 2**63 - 1, "x", 1e308, datetime(9999, 12, 31, 23), Decimal("9" * 36))
COLUMNS: dict[str, Any] = {
    "sum": lambda rows: rows.with_columns(y=nw.col("x") + 1),
    "product": lambda rows: rows.with_columns(y=nw.col("x") * nw.col("x")),
    "cast": lambda rows: rows.with_columns(y=nw.col("s").cast(nw.Int64)),
    "decimal": lambda rows: rows.with_columns(y=nw.col("d") + nw.col("d")),
    "tumble": lambda rows: rows.tumble(timedelta(hours=6), "at"),
    "later": lambda rows: rows.with_columns(y=nw.col("at") + timedelta(hours=6)),
    "months": lambda rows: rows.with_columns(y=nw.col("at").dt.offset_by("1mo")),
    "branch": lambda rows: rows.with_columns(y=nw.when(nw.col("k") > 0).then(-nw.col("x") - 2).otherwise(0)),
    "group": lambda rows: rows.group_by("k", "x", "s", "f", "at", "d").agg(y=flo.sum("d"), z=flo.count()),
}
READERS: dict[str, Any] = {
    "select": lambda rows: rows.select("k"),
    "twice": lambda rows: rows.select("k", "s").select("k"),
    "filter": lambda rows: rows.filter(nw.col("k") == 1).select("k"),
    "agg": lambda rows: rows.group_by("k").agg(n=flo.count()),
    "join": lambda rows: rows.join(rows.select("k", t="s"), on="k").select("k", "t"),
    "semi": lambda rows: rows.join(rows.select("k"), on="k", how="semi").select("k"),
    "union": lambda rows: rows.select("k").union(rows.select(k="k")),
    "distinct": lambda rows: rows.select("k").distinct(),
}


def build(columns: str, reader: str) -> flo.Flow:
    flow = flo.Flow(f"{columns}, {reader}")
    flow.output("out", READERS[reader](COLUMNS[columns](flow.input("rows", flo.ZSet[Item]))))
    return flow


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_it_fails_on_values_and_on_tables(columns: str, reader: str, tmp_path: Any) -> None:
    data = {LARGE: 11} if columns == "group" else [LARGE]
    for name in ("values", "tables"):
        with pytest.raises(FloError):
            Engine(name, tmp_path).run(build(columns, reader), {"rows": data}, parts=1)


@pytest.mark.parametrize(
    "column",
    [
        nw.col("at") + timedelta(hours=6),
        nw.col("at").dt.date() - timedelta(days=4_000_000),
        (nw.col("at") + timedelta(hours=6)).dt.year(),
        nw.col("at").dt.date().dt.offset_by("1d"),
        nw.col("at").dt.offset_by("-10000y"),
    ],
)
def test_times_are_in_the_years_1_to_9999(column: Any, tmp_path: Any) -> None:
    flow = flo.Flow("times")
    flow.output("out", flow.input("rows", flo.ZSet[Item]).select(y=column))
    for name in ("values", "tables"):
        with pytest.raises(ElementError, match="in the years 1 to 9999"):
            Engine(name, tmp_path).run(flow, {"rows": [LARGE]}, parts=1)


def test_it_fails_in_tasks(tmp_path: Any) -> None:
    with pytest.raises(FloError):
        Engine("tasks", tmp_path).run(build("sum", "join"), {"rows": [LARGE]})


def test_columns_that_cannot_fail_are_not_computed() -> None:
    flow = flo.Flow("pruned")
    rows = flow.input("rows", flo.ZSet[Item])
    more = rows.with_columns(
        y=nw.col("f") * 2 + nw.col("x"), longer=nw.col("s").str.len_chars() > 3, z=nw.col("x") > nw.col("f")
    )
    flow.output("out", more.group_by("k").agg(n=flo.count()))
    assert "len_chars" in flow.explain()
    plan = flow.on(flo.here).explain()
    assert "len_chars" not in plan
    assert " * 2" not in plan


def test_a_column_that_can_fail_is_not_kept_in_state() -> None:
    """It is computed, and dropped before the join."""
    flow = flo.Flow("dropped")
    rows = flow.input("rows", flo.ZSet[Item])
    flow.output("out", rows.with_columns(y=nw.col("x") - 1).join(rows, on="k").select("k", "s"))
    loop = flow.on(flo.here).loop()
    loop.push(rows=[LARGE])
    wide = flo.Flow("kept")
    rows = wide.input("rows", flo.ZSet[Item])
    wide.output("out", rows.with_columns(y=nw.col("x") - 1).join(rows, on="k"))
    whole = wide.on(flo.here).loop()
    whole.push(rows=[LARGE])
    assert loop.state[1] < whole.state[1]


@pytest.mark.parametrize("kind", [Annotated[Decimal, pa.decimal128(38, 0)], Digits, Decimal], ids=["38", "36", "20"])
def test_sums_of_more_than_38_digits(kind: Any) -> None:
    digits = {Digits: 36, Decimal: 20}.get(kind, 38)
    rows = {("a", Decimal(10**digits - 1)): 1, ("a", Decimal(1)): 1, ("b", Decimal(10**digits - 1)): 1}
    for build in (
        lambda stream: stream.group_by("0").agg(sum=flo.sum("1")),
        lambda stream: stream.group_by("0").agg(sum=flo.sum("1", distinct=True)),
        lambda stream: stream.agg(sum=flo.sum("1")),
        lambda stream: stream.over("0").with_columns(sum=flo.sum("1")),
    ):
        flow = flo.Flow("too large")
        flow.output("sums", build(flow.input("rows", flo.ZSet[tuple[str, kind]])))  # type: ignore[misc]
        for run in (flow.run, flow.on(flo.here).run):
            with pytest.raises(FloError, match="does not fit the 38 digits"):
                run(rows=rows)


def test_sums_of_sequences_and_bags() -> None:
    for build in (
        lambda stream: stream.sum(),
        lambda stream: stream.to_bag().sum(),
        lambda stream: stream.batch(2).nest(lambda batch: batch.sum()),
        lambda stream: stream.key_by(lambda number: 1).per_key(lambda numbers: numbers.sum()).entries(),
    ):
        flow = flo.Flow("too large")
        flow.output("sums", build(flow.input("rows", flo.Sequence[Digits], bounded=True)))
        for run in (flow.run, flow.on(flo.here).run):
            assert run(rows=[Decimal(10**36 - 1)])
            with pytest.raises(FloError, match="does not fit the 38 digits"):
                run(rows=[Decimal(10**36 - 1), Decimal(1)])


@pytest.mark.parametrize("readers", [1, 2])
def test_a_selection_is_taken_into_the_join_that_only_it_reads(readers: int) -> None:
    flow = flo.Flow("join")
    rows = flow.input("rows", flo.ZSet[Item])
    joined = rows.join(rows.select("k", t="s"), on="k")
    flow.output("some", joined.select(key="k", t="t"))
    if readers == 2:
        flow.output("all", joined)
    loop: Any = flow.on(flo.here).loop()
    operators = [node.operator.like.name for node in loop._loop.nodes]
    assert operators[-1] == ("join_zsets" if readers == 1 else "map")
    loop.push(rows=[LARGE])
    assert loop.pull("some").to_pylist() == [{"key": 1, "t": "x", "_weight": 1}]
    if readers == 2:
        (row,) = loop.pull("all").to_pylist()
        assert (row["k"], row["x"], row["t"]) == (1, 2**63 - 1, "x")
