"""Graph reachability: which services are down when one of them fails?

    python -m examples.reachable_services

    database ─┬─> orders ──> checkout ──> shop ─┐        mail ──> newsletter
              │     ^───────────────────────────┘
              └─> users ──> login ──> checkout

Calls between services are edges of a graph, which may have cycles. What is down is defined by itself: a service that
has failed, or one that calls a service that is down. `fixpoint` computes that, and follows calls that come and go.
`explore` then runs every schedule of a small graph: all of them end in the same state, and the page shows how.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flo


class Call(NamedTuple):
    """If the first fails, so does the second."""

    called: str
    caller: str


class Service(NamedTuple):
    name: str


CALLS = [
    Call("database", "orders"),
    Call("database", "users"),
    Call("orders", "checkout"),
    Call("users", "login"),
    Call("login", "checkout"),
    Call("checkout", "shop"),
    Call("shop", "orders"),  # a cycle
    Call("mail", "newsletter"),
]

CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("the database fails", {"calls": CALLS, "failed": [Service("database")]}),
    ("orders gets a database of its own", {"calls": {Call("database", "orders"): -1}}),
    ("login no longer needs users", {"calls": {Call("users", "login"): -1}}),
    ("mail fails, too", {"failed": [Service("mail")]}),
    ("the database is back", {"failed": {Service("database"): -1}}),
)


def reachable_services() -> flo.Flow:
    flow = flo.Flow("what is down")
    calls = flow.input("calls", flo.ZSet[Call])
    failed = flow.input("failed", flo.ZSet[Service])

    def callers_of(down: Any, failed: Any) -> Any:
        return failed.union(down.join(calls, on="name", other_on="called").select(name="caller"))

    flow.output("down", failed.fixpoint(callers_of))
    return flow


def main() -> None:
    flow = reachable_services()
    flow.draw().save("reachable_services.svg")
    loop = flow.loop()
    for what, changes in CHANGES:
        loop.push(**changes)
        loop.run()
        print(what)
        changed = loop.pull("down")
        for sign, title in ((1, "down"), (-1, "up again")):
            names = sorted(service.name for service, weight in changed.items() if weight == sign)
            if names:
                print(f"  {title}: {', '.join(names)}")
        if not changed:
            print("  nothing changes: there is another way")
    found = flow.explore(calls=[{Call("a", "b"): 1}, {Call("b", "a"): 1}], failed={Service("a"): 1})
    print(found)
    found.save("reachable_services.html")
    print("the program as a picture: reachable_services.svg; every schedule of a small graph: reachable_services.html")


if __name__ == "__main__":
    main()
