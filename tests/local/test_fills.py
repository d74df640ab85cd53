"""Fills of changed programs: the rows that a user gives, fills that were interrupted, and views that move."""

from __future__ import annotations

import io
import re
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import flo
from tests.rescaling import rescale


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
        flow.output(name, streams[name]())  # type: ignore[no-untyped-call]
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
    with running_sums("by shop").on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(sales=[Sale("b", 1)])
        assert query.view("by shop").value() == {"a": [1, 4, 5], "b": [2, 7, 8]}


def test_a_view_is_removed_whose_types_only_it_had(tmp_path: Path) -> None:
    def build(*names: str) -> flo.Flow:
        flow = flo.Flow("highest")
        sales = flow.input("sales", flo.Bag[Sale])
        flow.output("sales", sales.to_zset().group_by("shop").agg(n=flo.count()))
        for name in names:
            flow.output(name, flow.input("prices", flo.Sequence[Sale]).map("price").fold_lattice(flo.Max(int)))
        return flow

    with build("highest").on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES, prices=SALES)
    with build().on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(sales=SALES)
        assert rows(query.view("sales")) == [("a", 4), ("b", 2)]


def totals(*more: str, row: Any = Sale, inputs: tuple[str, ...] = ("sales",)) -> flo.Flow:
    """Sums that hold no rows of their inputs."""
    flow = flo.Flow("totals")
    for name in inputs:
        sales = flow.input(name, flo.ZSet[row])
        flow.output(f"sum of {name}", sales.group_by("shop").agg(total=flo.sum("price")))
        if "max" in more:
            flow.output(f"max of {name}", sales.group_by("shop").agg(most=flo.max("price")))
    return flow


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values())[:-1] for row in view.arrow().to_pylist())


def start_totals(where: Path) -> None:
    with totals().on(flo.here).start(checkpoint=where, shards=3) as query:
        query.push(sales=SALES)


def test_corrected_rows_replace_those_of_an_interrupted_fill(tmp_path: Path) -> None:
    start_totals(tmp_path)
    wrong = [pa.table({"shop": ["a"], "price": [100]}), pa.table({"shop": ["b"], "price": ["x"]})]
    with pytest.raises(flo.ElementError, match="the column `price` is string"):
        totals("max").on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"sales": iter(wrong)})
    right = [pa.table({"shop": ["a", "a"], "price": [1, 3]}), pa.table({"shop": ["b"], "price": [2]})]
    with totals("max").on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"sales": iter(right)}) as query:
        assert rows(query.view("max of sales")) == [("a", 3), ("b", 2)]


def test_errors_in_the_rows_of_a_fill_name_the_input(tmp_path: Path) -> None:
    start_totals(tmp_path)
    given = iter([pa.table({"shop": ["a"], "price": [1]}), 7])
    with pytest.raises(flo.ElementError, match="`sales` must be given tables only; got a int among them"):
        totals("max").on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"sales": given})


def test_rows_of_a_fill_that_do_not_fit_are_diverted(tmp_path: Path) -> None:
    start_totals(tmp_path)
    fill = {"sales": [*SALES, ("a", "dear")]}
    with totals("max").on(flo.here).start(checkpoint=tmp_path, changed="fill", fill=fill, on_error="divert") as query:
        assert rows(query.view("max of sales")) == [("a", 3), ("b", 2)]
        assert [row["row"] for row in query.diverted("sales").to_pylist()] == ["('a', 'dear')"]


