"""Shortest paths that follow the roads: how far is each town from the depots, while roads are opened and closed?

    python -m examples.shortest_paths

    oslo ──5── hamar ──7── lillehammer          oslo ──────20────── lillehammer

A town is as far as the nearest town before it, and the road from there. When a road is closed, the towns behind it
fall back to the next best way, or are cut off. Only what changes is computed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw

import flo


class Road(NamedTuple):
    src: str
    dst: str
    km: int


class Town(NamedTuple):
    name: str
    km: int


def both_ways(*roads: Road) -> list[Road]:
    return [*roads, *(Road(road.dst, road.src, road.km) for road in roads)]


ROADS = both_ways(
    Road("oslo", "hamar", 5),
    Road("hamar", "lillehammer", 7),
    Road("oslo", "lillehammer", 20),
    Road("lillehammer", "otta", 4),
    Road("otta", "dombås", 4),
    Road("hamar", "elverum", 2),
)
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a depot in Oslo", {"roads": ROADS, "depots": [Town("oslo", 0)]}),
    (
        "the road from Hamar to Lillehammer is closed",
        {"roads": dict.fromkeys(both_ways(Road("hamar", "lillehammer", 7)), -1)},
    ),
    ("a depot in Otta", {"depots": [Town("otta", 0)]}),
    ("the depot in Oslo is closed", {"depots": {Town("oslo", 0): -1}}),
    (
        "the long road to Lillehammer is closed",
        {"roads": dict.fromkeys(both_ways(Road("oslo", "lillehammer", 20)), -1)},
    ),
)


def shortest_paths() -> flo.Flow:
    flow = flo.Flow("shortest paths")
    roads = flow.input("roads", flo.ZSet[Road])
    depots = flow.input("depots", flo.ZSet[Town])

    def nearer(best: Any, depots: Any) -> Any:
        along = best.join(roads, on="name", other_on="src")
        along = along.select(name="dst", km=nw.col("km") + nw.col("km_right"))
        return depots.union(along).group_by("name").agg(km=flo.min("km"))

    flow.output("best", depots.fixpoint(nearer))
    return flow


def main() -> None:
    flow = shortest_paths()
    flow.draw().save("shortest_paths.svg")
    loop = flow.on(flo.here).loop()
    towns = sorted({road.src for road in ROADS})
    print("".join(f"{town:>12}" for town in towns))
    for what, changes in CHANGES:
        loop.push(**changes)
        km = {row["name"]: row["km"] for row in loop.result()["best"].to_pylist()}
        print("".join(f"{km.get(town, '-'):>12}" for town in towns), f"  {what}")
    print("the program as a picture: shortest_paths.svg")


if __name__ == "__main__":
    main()
