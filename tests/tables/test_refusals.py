"""What is refused on values is refused on tables, by the same error with the same words and the same line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import flo
from flo.tables.io.diverted import INSTEAD
from tests.api.test_refusals import PROGRAMS


class Row(NamedTuple):
    key: int
    text: str


def key(row: Row) -> int:
    return row.key


def inverse(row: Row) -> float:
    return 1 / row.key


def big(row: Row) -> bool:
    return 1 / row.key > 0


def copies(row: Row) -> list[int]:
    return [row.key] * (1 // row.key)


def many(row: Row) -> list[int]:
    return row.key  # type: ignore[return-value]


def untrue(row: Row) -> int:
    return row.text if row.key == 0 else 1  # type: ignore[return-value]


def unhashable(row: Row) -> Any:
    return [row.key] if row.key == 0 else row.key


def ended(row: Row) -> int:
    if row.key == 0:
        raise StopIteration
    return 1


def both(row: Row, other: Row) -> float:
    return 1 / (row.key + other.key)


def weighed(row: Row, weight: int) -> int:
    return weight * (1 // row.key)


def added(total: int, row: Row) -> int:
    return total + 1 // row.key


def flow_of(kind: Any, build: Callable[..., Any], *, bounded: bool = False) -> Callable[[], flo.Flow]:
    def made() -> flo.Flow:
        flow = flo.Flow("rows")
        flow.output("out", build(flow.input("rows", kind, bounded=bounded)))
        return flow

    return made


def joined(build: Callable[..., Any]) -> Callable[[], flo.Flow]:
    def made() -> flo.Flow:
        flow = flo.Flow("rows")
        rows = flow.input("rows", flo.ZSet[Row])
        flow.output("out", build(rows, rows))
        return flow

    return made


SEQUENCE, BAG, SET, ZSET = (kind[Row] for kind in (flo.Sequence, flo.Bag, flo.Set, flo.ZSet))
RAISING = {
    "map": flow_of(SEQUENCE, lambda s: s.map(inverse)),
    "map of a bag": flow_of(BAG, lambda s: s.map(inverse)),
    "map of a set": flow_of(SET, lambda s: s.map(inverse)),
    "map of a z-set": flow_of(ZSET, lambda s: s.map(inverse)),
    "map that ends": flow_of(ZSET, lambda s: s.map(ended)),
    "map that lies": flow_of(ZSET, lambda s: s.map(untrue)),
    "filter": flow_of(ZSET, lambda s: s.filter(big)),
    "flat_map": flow_of(BAG, lambda s: s.flat_map(copies)),
    "flat_map of no list": flow_of(BAG, lambda s: s.flat_map(many)),
    "map_weights": flow_of(ZSET, lambda s: s.map_weights(weighed)),
    "sum_by by": flow_of(ZSET, lambda s: s.group_by(key=inverse).agg(sum=flo.sum(key))),
    "sum_by of": flow_of(ZSET, lambda s: s.group_by(key=key).agg(sum=flo.sum(inverse))),
    "max_by": flow_of(ZSET, lambda s: s.group_by(key=key).agg(max=flo.max(inverse))),
    "top": flow_of(ZSET, lambda s: s.top(1, inverse)),
    "join on": joined(lambda s, t: s.join(t, inverse, inverse)),
    "join on no key": joined(lambda s, t: s.join(t, unhashable, unhashable)),
    "join into": joined(lambda s, t: s.join(t, key, key, both)),
    "semi_join": joined(lambda s, t: s.join(t, inverse, key, how="semi")),
    "left_join": joined(lambda s, t: s.join(t, key, inverse, how="left")),
    "fold": flow_of(SEQUENCE, lambda s: s.fold(0, added), bounded=True),
    "scan": flow_of(SEQUENCE, lambda s: s.scan(0, added)),
    "fold of a bag": flow_of(BAG, lambda s: s.fold(0, added), bounded=True),
    "sort": flow_of(BAG, lambda s: s.sort(inverse), bounded=True),
    "tumbling": flow_of(SEQUENCE, lambda s: s.tumbling(10, time=inverse)),
    "key_by": flow_of(SEQUENCE, lambda s: s.key_by(inverse).entries()),
    "nest": flow_of(SEQUENCE, lambda s: s.batch(2).nest(lambda b: b.map(inverse))),
}
ROWS = [Row(1, "a"), Row(2, "b"), Row(0, "zero"), Row(4, "d")]


def refused(run: Callable[..., Any], **data: Any) -> flo.FloError:
    with pytest.raises(flo.FloError) as caught:
        run(**data)
    return caught.value


def expect_the_same(found: flo.FloError, expected: flo.FloError) -> None:
    """On tables it is said, too, where the row came from, and how to put it aside."""
    assert type(found) is type(expected)
    assert str(found).splitlines()[0] == str(expected).splitlines()[0]
    assert (found.where is None) == (expected.where is None)
    for fact in expected.facts:
        assert fact in found.facts
    why = [reason for _, reason in found.instead if found.instead != INSTEAD]
    assert why == [reason for _, reason in expected.instead]
    assert type(found.__cause__) is type(expected.__cause__)


@pytest.mark.parametrize("name", RAISING)
def test_a_function_that_raises(name: str) -> None:
    expected = refused(RAISING[name]().run, rows=ROWS)
    found = refused(RAISING[name]().on(flo.here).run, rows=ROWS)
    expect_the_same(found, expected)
    assert found.where == expected.where


LEFT_OUT = {
    "null_in_a_column_of_a_table_without_nulls",  # runs on tables anyway
    "fold_that_never_returns",  # is waited for, and runs nowhere
    "mistake_data_by_position",  # `run` on tables has other arguments
    "mistake_dict_without_all_columns",  # a table names the row and the column
    "mistake_file_for_a_run_on_values",  # tables read files
}
"""Programs that are refused in other words on tables, or not at all."""


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - LEFT_OUT))
def test_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program of the golden refusals, with `run` on tables."""
    expected = refused(PROGRAMS[name])
    monkeypatch.setattr(flo.Flow, "run", lambda flow, **inputs: flow.on(flo.here).run(**inputs))
    expect_the_same(refused(PROGRAMS[name]), expected)


