"""Graphs for `benchmarks.recursion`: programs, random edges and their deltas, and peers that recompute a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import narwhals as nw
import networkx as nx
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

import flo

WEIGHT = "_weight"
START = 0
"""The node that reachability starts from, and the smallest."""
STAY = 3
"""How many edges from this node stay."""
NONE = -1
"""The label of a node that is not there."""

Codes = npt.NDArray[np.int64]
"""Edges as numbers: source × nodes + destination."""
Labels = npt.NDArray[np.int64]
"""A label for each node."""


class Edge(NamedTuple):
    src: int
    dst: int


class Node(NamedTuple):
    node: int


class Label(NamedTuple):
    node: int
    label: int


def closure() -> flo.Flow:
    """All pairs of nodes with a path from the first to the second."""
    flow = flo.Flow("closure")
    edges = flow.input("edges", flo.ZSet[Edge])

    def one_more(reach: Any, edges: Any) -> Any:
        return edges.union(reach.join(edges, on="dst", other_on="src").select(src="src", dst="dst_right"))

    flow.output("closure", edges.fixpoint(one_more))
    return flow


def reached_from(flow: flo.Flow, edges: Any) -> Any:
    start = flow.constant(flo.ZSet[Node], {Node(START): 1})

    def one_more(reach: Any) -> Any:
        return start.union(reach.join(edges, on="node", other_on="src").select(node="dst"))

    return flow.fixpoint(reach=flo.ZSet[Node], body=one_more)


def reachability() -> flo.Flow:
    """The nodes with a path from one node, which have the label 0."""
    flow = flo.Flow("reachability")
    flow.output("labels", reached_from(flow, flow.input("edges", flo.ZSet[Edge])).with_columns(label=nw.lit(START)))
    return flow


def components() -> flo.Flow:
    """Each node with the smallest node of its connected component.

    First the nodes that one node reaches. Most nodes of a random graph are in one component, so few are left, and each
    of these takes the smallest label that it hears of.
    """
    flow = flo.Flow("components")
    edges = flow.input("edges", flo.ZSet[Edge])
    both = edges.union(edges.select(src="dst", dst="src"))
    reached = reached_from(flow, both)
    rest = both.join(reached, on="src", other_on="node", how="anti")
    own = rest.select(node="src", label="src").distinct()

    def hear(labels: Any) -> Any:
        heard = labels.join(rest, on="node", other_on="src").select(node="dst", label="label")
        return own.union(heard).group_by("node").agg(label=flo.min("label"))

    others = flow.fixpoint(labels=flo.ZSet[Label], body=hear)
    flow.output("labels", reached.with_columns(label=nw.lit(START)).union(others))
    return flow


class Delta(NamedTuple):
    """Edges that go, edges that come, and all that there are then."""

    gone: Codes
    come: Codes
    edges: Codes


class Graph:
    """Random edges, each once. Of a graph without directions, every edge leads to the larger node."""

    def __init__(self, edges: int, nodes: int, deltas: int, changes: int, *, directed: bool, seed: int = 0) -> None:
        self.nodes, half = nodes, changes // 2
        rng = np.random.default_rng(seed)
        ends = rng.integers(0, nodes, (2, 3 * (edges + half * deltas)))
        ends = ends[:, ends[0] != ends[1] if directed else ends[0] < ends[1]]
        stay = START * nodes + np.arange(1, STAY + 1)  # or one deletion may cut off everything
        codes = np.setdiff1d(ends[0] * nodes + ends[1], stay)
        rng.shuffle(codes)
        changing, rest = codes[: edges - STAY], codes[edges : edges + half * deltas]
        self.first = np.concatenate([stay, changing])
        self._gone = rng.permutation(changing)[: half * deltas].reshape(deltas, half)
        self._come = rest.reshape(deltas, half)

    def deltas(self) -> Iterator[Delta]:
        edges = self.first
        for gone, come in zip(self._gone, self._come, strict=True):
            edges = np.concatenate([np.setdiff1d(edges, gone, assume_unique=True), come])
            yield Delta(gone, come, edges)

    def pairs(self, codes: Codes) -> list[tuple[int, int]]:
        return list(zip((codes // self.nodes).tolist(), (codes % self.nodes).tolist(), strict=True))

    def table(self, come: Codes, gone: Codes) -> pa.Table:
        codes = np.concatenate([come, gone])
        weights = np.repeat([1, -1], [len(come), len(gone)])
        return pa.table({"src": codes // self.nodes, "dst": codes % self.nodes, WEIGHT: weights})


class Maintained:
    """A program of Flo, with the labels that its changes add up to."""

    def __init__(self, flow: flo.Flow, graph: Graph) -> None:
        self.graph, self.loop = graph, flow.on(flo.here).loop()
        self.labels: Labels = np.full(graph.nodes, NONE)

    def push(self, edges: pa.Table) -> pa.Table:
        self.loop.push(edges=edges)
        return self.loop.pull("labels")

    def apply(self, changes: pa.Table) -> None:
        """Add changes to the labels, which takes no time of a push."""
        node, label, weight = (changes[name].to_numpy() for name in ("node", "label", WEIGHT))
        assert set(weight.tolist()) <= {1, -1}
        gone, come = weight < 0, weight > 0
        assert (self.labels[node[gone]] == label[gone]).all(), "a label goes that was not there"
        self.labels[node[gone]] = NONE
        assert (self.labels[node[come]] == NONE).all(), "a node has two labels"
        self.labels[node[come]] = label[come]


class ByNetworkx:
    """A graph of networkx that follows the edges, and results that are computed anew."""

    def __init__(self, graph: Graph, *, directed: bool) -> None:
        self.of, self.graph = graph, nx.DiGraph() if directed else nx.Graph()
        self.graph.add_edges_from(graph.pairs(graph.first))

    def compute(self, delta: Delta) -> list[set[int]]:
        """Change the edges; return the nodes that one node reaches, or those of each component."""
        self.graph.remove_edges_from(self.of.pairs(delta.gone))
        self.graph.add_edges_from(self.of.pairs(delta.come))
        if self.graph.is_directed():
            return [nx.descendants(self.graph, START) | {START}]
        return list(nx.connected_components(self.graph))

    def labels(self, found: list[set[int]]) -> Labels:
        labels = np.full(self.of.nodes, NONE)
        for some in found:
            nodes = np.fromiter(some, np.int64, len(some))
            if START in some or len(some) > 1:  # others have no edge any more
                labels[nodes] = nodes.min()
        return labels


class ByScipy:
    """A matrix of scipy that is made of the edges, and results that are computed from it."""

    def __init__(self, graph: Graph, *, directed: bool) -> None:
        self.of, self.directed = graph, directed

    def compute(self, edges: Codes) -> Any:
        nodes = self.of.nodes
        ends = edges // nodes, edges % nodes
        matrix = coo_array((np.ones(len(edges), np.int8), ends), shape=(nodes, nodes)).tocsr()
        if self.directed:
            return breadth_first_order(matrix, START, return_predecessors=False)
        return connected_components(matrix, directed=False)[1]

    def labels(self, found: Any, edges: Codes) -> Labels:
        labels = np.full(self.of.nodes, NONE)
        if self.directed:
            labels[found] = START
        else:
            least = np.full(found.max() + 1, self.of.nodes)
            np.minimum.at(least, found, np.arange(self.of.nodes))
            there = np.union1d(np.unique(np.concatenate([edges // self.of.nodes, edges % self.of.nodes])), [START])
            labels[there] = least[found[there]]
        return labels
