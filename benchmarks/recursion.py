"""Recursion that follows changes, beside computing the result anew.

    python -m benchmarks.recursion                      # some minutes
    python -m benchmarks.recursion --scale 0.1          # a tenth of the edges
    python -m benchmarks.recursion --spark              # on Spark instead; needs Java

- closure: all pairs with a path between them, of 1,000 edges over 860 nodes. One edge goes, and comes back.
- growth: 10 thousand to a million random edges, half as many nodes, deltas of 1,000 edges of which half go.
- chains: reachability along a chain, of which an edge goes.

Every result is compared with that of each peer. Times are medians of the time of the processor, of all threads: on a
busy machine it says more than the clock.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import duckdb
import networkx as nx
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import flo
from benchmarks.recursion_graphs import (
    START,
    WEIGHT,
    ByNetworkx,
    ByScipy,
    Graph,
    Maintained,
    closure,
    components,
    reachability,
)

EDGES, NODES, SEED, DELETED = 1_000, 860, 423, 40
SIZES, DELTA, DELTAS = (10_000, 100_000, 1_000_000), 1_000, 10
DEPTHS = (10, 100, 1_000)
WIDTH = 130
CLOSURE = """WITH RECURSIVE reach AS (
    SELECT src, dst FROM edges UNION SELECT reach.src, edges.dst FROM reach JOIN edges ON reach.dst = edges.src
) SELECT src, dst FROM reach"""
REACH = f"""WITH RECURSIVE reach AS (
    SELECT {START} AS node UNION SELECT edges.dst FROM reach JOIN edges ON reach.node = edges.src
) SELECT node FROM reach"""

T = TypeVar("T")


class Clock:
    """The seconds of the processor that calls of one side have taken."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def time(self, function: Callable[..., T], *arguments: Any) -> T:
        started = time.process_time()
        result = function(*arguments)
        self.seconds.append(time.process_time() - started)
        return result

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def clocks(count: int) -> tuple[Clock, ...]:
    return tuple(Clock() for _ in range(count))


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.1f} ms"


def ratio(peer: Clock, ours: Clock) -> str:
    """How many times as long a peer takes."""
    return f"{peer.median / ours.median:,.1f}"


