"""Rows of a body with values that are easy to get wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import pytest

import flo
from flo.tables.operators import rounds


class Step(NamedTuple):
    src: str
    dst: str
    place: tuple[int, str] | None


class At(NamedTuple):
    node: str
    place: tuple[int, str] | None


def expect_equal(flow: flo.Flow, few: int, monkeypatch: pytest.MonkeyPatch, *deltas: dict[str, Any]) -> None:
    """On tables, an output is what it is on values, after each delta."""
    monkeypatch.setattr(rounds, "FEW", few)
    values, tables = flow.loop(), flow.on(flo.here).loop()
    for delta in deltas:
        values.push(**delta)
        values.run()
        tables.push(**delta)
        assert dict(values.pull("out")) == {At(*row[:-1]): row[-1] for row in rows_of(tables.pull("out"))}


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    """The rows of a table; a nested row is a tuple."""
    return [tuple(tuple(v.values()) if isinstance(v, dict) else v for v in row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("few", [0, rounds.FEW])
def test_a_row_in_a_column_may_be_missing(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parts must not be."""
    flow = flo.Flow("places")
    steps, starts = flow.input("steps", flo.ZSet[Step]), flow.input("starts", flo.ZSet[At])

    def body(reach: Any, starts: Any) -> Any:
        after = reach.join(steps, on="node", other_on="src", how="left")
        after = after.select(node=nw.coalesce("dst", nw.lit("end")), place="place_right")
        return starts.union(after).top(1, by="node", order_by="place")

    flow.output("out", starts.fixpoint(body))
    first: dict[str, Any] = {"starts": [At("a", (1, "x"))], "steps": [Step("a", "b", None), Step("b", "c", (2, "y"))]}
    expect_equal(flow, few, monkeypatch, first, {"starts": [At("b", None)]}, {"starts": {At("a", (1, "x")): -1}})


def test_weights_of_all_rounds_together_may_be_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is there, however often it is derived in each of several rounds."""
    flow = flo.Flow("paths")
    steps, starts = flow.input("steps", flo.ZSet[Step]), flow.input("starts", flo.ZSet[At])

    def body(reach: Any, starts: Any) -> Any:
        return starts.union(reach.join(steps, on="node", other_on="src").select(node="dst", place="place"))

    flow.output("out", starts.fixpoint(body))
    many = 2**62
    first: dict[str, Any] = {
        "starts": {At("a", None): 1, At("d", None): many},
        "steps": {Step("a", "d", None): many, Step("a", "b", None): 1, Step("b", "d", None): many},
    }
    expect_equal(flow, 0, monkeypatch, first, {"starts": {At("d", None): -many}}, {"starts": {At("a", None): -1}})