def halved(sale: Sale) -> Sale:
    if sale.price % 2:
        raise ValueError(f"{sale.price} is odd")
    return Sale(sale.shop, sale.price // 2)


def kept_sales(halves: bool) -> flo.Flow:
    """A view that holds the rows of the input; and another one, with a function that raises on some of them."""
    flow = flo.Flow("halves")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("sales", sales)
    if halves:
        flow.output("halves", sales.map(halved).group_by("shop").agg(total=flo.sum("price")))
    return flow


@pytest.mark.parametrize("shards", [1, 3])
def test_rows_of_the_state_on_which_a_function_raises_are_diverted_once(shards: int, tmp_path: Path) -> None:
    with kept_sales(halves=False).on(flo.here).start(checkpoint=tmp_path / "one", shards=shards) as query:
        query.push(sales=SALES)
        assert query.fill is None
    changed = kept_sales(halves=True).on(flo.here)
    with pytest.raises(flo.FunctionError, match=r"[13] is odd") as caught:
        changed.start(checkpoint=tmp_path / "one", changed="fill")
    assert dict(caught.value.facts)["row"] in ("{'shop': 'a', 'price': 1}", "{'shop': 'a', 'price': 3}")
    given: list[pa.Table] = []
    options: Any = {"checkpoint": tmp_path / "one", "on_error": "divert"}
    with changed.start({"sales diverted": lambda table, _: given.append(table)}, changed="fill", **options) as query:
        assert rows(query.view("halves")) == [("b", 1)]
        assert query.fill is not None
        assert (query.fill.rows, query.fill.rows_left) == (3, 0)
        query.push(sales=[Sale("b", 5), Sale("b", 4)])
        assert rows(query.view("halves")) == [("b", 3)]
    with changed.start(**options) as query:
        query.push(sales=[Sale("c", 2)])
        assert rows(query.view("halves")) == [("b", 3), ("c", 1)]
    reasons = [sorted(row["reason"].partition(": ")[2][:8] for row in table.to_pylist()) for table in given]
    assert reasons == [["1 is odd", "3 is odd"], ["5 is odd"]]


@pytest.mark.parametrize("kind", ["changes", "sqlite"])
def test_a_sink_of_diverted_rows_gets_those_that_are_new(tmp_path: Path, kind: str) -> None:
    if kind == "sqlite":
        pytest.importorskip("adbc_driver_sqlite.dbapi")
    start_totals(tmp_path / "one")
    table = flo.Upsert("sqlite", "dead", {"uri": str(tmp_path / "dead.db")})
    sinks: Any = {"sales diverted": table if kind == "sqlite" else flo.Changes(str(tmp_path / "changes"))}
    options: Any = {"checkpoint": tmp_path / "one", "on_error": "divert"}
    with totals().on(flo.here).start(sinks, **options) as query:
        query.push(sales=[("a", "dear")])
    fill = {"sales": [*SALES, ("a", "dear"), ("b", "dear")]}
    with totals("max").on(flo.here).start(sinks, changed="fill", fill=fill, **options) as query:
        assert rows(query.view("max of sales")) == [("a", 3), ("b", 2)]
    if kind == "sqlite":
        written = [row for (row,) in sqlite3.connect(tmp_path / "dead.db").execute('SELECT "row" FROM dead')]
    else:
        files = sorted((tmp_path / "changes").glob("version=*/*"))
        written = [row for file in files for row in pq.read_table(file)["row"].to_pylist()]
    assert sorted(written) == ["('a', 'dear')", "('b', 'dear')"]


def test_an_input_that_comes_back_has_had_rows(tmp_path: Path) -> None:
    with totals(inputs=("one", "two")).on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(one=SALES, two=SALES[1:])
    with totals(inputs=("one",)).on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(one=SALES)
    both = totals(inputs=("one", "two")).on(flo.here)
    with pytest.raises(flo.CheckpointError, match="needs all rows that the input `two` has had"):
        both.start(checkpoint=tmp_path, changed="fill")
    with both.start(checkpoint=tmp_path, changed="fill", fill={"two": SALES[1:]}) as query:
        assert rows(query.view("sum of two")) == [("a", 3), ("b", 2)]
        assert rows(query.view("sum of one")) == [("a", 8), ("b", 4)]


def test_inputs_may_have_any_names(tmp_path: Path) -> None:
    def build(joined: bool) -> flo.Flow:
        flow = flo.Flow("numbers")
        one, two = (flow.input(name, flo.ZSet[Sale]) for name in ("0", "1"))
        flow.output("one", one)
        flow.output("two", two.group_by("shop").agg(n=flo.count()))
        if joined:
            flow.output("both", two.join(one, on="shop").group_by("shop").agg(n=flo.count()))
        return flow

    with build(joined=False).on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(**{"0": SALES, "1": SALES})
    with build(joined=True).on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"1": SALES}) as query:
        assert rows(query.view("both")) == [("a", 4), ("b", 1)]


@pytest.mark.parametrize("given", [[], [Sale("a", 4)], [Sale("a", 1)] * 9])
def test_a_sequence_goes_on_after_any_number_of_rows(given: list[Sale], tmp_path: Path) -> None:
    with running_sums("all").on(flo.here).start(checkpoint=tmp_path, shards=3) as query:
        query.push(sales=SALES)
    with (
        running_sums("by shop").on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"sales": given}) as query
    ):
        query.push(sales=[Sale("a", 1)])
        query.push(sales=[Sale("a", 1)])
        sums = [sum(sale.price for sale in given[: count + 1]) for count in range(len(given))]
        last = sums[-1] if sums else 0
        assert query.view("by shop").value() == {"a": [*sums, last + 1, last + 2]}


class Unpriced(NamedTuple):
    shop: str
    price: int | None


def test_a_column_that_must_have_a_value_now(tmp_path: Path) -> None:
    def build(row: Any) -> flo.Flow:
        flow = flo.Flow("rows")
        flow.output("all", flow.input("sales", flo.ZSet[row]))
        return flow

    with build(Unpriced).on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=[Unpriced("a", 1), Unpriced("b", None)])
    with pytest.raises(flo.CheckpointError, match="the column `price` must have a value in the changed program"):
        build(Sale).on(flo.here).start(checkpoint=tmp_path, changed="fill")
    with build(Unpriced).on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales={Unpriced("b", None): -1})
    with build(Sale).on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        assert rows(query.view("all")) == [("a", 1)]


