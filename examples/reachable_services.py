"""Graph reachability: which services are down when one of them fails?

    python -m examples.reachable_services

Calls between services are edges of a graph, which may have cycles. Each round of a `nest` goes one hop further, and
hands what it has reached to the next round by a defer. `explore` then runs every schedule of a small graph: all of them
end in the same state, and the page shows how.
"""

from __future__ import annotations

import flo

Calls = tuple[str, str]
"""(what is called, who calls it): if the first fails, so does the second."""

EDGES: set[Calls] = {
    ("database", "orders"),
    ("database", "users"),
    ("orders", "checkout"),
    ("users", "login"),
    ("login", "checkout"),
    ("checkout", "shop"),
    ("shop", "orders"),  # a cycle
    ("mail", "newsletter"),
}


def reachable(failed: str, hops: int) -> flo.Flow:
    def hop(calls: flo.Stream[flo.Set[Calls], flo.Bounded], loop: flo.Loop) -> flo.Stream[flo.Set[str], flo.Bounded]:
        down = loop.read_defer("down", flo.Set[str], initial={failed})
        more = down.union(down.join(calls))
        loop.write_defer("down", more)
        return more

    flow = flo.Flow(f"what fails with {failed}")
    calls = flow.input("calls", flo.Set[Calls], bounded=True)
    flow.output("down", calls.repeat_nested(hops).nest(hop))
    return flow


def main() -> None:
    flow = reachable("database", hops=4)
    flow.draw().save("reachable_services.svg")
    before = {"database"}
    for number, down in enumerate(flow.run(calls=EDGES)["down"], start=1):
        new = ", ".join(sorted(down - before)) or "nothing more"
        print(f"  after {number} hop{'s' * (number > 1)}: {new}")
        before = down
    healthy = {name for edge in EDGES for name in edge} - before
    print(f"  still up: {', '.join(sorted(healthy))}")
    found = reachable("database", hops=2).explore(calls={("database", "orders")})
    print(f"  {found}")
    found.save("reachable_services.html")
    print("the program as a picture: reachable_services.svg; every schedule of a small graph: reachable_services.html")


if __name__ == "__main__":
    main()
