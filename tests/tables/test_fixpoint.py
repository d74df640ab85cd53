"""`fixpoint` on tables: after every delta the result is that of a run from scratch, whatever came before.

Random graphs have cycles, loops, duplicates and bridges that are deleted. Plain Python recomputes each relation.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.tables.operators.fixpoint import FixpointTables, Rounds
from flo.tables.operators.rounds import GroupRounds, JoinRounds, Linear, WeighRounds
from tests.quick import is_thorough, times

MOST = 60
"""Rounds in which a graph of this size reaches its fixpoint, if it does."""


class Arc(NamedTuple):
    src: int
    dst: int
    cost: int


class Pair(NamedTuple):
    src: int
    dst: int


class Label(NamedTuple):
    node: int
    label: int


class Node(NamedTuple):
    node: int


Arcs = Counter[Arc]
Rows = set[tuple[Any, ...]]
Make = Callable[[flo.Flow, Any], dict[str, Any]]
Expect = Callable[[Arcs], "dict[str, Rows] | None"]
"""The outputs for the arcs that there are; None if there is no fixpoint."""


def further(pairs: Any, arcs: Any) -> Any:
    return pairs.join(arcs, on="dst", other_on="src").select(src="src", dst="dst_right")


def pairs_of(arcs: Any) -> Any:
    return arcs.select("src", "dst")


def closure(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    given = pairs_of(arcs)
    return {"closure": flow.fixpoint(reach=flo.ZSet[Pair], body=lambda reach: given.union(further(reach, given)))}


def closure_of(arcs: set[Arc]) -> dict[str, Rows]:
    return {"closure": {(a, c) for a in {arc.src for arc in arcs} for c in reached({a}, arcs)}}


def reached(starts: set[int], arcs: set[Arc]) -> set[int]:
    """The nodes at the ends of paths from these."""
    found: set[int] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        new = {arc.dst for arc in arcs if arc.src == node} - found
        found |= new
        waiting += new
    return found


def squared(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    """The same by joining the relation with itself."""
    given = pairs_of(arcs)

    def body(reach: Any) -> Any:
        return given.union(further(reach, reach))

    return {"closure": flow.fixpoint(reach=flo.ZSet[Pair], body=body)}


def shortest(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    start = flow.constant(flo.ZSet[Label], {Label(0, 0): 1})

    def body(best: Any) -> Any:
        more = best.join(arcs, on="node", other_on="src").select(node="dst", label=nw.col("label") + nw.col("cost"))
        return start.union(more).group_by("node").agg(label=flo.min("label"))

    return {"best": flow.fixpoint(best=flo.ZSet[Label], body=body)}


def shortest_of(arcs: set[Arc]) -> dict[str, Rows]:
    best, waiting = {0: 0}, [0]
    while waiting:
        node = waiting.pop()
        for arc in arcs:
            if arc.src == node and best[node] + arc.cost < best.get(arc.dst, 10**9):
                best[arc.dst] = best[node] + arc.cost
                waiting.append(arc.dst)
    return {"best": set(best.items())}


def components(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    def body(labels: Any) -> Any:
        both = pairs_of(arcs).union(arcs.select(src="dst", dst="src"))
        own = both.select(node="src", label="src")
        more = labels.join(both, on="node", other_on="src").select(node="dst", label="label")
        return own.union(more).group_by("node").agg(label=flo.min("label"))

    return {"labels": flow.fixpoint(labels=flo.ZSet[Label], body=body)}


def components_of(arcs: set[Arc]) -> dict[str, Rows]:
    both = arcs | {Arc(arc.dst, arc.src, 0) for arc in arcs}
    return {"labels": {(arc.src, min(reached({arc.src}, both))) for arc in both}}


def parts(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    """How many of each part a product has, if an arc says how often a larger part has a smaller one."""
    uses = arcs.filter(nw.col("src") < nw.col("dst"))

    def body(needs: Any) -> Any:
        deeper = needs.join(uses, on="dst", other_on="src").select(
            src="src", dst="dst_right", cost=nw.col("cost") * nw.col("cost_right")
        )
        return uses.union(deeper).group_by("src", "dst").agg(cost=flo.sum("cost"))

    return {"parts": flow.fixpoint(needs=flo.ZSet[Arc], body=body)}


def parts_of_arcs(arcs: Arcs) -> dict[str, Rows]:
    """Of arcs as often as they are there."""
    nodes = sorted({node for arc in arcs for node in arc[:2]}, reverse=True)
    needs: dict[int, Counter[int]] = {node: Counter() for node in nodes}
    for node in nodes:
        for arc, count in arcs.items():
            if arc.src == node < arc.dst and count > 0:
                needs[node][arc.dst] += arc.cost * count
                for other, more in needs[arc.dst].items():
                    needs[node][other] += arc.cost * count * more
    return {"parts": {(node, other, count) for node, some in needs.items() for other, count in some.items()}}


def parity(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    given = pairs_of(arcs)

    def body(even: Any, odd: Any) -> Any:
        return further(odd, given), given.union(further(even, given))

    even, odd = flow.fixpoint(even=flo.ZSet[Pair], odd=flo.ZSet[Pair], body=body)
    return {"even": even, "odd": odd}


def parity_of(arcs: set[Arc]) -> dict[str, Rows]:
    steps = {(Pair(arc.src, p), Pair(arc.dst, 1 - p)) for arc in arcs for p in (0, 1)}
    found: dict[str, Rows] = {"even": set(), "odd": set()}
    for start in {arc.src for arc in arcs}:
        seen: set[Pair] = set()
        waiting = [Pair(start, 0)]
        while waiting:
            at = waiting.pop()
            new = {there for here, there in steps if here == at} - seen
            seen |= new
            waiting += new
        for node, odd in seen:
            found["odd" if odd else "even"].add((start, node))
    return found


def game(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    """A position wins if a move leads to one that does not. Moves lead forward, or they may go round in circles."""
    moves = pairs_of(arcs).filter(nw.col("src") < nw.col("dst") + 3)

    def body(wins: Any) -> Any:
        return moves.join(wins, on="dst", other_on="node", how="anti").select(node="src")

    return {"wins": flow.fixpoint(wins=flo.ZSet[Node], body=body, most_rounds=MOST)}


def game_of(arcs: set[Arc]) -> dict[str, Rows] | None:
    wins: Rows = set()
    for _ in range(MOST + 1):
        after: Rows = {(arc.src,) for arc in arcs if arc.src < arc.dst + 3 and (arc.dst,) not in wins}
        if after == wins:
            return {"wins": wins}
        wins = after
    return None


def first_two(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    given = pairs_of(arcs)

    def body(first: Any) -> Any:
        return given.union(further(first, given)).distinct().top(2, by="dst", order_by="src")

    return {"first": flow.fixpoint(first=flo.ZSet[Pair], body=body, most_rounds=MOST)}


def first_two_of(arcs: set[Arc]) -> dict[str, Rows] | None:
    first: Rows = set()
    for _ in range(MOST + 1):
        every = {(arc.src, arc.dst) for arc in arcs} | {(a, arc.dst) for a, b in first for arc in arcs if arc.src == b}
        ranked = {end: sorted(a for a, b in every if b == end)[:2] for end in {b for _, b in every}}
        after: Rows = {(a, end) for end, some in ranked.items() for a in some}
        if after == first:
            return {"first": first}
        first = after
    return None


def by_hand(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
    """The closure with functions that are called row by row."""
    given = pairs_of(arcs)

    def body(reach: Any) -> Any:
        more = reach.join(given, lambda r: r.dst, lambda g: g.src, lambda r, g: Pair(r.src, g.dst))
        return given.map(lambda g: Pair(g.src, g.dst)).union(more)

    return {"closure": flow.fixpoint(reach=flo.ZSet[Pair], body=body)}


def of_set(expect: Callable[[set[Arc]], dict[str, Rows] | None]) -> Expect:
    """Where it does not matter how often an arc is there."""
    return lambda arcs: expect({arc for arc, count in arcs.items() if count > 0})


BODIES: dict[str, tuple[Make, Expect]] = {
    "closure": (closure, of_set(closure_of)),
    "squared": (squared, of_set(closure_of)),
    "shortest": (shortest, of_set(shortest_of)),
    "components": (components, of_set(components_of)),
    "parts": (parts, parts_of_arcs),
    "parity": (parity, of_set(parity_of)),
    "game": (game, of_set(game_of)),
    "first two": (first_two, of_set(first_two_of)),
    "by hand": (by_hand, of_set(closure_of)),
}


def build(make: Make) -> flo.Flow:
    flow = flo.Flow("recursion")
    for name, stream in make(flow, flow.input("arcs", flo.ZSet[Arc])).items():
        flow.output(name, stream)
    return flow


def random_delta(rng: random.Random, nodes: int, there: Arcs) -> Arcs:
    """Arcs that come, or come again, or go."""
    delta = Arcs()
    for _ in range(rng.choice([1, 1, 2, 5, 12])):
        known = [arc for arc, count in add(there, delta).items() if count > 0]
        if known and rng.random() < 0.5:
            delta[rng.choice(known)] -= 1
        else:
            delta[Arc(rng.randrange(nodes), rng.randrange(nodes), rng.randrange(1, 4))] += 1
    return Arcs({arc: weight for arc, weight in delta.items() if weight})


def add(there: Arcs, delta: Arcs) -> Arcs:
    return Arcs({arc: there[arc] + delta[arc] for arc in {**there, **delta}})


def rows_in(found: Any) -> Rows:
    """The rows of an output, each of which is there once."""
    rows = found.to_pylist()
    assert all(row.pop("_weight", 1) == 1 for row in rows)
    return {tuple(row.values()) for row in rows}


@pytest.mark.parametrize("body", BODIES)
def test_after_every_delta_the_result_is_that_of_a_run_from_scratch(body: str) -> None:
    make, expect = BODIES[body]
    flow = build(make)
    for seed in range(18 if is_thorough() else 1):
        rng = random.Random(f"{body} {seed}")
        loop, there, nodes = flow.on(flo.here).loop(), Arcs(), rng.choice([3, 6, 10])
        for _ in range(12):
            delta = random_delta(rng, nodes, there)
            expected = expect(add(there, delta))
            if expected is None:
                with pytest.raises(flo.FixpointError, match=f"after {MOST} rounds"):
                    loop.push(arcs=dict(delta))
                continue
            loop.push(arcs=dict(delta))
            loop.run()
            there, found = add(there, delta), loop.result()
            assert {name: rows_in(found[name]) for name in expected} == expected, f"seed {seed}"


@pytest.mark.parametrize("body", BODIES)
def test_values_are_the_same(body: str) -> None:
    """As the rounds define it, rows of an output that change included."""
    make, _ = BODIES[body]
    flow = build(make)
    for seed in range(times(3)):
        rng = random.Random(f"values {body} {seed}")
        tables, values, there = flow.on(flo.here).loop(), flow.loop(), Arcs()
        for _ in range(8):
            delta = random_delta(rng, 6, there)
            values.push(arcs=dict(delta))
            try:
                values.run()
            except flo.FixpointError:
                with pytest.raises(flo.FixpointError):
                    tables.push(arcs=dict(delta))
                continue
            tables.push(arcs=dict(delta))
            tables.run()
            there = add(there, delta)
            for name in flow._outputs:
                changes = {tuple(row): weight for row, weight in values.pull(name).items()}
                assert changes_in(tables.pull(name)) == changes, f"seed {seed}"


def changes_in(found: Any) -> dict[tuple[Any, ...], int]:
    return {tuple(row[:-1]): row[-1] for row in zip(*(column.to_pylist() for column in found.columns), strict=True)}


@pytest.mark.parametrize("body", BODIES)
def test_a_restored_state_goes_on(body: str, tmp_path: Path) -> None:
    make, expect = BODIES[body]
    flow = build(make)
    for seed in range(times(2)):
        rng = random.Random(f"restored {body} {seed}")
        loop, there = flow.on(flo.here).loop(), Arcs()
        for number in range(8):
            delta = random_delta(rng, 6, there)
            expected = expect(add(there, delta))
            if expected is None:
                continue
            loop.push(arcs=dict(delta))
            loop.run()
            there, found = add(there, delta), loop.result()
            assert {name: rows_in(found[name]) for name in expected} == expected, f"seed {seed}"
            if number % 3 == 1:
                loop.checkpoint(tmp_path / f"{seed}")
                loop = build(make).on(flo.here).loop()
                loop.restore(tmp_path / f"{seed}")


def test_how_the_operators_of_a_body_run() -> None:
    """Joins, unions and `distinct` know rounds; aggregates and others are computed anew for the keys that change."""
    kinds = {
        name: {type(each) for vertex in build(make).on(flo.here)._dag.vertices for each in rounds_in(vertex.operator)}
        for name, (make, _) in BODIES.items()
    }
    assert kinds["closure"] == kinds["parity"] == {JoinRounds, Linear, WeighRounds}
    assert kinds["game"] == {GroupRounds, Linear, WeighRounds}


def rounds_in(operator: Any) -> Iterator[Any]:
    if isinstance(operator, FixpointTables):
        yield from operator._body.operators


def chain(length: int) -> list[Arc]:
    return [Arc(node, node + 1, 1) for node in range(length)]


def reach_from_zero() -> flo.Flow:
    def make(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
        start = flow.constant(flo.ZSet[Node], {Node(0): 1})

        def body(reach: Any) -> Any:
            return start.union(reach.join(arcs, on="node", other_on="src").select(node="dst"))

        return {"reach": flow.fixpoint(reach=flo.ZSet[Node], body=body)}

    return build(make)


def test_a_chain_is_as_deep_as_it_is_long() -> None:
    """State follows the result, and a change at the end of the chain visits the end only."""
    length = 1000
    loop = reach_from_zero().on(flo.here).loop()
    loop.push(arcs=chain(length))
    assert len(loop.pull("reach")) == length + 1
    rows, _ = loop._loop.state_size()
    assert rows < 5 * length
    loop.push(arcs={Arc(length - 1, length, 1): -1})
    assert changes_in(loop.pull("reach")) == {(length,): -1}
    loop.push(arcs={Arc(0, 1, 1): -1})
    assert len(loop.pull("reach")) == length - 1


def test_rounds_without_changes_are_not_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[int] = []
    take = Rounds._take
    monkeypatch.setattr(Rounds, "_take", lambda self, number: (visited.append(number), take(self, number))[1])
    loop = reach_from_zero().on(flo.here).loop()
    loop.push(arcs=chain(50))
    assert visited == list(range(52))
    visited.clear()
    loop.push(arcs={Arc(40, 60, 1): 1})
    assert visited == [0, 41, 42]


def test_deltas_leave_nothing_behind() -> None:
    """What comes and goes again is consolidated by row and round."""
    loop = build(closure).on(flo.here).loop()
    arcs = [Arc(node, (3 * node + step) % 40, 1) for node, step in product(range(40), (1, 7))]
    loop.push(arcs=arcs)
    loop.pull("closure")
    rows, _ = loop._loop.state_size()
    for number in range(60):
        loop.push(arcs={arcs[number]: -1})
        loop.push(arcs={arcs[number]: 1})
    loop.pull("closure")
    after, _ = loop._loop.state_size()
    assert after < 2 * rows


def test_a_function_that_raises_names_the_line_and_changes_nothing() -> None:
    def make(flow: flo.Flow, arcs: Any) -> dict[str, Any]:
        def body(nodes: Any) -> Any:
            return arcs.select(node="src").union(nodes.map(lambda row: Node(12 // row.node - 1)))

        return {"nodes": flow.fixpoint(nodes=flo.ZSet[Node], body=body)}

    loop = build(make).on(flo.here).loop()
    loop.push(arcs=[Arc(3, 0, 0)])
    assert changes_in(loop.pull("nodes")) == {(3,): 1}
    with pytest.raises(flo.FunctionError, match="ZeroDivisionError") as caught:
        loop.push(arcs=[Arc(12, 0, 0)])
    assert "lambda row" in str(caught.value)
    assert "Node(node=0)" in str(caught.value)
    loop.push(arcs={Arc(3, 0, 0): -1})
    assert changes_in(loop.pull("nodes")) == {(3,): -1}


class Wide(NamedTuple):
    text: str | None
    number: float
    next: float


def test_extreme_values() -> None:
    """Nulls, nan and both zeros are rows like others."""
    flow = flo.Flow("wide")
    wide = flow.input("wide", flo.ZSet[Wide])

    def body(reach: Any, wide: Any) -> Any:
        return wide.union(
            reach.join(wide, on="next", other_on="number").select(text="text", number="number", next="next_right")
        )

    flow.output("reach", wide.fixpoint(body))
    nan = float("nan")
    rows = [Wide(None, 1.0, -0.0), Wide("", 0.0, nan), Wide("é", nan, float("inf")), Wide("x", 1e308, 5e-324)]
    results = []
    for loop in (flow.on(flo.here).loop(), flow.loop()):
        loop.push(wide=rows)
        loop.run()
        loop.push(wide={rows[1]: -1})
        loop.run()
        results.append(len(loop.result()["reach"]))
    assert results == [3, 3]
