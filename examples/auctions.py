"""A live auction house: the program of the demo, which the command line can run too.

Bids arrive in order and may never end. Lots are listed and withdrawn, so their rows are added and retracted. Outputs
are the revenue of each category, which stays right when a lot is withdrawn; the dearest bids; the turnover of every ten
seconds; an alarm when a bid passes a limit; and all bidders behind one account, found by iteration over referrals.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import flo

LIMIT = 9_950
HOPS = 4
CATEGORIES = ("art", "books", "coins", "maps", "music", "toys")


class Bid(NamedTuple):
    lot: int
    bidder: int
    price: int
    second: int


class Lot(NamedTuple):
    lot: int
    category: str


Referral = tuple[int, int]


def auctions(root: int = 0) -> flo.Flow:
    flow = flo.Flow("auctions")
    bids = flow.input("bids", flo.Sequence[Bid])
    lots = flow.input("lots", flo.ZSet[Lot])
    referrals = flow.input("referrals", flo.Set[Referral], bounded=True)

    windows = bids.tumbling(10, time="second", lateness=2)
    flow.output("turnover", windows.nest(lambda window: window.map("price").sum()).flatten())

    sold = bids.to_zset().join(lots, "lot", "lot", into={"category": "category", "price": "price"})
    flow.output("revenue", sold.group_by("category").agg(revenue=flo.sum("price")))
    flow.output("dearest", bids.to_zset().top(5, "price"))

    highest = bids.map("price").fold_lattice(flo.Max(int))
    flow.output("alarm", highest.event_when_above(LIMIT))

    def hop(edges: flo.Stream[flo.Set[Referral], flo.Bounded], loop: flo.Loop) -> flo.Stream[flo.Set[int], flo.Bounded]:
        known = loop.read_defer("known", flo.Set[int], initial={root})
        reached = known.union(known.join(edges))
        loop.write_defer("known", reached)
        return reached

    flow.output("ring", referrals.repeat_nested(HOPS).nest(hop).last())
    flow.output("late", windows.late)
    return flow


def generate(folder: Path, files: int = 10, rows: int = 20_000, seed: int = 0) -> None:
    """Writes bids and lots, one file for each micro-batch, and one file of referrals.

    Every tenth lot is withdrawn later, and one bid in ten thousand is half a minute late.
    """
    rng = np.random.default_rng(seed)
    count = max(10, rows // 20)
    for name in ("bids", "lots", "referrals"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number in range(files):
        seconds = number * 60 + np.sort(rng.integers(0, 60, rows)) - rng.integers(0, 2, rows)
        seconds -= 30 * (rng.random(rows) < 1e-4)
        bids = {
            "lot": rng.integers(0, count * files, rows),
            "bidder": rng.integers(0, 1000, rows),
            "price": rng.integers(1, 10_000, rows),
            "second": np.maximum(seconds, 0),
            "offset": np.arange(number * rows, (number + 1) * rows),
        }
        pq.write_table(pa.table(bids), folder / "bids" / f"{number:03}.parquet")
        listed = np.arange(number * count, (number + 1) * count)
        withdrawn = (listed - count)[::10] if number else listed[:0]
        both = np.concatenate([listed, withdrawn])
        lots = {
            "lot": both,
            "category": pa.array([CATEGORIES[lot % len(CATEGORIES)] for lot in both]),
            "_weight": np.repeat([1, -1], [len(listed), len(withdrawn)]),
        }
        pq.write_table(pa.table(lots), folder / "lots" / f"{number:03}.parquet")
    bidders = np.arange(1, 1000)
    edges = np.stack([bidders - 1 - rng.integers(0, bidders), bidders], axis=1)  # somebody earlier
    pq.write_table(pa.table({"0": edges[:, 0], "1": edges[:, 1]}), folder / "referrals" / "all.parquet")
