"""Ids of vertices: what a restart and an unrelated edit do not change, and what changes them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pytest

import flo
from flo.core.errors import NameTakenError, ScopeError, TypeMismatch
from tests.relational.random_programs import SOURCES, draw_program


@dataclass(frozen=True)
class Order:
    shop: str
    amount: int
    rush: bool


def over(limit: int) -> Callable[[Order], bool]:
    return lambda order: order.amount > limit


def twice(order: Order) -> int:
    return 2 * order.amount


def ids(flow: flo.Flow) -> dict[str, set[str]]:
    """The ids of the vertices that each output depends on."""
    dag = flow._identified()
    makers = {stream: vertex for vertex in dag.vertices for stream in vertex.outputs}
    before: dict[str, set[str]] = {}
    for name, output in zip([*flow._outputs, *flow._late()], dag.outputs, strict=True):
        waiting, seen = [output], before.setdefault(name, set())
        while waiting:
            vertex = makers.get(waiting.pop())
            if vertex is not None:
                seen.add(vertex.id)
                waiting += vertex.inputs
    return before


def revenue(flow: flo.Flow, orders: Any, least: int = 5) -> None:
    large = orders.filter(nw.col("amount") > least)
    flow.output("revenue", large.group_by("shop").agg(total=flo.sum("amount")))


def program(*edits: str) -> flo.Flow:
    """A program with some edits."""
    flow = flo.Flow("another name" if "rename the flow" in edits else "shops")
    orders = flow.input("orders", flo.ZSet[Order])
    if "put a branch first" in edits:
        flow.output("rush", orders.filter(nw.col("rush")))
    revenue(flow, orders, 6 if "change a parameter" in edits else 5)
    if "rename a variable" in edits:
        x = orders.map(twice)
        flow.output("doubled", x)
    else:
        doubled = orders.map(twice)
        flow.output("doubled", doubled)
    limit = 8 if "change a captured value" in edits else 7
    flow.output("over", orders.filter(over(limit)))
    if "put a branch last" in edits:
        flow.output("shops", orders.map(lambda order: order.shop).distinct())
    return flow


@pytest.mark.parametrize(
    "edit", ["rename the flow", "put a branch first", "put a branch last", "rename a variable", "nothing"]
)
def test_an_unrelated_edit_keeps_all_ids(edit: str) -> None:
    before, after = ids(program()), ids(program(edit))
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    ("edit", "changed"), [("change a parameter", {"revenue"}), ("change a captured value", {"over"})]
)
def test_an_edit_changes_the_ids_behind_it(edit: str, changed: set[str]) -> None:
    before, after = ids(program()), ids(program(edit))
    assert {name for name in before if before[name] != after[name]} == changed


def test_what_stands_before_an_edit_keeps_its_id() -> None:
    def made(columns: list[str]) -> set[str]:
        flow = flo.Flow("shops")
        rows = flow.input("orders", flo.ZSet[Order]).filter(nw.col("amount") > 5).group_by("shop")
        flow.output("out", rows.agg(total=flo.sum("amount")).select(*columns))
        return ids(flow)["out"]

    one, other = made(["shop"]), made(["shop", "total"])
    assert len(one & other) == len(one) - 1


@pytest.mark.thorough
def test_ids_are_the_same_in_another_process() -> None:
    code = "from tests.program.test_identity import ids, program; print(sorted(map(sorted, ids(program()).values())))"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert done.stdout.strip() == str(sorted(map(sorted, ids(program()).values())))


@pytest.mark.parametrize("seed", range(20))
def test_a_random_program_keeps_its_ids_beside_another_branch(seed: int) -> None:
    """The outputs of another random program are added before or after, over the same inputs."""
    flow, other = draw_program(seed)[0], draw_program(seed)[0]
    before = ids(flow)
    source = other._scope.inputs[random.Random(seed).randrange(len(SOURCES))]
    added: Any = source
    other.output("another output", added.filter(nw.lit(True)).distinct())
    after = ids(other)
    assert {name: after[name] for name in before} == before
    assert len(set(map(id, other._identified().vertices))) == len({v.id for v in other._identified().vertices})


def test_equal_operators_have_ids_of_their_own() -> None:
    flow = flo.Flow("twice")
    orders = flow.input("orders", flo.ZSet[Order])
    flow.output("one", orders.filter(nw.col("rush")))
    flow.output("other", orders.filter(nw.col("rush")))
    assert not ids(flow)["one"] & ids(flow)["other"]


def named(*, least: int) -> flo.Flow:
    flow = flo.Flow("shops")
    large = flow.input("orders", flo.ZSet[Order]).filter(nw.col("amount") > least)
    totals = large.group_by("shop").agg(total=flo.sum("amount"), count=flo.count()).named("revenue")
    flow.output("revenue", totals.filter(nw.col("total") > 0))
    return flow


def test_a_named_verb_and_what_follows_keep_their_ids() -> None:
    before, after = ids(named(least=5))["revenue"], ids(named(least=6))["revenue"]
    assert "revenue" in before
    assert len(before - after) == 1  # the filter before it


def test_two_equal_names_are_an_error() -> None:
    flow = flo.Flow("shops")
    orders = flow.input("orders", flo.ZSet[Order])
    orders.filter(nw.col("rush")).named("rush")
    with pytest.raises(NameTakenError, match="two operators are named `rush`"):
        orders.filter(~nw.col("rush")).named("rush")


@pytest.mark.parametrize("name", ["", " ", "a/b", 3])
def test_a_name_must_be_a_text(name: Any) -> None:
    orders = flo.Flow("shops").input("orders", flo.ZSet[Order])
    with pytest.raises(TypeMismatch, match="the name of an operator"):
        orders.distinct().named(name)


def test_inputs_and_streams_in_bodies_are_not_named() -> None:
    orders = flo.Flow("shops").input("orders", flo.ZSet[Order])
    with pytest.raises(ScopeError, match="is an input, which has a name"):
        orders.named("orders")
    with pytest.raises(ScopeError, match="is in a body"):
        orders.key_by(lambda order: order.shop).per_key(lambda rows: rows.distinct().named("rows"))


def test_the_body_counts() -> None:
    def made(least: int, variable: str) -> set[str]:
        flow = flo.Flow("shops")
        orders = flow.input("orders", flo.ZSet[Order])

        def body(rows: Any) -> Any:
            locals()[variable] = None
            return rows.filter(nw.col("amount") > least)

        flow.output("out", orders.key_by(lambda order: order.shop).per_key(body))
        return ids(flow)["out"]

    assert made(1, "x") == made(1, "y")
    assert made(1, "x") != made(2, "x")
