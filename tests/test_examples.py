"""The paper's programs give what the paper says, in every schedule that is tried."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import examples.paper
import flo
from examples import auctions
from examples.paper import (
    all_together,
    composition,
    growing_radius,
    incremental_join,
    motivating,
    reachability,
    threshold,
    windowed_aggregation,
)
from tests.harness import fired

ROOT = Path(__file__).parent.parent
NUMBERS = [50, 40, 30, 20]


def agreeing(flow: flo.Flow, **data: list[object]) -> flo.Result:
    """The result, the same at once, and cut into pieces that arrive between the steps of random schedules."""
    result = flow.run(**data)
    for seed in range(4):
        loop = flow.loop(seed=seed, record=True)
        for at in range(max(map(len, data.values()), default=0)):
            for name, items in data.items():
                loop.push(name, items[at : at + 1])
            loop.step(seed)
        loop.run()
        fired.update(rule for step in loop.history for rule in step.path)
        assert loop.result() == result
    return result


def test_motivating_example_the_hanging_fold_is_refused() -> None:
    with pytest.raises(flo.BoundednessError, match="may never end"):
        motivating.hanging_fold()


def test_motivating_example_bounded_fold() -> None:
    result = motivating.bounded_fold().run(numbers=NUMBERS)
    assert result == {"total": [140]}
    assert result.fixed("total")


def test_motivating_example_batched_fold() -> None:
    result = agreeing(motivating.batched_fold(3), numbers=NUMBERS)
    assert result == {"total": [[120]]}
    assert not result.fixed("total")


def test_motivating_example_running_scan() -> None:
    assert agreeing(motivating.running_scan(), numbers=NUMBERS) == {"total": [50, 90, 120, 140]}


def test_motivating_example_event_when_above() -> None:
    assert agreeing(motivating.event_when_above(100), numbers=NUMBERS) == {"total": 140, "alarm": [100]}
    assert motivating.event_when_above(1000).run(numbers=NUMBERS)["alarm"] == []


def test_composition_figure_is_read_printed_and_built() -> None:
    graph = composition.figure()
    assert graph == composition.fluent().graph()
    assert flo.parse(flo.show(graph), flo.names(graph)) == graph
    assert flo.show(graph, states=False) == (
        "(({_}[map(double)]; {_}[scan(0, add)]) | {_}[filter(odd)]); {_}[join]; ({_}[map(double)] | {_}[map(double)])"
    )
    assert agreeing(composition.fluent(), left=[1, 2, 3], right=[5, 6, 7, 9]) == {
        "smaller": [4, 12, 18],
        "larger": [10, 14, 24],
    }


def test_reachability_within_a_fixed_radius() -> None:
    result = reachability.within(3).run(edges=reachability.EDGES)
    assert result == {"reached": [{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}]}
    assert result.fixed("reached")


@pytest.mark.slow
@pytest.mark.thorough
def test_reachability_with_a_growing_radius() -> None:
    flow = growing_radius.growing()
    result = agreeing(flow, edges=[reachability.EDGES] * 3, queries=[[1], [1], [2]])
    assert result == {"reached": [{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}]}


def test_windowed_aggregation() -> None:
    assert agreeing(windowed_aggregation.windowed(), readings=windowed_aggregation.READINGS)["sums"] == [[7.5], [5.0]]
    result = agreeing(windowed_aggregation.tumbling(), readings=windowed_aggregation.READINGS)
    assert result == {"sums": [[4.5], [7.0]], "late": [(1.0, 3)]}


def test_threshold_on_an_unbounded_lvar() -> None:
    result = agreeing(threshold.votes(3), ballots=["ann", "bob", "ann", "cleo"])
    assert result == {"voters": frozenset({"ann", "bob", "cleo"}), "quorum": [3]}
    assert threshold.final_read().run(numbers=[3, 9, 4]) == {"largest": [9]}
    with pytest.raises(flo.BoundednessError):
        threshold.racing_read()


def test_incremental_join_with_retractions() -> None:
    flow = incremental_join.orders_with_cities()
    loop = flow.loop()
    loop.push(orders={("ann", 5): 1, ("bob", 7): 1}, customers={("ann", "Oslo"): 1, ("bob", "Rome"): 1})
    loop.run()
    assert loop.pull("joined") == {("Oslo", 5): 1, ("Rome", 7): 1}
    assert loop.pull("revenue") == {("Oslo", 5): 1, ("Rome", 7): 1}
    loop.push(customers={("ann", "Oslo"): -1, ("ann", "Rome"): 1})
    loop.run()
    assert loop.pull("joined") == {("Oslo", 5): -1, ("Rome", 5): 1}
    assert loop.pull("revenue") == {("Oslo", 5): -1, ("Rome", 7): -1, ("Rome", 12): 1}


def test_threshold_over_windowed_aggregates() -> None:
    result = agreeing(all_together.monitor(100), bids=all_together.BIDS)
    assert result["totals"] == [[150], [40], [20]]
    assert result["alarm"] == [100]
    assert result["late"] == [all_together.Bid("ann", 5, 2)]
    assert result["revenue"] == {("ann", 75): 1, ("bob", 70): 1, ("cleo", 85): 1}
    blocked = all_together.monitor().run(bids=all_together.BIDS, blocked={"ann": 1})
    assert blocked["revenue"] == {("bob", 70): 1, ("cleo", 85): 1}


PROGRAMS = [m.name for m in pkgutil.iter_modules(examples.paper.__path__) if m.name != "__main__"]


@pytest.mark.parametrize("module", PROGRAMS)
def test_every_example_runs_and_has_a_page(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module(f"examples.paper.{module}").main()
    assert capsys.readouterr().out
    assert (ROOT / "docs" / "programs" / f"{module}.md").exists()


@pytest.mark.slow
@pytest.mark.thorough
def test_all_programs_of_the_paper_in_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module("examples.paper.__main__").main()
    assert "all 60 agree" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_auctions_on_tables_are_auctions_on_values(tmp_path: Path) -> None:
    auctions.generate(tmp_path, files=2, rows=300)
    tables = {name: pq.read_table(tmp_path / name) for name in ("bids", "lots", "referrals")}
    tables["referrals"] = tables["referrals"].slice(0, 50)
    bids = [auctions.Bid(*row) for row in _rows(tables["bids"].drop_columns("offset"))]
    lots: Counter[auctions.Lot] = Counter()
    for lot, category, weight in _rows(tables["lots"]):
        lots[auctions.Lot(lot, category)] += weight
    expected = auctions.auctions().run(bids=bids, lots=lots, referrals=set(_rows(tables["referrals"])))
    found = auctions.auctions().on(flo.here).run(**tables)
    assert sorted(_rows(found["revenue"])) == sorted((*row, count) for row, count in expected["revenue"].items())
    assert sorted(_rows(found["dearest"])) == sorted((*bid, count) for bid, count in expected["dearest"].items())
    assert found["turnover"].column(0).to_pylist() == expected["turnover"]
    assert expected["turnover"]
    assert expected["ring"]


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]
