"""Changed programs on the checkpoint of the one before: what is the same is kept, and the rest is filled."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from tests.engines.engine import comparable
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, Draw
from tests.spark.simulated import as_plain


def build(parts: dict[str, int]) -> flo.Flow:
    """A program with an output for each of these seeds."""
    draw = Draw(0)
    for name, each in draw.inputs.items():
        draw.flow.output(f"count of {name}", each.stream.agg(n=flo.count()))
    for name, seed in parts.items():
        draw.rng, draw.joins = random.Random(seed), 0
        draw.flow.output(name, draw.relation(draw.rng.randrange(1, 4)).stream)
    return draw.flow


def edit(parts: dict[str, int], rng: random.Random) -> dict[str, int]:
    """Adds an output, removes one, replaces one, renames one, or changes their order."""
    parts, new = dict(parts), f"out {rng.randrange(1000)}"
    match rng.choice(["add", "add", "remove", "replace", "rename", "move"]):
        case "remove" if len(parts) > 1:
            parts.pop(rng.choice(list(parts)))
        case "replace":
            parts[rng.choice(list(parts))] = rng.randrange(10_000)
        case "rename":
            parts[new] = parts.pop(rng.choice(list(parts)))
        case "move":
            parts = dict(sorted(parts.items(), reverse=True))
        case _:
            parts[new] = rng.randrange(10_000)
    return parts


def expect_results(query: Any, parts: dict[str, int], deltas: list[Any]) -> None:
    """The views are what the program gives on all input so far."""
    flow = build(parts)
    loop = flow.on(flo.here).loop(negative="allow")
    for delta in deltas:
        loop.push(**delta)
    types = dict(zip(flow._outputs, flow.on(flo.here)._dag.output_types, strict=False))
    result = loop.result()
    views = {name: comparable(query.view(name).value()) for name in types}
    assert views == {name: comparable(as_plain(types[name], result[name])) for name in types}


@pytest.mark.parametrize("seed", range(times(40)))
def test_random_programs_that_change(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    parts = {f"out {number}": rng.randrange(10_000) for number in range(rng.randrange(1, 4))}
    deltas = random_deltas(SOURCES, seed, 5, 4)
    total = {name: Counter[Any]() for name in SOURCES}
    for turn, delta in enumerate(deltas):
        fill = {name: {row: n for row, n in each.items() if n} for name, each in total.items()}
        shards = None if turn else rng.choice([1, 3])
        with build(parts).on(flo.here).start(checkpoint=tmp_path, shards=shards, changed="fill", fill=fill) as query:
            if turn:
                expect_results(query, parts, deltas[:turn])
            query.push(**delta)
            expect_results(query, parts, deltas[: turn + 1])
        for name, each in delta.items():
            for row, n in each.items():
                total[name][row] += n
        parts = edit(parts, rng)
    assert not list(Checkpoint(str(tmp_path)).problems())
