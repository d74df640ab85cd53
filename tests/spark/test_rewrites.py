"""Drawn programs have the same results with and without what makes them faster, also from one start to the next."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import narwhals as nw
import pytest

import flo
from flo.shards.plan.rewrites import Rewrites, rewrites
from flo.shards.tasks import hot_keys, sending
from flo.spark import Changes
from flo.spark.driver import micro_batches
from flo.tables.io.files import WEIGHTS
from tests.relational.random_programs import Left
from tests.relational.shuffled_programs import ShuffledDraw, add_up, cut_changes, draw_changes
from tests.spark.harness import table, values
from tests.spark.simulated import Simulated
from tests.spark.sources import files
from tests.spark.test_catalyst_outputs import read_back

SWITCHES = [each.name for each in fields(Rewrites)]


def draw_program(seed: int) -> flo.Flow:
    """A program whose input `l` has many readers, and `m` only some that keep nothing: Catalyst may write these."""
    draw = ShuffledDraw(seed)
    flow = draw.program()[0]
    rows: Any = flow.input("m", flo.ZSet[Left])
    names = draw.rng.sample(Left._fields, 3)
    flow.output("some", rows.select(*names))
    flow.output("fewer", rows.filter(nw.col("x") > 0).select(*names[:2], more="big"))
    return flow


def draw_pushes(seed: int) -> list[dict[str, Any]]:
    """Changes of the inputs, in an order that is drawn; `m` has those of `l`."""
    pushes = cut_changes(draw_changes(seed, 20), seed)
    return [{**push, "m": push["l"]} for push in pushes]


def whole(seed: int) -> dict[str, Any]:
    rows = add_up(draw_changes(seed, 20))
    return {**rows, "m": rows["l"]}


def switch(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switches some of them off, or all, or none."""
    share = rng.choice([0, 0.5, 1])
    for name in SWITCHES:
        monkeypatch.setattr(rewrites, name, rng.random() >= share)


def expect_same(seed: int, found: dict[str, Any], written: Mapping[str, Path] = MappingProxyType({})) -> None:
    """The outputs that were `written` are compared as sums of their changes."""
    flow = draw_program(seed)
    for name, value in flow.run(**whole(seed), negative="allow").items():
        if name in written:
            rows: Any = table(flow._outputs[name].collection, value).to_pylist()
            expected = [(row.pop(WEIGHTS), repr(row)) for row in rows]
            given: Counter[str] = Counter()
            for version in read_back(written[name]):
                given.update(version)  # which adds up, also below zero
            assert {row: weight for row, weight in given.items() if weight} == {row: n for n, row in expected}, name
        else:
            assert found[name] == value, name


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.thorough) for each in range(1, 200))])
def test_drawn_programs_in_tasks(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process, so that every row may be added up before a shuffle, and a key of few rows is hot."""
    for module, name, value in (
        (sending, "FEWEST_ROWS", 0),
        (sending, "ROWS_PER_KEY", 0),
        (hot_keys, "SAMPLE", 8),
        (hot_keys, "LEAST", 2),
    ):
        monkeypatch.setattr(module, name, value)
    rng, started = random.Random(seed), dict.fromkeys("lrm", 0)
    for push in draw_pushes(seed):
        switch(rng, monkeypatch)
        query = Simulated(draw_program(seed), tmp_path, shards=3, seed=seed)
        query.turn(push, started=started)
        started = {name: start + len(push[name]) for name, start in started.items()}
    expect_same(seed, query.values())


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.thorough) for each in range(1, 30))])
def test_drawn_programs_on_spark(spark: Any, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, pushes = random.Random(seed), draw_pushes(seed)
    flow = draw_program(seed)
    kinds: dict[str, Any] = {each.name: each.type.collection for each in flow._scope.inputs}
    tables = {name: [table(of, push[name]) for push in pushes] for name, of in kinds.items() if name != "m"}
    out = {name: tmp_path / "out" / name for name in ("some", "fewer")}
    half = rng.randrange(1, len(pushes) + 1)
    for count in (half, len(pushes)):
        switch(rng, monkeypatch)
        monkeypatch.setattr(micro_batches, "FEW_BYTES", rng.choice([0, 1 << 20]))
        monkeypatch.setattr(micro_batches, "FEW_ROWS", rng.choice([-1, 1 << 10]))  # if -1, Catalyst writes them all
        frames = {name: files(spark, some[:count], tmp_path / name) for name, some in tables.items()}
        query = (
            draw_program(seed)
            .on(spark)
            .start(
                {**frames, "m": frames["l"]},
                {name: Changes(str(folder)) for name, folder in out.items()},
                checkpoint=tmp_path / "checkpoint",
                shards=3,
                trigger={"availableNow": True},
            )
        )
        query.wait()
    expect_same(seed, values(query), out)
