"""Recursion in shards on a checkpoint: kept, filled and rescaled as any operator."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from tests.quick import times
from tests.rescaling import rescale


class Edge(NamedTuple):
    src: int
    dst: int


def closure(reach: Any, edges: Any) -> Any:
    return edges.union(reach.join(edges, on="dst", other_on="src").select(src="src", dst="dst_right"))


def without_circles(reach: Any, edges: Any) -> Any:
    return closure(reach, edges).filter(nw.col("src") != nw.col("dst"))


def build(*parts: str) -> flo.Flow:
    """The pairs that are connected, and more: those within some nodes, and how many each node has. "direct" has another
    body."""
    flow = flo.Flow("reach")
    edges = flow.input("edges", flo.ZSet[Edge])
    reach = edges.fixpoint(without_circles if "direct" in parts else closure)
    flow.output("reach", reach)
    if "counts" in parts:
        flow.output("counts", reach.group_by("src").agg(n=flo.count()))
    if "small" in parts:
        flow.output("small", edges.fixpoint(lambda r, e: closure(r, e.filter(nw.col("dst") < 5))))
    return flow


def pairs(edges: set[Edge]) -> set[tuple[int, int]]:
    found = {tuple(edge) for edge in edges}
    while more := {(a, d) for a, b in found for c, d in edges if b == c} - found:
        found |= more
    return found  # type: ignore[return-value]


def rows(view: Any) -> set[tuple[Any, ...]]:
    return {tuple(row.values())[:-1] for row in view.arrow().to_pylist()}


def expect(query: Any, parts: tuple[str, ...], edges: set[Edge]) -> None:
    reach = {(a, b) for a, b in pairs(edges) if a != b or "direct" not in parts}
    assert rows(query.view("reach")) == reach
    if "counts" in parts:
        assert rows(query.view("counts")) == {(a, len([b for c, b in reach if c == a])) for a, _ in reach}
    if "small" in parts:
        assert rows(query.view("small")) == pairs({edge for edge in edges if edge.dst < 5})


@pytest.mark.parametrize("seed", range(times(6)))
@pytest.mark.every(test=2)
def test_a_fixpoint_is_kept_filled_and_rescaled(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    there: set[Edge] = set()
    for turn in range(5):
        parts = tuple(each for each in ("counts", "small", "direct") if rng.random() < 0.5)
        delta = {Edge(rng.randrange(7), rng.randrange(7)) for _ in range(4)}
        weights = {edge: -1 if edge in there else 1 for edge in delta}
        fill = {"edges": dict.fromkeys(there, 1)}
        if turn:
            rescale(str(tmp_path), rng.choice([1, 2, 3]))
        with build(*parts).on(flo.here).start(checkpoint=tmp_path, changed="fill", fill=fill) as query:
            if turn:
                expect(query, parts, there)
            query.push(edges=weights)
            there ^= delta
            expect(query, parts, there)
    assert not list(Checkpoint(str(tmp_path)).problems())


def test_a_name_does_not_keep_the_state_of_another_body(tmp_path: Path) -> None:
    there = {Edge(1, 2), Edge(2, 1)}
    for body in (closure, without_circles):
        flow = flo.Flow("reach")
        flow.output("reach", flow.input("edges", flo.ZSet[Edge]).fixpoint(body).named("pairs"))
        given = dict.fromkeys(there, 1)
        with flow.on(flo.here).start(checkpoint=tmp_path, changed="fill", fill={"edges": given}) as query:
            query.push(edges=given if body is closure else {})
            assert rows(query.view("reach")) == {(a, b) for a, b in pairs(there) if a != b or body is closure}


def test_in_several_processes() -> None:
    loop = build("counts").on(flo.here, workers=2).loop()
    there: set[Edge] = set()
    rng = random.Random(1)
    for _ in range(3):
        delta = {Edge(rng.randrange(6), rng.randrange(6)) for _ in range(5)}
        loop.push(edges={edge: -1 if edge in there else 1 for edge in delta})
        there ^= delta
        found = {tuple(row.values())[:2] for row in loop.result()["reach"].to_pylist()}
        assert found == pairs(there)


def test_explain_says_that_it_is_in_one_place() -> None:
    text = build().on(flo.here, workers=2).explain()
    (line,) = [line for line in text.splitlines() if "fixpoint" in line and "in one place" in line]
    assert "at most 10,000 rounds" in line
