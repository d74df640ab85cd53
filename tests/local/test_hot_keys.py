"""Hot keys of joins: their rows are spread over all shards, and the results are the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.plan.rewrites import rewrites
from flo.shards.tasks import hot_keys, sending
from flo.shards.tasks.hot_keys import HotKeys, find_hot, merge_hot
from flo.tables.operators.joins import JoinTables
from tests.local.edit_trial import Trial, run_here
from tests.local.test_memory_limit import value_or_error
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, draw_program


@dataclass(frozen=True)
class Order:
    id: int
    shop: int
    price: int


@dataclass(frozen=True)
class Shop:
    shop: int
    city: int


def cities(behind: str = "city", more: str = "") -> flo.Flow:
    flow = flo.Flow("cities")
    orders, shops = flow.input("orders", flo.ZSet[Order]), flow.input("shops", flo.ZSet[Shop])
    joined = orders.join(shops, on="shop")
    flow.output("joined", joined)
    flow.output("sums", joined.group_by(behind).agg(n=flo.count(), total=flo.sum("price")))
    if more:
        flow.output("more", joined.group_by(more).agg(n=flo.count()))
    return flow


def orders(start: int, count: int, weight: int = 1) -> pa.Table:
    ids = np.arange(start, start + count)
    shops = np.where(ids % 10 < 9, 7, ids % 50)  # nine in ten are of shop 7
    return pa.table({"id": ids, "shop": shops, "price": ids % 101, "_weight": np.full(count, weight)})


def shops(*changes: tuple[int, int, int]) -> pa.Table:
    return pa.table(dict(zip(("shop", "city", "_weight"), zip(*changes, strict=True), strict=True)))


ALL_SHOPS = shops(*((shop, shop % 5, 1) for shop in range(50)))
TURNS: list[dict[str, pa.Table]] = [
    {"shops": ALL_SHOPS},
    {"orders": orders(0, 2_000)},
    {"orders": orders(2_000, 2_000)},
    {"shops": shops((7, 2, -1), (7, 4, 1))},
    {"orders": orders(1_000, 2_000, -1)},
    {"orders": orders(4_000, 2_000), "shops": shops((7, 4, 1), (8, 3, 1))},
    {"orders": orders(6_000, 500), "shops": shops((7, 4, -2))},
    {"orders": orders(6_500, 500), "shops": shops((7, 0, 1))},
]


def rows(query: Any) -> dict[str, pa.Table]:
    return in_order({name: view.arrow() for name, view in query.views().items()})


def in_order(views: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {name: table.sort_by([(each, "ascending") for each in table.column_names]) for name, table in views.items()}


def hot_of(query: Any) -> list[HotKeys]:
    batches = query._loop.batches
    return list(hot_keys.hot_in(batches.state_versions(query._loop.version - 1)).values())


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_keys, "SAMPLE", 256)
    monkeypatch.setattr(hot_keys, "LEAST", 32)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_rows_of_a_hot_key_are_in_all_shards(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = cities().on(flo.here, workers=workers)
    with on.start(checkpoint=tmp_path / "spread", shards=4) as query:
        for turn in TURNS:
            query.push(**turn)
            received = query.progress[-1].figures.shard_rows[1]
            if turn is TURNS[1]:
                assert max(received.values()) > 1_800, "its key is not known yet"
                assert [each.side for each in hot_of(query)] == [0]
            if turn is TURNS[2]:
                assert max(received.values()) < 700
        spread = rows(query)
    monkeypatch.setattr(rewrites, "hot_keys", False)
    with cities().on(flo.here).start(checkpoint=tmp_path / "plain", shards=4) as query:
        for turn in TURNS:
            query.push(**turn)
        assert max(query.progress[-1].figures.shard_rows[1].values()) > 400
        assert rows(query) == spread


@pytest.mark.usefixtures("few")
@pytest.mark.every(test=2)
@pytest.mark.parametrize("restart", ["other shards", "the same", "a sum by the hot key", "a new view", "switched off"])
def test_a_restart(restart: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum by the key of the join needs all rows of a key in one shard."""
    behind = "shop" if restart == "a sum by the hot key" else "city"
    loop = cities(behind).on(flo.here).loop()
    for turn in TURNS:
        loop.push(**turn)
    expected = in_order(loop.result())
    for first in range(0, len(TURNS), 2):
        changed = first >= 4
        flow = cities(behind if changed else "city", "id" if restart == "a new view" and changed else "")
        shards = 5 if restart == "other shards" and changed else 3
        monkeypatch.setattr(rewrites, "hot_keys", not (restart == "switched off" and changed))
        with flow.on(flo.here).start(checkpoint=tmp_path / "again", shards=shards, changed="fill") as query:
            for turn in TURNS[first : first + 2]:
                query.push(**turn)
            found = rows(query)
            assert bool(hot_of(query)) == (not (changed and (behind == "shop" or not rewrites.hot_keys)))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.usefixtures("few")
