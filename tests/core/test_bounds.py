"""What bounds the state of each operator: declared by its class, and shown by `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import flo
import flo.shards.plan.planning
from flo.api.explain import states
from flo.core.operator import Bound, Operator
from flo.tables.operator import OnTables


def operators(kind: type[Operator]) -> Iterator[type[Operator]]:
    for each in kind.__subclasses__():
        if "name" in vars(each) and each.__module__.startswith("flo.") and not issubclass(each, OnTables):
            yield each
        yield from operators(each)


SHIPPED = sorted(set(operators(Operator)), key=lambda kind: kind.name)


@pytest.mark.parametrize("kind", SHIPPED, ids=lambda kind: kind.name)
def test_an_operator_declares_what_bounds_its_state(kind: type[Operator]) -> None:
    assert kind.keeps is not Bound.UNKNOWN


class Click(NamedTuple):
    user: str
    at: int


def bounds_of(flow: flo.Flow) -> dict[str, Bound]:
    return {vertex.operator.name: bound for vertex, bound in states(flow._scope, flow._outputs.values())}


def test_a_join_is_bounded_by_a_side_that_ends() -> None:
    for bounded, expected in ((False, Bound.ROWS), (True, Bound.SIDE)):
        flow = flo.Flow("clicks")
        users = flow.input("users", flo.ZSet[Click], bounded=bounded)
        flow.output("joined", flow.input("clicks", flo.ZSet[Click]).join(users, on="user"))
        assert bounds_of(flow)["join_zsets"] is expected


@pytest.mark.parametrize(
    ("aggregate", "keys", "expected"),
    [
        (flo.count(), ("user",), Bound.GROUPS),
        (flo.sum("at"), (), Bound.VALUE),
        (flo.max("at"), ("user",), Bound.ROWS),
        (flo.count_distinct("at"), ("user",), Bound.ROWS),
    ],
)
def test_groups_of_sums_are_bounded_by_their_number(aggregate: Any, keys: tuple[str, ...], expected: Bound) -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.ZSet[Click])
    flow.output("found", (clicks.group_by(*keys) if keys else clicks).agg(n=aggregate))
    assert bounds_of(flow)["group_by"] is expected


def test_explain_shows_it_on_values_and_tables() -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", flo.ZSet[Click])
    flow.output("users", clicks.select("user").distinct())
    flow.output("counts", clicks.group_by("user").agg(n=flo.count()))
    for text in (flow.explain(), flow.on(flo.here).explain()):
        _, _, below = text.partition("\nstate\n")
        lines = [line.split("   ") for line in below.splitlines() if line.startswith("  ")]
        assert [[cell.strip() for cell in line if cell.strip()][:2] for line in lines] == [
            ["distinct()", "grows with its input"],
            ['group_by("user").agg(n=flo.count())', "one value for each group or key"],
        ]


@pytest.mark.parametrize(
    ("collection", "bounded", "expected"),
    [(flo.Sequence, False, Bound.KEYS), (flo.Bag, False, Bound.KEYS), (flo.ZSet, False, Bound.GROUPS),
     (flo.Sequence, True, Bound.END)],
)  # fmt: skip
def test_keys_are_only_forgotten_if_they_can_be_retracted(collection: Any, bounded: bool, expected: Bound) -> None:
    flow = flo.Flow("clicks")
    clicks = flow.input("clicks", collection[Click], bounded=bounded)
    flow.output("users", clicks.key_by("user").per_key(lambda rows: rows.filter(lambda row: row.at > 0)).entries())
    assert bounds_of(flow)["per_key"] is expected
    assert expected.value in flow.explain()


def test_windows_and_bodies() -> None:
    """What a body keeps of a stream that ends is bounded."""
    flow = flo.Flow("clicks")
    windows = flow.input("clicks", flo.Sequence[Click]).tumbling(10, "at")
    flow.output("users", windows.nest(lambda window: window.map("user").distinct()).flatten())
    found = bounds_of(flow)
    assert (found["tumbling"], found["distinct_sequence"]) == (Bound.WINDOWS, Bound.END)


def test_an_operator_of_ones_own_may_leave_it_open() -> None:
    assert Operator.keeps is Bound.UNKNOWN