def test_arguments_of_a_change(tmp_path: Path) -> None:
    start_totals(tmp_path)
    with pytest.raises(flo.TypeMismatch, match="`changed` must be one of 'reject', 'fill'; got 'keep'"):
        totals("max").on(flo.here).start(checkpoint=tmp_path, changed="keep")  # type: ignore[arg-type]
    with pytest.raises(flo.TypeMismatch, match="`refill` computes states anew, which `changed` must allow"):
        totals().on(flo.here).start(checkpoint=tmp_path, refill=["add"])


def test_a_rescaled_checkpoint_is_rescaled_again_after_a_change(tmp_path: Path) -> None:
    def build(*more: str) -> flo.Flow:
        flow = flo.Flow("counts")
        sales = flow.input("sales", flo.ZSet[Sale]).distinct()
        flow.output("count", sales.agg(n=flo.count()))
        for name in more:
            flow.output(name, sales.group_by("shop").agg(most=flo.max("price")))
        return flow

    with build().on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(sales=SALES)
    rescale(str(tmp_path), 4)
    with build("most").on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(sales=[Sale("c", 5)])
    rescale(str(tmp_path), 3)
    with build("most").on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=[Sale("c", 6)])
        assert rows(query.view("count")) == [(5,)]
        assert rows(query.view("most")) == [("a", 3), ("b", 2), ("c", 6)]


@pytest.mark.parametrize("collection", [flo.Bag, flo.Set])
def test_rows_with_retractions_do_not_fill_an_input_without(collection: Any, tmp_path: Path) -> None:
    def build(kind: Any) -> flo.Flow:
        flow = flo.Flow("rows")
        flow.output("all", flow.input("sales", kind[Sale]))
        return flow

    with build(flo.ZSet).on(flo.here).start(checkpoint=tmp_path, shards=3) as query:
        query.push(sales={SALES[0]: -1, SALES[1]: 1})
    changed = build(collection).on(flo.here)
    with pytest.raises(flo.CheckpointError, match="needs all rows that the input `sales` has had"):
        changed.start(checkpoint=tmp_path, changed="fill")
    with changed.start(checkpoint=tmp_path, changed="fill", fill={"sales": SALES[1:]}) as query:
        assert sorted(query.view("all").value()) == sorted(SALES[1:])


def test_a_terminal_follows_a_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept_sales(halves=False).on(flo.here).start(checkpoint=tmp_path) as query:
        query.push(sales=[Sale("a", 2), Sale("b", 4), Sale("b", 6)])
    printed = io.StringIO()
    monkeypatch.setattr(
        "flo.local.run_progress.Console", lambda stderr: Console(file=printed, force_terminal=True, width=200)
    )
    monkeypatch.setattr("flo.local.run_progress.PATIENCE", 0)
    sinks: Any = {"halves": lambda table, version: printed.write("\ngiven\n")}
    with kept_sales(halves=True).on(flo.here).start(sinks, checkpoint=tmp_path, changed="fill"):
        lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", printed.getvalue()).replace("\r", "\n").splitlines()
    assert any(line.startswith("halves: filling 3 rows") and "100%" in line for line in lines)
    told = "halves: the sink of `halves` gets 2 rows, and 0 are retracted from it"
    assert lines.index(told) < lines.index("given"), "before it gets them"


class Price(NamedTuple):
    shop: str
    cents: int


def test_workers_fill_from_rows_of_a_type_without_a_name(tmp_path: Path) -> None:
    """A few rows are sent to a worker, and no pickle can name the class of the rows that `select` makes."""

    def flow(*more: str) -> flo.Flow:
        made = flo.Flow("prices")
        sales, prices = made.input("sales", flo.ZSet[Sale]), made.input("prices", flo.ZSet[Price])
        listed = sales.join(prices, on="shop").select(sold="price", cents="cents")
        made.output("own", listed.join(prices, on="cents").select(sold="sold", shop="shop"))
        for name in more:
            made.output(name, listed.join(prices, on="cents").group_by(name).agg(n=flo.count()))
        return made

    with flow().on(flo.here, workers=2).start(checkpoint=tmp_path) as query:
        query.push(sales=SALES, prices=[Price("a", 1), Price("b", 2)])
    with flow("shop").on(flo.here, workers=2).start(checkpoint=tmp_path, changed="fill") as query:
        found = query.view("shop").arrow().sort_by("shop").to_pylist()
    assert [(row["shop"], row["n"]) for row in found] == [("a", 2), ("b", 1)]