def test_only_copies_are_joined_as_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take a second pass over the rows of the other side, which most micro-batches need not."""
    with cities().on(flo.here).start(checkpoint=tmp_path, shards=3) as query:
        for turn in TURNS[:4]:
            query.push(**turn)
        monkeypatch.setattr(JoinTables, "_consume_copies", None)
        query.push(orders=orders(8_000, 500))
        assert sum(row["n"] for row in query.view("sums").arrow().to_pylist()) == 4_500


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("restarted", [False, True])
def test_a_row_and_its_retraction_are_in_one_shard(restarted: bool, tmp_path: Path) -> None:
    """Also if the row came before its key was hot. Else each change of its shop would bring it back, and retract it."""
    given: dict[int, pa.Table] = {}

    def take(changes: pa.Table, version: int) -> None:
        given[version] = changes

    def start() -> Any:
        return cities().on(flo.here).start({"joined": take}, checkpoint=tmp_path, shards=4)

    query = start()
    for turn in (*TURNS[:2], {"orders": orders(0, 1_990, -1)}, {"shops": shops((7, 2, -1), (7, 4, 1))}):
        query.push(**turn)
        if restarted:
            query.stop()
            query = start()
    query.stop()
    assert sorted(given[3]["id"].to_pylist()) == [n for n in range(1_990, 2_000) if n % 10 < 9 for _ in range(2)]
    assert not Checkpoint(str(tmp_path)).state_versions(3)[1].new_hot


@pytest.mark.parametrize("seed", range(times(24)))
@pytest.mark.every(test=4)
def test_random_programs_in_which_every_key_is_hot(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "find_hot", lambda numbers, shards: np.unique(numbers)[:8].tolist())
    names, deltas = list(draw_program(seed)[0]._outputs), list(random_deltas(SOURCES, seed, 6, 4))
    for part, shards in ((deltas[:2], 3), (deltas[2:4], 3), (deltas[4:], 2)):
        spread, plain = (
            draw_program(seed)[0].on(flo.here).start(checkpoint=tmp_path / name, shards=count)
            for name, count in (("spread", shards), ("plain", 1))
        )
        with spread, plain:
            for delta in part:
                spread.push(**delta)
                plain.push(**delta)
                for name in names:
                    assert value_or_error(spread.view(name).value) == value_or_error(plain.view(name).value)


@pytest.mark.parametrize("seed", range(times(12)))
@pytest.mark.every(test=6)
def test_programs_that_are_edited(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("adbc_driver_sqlite.dbapi")
    monkeypatch.setattr(sending, "find_hot", lambda numbers, shards: np.unique(numbers)[:8].tolist())
    Trial(tmp_path, seed).run(run_here, turns=5)


def test_a_key_is_hot_if_it_would_fill_a_shard() -> None:
    rare = np.arange(10_000, dtype=np.uint64)
    assert find_hot(rare, 8) == []
    often = np.where(rare % 4 == 0, 77, rare).astype(np.uint64)
    assert find_hot(often, 8) == [77]
    assert find_hot(often, 2) == [], "a shard of two has half of the rows anyway"
    assert find_hot(often[:1_000], 8) == [], "so few rows are no burden"
    assert find_hot(often, 1) == []


def test_only_one_side_of_a_join_is_spread() -> None:
    one, other = {"join": HotKeys(0, (1, 2))}, {"join": HotKeys(1, (2, 3)), "more": HotKeys(1, (5,))}
    assert merge_hot(one, other, {"join": HotKeys(0, (2, 4))}) == {
        "join": HotKeys(0, (1, 2, 4)),
        "more": HotKeys(1, (5,)),
    }


def test_the_plan_says_where_keys_may_be_spread() -> None:
    assert "shuffled by shop, hot keys spread" in cities().on(flo.here, workers=2).explain()
    assert "hot keys" not in cities("shop").on(flo.here, workers=2).explain(), (
        "the sums need the rows of a shop together"
    )