def titled(title: str, left: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(left)
    for column in columns:
        table.add_column(column, justify="right")
    return table


class Pairs:
    """A set that follows changes of rows."""

    def __init__(self) -> None:
        self.rows: set[tuple[int, ...]] = set()

    def apply(self, changes: pa.Table) -> None:
        rows = list(zip(*(changes[name].to_pylist() for name in changes.column_names), strict=True))
        gone, come = ({tuple(row) for *row, weight in rows if weight == sign} for sign in (-1, 1))
        assert len(gone) + len(come) == changes.num_rows
        assert gone <= self.rows, "a row goes that was not there"
        self.rows = (self.rows - gone) | come


def closures(deleted: int = DELETED) -> Table:
    """One edge of a small graph goes, and comes back."""
    graph = Graph(EDGES, NODES, 1, 2 * deleted, directed=True, seed=SEED)
    loop, ours = closure().on(flo.here).loop(), Pairs()
    nothing = graph.first[:0]
    ours.apply(_push(loop, graph.table(graph.first, nothing), "closure"))
    pairs, by_networkx = len(ours.rows), nx.DiGraph(graph.pairs(graph.first))
    goes, comes, duck, other = clocks(4)
    for code in next(graph.deltas()).gone:
        one, rest = np.array([code]), graph.first[graph.first != code]
        ours.apply(goes.time(_push, loop, graph.table(nothing, one), "closure"))
        expected = duck.time(_query, _database(graph.table(rest, nothing)), CLOSURE)
        assert ours.rows == set(zip(*expected.values(), strict=True)), "DuckDB has another closure"
        by_networkx.remove_edges_from(graph.pairs(one))
        found = other.time(nx.transitive_closure, by_networkx, False)
        assert ours.rows == set(found.edges), "networkx has another closure"
        by_networkx.add_edges_from(graph.pairs(one))
        ours.apply(comes.time(_push, loop, graph.table(one, nothing), "closure"))
    assert len(ours.rows) == pairs
    title = f"closure of {EDGES:,} edges over {NODES} nodes, {pairs:,} pairs; {deleted} edges, one after the other"
    table = titled(title, "", "median", "most", "/ flo, edge deleted")
    rows = {"flo, edge deleted": goes, "flo, edge inserted": comes, "DuckDB, recursive CTE": duck, "networkx": other}
    for name, each in rows.items():
        table.add_row(name, milliseconds(each.median), milliseconds(max(each.seconds)), ratio(each, goes))
    return table


def _push(loop: Any, table: pa.Table, output: str) -> pa.Table:
    loop.push(edges=table)
    return loop.pull(output)


def _database(edges: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("given", edges)
    connection.execute("CREATE TABLE edges AS SELECT src, dst FROM given")
    return connection


def _query(connection: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    return connection.execute(text).fetchnumpy()


def growth(scale: float, sizes: Iterable[int] = SIZES) -> Table:
    """Reachability and components, as a graph grows."""
    title = f"deltas of {DELTA:,} edges, half of them deletions; median of {DELTAS}"
    table = titled(title, "", "edges", "flo, load", "flo", "most", "networkx", "/ flo", "scipy", "/ flo")
    for name, flow, directed in (("reachability", reachability, True), ("components", components, False)):
        for size in sizes:
            edges = int(size * scale)
            graph = Graph(edges, edges // 2, DELTAS + 1, min(DELTA, edges // 20), directed=directed)
            table.add_row(name, f"{edges:,}", *_grown(flow(), graph, directed))
    return table


def _grown(flow: flo.Flow, graph: Graph, directed: bool) -> list[str]:
    """The times of a program and of its peers, on one graph."""
    ours, peer, matrix = (
        Maintained(flow, graph),
        ByNetworkx(graph, directed=directed),
        ByScipy(graph, directed=directed),
    )
    load, push, networkx, scipy = clocks(4)
    ours.apply(load.time(ours.push, graph.table(graph.first, graph.first[:0])))
    for number, delta in enumerate(graph.deltas()):
        ours.apply(push.time(ours.push, graph.table(delta.come, delta.gone)))
        found = networkx.time(peer.compute, delta)
        assert (peer.labels(found) == ours.labels).all(), "networkx has another result"
        labels = scipy.time(matrix.compute, delta.edges)
        assert (matrix.labels(labels, delta.edges) == ours.labels).all(), "scipy has another result"
        if not number:  # the first delta builds indexes
            for clock in (push, networkx, scipy):
                clock.seconds.clear()
    peers = [text for clock in (networkx, scipy) for text in (milliseconds(clock.median), ratio(clock, push))]
    return [f"{load.median:,.2f} s", milliseconds(push.median), milliseconds(max(push.seconds)), *peers]


def chains(depths: Iterable[int] = DEPTHS) -> Table:
    """Reachability along a chain."""
    columns = ("edge", "nodes cut off", "flo", "DuckDB", "/ flo", "networkx", "/ flo")
    table = titled("a chain, of which an edge goes", "depth", *columns)
    for depth in depths:
        loop = reachability().on(flo.here).loop()
        sources = np.arange(depth)
        _push(loop, _chain(sources, 1), "labels")
        for name, at in (("last", depth - 1), ("middle", depth // 2), ("first", 0)):
            ours, duck, other = clocks(3)
            one, rest = np.array([at]), np.delete(sources, at)
            graph = nx.DiGraph(zip(rest.tolist(), (rest + 1).tolist(), strict=True))
            graph.add_node(START)
            for _ in range(5):
                changes = ours.time(_push, loop, _chain(one, -1), "labels")
                assert set(changes[WEIGHT].to_pylist()) == {-1}
                gone = set(changes["node"].to_pylist())
                left = duck.time(_query, _database(_chain(rest, 1)), REACH)
                reached = other.time(nx.descendants, graph, START) | {START}
                assert set(range(depth + 1)) - gone == set(left["node"].tolist()) == reached
                _push(loop, _chain(one, 1), "labels")
            row = (name, f"{len(gone):,}", milliseconds(ours.median), milliseconds(duck.median), ratio(duck, ours))
            table.add_row(f"{depth:,}", *row, milliseconds(other.median), ratio(other, ours))
    return table


def _chain(sources: Any, weight: int) -> pa.Table:
    return pa.table({"src": sources, "dst": sources + 1, WEIGHT: np.full(len(sources), weight)})


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the edges, such as 0.1")
    parser.add_argument("--only", choices=["closure", "growth", "chains"])
    parser.add_argument("--spark", action="store_true", help="on Spark, beside a loop of joins")
    given = parser.parse_args(arguments)
    output = Console(width=WIDTH)
    if given.spark:
        from benchmarks.recursion_spark import beside_a_loop

        output.print(beside_a_loop(given.scale))
        return
    parts = {"closure": closures, "growth": lambda: growth(given.scale), "chains": chains}
    for name, part in parts.items():
        if given.only in (None, name):
            output.print(part())


if __name__ == "__main__":
    main()
