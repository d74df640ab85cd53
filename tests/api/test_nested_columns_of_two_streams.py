"""Columns of two streams with tuples and rows whose parts may be null in one of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flo


class Place(NamedTuple):
    name: str
    floor: int


class Room(NamedTuple):
    name: str
    floor: int | None


class Visit(NamedTuple):
    path: tuple[str, ...]
    place: Place | None


class Plan(NamedTuple):
    path: tuple[str | None, ...]
    place: Room


class Other(NamedTuple):
    path: tuple[int, ...]
    place: Room


def union(of: Any) -> flo.Flow:
    flow = flo.Flow("visits")
    flow.output("out", flow.input("visits", flo.ZSet[Visit]).union(flow.input("plans", flo.ZSet[of])))
    return flow


def test_parts_may_be_null_if_they_may_be_in_one_of_both() -> None:
    flow = union(Plan)
    visits = {Visit(("a", "b"), None): 1, Visit((), Place("x", 1)): 2}
    plans = {Plan(("a", None), Room("y", None)): 1, Plan((), Room("x", 1)): 1}
    found = flow.run(visits=visits, plans=plans)["out"]
    assert dict(found) == {(("a", "b"), None): 1, ((), ("x", 1)): 3, (("a", None), ("y", None)): 1}
    loop = flow.on(flo.here).loop()
    loop.push(visits=visits, plans=plans)
    rows = {
        (tuple(row["path"]), row["place"] and tuple(row["place"].values())): row for row in loop.pull("out").to_pylist()
    }
    assert {key: row["_weight"] for key, row in rows.items()} == found


def test_parts_of_other_types_are_refused() -> None:
    with pytest.raises(flo.TypeMismatch, match="needs columns of one type: `path`"):
        union(Other)
