"""§6.4: windows, a lattice threshold and retractions in one program.

Bids have timestamps. The program computes the total of every window, and raises an alarm when the total of a window
passes a limit. It also computes the revenue of each seller, without blocked sellers, whose list changes.
"""

from __future__ import annotations

from typing import NamedTuple

import flo


class Bid(NamedTuple):
    seller: str
    price: int
    time: int


def monitor(limit: int = 100) -> flo.Flow:
    flow = flo.Flow("monitor")
    bids = flow.input("bids", flo.Sequence[Bid])
    blocked = flow.input("blocked", flo.ZSet[str])

    windows = bids.tumbling(10, time=lambda bid: bid.time, lateness=3)
    totals = windows.nest(lambda w: w.map(lambda bid: bid.price).sum())
    largest = totals.flatten().fold_lattice(flo.Max(int))
    allowed = bids.to_zset().join(blocked, lambda bid: bid.seller, lambda seller: seller, how="anti")

    flow.output("totals", totals)
    flow.output("alarm", largest.event_when_above(limit))
    flow.output("revenue", allowed.group_by("seller").agg(revenue=flo.sum("price")))
    flow.output("late", windows.late)
    return flow


BIDS = [
    Bid("ann", 30, 1), Bid("bob", 50, 4), Bid("ann", 40, 11), Bid("cleo", 70, 8), Bid("bob", 20, 25),
    Bid("ann", 5, 2), Bid("cleo", 15, 40),
]  # fmt: skip


def main() -> None:
    loop = monitor().loop()
    loop.push(bids=BIDS)
    loop.run()
    print(f"  {loop.result()}")
    loop.push(blocked={"ann": 1})
    loop.run()
    print(f"  after blocking ann: {loop.peek('revenue')}")


if __name__ == "__main__":
    main()
