"""Random graphs that change: cycles, loops, duplicates, extreme numbers, and bridges that are deleted."""

from __future__ import annotations

import random
from collections import Counter

import networkx as nx

from tests.recursion.programs import Arc, Given, Node

EXTREMES = (0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1)


class Graph:
    """A graph that changes. Whoever takes a delta sets what is there after it."""

    def __init__(self, seed: str) -> None:
        self.rng, self.there = random.Random(seed), Given()
        count = self.rng.choice([2, 4, 6, 9])
        self.nodes = self.rng.sample(sorted({*EXTREMES, *range(2, 2 + count)}), count)

    def draw(self) -> tuple[Given, Given]:
        """A delta, and what would be there after it."""
        delta = draw_delta(self.rng, self.nodes, self.there)
        return delta, self.there.plus(delta)

    def take(self) -> tuple[Given, Given]:
        """The same, where every delta is taken."""
        delta, self.there = self.draw()
        return delta, self.there


def draw_delta(rng: random.Random, nodes: list[int], there: Given) -> Given:
    """Arcs and starts that come, come twice, or go."""
    delta = Given()
    for _ in range(rng.choice([0, 1, 1, 2, 5, 12])):
        now = there.plus(delta)
        known = sorted(now.arcs)
        kind = rng.random()
        if known and kind < 0.4:
            delta.arcs[rng.choice(known)] -= 1
        elif known and kind < 0.5:
            delete_bridge(rng, now, delta)
        else:
            delta.arcs[Arc(rng.choice(nodes), rng.choice(nodes), rng.randrange(1, 4))] += rng.choice([1, 1, 2])
    if rng.random() < 0.4:
        known_starts = sorted(there.starts)
        if known_starts and rng.random() < 0.5:
            delta.starts[rng.choice(known_starts)] -= 1
        else:
            delta.starts[Node(rng.choice(nodes))] += rng.choice([1, 2])
    return Given(Counter({a: w for a, w in delta.arcs.items() if w}), delta.starts)


def delete_bridge(rng: random.Random, now: Given, delta: Given) -> None:
    """Delete all arcs between two nodes whose part of the graph falls apart without them; any arc if there is none."""
    graph = now.graph.to_undirected()
    ends = set(rng.choice(sorted(nx.bridges(graph)) or sorted(graph.edges)))
    for arc, count in now.arcs.items():
        if {arc.src, arc.dst} == ends:
            delta.arcs[arc] -= count
