"""A program of sales, and how to start it, push to it and compare: for tests of versions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw

import flo
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.checkpoint.inspect import Checkpoint
from flo.tables.checkpoint.store import Store


@dataclass(frozen=True)
class Sale:
    shop: str
    price: int


def sales(turn: int) -> list[Sale]:
    return [Sale("abcdefg"[(turn + number) % 7], (7 * turn + number) % 13) for number in range(5)]


def totals() -> flo.Flow:
    flow = flo.Flow("totals")
    given = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", given.group_by("shop").agg(n=flo.count(), total=flo.sum("price")))
    flow.output("large", given.filter(nw.col("price") > 10))
    return flow


def with_a_column() -> flo.Flow:
    flow = flo.Flow("totals")
    given = flow.input("sales", flo.ZSet[Sale])
    flow.output("totals", given.group_by("shop").agg(n=flo.count(), total=flo.sum("price"), most=flo.max("price")))
    flow.output("large", given.filter(nw.col("price") > 10))
    flow.output("all", given.distinct())
    return flow


def start(where: Path, outputs: Any = None, workers: int = 1, **options: Any) -> Any:
    return totals().on(flo.here, workers=workers).start(outputs, checkpoint=where, **options)


def push(query: Any, turns: range) -> None:
    for turn in turns:
        query.push(sales=sales(turn))


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values()) for row in view.arrow().to_pylist())


def expected(turns: list[int]) -> dict[str, list[Any]]:
    result = totals().on(flo.here).run(sales=[each for turn in turns for each in sales(turn)])
    return {name: sorted(tuple(row.values()) for row in table.to_pylist()) for name, table in result.items()}


def views(query: Any) -> dict[str, list[Any]]:
    return {name: rows(view) for name, view in query.views().items()}


def expect_sound(where: Path) -> None:
    assert list(Checkpoint(str(where)).problems()) == []


def strays(where: Path) -> Iterator[Path]:
    """Runs and states that no manifest names."""
    for shard in where.glob("state/*/*/*"):
        store = Store(shard)
        manifests = [store.manifest(number) for number in store.numbers()]
        named = {f"{run}.arrow" for each in manifests for run in each["runs"]} | {each["state"] for each in manifests}
        yield from (path for path in [*shard.glob("runs/*"), *shard.glob("states/*")] if path.name not in named)


def changes_in(path: Path) -> list[Any]:
    stored = StoredChanges(str(path))
    parts, _ = stored.parts(None, -1, None)
    return sorted(tuple(row.values()) for part in parts for row in part.changes().to_pylist())


def push_meanwhile(query: Any, act: Callable[[], None]) -> int:
    """Pushes until a function has returned in another thread, and returns how many pushes there were in all."""
    turn, over, errors = 1, threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            act()
        except BaseException as error:
            errors.append(error)
        over.set()

    push(query, range(1))
    thread = threading.Thread(target=run)
    thread.start()
    while not over.is_set():
        push(query, range(turn, turn + 1))
        turn += 1
    thread.join()
    assert errors == []
    push(query, range(turn, turn + 3))
    return turn + 3
