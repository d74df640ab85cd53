"""The programs of `benchmarks.spark`; the join is that of `benchmarks.columnar`."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw

import flo
from benchmarks.columnar_programs import LATENESS, WINDOW, Event, Row


class Region(NamedTuple):
    k: int
    region: int


def of_all_events(bounded: bool = False) -> flo.Flow:
    """Windows of all events, with one clock: every shard works on its windows."""
    flow: Any = flo.Flow("windows of all events")
    windows = flow.input("events", flo.Sequence[Event], bounded=bounded).tumbling(WINDOW, "time", LATENESS)
    sums = windows.nest(lambda w: w.key_by("k").per_key(lambda s: s.map("v").sum()).entries()).flatten()
    flow.output("sums", sums)
    flow.output("late", windows.late)
    return flow


def per_key_windows(bounded: bool = False) -> flo.Flow:
    """Each key has windows, and its own time: every shard works on its keys."""
    flow: Any = flo.Flow("windows per key")
    keyed = flow.input("events", flo.Sequence[Event], bounded=bounded).key_by("k")
    sums, late = keyed.per_key(_windows_of_one_key)
    flow.output("sums", sums.entries())
    flow.output("late", late.entries())
    return flow


def _windows_of_one_key(events: Any) -> Any:
    windows = events.tumbling(WINDOW, "time", LATENESS)
    return windows.nest(lambda window: window.map("v").sum()).flatten(), windows.late


def by_window(bounded: bool = False) -> flo.Flow:
    """The window is part of the group. A sum is there at once, and is taken back when it changes: nothing is late."""
    flow: Any = flo.Flow("sums by window")
    events = flow.input("events", flo.ZSet[Event], bounded=bounded)
    placed = events.map({"window": nw.col("time") // WINDOW, "k": nw.col("k"), "v": nw.col("v")})
    flow.output("sums", placed.group_by("window", "k").agg(v=flo.sum("v")))
    return flow


def chain_flow() -> flo.Flow:
    """A grouped sum, a join, and another grouped sum, with retractions through all of it."""
    flow = flo.Flow("totals by region")
    orders = flow.input("orders", flo.ZSet[Row])
    regions = flow.input("regions", flo.ZSet[Region], bounded=True)
    by_customer = orders.group_by("k").agg(v=flo.sum("v"))
    placed = by_customer.join(regions, "k", "k", {"region": "region", "v": "v"})
    flow.output("totals", placed.group_by("region").agg(v=flo.sum("v")))
    return flow
