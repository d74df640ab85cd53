"""Changed programs on the checkpoint of the one before: what is the same is kept, and the rest is filled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.local.fill_run import FillRun, Push
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.views import View
from flo.tools.state_plan import print_plan
from tests.local.killed_fill import Sale, Shop

SALES = [Sale("abc"[number % 3], number) for number in range(12)]
SHOPS = [Shop("a", "x"), Shop("b", "y"), Shop("c", "x")]


def by_city(*more: str) -> flo.Flow:
    flow = flo.Flow("cities")
    sales, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    joined = sales.join(shops, on="shop")
    flow.output("cities", joined.group_by("city").agg(n=flo.count(), total=flo.sum("price")))
    if "dear" in more:
        flow.output("dear", joined.group_by("city").agg(most=flo.max("price")))
    return flow


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values())[:-1] for row in view.arrow().to_pylist())


def test_a_new_view_is_filled_from_the_rows_of_a_join_that_is_kept(tmp_path: Path) -> None:
    with by_city().on(flo.here).start(checkpoint=tmp_path, shards=3) as query:
        query.push(sales=SALES, shops=SHOPS)
    with by_city("dear").on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        assert rows(query.view("dear")) == [("x", 11), ("y", 10)]
        query.push(sales=[Sale("b", 99)])
        assert rows(query.view("dear")) == [("x", 11), ("y", 99)]
        assert rows(query.view("cities")) == [("x", 8, 44), ("y", 5, 121)]


def test_a_changed_program_is_rejected_with_what_would_be_done(tmp_path: Path) -> None:
    with by_city().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES, shops=SHOPS)
    with pytest.raises(flo.CheckpointError) as caught:
        by_city("dear").on(flo.here).start(checkpoint=tmp_path)
    facts = [(what, text.partition("   (")[0]) for what, text in caught.value.facts]
    assert ("kept", "join(shop, shop, shop, price, city)") in facts
    assert ("filled", "agg(city: most=max(price))") in facts
    assert ("output cities", "as before") in facts
    dear = dict(caught.value.facts)["output dear"]
    assert dear.startswith("new: it gets all rows, from the rows that `join` keeps (test_changed_programs.py:")
    assert dear.endswith("); how many is known after the fill")
    assert caught.value.instead[0][0] == 'changed="fill"'
    with by_city().on(flo.here).start(checkpoint=tmp_path) as query:  # nothing has changed
        assert rows(query.view("cities")) == [("x", 8, 44), ("y", 4, 22)]


def test_rows_that_nothing_has_are_asked_for(tmp_path: Path) -> None:
    def build(largest: bool) -> flo.Flow:
        flow = flo.Flow("sums")
        sales = flow.input("sales", flo.ZSet[Sale])
        flow.output("sums", sales.group_by("shop").agg(total=flo.sum("price")))
        if largest:
            flow.output("largest", sales.group_by("shop").agg(most=flo.max("price")))
        return flow

    with build(largest=False).on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES)
    with pytest.raises(flo.CheckpointError, match="needs all rows that the input `sales` has had") as caught:
        build(largest=True).on(flo.here).start(checkpoint=tmp_path, changed="fill")
    assert caught.value.instead[0][0] == 'fill={"sales": rows}'
    with pytest.raises(flo.UnknownNameError, match="no input called `sale`"):
        build(largest=True).on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"sale": SALES})
    with build(largest=True).on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"sales": SALES}) as query:
        assert rows(query.view("largest")) == [("a", 9), ("b", 10), ("c", 11)]
        assert rows(query.view("sums")) == [("a", 18), ("b", 22), ("c", 26)]


factor = 1


def scaled(sale: Sale) -> Sale:
    return Sale(sale.shop, sale.price * factor)


def test_a_corrected_function_is_computed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("scaled")
        sales = flow.input("sales", flo.ZSet[Sale]).distinct()
        flow.output("sums", sales.map(scaled).group_by("shop").agg(total=flo.sum("price")))
        return flow

    with build().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES)
    monkeypatch.setattr(f"{__name__}.factor", 10)
    with pytest.raises(flo.CheckpointError, match="has results of `scaled` as it was"):
        build().on(flo.here).start(checkpoint=tmp_path, changed="fill")
    with pytest.raises(flo.UnknownNameError, match="`refill` names `scale`, which no operator calls"):
        build().on(flo.here).start(checkpoint=tmp_path, changed="fill", refill=["scale"])
    with build().on(flo.here).start(checkpoint=tmp_path, changed="fill", refill=["scaled"]) as query:
        query.push(sales=[Sale("a", 100)])
        assert rows(query.view("sums")) == [("a", 1180), ("b", 220), ("c", 260)]


def test_a_corrected_function_in_a_body_is_computed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> flo.Flow:
        flow = flo.Flow("scaled")
        sales = flow.input("sales", flo.ZSet[Sale])
        flow.output("all", sales)
        flow.output("found", sales.fixpoint(lambda found, sales: sales.map(scaled).union(found)))
        return flow

    with build().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=[Sale("a", 1)])
    monkeypatch.setattr(f"{__name__}.factor", 10)
    with build().on(flo.here).start(checkpoint=tmp_path, changed="fill", refill=["scaled"]) as query:
        query.push(sales=[Sale("b", 2)])
        assert rows(query.view("found")) == [("a", 10), ("b", 20)]


def test_an_interrupted_fill_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with by_city().on(flo.here).start(checkpoint=tmp_path, shards=3) as query:
        shops = [Shop(str(number), "xy"[number % 2]) for number in range(30)]
        query.push(sales=[Sale(shop.shop, int(shop.shop)) for shop in shops], shops=shops)
    take = FillRun._take
    pushes: list[int] = []

    def take_once(self: FillRun, push: Push, number: int) -> int:
        pushes.append(number)
        if len(pushes) % 2 == 0:
            raise KeyboardInterrupt
        return take(self, push, number)

    monkeypatch.setattr(FillRun, "_take", take_once)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            by_city("dear").on(flo.here).start(checkpoint=tmp_path, changed="fill")
        assert rows(View(str(tmp_path), "cities", 0)) == [("x", 15, 210), ("y", 15, 225)]
    monkeypatch.undo()
    with by_city("dear").on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        assert rows(query.view("dear")) == [("x", 28), ("y", 29)]


class Narrow(NamedTuple):
    shop: str
    price: Annotated[int, pa.int32()]


class Wide(NamedTuple):
    shop: str
    price: int
    note: str | None


def test_an_input_that_gains_a_column_and_a_wider_type(tmp_path: Path) -> None:
    def build(row: Any) -> flo.Flow:
        flow = flo.Flow("log")
        sales, shops = flow.input("sales", flo.ZSet[row]), flow.input("shops", flo.ZSet[Shop])
        flow.output("sales with cities", sales.join(shops, on="shop"))
        return flow

    with build(Narrow).on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=[Narrow("a", 3)], shops=SHOPS)
    with build(Wide).on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(sales=[Wide("a", 2**40, "dear")])
        assert rows(query.view("sales with cities")) == [("a", 3, None, "x"), ("a", 2**40, "dear", "x")]


def test_inputs_come_and_go(tmp_path: Path) -> None:
    def build(*names: str) -> flo.Flow:
        flow = flo.Flow("union")
        for name in names:
            flow.output(f"out {name}", flow.input(name, flo.ZSet[Sale]).distinct())
        return flow

    with build("one", "two").on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(one=SALES[:3], two=SALES[3:5])
    with build("three", "two").on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(three=SALES[7:], two=SALES[5:7])
        assert rows(query.view("out two")) == sorted((each.shop, each.price) for each in SALES[3:7])
        assert rows(query.view("out three")) == sorted((each.shop, each.price) for each in SALES[7:])


def test_the_plan_as_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with by_city().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES, shops=SHOPS)
    print_plan(str(tmp_path), by_city("dear"))
    printed = capsys.readouterr().out
    assert "filled" in printed
    assert "output dear: new: it gets all rows, from the rows that `join` keeps" in printed
    count = len(SALES) + len(SHOPS)
    assert re.search(rf"filled .*the rows that `join` keeps \(test_changed_programs.py:\d+\): about {count} ", printed)
    assert "not possible" not in printed


def test_the_plan_says_how_many_rows_a_copy_has(tmp_path: Path) -> None:
    def build(*names: str) -> flo.Flow:
        flow = flo.Flow("copies")
        sales = flow.input("sales", flo.ZSet[Sale])
        for name in names:
            flow.output(name, sales)
        return flow

    with build("all").on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES)
    given: list[pa.Table] = []
    sinks: Any = {"copy": lambda table, version: given.append(table)}
    with pytest.raises(flo.CheckpointError, match="the output `copy` was added") as caught:
        build("all", "copy").on(flo.here).start(sinks, checkpoint=tmp_path)
    facts = dict(caught.value.facts)
    assert facts["output copy"] == f"new: it gets about {len(set(SALES))} rows, from the view `all`"
    assert facts["output all"] == "as before"
    with build("all", "copy").on(flo.here).start(sinks, checkpoint=tmp_path, changed="fill") as query:
        assert query.fill is not None
        assert query.fill.changes == {"copy": (len(SALES), 0)}
    assert sum(given[0]["_weight"].to_pylist()) == len(SALES)


def test_the_plan_says_what_a_changed_sink_gets(tmp_path: Path) -> None:
    def build(least: int) -> flo.Flow:
        flow = flo.Flow("dear")
        sales = flow.input("sales", flo.ZSet[Sale])
        flow.output("all", sales)
        flow.output("dear", sales.filter(nw.col("price") > least).group_by("shop").agg(n=flo.count()))
        return flow

    sinks: Any = {"dear": flo.Changes(str(tmp_path / "dear"))}
    with build(0).on(flo.here).start(sinks, checkpoint=tmp_path / "one") as query:
        query.push(sales=[Sale("a", 1), Sale("a", 5), Sale("b", 1)])
    with pytest.raises(flo.CheckpointError) as caught:
        build(3).on(flo.here).start(sinks, checkpoint=tmp_path / "one")
    told = "changed: its sink gets the difference to what it holds, from the view `all`; how many rows are added and"
    assert dict(caught.value.facts)["output dear"] == f"{told} retracted is known after the fill"
    with build(3).on(flo.here).start(sinks, checkpoint=tmp_path / "one", changed="fill") as query:
        assert query.fill is not None
        assert query.fill.changes == {"dear": (1, 2)}, "(a, 1) for (a, 2), and no (b, 1)"


def test_the_plan_says_what_is_not_possible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def build(*more: str) -> flo.Flow:
        flow = flo.Flow("sums")
        sales = flow.input("sales", flo.ZSet[Sale])
        flow.output("sums", sales.group_by("shop").agg(total=flo.sum("price")))
        if "most" in more:
            flow.output("most", sales.group_by("shop").agg(most=flo.max("price")))
        return flow

    with build().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES)
    print_plan(str(tmp_path), build("most"))
    printed = capsys.readouterr().out
    assert "not possible: the changed program needs all rows that the input `sales` has had" in printed
    assert 'fill={"sales": rows}' in printed
    with pytest.raises(flo.CheckpointError) as caught:
        build("most").on(flo.here).start(checkpoint=tmp_path)
    assert caught.value.instead[0][0] == 'fill={"sales": rows}'


def test_a_join_that_has_dropped_rows_is_not_read(tmp_path: Path) -> None:
    """Once the shops have ended, a join keeps no sales."""

    def build(*more: str) -> flo.Flow:
        flow = flo.Flow("ended")
        sales = flow.input("sales", flo.ZSet[Sale])
        joined = sales.join(flow.input("shops", flo.ZSet[Shop], bounded=True), on="shop")
        flow.output("cities", joined.group_by("city").agg(n=flo.count()))
        if "dear" in more:
            flow.output("dear", joined.group_by("city").agg(most=flo.max("price")))
        return flow

    with build().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES[:6], shops=SHOPS)
        query.end("shops")
        query.push(sales=SALES[6:])
    with pytest.raises(flo.CheckpointError, match="needs all rows that the input `sales` has had"):
        build("dear").on(flo.here).start(checkpoint=tmp_path, changed="fill")
    fill = {"sales": SALES, "shops": SHOPS}
    with build("dear").on(flo.here).start(checkpoint=tmp_path, changed="fill", fill=fill) as query:
        query.push(sales=[Sale("b", 99)])
        assert rows(query.view("dear")) == [("x", 11), ("y", 99)]
        assert rows(query.view("cities")) == [("x", 8), ("y", 5)]


def test_what_earlier_programs_have_left_is_removed(tmp_path: Path) -> None:
    with by_city().on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES, shops=SHOPS)
    flow = flo.Flow("shops")
    flow.output("shops", flow.input("shops", flo.ZSet[Shop]).distinct())
    fill: Any = {"changed": "fill", "fill": {"shops": SHOPS}}
    with flow.on(flo.here).start(checkpoint=tmp_path, **fill) as query:
        assert sorted(each.name for each in (tmp_path / "state" / "00001").iterdir()) == ["01", "02"]
        for shop in SHOPS:
            query.push(shops=[shop])
        assert sorted(each.name for each in (tmp_path / "state" / "00001").iterdir()) == ["01"]
        assert len(rows(query.view("shops"))) == len(SHOPS)
    assert not list(Checkpoint(str(tmp_path)).problems())


def test_views_that_read_the_same_columns_are_kept_in_any_order(tmp_path: Path) -> None:
    """Each has a projection of its own, and these are the same operator."""

    def build(*names: str) -> flo.Flow:
        flow = flo.Flow("by shop")
        sales = flow.input("sales", flo.ZSet[Sale])
        every = {"sum": flo.sum("price"), "max": flo.max("price")}
        for name in names:
            flow.output(name, sales.group_by("shop").agg(**{name: every[name]}))
        return flow

    with build("sum", "max").on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES)
    with build("max", "sum").on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(sales=[Sale("a", 100)])
    with build("max").on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        assert rows(query.view("max")) == [("a", 100), ("b", 10), ("c", 11)]
