"""Ids of vertices: what a restart and an unrelated edit do not change, and what changes them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
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


def test_a_name_is_of_one_call_of_a_loop() -> None:
    def made(times: int) -> set[str]:
        flow = flo.Flow("shops")
        rows = flow.input("orders", flo.ZSet[Order])
        for least in range(times):
            rows = rows.filter(nw.col("amount") > least)
        flow.output("large", rows.named("large"))
        return ids(flow)["large"]

    assert len(made(3) - made(2)) == 1
    assert not any("/" in each for each in made(3))


def test_a_second_name_takes_the_place_of_the_first() -> None:
    flow = flo.Flow("shops")
    orders = flow.input("orders", flo.ZSet[Order])
    flow.output("one", orders.group_by("shop").agg(n=flo.count()).named("a").named("b"))
    flow.output("other", orders.group_by("rush").agg(n=flo.count()).named("a"))
    assert ids(flow)["one"] == {"b", "b/1"}
    assert ids(flow)["other"] == {"a", "a/1"}


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


@pytest.mark.parametrize("verb", ["nest", "per_key", "fixpoint"])
def test_the_order_of_statements_in_a_body_does_not_count(verb: str) -> None:
    """Nor does the order in which it reads streams from around it, or writes defers."""

    def made(*order: str) -> tuple[set[str], str]:
        flow = flo.Flow("shops")
        orders, returned = (flow.input(name, flo.ZSet[Order]) for name in ("orders", "returned"))
        statements: dict[str, Callable[[Any, Any], Any]] = {
            "rush": lambda rows, loop: rows.filter(nw.col("rush")),
            "few": lambda rows, loop: rows.filter(nw.col("amount") < 2),
            "large": lambda rows, loop: rows.filter(nw.col("amount") > 5),
        }
        if verb == "nest":
            initial: dict[str, Any] = {"collection": flo.ZSet[Order], "initial": {}}
            statements["few"] = lambda rows, loop: (loop.write_defer("few", rows), loop.read_defer("few", **initial))[1]
            statements["rush"] = lambda rows, loop: (loop.write_defer("r", rows), loop.read_defer("r", **initial))[1]
        if verb == "fixpoint":
            statements["few"] = lambda rows, loop: rows.join(returned, on="shop", how="semi")
            statements["large"] = lambda rows, loop: rows.join(orders, on="shop", how="semi")

        def body(rows: Any, loop: Any = None) -> Any:
            made = {name: statements[name](rows, loop) for name in order}
            return made["rush"].union(made["few"]).union(made["large"])

        if verb == "nest":
            batches = flow.input("log", flo.Sequence[Order]).batch(2)
            out: Any = batches.nest(lambda log, loop: body(log.to_bag().to_zset(), loop))
        elif verb == "per_key":
            out = orders.key_by("shop").per_key(lambda rows: body(rows))
        else:
            out = flow.fixpoint(found=flo.ZSet[Order], body=lambda found: body(found))
        flow.output("out", out)
        return ids(flow)["out"], flo.show(flow.graph(), states=False)

    first = made("rush", "few", "large")
    for order in permutations(["rush", "few", "large"]):
        assert made(*order) == first


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
