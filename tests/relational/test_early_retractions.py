"""A retraction that comes before its insertion: the group has no row until then, and nothing that follows raises."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from tests.engines.engine import Engine


class Reading(NamedTuple):
    k: str
    x: int
    s: str
    ok: bool


AGGREGATES: dict[str, Any] = {
    "count": flo.count(),
    "count_where": flo.count(where=nw.col("ok")),
    "count_distinct": flo.count_distinct("x"),
    "sum": flo.sum("x"),
    "sum_distinct": flo.sum("x", distinct=True),
    "avg": flo.avg("x"),
    "min": flo.min("x"),
    "max": flo.max("s"),
    "arg_min": flo.arg_min("s", by="x"),
    "arg_max": flo.arg_max("s", by="x"),
    "first": flo.first("x", order_by="s"),
    "last": flo.last("x", order_by="s"),
    "var_pop": flo.var_pop("x"),
    "var_samp": flo.var_samp("x"),
    "stddev_pop": flo.stddev_pop("x"),
    "covar_pop": flo.covar_pop("x", "x"),
    "corr": flo.corr("x", "x"),
    "bool_and": flo.bool_and("ok"),
    "bool_or": flo.bool_or("ok"),
    "quantile": flo.quantile("x", 0.25),
    "median": flo.median("x"),
    "mode": flo.mode("s"),
    "collect": flo.collect("x"),
    "string_agg": flo.string_agg("s", "|"),
    "linear": flo.linear("x", lambda total: total / 2),
}
FOLLOWING: dict[str, Any] = {
    "select": lambda rows: rows.select("k", y=nw.coalesce("y", "y")),
    "with_columns": lambda rows: rows.with_columns(z=nw.coalesce("y", "y")),
    "filter": lambda rows: rows.filter(~nw.col("y").is_null()),
    "group_by": lambda rows: rows.group_by("y").agg(n=flo.count()),
    "agg": lambda rows: rows.agg(first=flo.first("y", order_by="y"), n=flo.count()),
    "join": lambda rows: rows.join(rows, on="y"),
    "left join": lambda rows: rows.join(rows, on="y", how="left"),
    "distinct": lambda rows: rows.distinct(),
    "top": lambda rows: rows.top(1, order_by="y"),
    "over": lambda rows: rows.over(order_by="y").with_columns(before=flo.lag("y"), n=flo.row_number()),
    "map": lambda rows: rows.map(_second),
}
ROW, OTHER = Reading("a", 3, "p", True), Reading("a", -5, "q", False)


def _second(row: Any) -> str:
    return str(row[1])


def build(aggregate: str, verbs: dict[str, Any]) -> flo.Flow:
    flow = flo.Flow(f"{aggregate} early")
    rows = flow.input("rows", flo.ZSet[Reading]).group_by("k").agg(y=AGGREGATES[aggregate])
    for name, verb in verbs.items():
        flow.output(name, verb(rows))
    return flow


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("name", ["values", "tables"])
@pytest.mark.every(test=4)
def test_a_group_with_nothing_in_it_has_no_row(name: str, aggregate: str, tmp_path: Any) -> None:
    verbs = {name: verb for name, verb in FOLLOWING.items() if aggregate != "collect" or name not in ("top", "over")}
    engine, pushes = Engine(name, tmp_path), [{"rows": {ROW: -1}}, {"rows": {ROW: -1, OTHER: 1}}, {"rows": {ROW: 3}}]
    results = engine.run_deltas(build(aggregate, verbs), pushes)
    (expected,) = engine.run_deltas(build(aggregate, verbs), [{"rows": {ROW: 1, OTHER: 1}}])
    nothing = {name: [] for name in verbs if name != "agg"}
    for early in results[:2]:
        assert {name: early[name] for name in nothing} == nothing
    assert results[2] == expected


@pytest.mark.sampled(spark=())
def test_on_every_engine(engine: Engine) -> None:
    pushes = [{"rows": {ROW: -2, OTHER: 1}}, {"rows": {ROW: 3, OTHER: -1}}, {"rows": {OTHER: 1}}]
    results = engine.run_deltas(build("max", FOLLOWING), pushes)
    (expected,) = Engine("values", engine.folder).run_deltas(build("max", FOLLOWING), [{"rows": {ROW: 1, OTHER: 1}}])
    assert results[-1] == expected


@pytest.mark.parametrize("name", ["values", "tables"])
def test_values_of_negative_weight_are_not_there(name: str, tmp_path: Any) -> None:
    """In a group of positive weight every aggregate of a column without nulls has a result."""
    flow = flo.Flow("mixed")
    rows = flow.input("rows", flo.ZSet[Reading])
    flow.output(
        "by_k", rows.group_by("k").agg(n=flo.count(), least=flo.min("x"), some=flo.sum("x", where=nw.col("ok")))
    )
    flow.output("counts", rows.group_by("k").agg(true=flo.count(where=nw.col("ok"))))
    (found,) = Engine(name, tmp_path).run_deltas(flow, [{"rows": {ROW: -1, OTHER: 2}}])
    assert found == {"by_k": [(["'a'", "1", "-5", "None"], "1")], "counts": [(["'a'", "0"], "1")]}


@pytest.mark.parametrize("first", [flo.arg_min("s", by="x"), flo.min("x")])
def test_an_order_by_more_columns_does_not_do_for_one_by_fewer(first: Any) -> None:
    """Of the value 1 there is one row too many and one too few, so it is not there; as a pair, one is."""
    flow = flo.Flow("orders")
    rows = flow.input("rows", flo.ZSet[Reading])
    flow.output("out", rows.group_by("k").agg(first=first, least=flo.min("x"), of_least=flo.arg_min("s", by="x")))
    delta = {Reading("a", 1, "p", True): -1, Reading("a", 1, "q", True): 1, Reading("a", 7, "q", True): 1}
    (expected,) = flow.run(rows=delta)["out"]
    (row,) = flow.on(flo.here).run(rows=delta)["out"].to_pylist()
    assert (row["first"], row["least"], row["of_least"]) == (expected.first, expected.least, expected.of_least)
    assert expected.least == 7


class Measured(NamedTuple):
    k: str
    s: str
    y: float | None


def test_a_row_that_was_retracted_does_not_come_back() -> None:
    """Its group is empty meanwhile. The row is in a run with nulls, whose values are compared in another way."""
    flow = flo.Flow("last")
    rows = flow.input("rows", flo.ZSet[Measured])
    flow.output("last", rows.group_by("k").agg(s=flo.last("s", order_by="y")))
    loop = flow.on(flo.here).loop(negative="allow")
    gone, early = Measured("b", "gone", 0.0), Measured("c", "early", float("inf"))
    for delta in ({Measured("a", "null", None): 1, gone: 1, early: -1}, {gone: -1}, {Measured("b", "new", -1.0): 1}):
        loop.push(rows=delta)
        loop.run()
    result = loop.result()["last"].to_pylist()
    assert sorted((row["k"], row["s"]) for row in result) == [("a", "null"), ("b", "new")]
