"""Recursive programs over random graphs, and what each gives, computed from scratch with networkx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import narwhals as nw
import networkx as nx

import flo

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


Rows = set[tuple[Any, ...]]


@dataclass
class Given:
    """What the inputs add up to."""

    arcs: Counter[Arc] = field(default_factory=Counter)
    starts: Counter[Node] = field(default_factory=Counter)

    def plus(self, delta: Given) -> Given:
        return Given(add(self.arcs, delta.arcs), add(self.starts, delta.starts))

    @property
    def pushed(self) -> dict[str, dict[Any, int]]:
        return {"arcs": dict(self.arcs), "starts": dict(self.starts)}

    @property
    def graph(self) -> nx.DiGraph:
        """The arcs that are there; of several between two nodes, the cheapest."""
        graph = nx.DiGraph()
        for arc in sorted(self.arcs, key=lambda arc: -arc.cost):
            if self.arcs[arc] > 0:
                graph.add_edge(arc.src, arc.dst, cost=arc.cost)
        return graph

    @property
    def forward(self) -> nx.DiGraph:
        """The arcs that lead to a larger node: no cycles."""
        return nx.DiGraph([(a, b) for a, b in self.graph.edges if a < b])

    @property
    def nodes(self) -> set[int]:
        """The nodes to start from."""
        return {row.node for row, count in self.starts.items() if count > 0}


def add(there: Counter[Any], delta: Counter[Any]) -> Counter[Any]:
    return Counter({row: there[row] + delta[row] for row in {**there, **delta} if there[row] + delta[row]})


class Program(NamedTuple):
    make: Callable[[flo.Flow, Any, Any], dict[str, Any]]
    """The outputs, of the flow, the arcs and the starts."""
    expect: Callable[[Given], dict[str, Rows] | None]
    """The rows of the outputs; None if there is no fixpoint."""


PROGRAMS: dict[str, Program] = {}


def program(expect: Callable[[Given], dict[str, Rows] | None]) -> Callable[[Any], Any]:
    def named(make: Any) -> Any:
        PROGRAMS[make.__name__.replace("_", " ")] = Program(make, expect)
        return make

    return named


def build(*names: str) -> flo.Flow:
    """A flow with the outputs of these programs."""
    flow = flo.Flow("recursion")
    arcs, starts = flow.input("arcs", flo.ZSet[Arc]), flow.input("starts", flo.ZSet[Node])
    for name in names:
        for output, stream in PROGRAMS[name].make(flow, arcs, starts).items():
            flow.output(output, stream)
    flow.output("starts", starts)  # every program has both inputs
    return flow


def expected(given: Given, *names: str) -> dict[str, Rows] | None:
    """What the outputs of these programs have; None if one has no fixpoint."""
    found = [PROGRAMS[name].expect(given) for name in names]
    if None in found:
        return None
    return {output: rows for each in found for output, rows in (each or {}).items()}


def further(pairs: Any, arcs: Any) -> Any:
    return pairs.join(arcs, on="dst", other_on="src").select(src="src", dst="dst_right")


def pairs_of(arcs: Any) -> Any:
    return arcs.select("src", "dst")


def closure_rows(name: str) -> Callable[[Given], dict[str, Rows]]:
    return lambda given: {name: set(nx.transitive_closure(given.graph, reflexive=False).edges)}


@program(closure_rows("closure"))
def closure(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    pairs = pairs_of(arcs)
    return {"closure": flow.fixpoint(reach=flo.ZSet[Pair], body=lambda reach: pairs.union(further(reach, pairs)))}


@program(closure_rows("squared"))
def squared(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """The closure, by joining the relation with itself."""
    pairs = pairs_of(arcs)
    return {"squared": flow.fixpoint(reach=flo.ZSet[Pair], body=lambda reach: pairs.union(further(reach, reach)))}


@program(closure_rows("by_hand"))
def by_hand(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """The closure with functions that are called row by row."""
    pairs = pairs_of(arcs)

    def body(reach: Any) -> Any:
        more = reach.join(pairs, lambda r: r.dst, lambda g: g.src, lambda r, g: Pair(r.src, g.dst))
        return pairs.map(lambda g: Pair(g.src, g.dst)).union(more)

    return {"by_hand": flow.fixpoint(reach=flo.ZSet[Pair], body=body)}


def reached(graph: nx.DiGraph, starts: set[int]) -> Rows:
    return {
        (node,) for start in starts for node in ({start} | nx.descendants(graph, start) if start in graph else {start})
    }


@program(lambda given: {"reach": reached(given.graph, given.nodes)})
def reach(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    def body(reach: Any, starts: Any) -> Any:
        return starts.union(reach.join(arcs, on="node", other_on="src").select(node="dst"))

    return {"reach": starts.fixpoint(body)}


def avoiding_rows(given: Given) -> dict[str, Rows]:
    graph = given.graph
    pairs = nx.DiGraph((a, b) for a, b in graph.edges if b not in given.nodes)
    return {"avoiding": set(nx.transitive_closure(pairs, reflexive=False).edges)}


@program(avoiding_rows)
def avoiding(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """The pairs with a path that does not enter a start: an anti join of the relation with something else."""
    pairs = pairs_of(arcs)

    def body(reach: Any) -> Any:
        return pairs.union(further(reach, pairs)).join(starts, on="dst", other_on="node", how="anti")

    return {"avoiding": flow.fixpoint(reach=flo.ZSet[Pair], body=body)}


def shortest_rows(given: Given) -> dict[str, Rows]:
    starts, graph = given.nodes, given.graph
    graph.add_nodes_from(starts)
    return {
        "best": set(nx.multi_source_dijkstra_path_length(graph, starts, weight="cost").items()) if starts else set()
    }


@program(shortest_rows)
def shortest(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """Paths from the nearest start."""
    begin = starts.select(node="node", label=nw.lit(0))

    def body(best: Any) -> Any:
        more = best.join(arcs, on="node", other_on="src").select(node="dst", label=nw.col("label") + nw.col("cost"))
        return begin.union(more).group_by("node").agg(label=flo.min("label"))

    return {"best": flow.fixpoint(best=flo.ZSet[Label], body=body)}


def component_rows(given: Given) -> dict[str, Rows]:
    parts = nx.connected_components(given.graph.to_undirected())
    return {"labels": {(node, min(part)) for part in parts for node in part}}


@program(component_rows)
def components(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    def body(labels: Any) -> Any:
        both = pairs_of(arcs).union(arcs.select(src="dst", dst="src"))
        own = both.select(node="src", label="src")
        more = labels.join(both, on="node", other_on="src").select(node="dst", label="label")
        return own.union(more).group_by("node").agg(label=flo.min("label"))

    return {"labels": flow.fixpoint(labels=flo.ZSet[Label], body=body)}


def part_rows(given: Given) -> dict[str, Rows]:
    """Of arcs as often as they are there."""
    graph, needs = given.forward, dict[int, Counter[int]]()
    for node in reversed(list(nx.topological_sort(graph))):
        needs[node] = Counter()
        for arc, count in given.arcs.items():
            if arc.src == node < arc.dst and count > 0:
                for other, more in {**needs[arc.dst], arc.dst: 1}.items():
                    needs[node][other] += arc.cost * count * more
    return {"parts": {(node, other, count) for node, some in needs.items() for other, count in some.items()}}


@program(part_rows)
def parts(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """How many of each part a product has, if an arc says how often a larger part has a smaller one."""
    uses = arcs.filter(nw.col("src") < nw.col("dst"))

    def body(needs: Any) -> Any:
        deeper = needs.join(uses, on="dst", other_on="src").select(
            src="src", dst="dst_right", cost=nw.col("cost") * nw.col("cost_right")
        )
        return uses.union(deeper).group_by("src", "dst").agg(cost=flo.sum("cost"))

    return {"parts": flow.fixpoint(needs=flo.ZSet[Arc], body=body)}


def parity_rows(given: Given) -> dict[str, Rows]:
    """A walk changes between two copies of the graph, for even and odd lengths."""
    doubled = nx.DiGraph(((a, side), (b, not side)) for a, b in given.graph.edges for side in (False, True))
    pairs = nx.transitive_closure(doubled, reflexive=False).edges
    found: dict[str, Rows] = {"even": set(), "odd": set()}
    for (start, side), (end, other) in pairs:
        found["even" if side == other else "odd"].add((start, end))
    return found


@program(parity_rows)
def parity(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """Two relations that need each other."""
    pairs = pairs_of(arcs)

    def body(even: Any, odd: Any) -> Any:
        return further(odd, pairs), pairs.union(further(even, pairs))

    even, odd = flow.fixpoint(even=flo.ZSet[Pair], odd=flo.ZSet[Pair], body=body)
    return {"even": even, "odd": odd}


def winning(moves: Any) -> Callable[[Any], Any]:
    """A position wins if a move leads to one that does not."""
    return lambda wins: moves.join(wins, on="dst", other_on="node", how="anti").select(node="src")


def game_rows(given: Given) -> dict[str, Rows]:
    graph, wins = given.forward, set[int]()
    for node in reversed(list(nx.topological_sort(graph))):
        if any(after not in wins for after in graph.successors(node)):
            wins.add(node)
    return {"wins": {(node,) for node in wins}}


@program(game_rows)
def game(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    moves = pairs_of(arcs).filter(nw.col("src") < nw.col("dst"))
    return {"wins": flow.fixpoint(wins=flo.ZSet[Node], body=winning(moves))}


def in_rounds(body: Callable[[Rows], Rows]) -> Rows | None:
    """The first relation that a round does not change: what a body means that takes rows back."""
    relation: Rows = set()
    for _ in range(MOST + 1):
        after = body(relation)
        if after == relation:
            return relation
        relation = after
    return None


def circle_rows(given: Given) -> dict[str, Rows] | None:
    moves = {arc[:2] for arc, count in given.arcs.items() if count > 0 and (arc.src < arc.dst or arc.cost == 3)}
    found = in_rounds(lambda wins: {(a,) for a, b in moves if (b,) not in wins})
    return None if found is None else {"circles": found}


@program(circle_rows)
def circles(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """The game with some moves back, so that there may be no fixpoint."""
    moves = pairs_of(arcs.filter((nw.col("src") < nw.col("dst")) | (nw.col("cost") == 3)))
    return {"circles": flow.fixpoint(wins=flo.ZSet[Node], body=winning(moves), most_rounds=MOST)}


def first_two_rows(given: Given) -> dict[str, Rows] | None:
    graph = given.graph

    def body(first: Rows) -> Rows:
        every = {*graph.edges, *((a, c) for a, b in first for c in graph.successors(b))}
        ranked = {end: sorted(a for a, b in every if b == end)[:2] for _, end in every}
        return {(a, end) for end, some in ranked.items() for a in some}

    found = in_rounds(body)
    return None if found is None else {"first": found}


@program(first_two_rows)
def first_two(flow: flo.Flow, arcs: Any, starts: Any) -> dict[str, Any]:
    """The two smallest nodes that lead to a node."""
    pairs = pairs_of(arcs)

    def body(first: Any) -> Any:
        return pairs.union(further(first, pairs)).distinct().top(2, by="dst", order_by="src")

    return {"first": flow.fixpoint(first=flo.ZSet[Pair], body=body, most_rounds=MOST)}


ALWAYS = tuple(name for name in PROGRAMS if name not in ("circles", "first two"))
"""The programs that have a fixpoint for every graph."""
