"""`fixpoint` on every engine: relations that follow insertions and deletions."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw

import flo
from tests.engines.engine import Engine
from tests.engines.families import Family, Program

FAMILY = Family("fixpoint verbs", sample=("reach_follows_a_bridge", "shortest_paths"))


class Edge(NamedTuple):
    src: str
    dst: str


class Road(NamedTuple):
    src: str
    dst: str
    km: int


class Place(NamedTuple):
    node: str
    km: int


class Node(NamedTuple):
    node: str


def edges(*pairs: str) -> dict[Edge, int]:
    """Edges from "ab", which leads from a to b; "-ab" retracts it."""
    return {Edge(*pair[-2:]): -1 if pair[0] == "-" else 1 for pair in pairs}


def closure(reach: Any, given: Any) -> Any:
    further = reach.join(given, on="dst", other_on="src").select(src="src", dst="dst_right")
    return given.union(further)


@FAMILY.program
def reach_follows_a_bridge(p: Program) -> None:
    given = p.input(flo.ZSet[Edge], edges("ab", "bc", "cd", "dc"), edges("-bc"), edges("bc", "da"))
    all_pairs = edges(*(one + other for one in "abcd" for other in "abcd"))
    p.expect(
        given.fixpoint(closure),
        edges("ab", "ac", "ad", "bc", "bd", "cd", "cc", "dc", "dd"),
        edges("ab", "cd", "cc", "dc", "dd"),
        all_pairs,
    )


@FAMILY.program
def duplicates_and_loops(p: Program) -> None:
    """An edge that is there twice stays when it is retracted once. A row that is owed is not there."""
    given = p.input(flo.ZSet[Edge], {**edges("aa", "ab"), Edge("b", "c"): 2}, edges("-bc", "-aa"), edges("-ab", "-bc"))
    p.expect(given.fixpoint(closure), edges("aa", "ab", "ac", "bc"), edges("ab", "ac", "bc"), {})


@FAMILY.program
def functions_in_a_body(p: Program) -> None:
    given = p.input(flo.ZSet[Edge], edges("ab", "bc"), edges("ca"), edges("-ab"))

    def body(reach: Any, given: Any) -> Any:
        return given.union(
            reach.join(given, lambda r: r.dst, lambda e: e.src, lambda r, e: Edge(r.src, e.dst)).filter(
                lambda row: row.src != row.dst
            )
        )

    p.expect(
        given.fixpoint(body),
        edges("ab", "bc", "ac"),
        edges("ab", "bc", "ac", "ca", "ba", "cb"),
        edges("bc", "ca", "ba"),
    )


@FAMILY.program
def shortest_paths(p: Program) -> None:
    """The length falls when a road is built, and rises when it is closed."""
    first = {Road("a", "b", 5): 1, Road("b", "c", 5): 1, Road("a", "c", 20): 1}
    roads = p.input(flo.ZSet[Road], first, {Road("a", "b", 1): 1}, {Road("b", "c", 5): -1})
    start = p.flow.constant(flo.ZSet[Place], {Place("a", 0): 1})

    def body(best: Any) -> Any:
        further = best.join(roads, on="node", other_on="src")
        further = further.select(node="dst", km=nw.col("km") + nw.col("km_right"))
        return start.union(further).group_by("node").agg(km=flo.min("km"))

    best = p.flow.fixpoint(best=flo.ZSet[Place], body=body)
    p.expect(
        best,
        {Place("a", 0): 1, Place("b", 5): 1, Place("c", 10): 1},
        {Place("a", 0): 1, Place("b", 1): 1, Place("c", 6): 1},
        {Place("a", 0): 1, Place("b", 1): 1, Place("c", 20): 1},
    )


@FAMILY.program
def relations_that_need_each_other(p: Program) -> None:
    """Pairs that are an even and an odd number of edges apart."""
    given = p.input(flo.ZSet[Edge], edges("ab", "bc"), edges("ca"), edges("-ca", "cd"))

    def body(even: Any, odd: Any) -> Any:
        def further(pairs: Any) -> Any:
            return pairs.join(given, on="dst", other_on="src").select(src="src", dst="dst_right")

        return further(odd), given.union(further(even))

    even, odd = p.flow.fixpoint(even=flo.ZSet[Edge], odd=flo.ZSet[Edge], body=body)
    every = edges(*(one + other for one in "abc" for other in "abc"))
    p.expect(even, edges("ac"), every, edges("ac", "bd"))
    p.expect(odd, edges("ab", "bc"), every, edges("ab", "bc", "cd", "ad"))


@FAMILY.program
def a_game_with_an_anti_join(p: Program) -> None:
    """A position wins if a move leads to one that does not."""
    moves = p.input(flo.ZSet[Edge], edges("ab", "bc"), edges("cd"), edges("-ab", "ac"))

    def body(wins: Any) -> Any:
        return moves.join(wins, on="dst", other_on="node", how="anti").select(node="src")

    wins = p.flow.fixpoint(wins=flo.ZSet[Node], body=body)
    p.expect(wins, {Node("b"): 1}, {Node("a"): 1, Node("c"): 1}, {Node("c"): 1})


@FAMILY.program
def the_first_two(p: Program) -> None:
    """The two smallest nodes that lead to a node."""
    given = p.input(flo.ZSet[Edge], edges("ad", "bd", "cd"), edges("de"), edges("-ad"))

    def body(first: Any, given: Any) -> Any:
        further = first.join(given, on="dst", other_on="src").select(src="src", dst="dst_right")
        return given.union(further).distinct().top(2, by="dst", order_by="src")

    p.expect(
        given.fixpoint(body),
        edges("ad", "bd"),
        edges("ad", "bd", "ae", "be"),
        edges("bd", "cd", "be", "ce"),
    )


@FAMILY.on_every_engine
def test_fixpoint_verbs(engine: Engine, name: str) -> None:
    FAMILY.check(engine, name)
