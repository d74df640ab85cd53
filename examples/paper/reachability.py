"""§5.2: the nodes within a fixed radius of a root, by a cycle through `read_defer` and `write_defer`."""

from __future__ import annotations

import flo

Edge = tuple[int, int]


def within(radius: int, root: int = 0) -> flo.Flow:
    def hop(edges: flo.Stream[flo.Set[Edge], flo.Bounded], loop: flo.Loop) -> flo.Stream[flo.Set[int], flo.Bounded]:
        known = loop.read_defer("known", initial={root})
        reached = known.union(known.join(edges))
        loop.write_defer("known", reached)
        return reached

    flow = flo.Flow("reachability")
    edges = flow.input("edges", flo.Set[Edge], bounded=True)
    flow.output("reached", edges.repeat_nested(radius).nest(hop))
    return flow


EDGES = {(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 0), (5, 0)}


def main() -> None:
    flow = within(3)
    print(flow.explain())
    for distance, nodes in enumerate(flow.run(edges=EDGES)["reached"], start=1):
        print(f"  within {distance}: {sorted(nodes)}")


if __name__ == "__main__":
    main()