STRANGERS = {
    "sequence": (flo.Sequence[int], [1, "two", 3]),
    "bag": (flo.Bag[int], [1, "two", 3]),
    "set": (flo.Set[int], {"two"}),
    "z-set": (flo.ZSet[int], {"two": 1}),
    "weight": (flo.ZSet[int], {2: "one"}),
    "keyed": (flo.Keyed[int, flo.Bag[int]], {"one": [1]}),
    "nested": (flo.Nested[flo.Sequence[int]], [[1], ["two"]]),
    "lattice": (flo.LVar[flo.Max[int]], "two"),
    "no collection": (flo.Sequence[int], 7),
    "no order": (flo.Sequence[int], {1, 2}),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_an_element_of_another_type(name: str) -> None:
    kind, data = STRANGERS[name]
    flow = flow_of(kind, lambda stream: stream)()
    expect_the_same(refused(flow.on(flo.here).run, rows=data), refused(flow.run, rows=data))


def test_weights_that_do_not_fit() -> None:
    """On values numbers have no limit. Here they do, and it is said of which row."""
    flow = flow_of(ZSET, lambda s: s.map_weights(lambda row, weight: weight * 2**62))()
    found = refused(flow.on(flo.here).run, rows={Row(1, "a"): 1, Row(2, "b"): 4})
    assert isinstance(found, flo.ElementError)
    assert "Row(key=2, text='b')" in str(found)
    assert "rows" in str(found)


@pytest.mark.parametrize("on_error", ["raise", "divert"])
def test_a_mistake_of_the_engine_is_no_fault_of_a_row(on_error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from flo.core.errors import EngineError
    from flo.tables.operators import elementwise

    monkeypatch.setattr(elementwise, "like_rows", eval("lambda *_: [].pop()"))  # which no file of the user holds
    flow = flow_of(ZSET, lambda s: s.map(key))()
    with pytest.raises(EngineError, match="`map` on tables raised IndexError: pop from empty list"):
        flow.on(flo.here).run(rows=ROWS, on_error=on_error)
