"""A push that raises leaves no trace, on values and on tables, wherever in the data the fault is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.tables.io import files as inputs
from tests.quick import tried

POISON = 13


class Row(NamedTuple):
    key: str
    n: int | None


def share(row: Row) -> float:
    return 1 / (POISON - (row.n or 0))


def n_of(row: Row) -> int | None:
    return row.n


def key_of(row: Row) -> str:
    return row.key


def is_safe(row: Row) -> bool:
    return share(row) != 0


def add(total: float, row: Row) -> float:
    return total + share(row)


def both(left: Row, right: Row) -> float:
    return share(left) + share(right)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "mapped": lambda rows, others: rows.map(share),
    "summed": lambda rows, others: rows.group_by(key=key_of).agg(sum=flo.sum(share)),
    "least": lambda rows, others: rows.filter(is_safe).group_by(key=key_of).agg(min=flo.min(n_of)),
    "joined": lambda rows, others: rows.join(others, key_of, key_of, both),
    "distinct": lambda rows, others: rows.distinct().filter(is_safe),
    "largest": lambda rows, others: rows.top(2, share),
    "counted": lambda rows, others: rows.filter(is_safe).group_by(key=key_of).agg(n=flo.count()),
}
rows = st.builds(Row, st.sampled_from("ab"), st.integers(0, 3))
poison: st.SearchStrategy[Any] = st.sampled_from([Row("a", POISON), Row("b", POISON), "no row"])


def program(name: str) -> flo.Flow:
    flow = flo.Flow(name)
    left, right = flow.input("rows", flo.ZSet[Row]), flow.input("others", flo.ZSet[Row])
    flow.output("first", PROGRAMS[name](left, right))
    flow.output("all", left.union(right))
    return flow


def loops(flow: flo.Flow) -> Iterator[tuple[Any, Any, Callable[[Any], Any]]]:
    """For each way to run: two loops, and what shows the state of one."""
    yield flow.loop(), flow.loop(), lambda loop: loop.result()
    yield flow.loop(seed=1), flow.loop(seed=1), lambda loop: loop.result()
    yield flow.on(flo.here).loop(), flow.on(flo.here).loop(), on_tables


def on_tables(loop: Any) -> Any:
    result = loop.result()
    return {name: sorted(map(str, table.to_pylist())) for name, table in result.items()}, result.taken, loop.state[0]


def pushed(loop: Any, **given: Any) -> None:
    loop.push(**given)
    loop.run()


@pytest.mark.parametrize("name", PROGRAMS)
@given(st.lists(rows, max_size=4), st.lists(rows, max_size=6), poison, st.integers(0, 6), st.booleans(), st.randoms())
@tried(8)
def test_a_push_that_raises_leaves_no_trace(
    name: str,
    before: list[Row],
    good: list[Row],
    bad: Any,
    place: int,
    in_others: bool,
    rng: random.Random,
) -> None:
    target = "others" if in_others and (name == "joined" or bad == "no row") else "rows"
    partners = [Row(key, 1) for key in "ab"]
    poisoned = [*good[:place], bad, *good[place:]]
    for loop, other, shown in loops(program(name)):
        for each in (loop, other):
            pushed(each, rows=[*before, *partners], others=partners)
        expected = shown(other)
        with pytest.raises(flo.FloError):
            pushed(loop, **{"rows": good, "others": good, target: poisoned})
        assert shown(loop) == expected
        pushed(loop, rows=rng.sample(good, len(good)), others=good)
        pushed(other, rows=good, others=good)
        assert shown(loop) == shown(other)


def least() -> flo.Flow:
    flow = flo.Flow("least")
    flow.output("least", flow.input("rows", flo.ZSet[Row]).group_by(key=key_of).agg(min=flo.min(n_of)))
    return flow


@given(
    st.lists(st.integers(0, 3).map(lambda n: POISON if n == 3 else n), max_size=8),
    st.integers(1, 3),
    st.randoms(),
    st.sampled_from([flo.Bag, flo.ZSet, flo.Set]),
)
@tried(20)
def test_which_rows_are_diverted(numbers: list[int], at_once: int, rng: random.Random, kind: Any) -> None:
    """Whatever their order, and however they are cut."""

    def diverted(given: list[int], at_once: int) -> Any:
        flow = flo.Flow("diverting")
        rows = flow.input("rows", kind[Row])
        flow.output("shares", rows.map(share))
        flow.output("rows", rows)
        loop = flow.on(flo.here).loop(on_error="divert")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inputs, "SLICE", at_once)
            loop.push(rows=pa.table({"key": ["a"] * len(given), "n": pa.array(given, pa.int64())}))
        aside = loop.diverted["rows"].select(["row", "reason"]).to_pylist()
        return on_tables(loop)[0], sorted(map(str, aside))

    assert diverted(numbers, len(numbers) + 1) == diverted(rng.sample(numbers, len(numbers)), at_once)


def test_a_file_or_an_iterator_that_fails_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "SLICE", 2)
    good = pa.table({"key": ["a", "b", "c"], "n": [1, 2, 3]})

    def tables() -> Iterator[pa.Table]:
        yield good
        raise OSError("disk")

    file = tmp_path / "a.csv"
    file.write_text("key,n\na,1\nb,2\nc,3\nd,x\n")
    for on_error in ("raise", "divert"):
        loop = program("mapped").on(flo.here).loop(on_error=on_error)  # type: ignore[arg-type]
        loop.push(rows=good)
        before = on_tables(loop)
        with pytest.raises(Exception, match="disk"):
            loop.push(rows=tables())
        if on_error == "raise":
            with pytest.raises(flo.ElementError):
                loop.push(rows=file)
        with pytest.raises(Exception, match="disk"):
            loop.push(others=pa.table({"key": ["a"], "n": pa.array([None], pa.int64())}), rows=tables())
        assert on_tables(loop) == before
        assert loop.diverted["rows"].num_rows == 0
        loop.push(rows=good)
        assert loop.result().taken["rows"] == 6


def ended(loop: Any) -> None:
    loop.end("rows")
    loop.run()


def test_an_end_that_raises_has_not_come() -> None:
    def last(total: float, row: Row) -> float:
        return share(row)

    flow = flo.Flow("folded")
    rows = flow.input("rows", flo.Bag[Row], bounded=True)
    flow.output("folded", rows.sort(key_of).fold(0.0, last))
    flow.output("rows", rows)
    for loop in (flow.loop(), flow.on(flo.here).loop()):
        pushed(loop, rows=[Row("a", 1)])
        pushed(loop, rows=[Row("b", POISON)])  # nothing looks at it before the end
        with pytest.raises(flo.FunctionError):
            ended(loop)
        assert not loop.result().fixed("rows")
        assert len(loop.peek("rows")) == 2
