"""LVars from tables are those from values, and what reads them needs no conversion."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.core.errors import FloError
from flo.core.stream_type import StreamType
from flo.tables.operators.lattices import _has_null_or_nan
from flo.values.operators.lattices import FoldLattice, SumLattice
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import whole_deltas

NO_NUMBERS = [None, [None], [1.0, math.nan], [1.0, None]]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=str)
def test_a_null_or_a_nan_within_a_list_is_seen(value: object) -> None:
    kind = pa.list_(pa.float64())
    nested = pa.array([{"x": value}], pa.struct([("x", kind)]))
    assert _has_null_or_nan(pa.array([[1.0], value], kind))
    assert _has_null_or_nan(nested)
    assert not _has_null_or_nan(pa.array([[1.0], []], kind))


KINDS = {
    int: [0, -1, 7, 2**63 - 1, -(2**63)],
    float: [0.0, -0.0, 1.5, -2.25, math.inf, 5e-324],
    str: ["", "a", "ä", "ab", "z"],
    bytes: [b"", b"\0", b"ab"],
    bool: [True, False],
    date: [date(1, 1, 1), date(2024, 2, 29)],
    timedelta: [timedelta(0), timedelta(microseconds=-1), timedelta(days=3)],
    datetime: [datetime(2024, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)],
    Decimal: [Decimal("1.5"), Decimal("1.50"), Decimal(-7)],
    tuple[int, str]: [(1, "b"), (1, "a"), (2, ""), (-5, "z")],
    Annotated[datetime, pa.timestamp("us", "UTC")]: [datetime(2024, 1, n, tzinfo=UTC) for n in (1, 2, 3)],
    Annotated[int, pa.int32()]: [5, -3, 0],
}
COLLECTIONS = [Sequence, Bag, Set]


def chunks_of(elements):
    return st.lists(st.tuples(st.lists(elements, max_size=5)), max_size=4)


def check(operator, element, collection, chunks, bounded, by_row=False):
    types = (StreamType(collection(element), bounded),)
    (form,) = forms(on_tables(operator, types)[0])
    assert form.by_row is by_row
    return agree(operator, types, chunks, seeds=2)


@pytest.fixture(autouse=True)
def _whole_deltas(request):
    if "refused" in request.node.name:
        yield
    else:
        yield from whole_deltas()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=st.data())
@tried(20)
def test_chains_and_agreement(kind, data):
    lattice = data.draw(st.sampled_from([flo.Max(kind), flo.Min(kind), flo.Max(), flo.Flat(kind)]))
    chunks = data.draw(chunks_of(st.sampled_from(KINDS[kind])))
    check(FoldLattice(lattice), kind, data.draw(st.sampled_from(COLLECTIONS)), chunks, data.draw(st.booleans()))


class Row(NamedTuple):
    name: str
    count: int
    share: float
    good: bool


LAYOUT = Layout.of(Row)
rows = st.builds(
    Row,
    st.sampled_from(["a", "b", ""]),
    st.integers(0, 3) | st.just(2**62),
    st.sampled_from([0.0, 0.5, 1e300, 5e-324]),
    st.booleans(),
)


def col(given):
    return Expression(given, (LAYOUT,))


ON_COLUMNS = [
    (flo.Max[str], col("name")),
    (flo.Min[float], col(nw.col("count") - 2)),
    (flo.Max[float], col("share")),
    (flo.And, col("good")),
    (flo.Or, col(nw.col("count") > 2)),
    (flo.NaturalSum, col("count")),
    (flo.NaturalSum(float), col("share")),
    (flo.NaturalSum(int), col("good")),
    (flo.Flat[str], col("name")),
    (flo.Product[flo.Max[int], flo.Or, flo.Min[str]], col(("count", "good", "name"))),
    (flo.Product[flo.Max[str], flo.NaturalSum, flo.Max[float], flo.And], None),
    (flo.Versioned[int, flo.Max[str]], col(("count", "name"))),
    (flo.Versioned[str, flo.NaturalSum], col(("name", "share"))),
]


@given(st.data(), chunks_of(rows), st.sampled_from(COLLECTIONS), st.booleans())
@tried(24)
def test_lattices_with_a_join_of_columns(data, chunks, collection, bounded):
    lattice, f = data.draw(st.sampled_from(ON_COLUMNS))
    check(FoldLattice(lattice, f), Row, collection, chunks, bounded)


@pytest.mark.parametrize("lattice_and_f", ON_COLUMNS, ids=lambda pair: str(pair[0]))
def test_each_of_them(lattice_and_f):
    lattice, f = lattice_and_f
    chunks = [([Row("a", 1, 0.5, True), Row("b", 3, 0.25, False)],), ([],), ([Row("b", 3, 0.75, True)],)]
    check(FoldLattice(lattice, f), Row, Sequence, chunks, bounded=True)


def test_parts_of_a_tuple_may_be_tuples():
    lattice = flo.Product[flo.Max[tuple[int, str]], flo.Product[flo.Min[int], flo.Or]]
    element = tuple[tuple[int, str], tuple[int, bool]]
    chunks = [([((1, "a"), (2, False)), ((1, "b"), (5, True))],), ([((0, "z"), (1, False))],)]
    (found,) = check(FoldLattice(lattice), element, Bag, chunks, bounded=True)
    assert found.value == ((1, "b"), (1, True))


def small(row: Row) -> set[int]:
    return {row.count, -row.count}


def entry(row: Row) -> dict[str, int]:
    return {row.name: row.count}


IN_PYTHON = [
    (flo.SetUnion[int], small),
    (flo.MapUnion[str, flo.Max[int]], entry),
    (flo.GCounter[str], entry),
    (flo.PNCounter[str], lambda row: (entry(row), {})),
    (flo.Max[int], lambda row: row.count),
    (flo.Lattice.of("", max), lambda row: row.name),
]


@given(st.data(), chunks_of(rows), st.sampled_from(COLLECTIONS), st.booleans())
@tried(24)
def test_python_functions_are_called_for_every_row(data, chunks, collection, bounded):
    lattice, f = data.draw(st.sampled_from(IN_PYTHON))
    check(FoldLattice(lattice, f), Row, collection, chunks, bounded, by_row=True)


def test_a_delta_is_one_step():
    types = (StreamType(Bag(Row), False),)
    for lattice, f in (IN_PYTHON[0], ON_COLUMNS[0]):
        (form,) = forms(on_tables(FoldLattice(lattice, f), types)[0])
        rows = flo.tables.values.rows_of(Bag(Row), Bag(Row).value([Row("a", n, 0.0, True) for n in range(50)]))
        assert len(list(form.advance((rows,)))) == 1


numbers = {
    int: st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)]),
    float: st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.1, -0.1, 1e300, -1e300, 5e-324]),
    Decimal: st.sampled_from([Decimal("0.1"), Decimal("-0.3"), Decimal("12345678901234567.5"), Decimal("1e-18")]),
    bool: st.booleans(),
    Annotated[Decimal, pa.decimal128(10, 2)]: st.sampled_from([Decimal("0.25"), Decimal(-3)]),
}


@pytest.mark.parametrize("kind", numbers, ids=str)
@given(data=st.data())
@tried(20)
def test_sums(kind, data):
    chunks = data.draw(chunks_of(numbers[kind]))
    check(SumLattice(), kind, Sequence, chunks, data.draw(st.booleans()))
    natural = [([x for x in chunk if x >= 0],) for (chunk,) in chunks]
    check(SumLattice(), kind, Bag, natural, data.draw(st.booleans()))


REFUSED = {
    "nan": (flo.Sequence[float], lambda s: s.fold_lattice(flo.Max[float]), [1.0, 2.0, math.nan]),
    "null": (flo.Bag[int | None], lambda s: s.fold_lattice(flo.Max[int]), [1, None]),
    "below zero": (flo.Bag[int], lambda s: s.fold_lattice(flo.NaturalSum), [1, -1]),
    "not whole": (flo.Bag[float], lambda s: s.fold_lattice(flo.NaturalSum(int)), [1.5]),
    "no set": (flo.Sequence[int], lambda s: s.fold_lattice(flo.SetUnion[int]), [1]),
    "f gives another type": (flo.Sequence[int], lambda s: s.fold_lattice(flo.Max[int], lambda x: str(x)), [1]),
    "f raises": (flo.Sequence[int], lambda s: s.fold_lattice(flo.Max[int], lambda x: 1 // x), [1, 2, 0, 3]),
    "an infinite sum": (flo.Sequence[float], lambda s: s.sum_lattice(), [1.0, math.inf]),
    "a sum that falls": (flo.Bag[int], lambda s: s.sum_lattice(), [3, -2]),
    "a sum of nothing": (flo.Sequence[int | None], lambda s: s.sum_lattice(), [3, None]),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused_with_the_same_words(reason):
    collection, verb, elements = REFUSED[reason]
    flow = flo.Flow("refused")
    flow.output("value", verb(flow.input("numbers", collection)))
    with pytest.raises(FloError) as on_values:
        flow.run(numbers=elements)
    with pytest.raises(FloError) as on_columns:
        flow.on(flo.here).run(numbers=elements)
    one, other = on_values.value, on_columns.value
    assert (type(one), one.summary) == (type(other), other.summary)
    assert set(one.facts) <= set(other.facts)
    assert set(one.instead) <= set(other.instead)


def test_what_reads_an_lvar_stands_without_conversions():
    flow = flo.Flow("highest")
    rows = flow.input("rows", flo.Bag[Row], bounded=True)
    highest = rows.fold_lattice(flo.Max[int], "count")
    other = rows.map("count").sum_lattice().map_monotone(lambda total: total, flo.Max[int])
    both = highest.union(other)
    flow.output("value", both)
    flow.output("above", both.above(3))
    flow.output("event", both.event_when_above(3).map(nw.col("value") * 2))
    flow.output("final", both.to_sequence().map(nw.col("value") + 1))
    program = flow.on(flo.here)
    text = program.explain()
    hows = {re.split(r"\W", line.strip())[0]: line for line in text.partition("\nstate\n")[0].splitlines()}
    assert hows["fold_lattice"].endswith("on tables")
    assert hows["sum_lattice"].endswith("on tables")
    for name in ("map_monotone", "lvar_union", "above", "threshold", "to_sequence"):
        assert "on one value" in hows[name]
    assert text.splitlines()[-1].startswith("5 on tables, 0 row by row in Python, 0 on values, 5 on one value, 2 conv")
    result = program.run(rows=[Row("a", 2, 0.0, True), Row("b", 5, 0.0, True)])
    assert (result["value"], result["above"]) == (7, True)
    assert result["event"].to_pylist() == [{"value": 6}]
    assert result["final"].to_pylist() == [{"value": 8}]


def test_explain_says_what_runs_row_by_row():
    flow = flo.Flow("sets")
    rows = flow.input("rows", flo.Bag[Row])
    flow.output("columns", rows.fold_lattice(flo.Max[int], "count"))
    flow.output("python", rows.fold_lattice(flo.SetUnion[int], small))
    flow.output("rows", rows.fold_lattice(flo.Flat))
    assert flow.on(flo.here).explain().splitlines()[-1].startswith("2 on tables, 1 row by row in Python, 0 on values")


def test_it_goes_on_from_a_checkpoint(tmp_path):
    flow = flo.Flow("sums")
    numbers = flow.input("numbers", flo.Sequence[float])
    flow.output("sum", numbers.sum_lattice())
    loop = flow.on(flo.here).loop()
    loop.push(numbers=[0.1, -5.0])
    loop.checkpoint(tmp_path)
    again = flow.on(flo.here).loop()
    again.restore(tmp_path)
    again.push(numbers=[5.0, 0.2])
    assert again.result()["sum"] == 0.30000000000000004
