"""An operator that somebody wrote for values, in the middle of a program on tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.core.graph import Node, sequence
from flo.core.operator import Values, expect_collection
from flo.core.stream_type import StreamType
from flo.values.operators.elementwise import Filter, Map
from flo.values.sequence import SequenceValue
from flo.values.weighted import ZSetValue
from tests.tables.harness import agree


class Row(NamedTuple):
    key: int
    text: str | None


@dataclass(frozen=True)
class Every(flo.Operator):
    """Every n-th element, and how many came at the end."""

    n: int
    seen: int = 0

    name = "every_nth"
    arity = (1, 2)

    def type(self, inputs: Any) -> Any:
        expect_collection(self, inputs[0], flo.Sequence)
        return inputs[0], flo.StreamType(flo.Sequence(int), inputs[0].bounded)

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        value: Any = inputs[0]
        for element, rest in value.units():
            if element.text == "bad":
                raise ValueError("a bad row")
            emitted = SequenceValue.of([element]) if (self.seen + 1) % self.n == 0 else None
            yield flo.Step("every", (rest,), replace(self, seen=self.seen + 1), (emitted, None))
        if value.ending():
            count = SequenceValue.of([self.seen]).fix()
            yield flo.Step("every-end", (value.passed(),), self, (SequenceValue.terminator(), count))


@dataclass(frozen=True)
class Mirrored(flo.Operator):
    """What is on the left, and taken back what is on the right: an operator of two inputs."""

    name = "mirrored"
    arity = (2, 1)

    def type(self, inputs: Any) -> Any:
        for place, given in enumerate(inputs):
            expect_collection(self, given, flo.ZSet, index=place)
        return (flo.StreamType(inputs[0].collection, inputs[0].bounded and inputs[1].bounded),)

    def steps(self, inputs: Values) -> Iterator[flo.Step]:
        left, right = inputs
        assert isinstance(left, ZSetValue)
        assert isinstance(right, ZSetValue)
        if left.all_units() or right.all_units():
            units = [*left.all_units(), *((element, -weight) for element, weight in right.all_units())]
            yield flo.Step("mirrored", (left.drained(), right.drained()), self, (ZSetValue.of(units),))
        elif left.ending() and right.ending():
            yield flo.Step("mirrored-end", (left.passed(), right.passed()), self, (ZSetValue.terminator(),))


def text(row: Row) -> str:
    return row.text or ""


def flow() -> flo.Flow:
    made = flo.Flow("mine")
    third, count = made.input("rows", flo.Sequence[Row], bounded=True).filter(nw.col("key") > 0).apply(Every(3))
    made.output("texts", third.map(text))
    made.output("count", count)
    return made


ROWS = [Row(key % 7, None if key % 2 else f"row {key}") for key in range(50)]


def table(rows: list[Row]) -> pa.Table:
    return pa.table({"key": [row.key for row in rows], "text": [row.text for row in rows]})


def test_in_the_middle_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    from flo.tables.io import files as inputs

    monkeypatch.setattr(inputs, "SLICE", 8)
    expected = flow().run(rows=ROWS)
    found = flow().on(flo.here).run(rows=table(ROWS))
    assert found["texts"]["value"].to_pylist() == expected["texts"]
    assert found["count"]["value"].to_pylist() == expected["count"]
    assert found.fixed("texts")
    assert "every_nth" in flow().on(flo.here).explain()
    assert flow().on(flo.here).explain().endswith("1 on tables, 1 row by row in Python, 1 on values, 3 conversions")


def test_on_every_cut_and_schedule() -> None:
    """The operator, its state and its ends between two that run on tables."""
    positive, shorter = Filter(lambda row: row.key > 0), Map(text)
    graph = sequence(Node(None, positive), Node(None, Every(2)))
    types = (StreamType(flo.Sequence(Row), bounded=True),)
    agree(graph, types, [(ROWS[:3],), ([],), (ROWS[3:20],), (ROWS[20:21],)])
    both = tuple(StreamType(flo.ZSet(Row), bounded) for bounded in (True, False))
    chunks = [({ROWS[1]: 2}, {ROWS[2]: 1}), (None, {ROWS[1]: 1}), ({ROWS[3]: -1}, None)]
    agree(sequence(Node(None, Mirrored()), Node(None, shorter)), both, chunks)


def test_its_state_is_in_the_checkpoint(tmp_path: Path) -> None:
    loop = flow().on(flo.here).loop()
    loop.push(rows=table(ROWS[:11]))
    loop.checkpoint(tmp_path)
    again = flow().on(flo.here).loop()
    again.restore(tmp_path)
    again.push(rows=table(ROWS[11:]))
    again.end("rows")
    again.run()
    assert again.result()["texts"]["value"].to_pylist() == flow().run(rows=ROWS)["texts"]


def test_its_errors_name_the_row() -> None:
    rows = [*ROWS[:9], Row(5, "bad"), *ROWS[10:]]
    with pytest.raises(flo.FunctionError, match="the function of `every_nth` raised ValueError: a bad row") as caught:
        flow().on(flo.here).run(rows=table(rows))
    assert "rows, row 10" in str(caught.value)
    found = flow().on(flo.here).run(rows=table(rows), on_error="divert")
    assert found.diverted["rows"]["number"].to_pylist() == [10]
    assert found["count"]["value"].to_pylist() == flow().run(rows=[*rows[:9], *rows[10:]])["count"]
