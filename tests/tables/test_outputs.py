"""What comes out: each row once, with its weight, and none that was taken back more often than it came."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.tables.io.fitting import _is_lossless, table_of
from flo.tables.values import Columns


class Row(NamedTuple):
    key: int
    name: str | None
    tags: tuple[int, ...]
    size: float


rows = st.builds(
    Row,
    st.integers(0, 1),
    st.sampled_from(["a", None]),
    st.sampled_from([(), (1, 2)]),
    st.sampled_from([0.0, -0.0, math.nan, 1.5]),
)


@given(st.lists(st.dictionaries(rows, st.sampled_from([1, 2, -1, -2]), max_size=4), max_size=4))
def test_equal_rows_are_one(deltas: Any) -> None:
    of = flo.ZSet(Row)
    value, table = of.bottom(), Columns(of).bottom()
    for delta in deltas:
        value = value.concat(of.value(delta))
        table = table.concat(Columns(of).value(delta))
    found = table_of(table)
    expected = of.plain(value)
    assert found.num_rows == len(expected)
    assert {repr(tuple(r.values())[:-1]): r["_weight"] for r in found.to_pylist()} == {
        repr((k.key, k.name, list(k.tags), k.size)): w for k, w in expected.items()
    }


def zset(element: Any) -> flo.Flow:
    flow = flo.Flow("zset")
    flow.output("rows", flow.input("rows", flo.ZSet[element]))
    return flow


def test_a_weight_below_zero() -> None:
    element, data = int, dict.fromkeys(range(7), -1)
    with pytest.raises(flo.ElementError, match="7 rows of the output `rows` were retracted more often") as caught:
        zset(element).on(flo.here).run(rows=data)
    text = str(caught.value)
    assert text.count("weight -1") == 5
    assert "and 2 more" in text
    assert 'negative="allow"' in text
    found = zset(element).on(flo.here).run(rows=data, negative="allow")["rows"]
    assert len(found) == 7


def test_in_a_loop_changes_may_be_below_zero_and_the_result_may_not() -> None:
    loop = zset(int).on(flo.here).loop()
    loop.push(rows={1: -1})
    with pytest.raises(flo.ElementError, match="retracted"):
        loop.result()
    assert loop.pull("rows")["_weight"].to_pylist() == [-1]
    loop.push(rows={2: -1})
    assert loop.result()["rows"]["_weight"].to_pylist() == [-1]


@pytest.mark.parametrize(
    ("have", "is_lossless"),
    [
        ([("x", pa.int32()), ("y", pa.string())], True),
        ([("y", pa.large_string()), ("x", pa.int64()), ("z", pa.int64())], True),
        ([("x", pa.float64()), ("y", pa.string())], False),
        ([("x", pa.int64())], False),
    ],
)
def test_a_struct_is_cast_field_by_field(have: list[Any], is_lossless: bool) -> None:
    assert _is_lossless(pa.struct(have), pa.struct([("x", pa.int64()), ("y", pa.string())])) is is_lossless


def test_every_collection() -> None:
    flow = flo.Flow("all")
    for collection in (flo.Sequence, flo.Bag, flo.Set, flo.ZSet):
        flow.output(collection.__name__, flow.input(collection.__name__, collection[int], bounded=True))
    data = pa.table({"value": [2, 1, 2]})
    found = flow.on(flo.here).run(Sequence=data, Bag=data, Set=data, ZSet=data)
    assert found["Sequence"].to_pydict() == {"value": [2, 1, 2]}
    assert Counter(dict(zip(*found["Bag"].to_pydict().values(), strict=True))) == Counter([2, 1, 2])
    assert sorted(found["Set"]["value"].to_pylist()) == [1, 2]
    assert found["ZSet"].sort_by("value").to_pydict() == {"value": [1, 2], "_weight": [1, 2]}
    assert all(found.fixed(name) for name in found)
    assert found.taken == {"Sequence": 3, "Bag": 3, "Set": 3, "ZSet": 3}
