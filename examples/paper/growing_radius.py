"""§5.2: reachability with a growing radius. Each query continues from the result of the last: nested cycles."""

from __future__ import annotations

import flo
from examples.paper.reachability import EDGES, Edge


def hop(
    edges: flo.Stream[flo.Set[Edge], flo.Bounded],
    bootstrap: flo.Stream[flo.Set[int], flo.Bounded],
    loop: flo.Loop,
) -> flo.Stream[flo.Set[int], flo.Bounded]:
    """One round of the inner cycle: the known nodes, and those one edge further."""
    known = loop.read_defer("known", flo.Set[int], initial=set()).union(bootstrap)
    reached = known.union(known.join(edges))
    loop.write_defer("known", reached)
    return reached


def query(
    edges: flo.Stream[flo.Set[Edge], flo.Bounded],
    amount: flo.Stream[flo.Sequence[int], flo.Bounded],
    loop: flo.Loop,
) -> flo.Stream[flo.Set[int], flo.Bounded]:
    """One round of the outer cycle: as many hops as the query asks for, from where the last query stopped."""
    before = loop.read_defer("reached", initial={0})
    rounds = edges.repeat_nested(amount)
    hops = rounds.zip(before.nest_once(rounds)).nest(hop)
    reached = before.union(hops.last())
    loop.write_defer("reached", reached)
    return reached


def growing() -> flo.Flow:
    flow = flo.Flow("growing radius")
    edges = flow.input("edges", flo.Nested[flo.Set[Edge]])
    queries = flow.input("queries", flo.Nested[flo.Sequence[int]])
    flow.output("reached", edges.zip(queries).nest(query))
    return flow


def main() -> None:
    amounts = [1, 1, 2]
    reached = growing().run(edges=[EDGES] * len(amounts), queries=[[amount] for amount in amounts])["reached"]
    for amount, nodes in zip(amounts, reached, strict=True):
        print(f"  {amount} further: {sorted(nodes)}")


if __name__ == "__main__":
    main()
