"""Sums, averages and counts of extreme numbers: on tables as on values, however the input is cut into deltas."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.core.errors import ElementError, FloError
from flo.values.exact import Digits, IntSum, mean_type, sum_type
from tests.harness import all_digits
from tests.quick import tried

pytestmark = pytest.mark.every(check=3)

WIDE = pa.decimal128(38, 0)
MONEY = Annotated[Decimal, pa.decimal128(10, 2)]
HUGE = Annotated[Decimal, pa.decimal128(38, 0)]
FINE = Annotated[Decimal, pa.decimal128(38, 38)]

FLOATS = [1e308, 1e308, -1e308, -1e308, 1.0, -0.0, 0.1, 5e-324, 2.0**53 + 2]
ODD = [math.nan, math.inf, -math.inf, 1e308, 1.0]
INTS = [2**53 + 1, 2**62, 2**62, 2**62, -(2**62), 2**63 - 1, -(2**63), 7, 0]
DECIMALS = {
    Decimal: [Decimal(10) ** 19, Decimal("0.1"), Decimal(-7), Decimal("1e-18"), Decimal(10) ** 19],
    MONEY: [Decimal("99999999.99"), Decimal("-0.01"), Decimal("99999999.99")],
    HUGE: [Decimal(10**25), Decimal(10**25 + 1), Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(1)],
    FINE: [Decimal(f"{n}e-38") for n in (10**38 - 1, 1, 2 - 10**38)],
}
GIVEN = {float: FLOATS, int: INTS, **DECIMALS}
WEIGHTS = [1, 3, 2**53 + 1, -1, 1, 2**31, 1, 2, 5]


def _row(kind):
    return NamedTuple("Row", [("group", str), ("price", kind)])


ROWS = {kind: _row(kind) for kind in GIVEN}


def rows_of(kind, numbers=None):
    """The numbers in two groups and in one."""
    numbers = GIVEN[kind] if numbers is None else numbers
    return [ROWS[kind]("ab"[place % 2], number) for place, number in enumerate(numbers)]


def pulled(loop, name):
    found = loop.pull(name)
    if not isinstance(found, pa.Table):
        return found
    columns = {column: list(map(_plain, values)) for column, values in found.to_pydict().items()}
    weights = columns.pop("_weight", None)
    elements = next(iter(columns.values())) if len(columns) == 1 else list(zip(*columns.values(), strict=True))
    return elements if weights is None else dict(zip(elements, weights, strict=True))


def _plain(item):
    return tuple(map(_plain, item.values())) if isinstance(item, dict) else item


def content(found):
    """What can be compared: nan is nan, and zeros of both signs are one."""
    units = found.items() if isinstance(found, dict) else found
    return sorted(map(repr, (_alike(each) for each in units)))


def _alike(item):
    match item:
        case tuple() | list():
            return tuple(map(_alike, item))
        case int() | Decimal():
            return str(Decimal(item).normalize()) if item else "0"
        case float():
            return item + 0.0
    return item


def changes(flow, deltas, where=None):
    """What comes of these deltas, all added up."""
    loop = flow.loop() if where is None else flow.on(where).loop()
    total: dict = {}
    for delta in deltas:
        loop.push(rows=delta)
        loop.run()
        for element, weight in pulled(loop, "found").items():
            key = repr(_alike(element))
            total[key] = total.get(key, 0) + weight
    return {key: weight for key, weight in total.items() if weight}


def agree(build, kind, deltas):
    """A z-set's program on values and on tables, as one delta and as several."""

    def flow():
        made = flo.Flow("numbers")
        made.output("found", all_digits(build(made.input("rows", flo.ZSet[ROWS[kind]]))))
        return made

    whole: dict = {}
    for delta in deltas:
        for row, weight in delta.items():
            whole[row] = whole.get(row, 0) + weight
    ways = [(deltas, None), (deltas, flo.here), ([whole], None), ([whole], flo.here)]
    first, *others = [changes(flow(), way, where) for way, where in ways]
    assert first
    assert others == [first] * 3
    return first


AGGREGATES = {
    "sum": lambda z: z.agg(sum=flo.sum("price")).map("sum"),
    "sum_by": lambda z: z.group_by("group").agg(sum=flo.sum("price")),
    "avg": lambda z: z.agg(avg=flo.avg("price")).map("avg"),
    "avg_by": lambda z: z.group_by("group").agg(avg=flo.avg("price")),
    "count": lambda z: z.agg(n=flo.count()).map("n"),
    "count_by": lambda z: z.group_by("group").agg(n=flo.count()),
    "min": lambda z: z.agg(min=flo.min("price")).map("min"),
    "max_by": lambda z: z.group_by("group").agg(max=flo.max("price")),
}


@pytest.mark.parametrize("kind", GIVEN, ids=str)
@pytest.mark.parametrize("name", AGGREGATES)
def test_groups_of_z_sets(name, kind):
    units = list(zip(rows_of(kind), WEIGHTS, strict=False))
    if kind in DECIMALS and "count" not in name:  # within 38 digits
        units = [(row, 1 if kind in (HUGE, FINE) else 1 + place) for place, (row, _) in enumerate(units)]
    if kind in (HUGE, FINE) and "sum" in name:
        units = [units[0], units[-1]]
    if name in ("min", "max_by"):
        units = [(row, abs(weight)) for row, weight in units]
    agree(AGGREGATES[name], kind, [{row: weight} for row, weight in units])


@pytest.mark.parametrize("name", ["sum", "sum_by", "avg", "avg_by", "min", "max_by"])
def test_numbers_that_are_not_finite(name):
    rows = rows_of(float, ODD)
    agree(AGGREGATES[name], float, [{row: 2} for row in rows])
    agree(AGGREGATES[name], float, [{rows[1]: 2}, {rows[2]: 3}, {rows[2]: -3}])


BODIES = {
    "sum": lambda s: s.map("price").sum(),
    "sum of a bag": lambda s: s.to_bag().map("price").sum(),
    "count": lambda s: s.count(),
    "count of a bag": lambda s: s.to_bag().count(),
    "sum_by": lambda s: s.to_zset().group_by("group").agg(sum=flo.sum("price")).to_bag(),
    "avg_by": lambda s: s.to_zset().group_by("group").agg(avg=flo.avg("price")).to_bag(),
    "min": lambda s: s.to_zset().agg(min=flo.min("price")).map("min").to_bag(),
}


def settings(kind, body):
    """The body in every setting."""

    def flow():
        made = flo.Flow("bodies")
        rows = made.input("rows", flo.Sequence[ROWS[kind]], bounded=True)
        made.output("whole", all_digits(body(rows)))
        made.output("by key", all_digits(rows.key_by("group").per_key(body).entries()))
        made.output("batches", all_digits(rows.batch(4).nest(body).flatten()))
        made.output("windows", all_digits(rows.tumbling(3, lambda row: 1 if row.price else 4).nest(body).flatten()))
        keyed = rows.key_by("group").per_key(lambda s: s.batch(2).nest(body).flatten())
        made.output("batches by key", all_digits(keyed.entries()))
        within = rows.batch(4).nest(lambda b: b.key_by("group").per_key(body).entries())
        made.output("keys in batches", all_digits(within.flatten()))
        return made

    return flow


@pytest.mark.every(test=5)
@pytest.mark.parametrize("kind", GIVEN, ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_bodies_in_every_setting(name, kind):
    flow, rows = settings(kind, BODIES[name])(), rows_of(kind)
    if kind in (HUGE, FINE) and name.startswith("sum"):  # within 38 digits
        rows = [rows[0], rows[-1]]
    expected, tables = flow.run(rows=rows), flow.on(flo.here)
    for deltas in (rows, [[row] for row in rows]):
        loop = tables.loop()
        for delta in [deltas] if deltas is rows else deltas:
            loop.push(rows=delta)
        loop.end("rows")
        loop.run()
        for output in expected:
            assert content(pulled(loop, output)) == content(expected[output]), output


def test_a_window_that_goes_beyond_the_largest_float():
    flow = settings(float, lambda s: s.map("price").sum())()
    found = flow.on(flo.here).run(rows=rows_of(float, [1e308, 1e308, -1e308, -1e308, 1.0]))
    assert found["whole"].to_pydict() == {"value": [1.0]}


def often(number: int, weight: int) -> int:
    return weight * (2**53 + 1)


def test_a_count_of_many_equal_elements():
    flow = flo.Flow("counts")
    bag = flow.input("rows", flo.Bag[int], bounded=True)
    flow.output("count", bag.count())
    flow.output("by key", bag.key_by(lambda x: x % 2).per_key(lambda s: s.count()))
    batches = flow.input("some", flo.Sequence[int], bounded=True).batch(2)
    flow.output("nested", batches.nest(lambda b: b.to_zset().map_weights(often).to_bag().count()).flatten())
    data = {"rows": {1: 2**53 + 1, 3: 2}, "some": [1, 2, 3]}
    found, expected = flow.on(flo.here).run(**data), flow.run(**data)
    assert found["count"].to_pydict() == {"value": [2**53 + 3]} == {"value": expected["count"]}
    assert found["by key"] == expected["by key"]
    assert found["nested"].to_pydict()["value"] == expected["nested"] == [2**54 + 2, 2**53 + 1]


NUMBERS = {
    int: st.sampled_from([*INTS, 1, -1]) | st.integers(-(2**63), 2**63 - 1),
    float: st.sampled_from([*FLOATS, *ODD]) | st.floats(),
    MONEY: st.decimals(-99, 99, places=2),  # so that averages of any of the weights below have at most 38 digits
}


@given(data=st.data(), kind=st.sampled_from(list(NUMBERS)), name=st.sampled_from(["sum", "sum_by", "avg_by"]))
@tried(40)
def test_the_cut_into_deltas_does_not_matter(data, kind, name):
    row = st.builds(ROWS[kind], st.sampled_from("ab"), NUMBERS[kind])
    weights = st.sampled_from([1, -1, 3, 2**31, 2**53 + 1, -(2**53) - 1])
    deltas = data.draw(st.lists(st.dictionaries(row, weights, min_size=1, max_size=3), min_size=1, max_size=4))

    def flow():
        made = flo.Flow("cuts")
        made.output("found", all_digits(AGGREGATES[name](made.input("rows", flo.ZSet[ROWS[kind]]))))
        return made

    whole: dict = {}
    for delta in deltas:
        for each, weight in delta.items():
            whole[each] = whole.get(each, 0) + weight
    ways = [(deltas, None), (deltas, flo.here), ([whole], flo.here)]
    first, *others = [changes(flow(), way, where) for way, where in ways]
    assert others == [first] * 2


Sale = ROWS[int]
LARGE = [{Sale("a", 2**62): 3, Sale("b", 5): 1}, {Sale("a", -(2**62)): 3, Sale("a", 7): 1}]
"""The sum of `a` needs more than 64 bits on the way."""


def sums(rows):
    return rows.group_by("group").agg(sum=flo.sum("price"))


def second(row) -> int:
    return row[1]


def twice(row) -> flo.Int128:
    return row[1] * 2


def large(row) -> bool:
    return row[1] > 5


OWN = {"group": "group", "sum": "price"}
DOWNSTREAM = {
    "a python function": lambda z: sums(z).map(twice),
    "a filter": lambda z: sums(z).filter(large),
    "columns that are passed on": lambda z: sums(z).map({"total": "sum", "who": "group"}),
    "a column beside a computed one": lambda z: sums(z).map({"k": nw.col("group").str.to_uppercase(), "v": "sum"}),
    "sums of sums": lambda z: sums(z).agg(all=flo.sum("sum")).map("all"),
    "averages of sums": lambda z: sums(z).group_by("group").agg(avg=flo.avg("sum")),
    "largest sum": lambda z: sums(z).agg(max=flo.max("sum")).map("max"),
    "first by sum": lambda z: sums(z).top(1, "sum"),
    "ties by text": lambda z: sums(z).top(1, "group", descending=False),
    "groups by sum": lambda z: sums(z).group_by("sum").agg(n=flo.count()),
    "different sums": lambda z: sums(z).map("sum").distinct(),
    "how many different sums": lambda z: sums(z).agg(n=flo.count_distinct("sum")).map("n"),
    "a join of sums": lambda z: sums(z).join(sums(z), lambda row: row[1], lambda row: row[1]),
    "a join with a column of 64 bits": lambda z: sums(z).join(z, "sum", "price", {"who": "group", "price": "price"}),
    "a semi-join with a column of 64 bits": lambda z: z.join(sums(z), "price", "sum", how="semi"),
    "an anti-join": lambda z: z.join(sums(z), "price", "sum", how="anti"),
    "a union with 64 bits": lambda z: sums(z).union(z.map(OWN)),
    "a difference with 64 bits": lambda z: z.map(OWN).minus(sums(z)),
    "a union of values": lambda z: z.map("price").union(sums(z).map("sum")).distinct(),
    "the largest of a union": lambda z: z.map("price").union(sums(z).map("sum")).agg(max=flo.max("value")).map("max"),
    "arithmetic": lambda z: sums(z).map(nw.col("sum") * 2 + 1),
    "a comparison": lambda z: sums(z).filter(nw.col("sum") > 5),
    "a linear aggregate": lambda z: z.group_by("group").agg(
        total=flo.linear(lambda row: row.price, lambda total: total)
    ),
    "several at once": lambda z: z.group_by("group").agg(
        total=flo.linear(lambda row: (row.price, 1), lambda totals: totals)
    ),
}


@pytest.mark.parametrize("name", DOWNSTREAM)
def test_sums_are_numbers_like_others(name):
    agree(DOWNSTREAM[name], int, LARGE)


def test_functions_without_annotations_compute_with_sums():
    small = [{Sale("a", 3): 3, Sale("b", 5): 1}, {Sale("a", 3): -3, Sale("a", 7): 1}]
    agree(lambda z: sums(z).map(lambda row: row[1] * 2 + 1), int, small)
    agree(lambda z: sums(z).map(lambda row: row[1] if row[1] > 5 else 0), int, small)


def test_python_functions_are_given_ints():
    flow, seen = flo.Flow("ints"), []

    def kept(row) -> bool:
        seen.append(type(row[1]))
        return True

    flow.output("found", sums(flow.input("rows", flo.ZSet[Sale])).filter(kept))
    loop = flow.on(flo.here).loop()
    for delta in LARGE:
        loop.push(rows=delta)
    found = loop.pull("found")
    assert found.schema.field("sum").type == pa.int64()
    assert {int} == set(seen)


EXPRESSIONS = {
    "arithmetic": lambda z: sums(z).map(nw.col("sum") * 2 + 1),
    "a comparison": lambda z: sums(z).filter(nw.col("sum") > 5),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_compute_with_all_digits_of_a_sum(name):
    agree(EXPRESSIONS[name], int, [{Sale("a", 2**61): 1, Sale("b", 5): 1}, {Sale("a", 2**61 - 7): 1}])
    agree(EXPRESSIONS[name], int, [{Sale("a", 2**62): 3}, {Sale("a", 2**62): 5, Sale("b", -(2**63)): 9}])


def test_an_expression_that_leaves_38_digits_is_refused():
    for where in (None, flo.here):
        flow = flo.Flow("large")
        flow.output(
            "found",
            sums(flow.input("rows", flo.ZSet[Sale])).map(nw.col("sum") * nw.col("sum")),
        )
        with pytest.raises(FloError, match="integer out of range"):
            changes(flow, [{Sale("a", 2**62): 2**10}], where)


def test_a_function_that_says_int_has_64_bits():
    flow = flo.Flow("narrow")
    flow.output("found", sums(flow.input("rows", flo.ZSet[Sale])).map(second))
    with pytest.raises(ElementError, match="does not fit"):
        flow.on(flo.here).run(rows={Sale("a", 2**62): 3})


class Sum(NamedTuple):
    group: str
    sum: int


class WideSum(NamedTuple):
    group: str
    sum: flo.Int128


def test_what_was_pulled_can_be_pushed(tmp_path):
    flow = flo.Flow("sums")
    flow.output("found", flow.input("rows", flo.ZSet[Sale]).group_by("group").agg(sum=flo.sum("price")))
    loop = flow.on(flo.here).loop()
    loop.push(rows=LARGE[0])
    loop.checkpoint(tmp_path)
    again = flow.on(flo.here).loop()
    again.restore(tmp_path)
    again.push(rows=LARGE[1])
    assert pulled(again, "found") == {("a", 7): 1, ("b", 5): 1}

    loop.push(rows=LARGE[1])
    table = loop.pull("found")
    for row in (Sum, WideSum):
        taken = flo.Flow("taken")
        taken.output("found", taken.input("sums", flo.ZSet[row]).map(second))
        assert pulled(_pushed(taken, sums=table), "found") == {7: 1, 5: 1}
    taken = flo.Flow("too large")
    taken.output("found", taken.input("sums", flo.ZSet[int]))
    with pytest.raises(FloError, match="expected int64"):
        taken.on(flo.here).run(sums=pa.table({"value": pa.array([2**63], WIDE)}))


def _pushed(flow, **data):
    loop = flow.on(flo.here).loop()
    loop.push(**data)
    return loop


def test_more_than_38_digits_names_the_group():
    flow = flo.Flow("too large")
    kind = tuple[str, Annotated[Decimal, pa.decimal128(38, 0)]]
    flow.output("sums", flow.input("rows", flo.ZSet[kind]).group_by("0").agg(sum=flo.sum("1")))
    with pytest.raises(ElementError, match="does not fit the 38 digits") as error:
        flow.on(flo.here).run(rows={("a", Decimal(10**38 - 1)): 1, ("a", Decimal(1)): 1})
    assert ("group", "('a',)") in error.value.facts


HEAVY = {
    "count": lambda z: z.agg(n=flo.count()).map("n"),
    "sum_by": lambda z: z.group_by("group").agg(sum=flo.sum("price")),
    "distinct": lambda z: z.distinct(),
    "join": lambda z: z.join(z, "group", "group"),
    "semi-join": lambda z: z.join(z.map("price"), "price", "value", how="semi"),
}


@pytest.mark.parametrize("name", HEAVY)
def test_weights_beyond_64_bits_are_refused(name):
    flow = flo.Flow("heavy")
    flow.output("found", HEAVY[name](flow.input("rows", flo.ZSet[Sale])))
    loop = flow.on(flo.here).loop()
    loop.push(rows={Sale("a", 1): 2**31})
    with pytest.raises(ElementError, match="does not fit 64 bits"):
        loop.push(rows={Sale("a", 1): 2**63 - 1})


def test_an_average_over_the_smallest_weight():
    for kind, row in ((int, Sale("a", 3)), (float, ROWS[float]("a", 3.5))):
        agree(AGGREGATES["avg_by"], kind, [{row: -(2**63)}, {row: 2**63 - 1}, {row: 2}])


def test_the_types_of_results():
    assert sum_type(int) == sum_type(bool) == sum_type(flo.Int128) == sum_type(Annotated[int, pa.int32()]) == IntSum
    assert sum_type(MONEY) == Annotated[Decimal, Digits(38, 2)]
    assert mean_type(MONEY) == Annotated[Decimal, Digits(38, 18)]
    assert mean_type(HUGE) == Annotated[Decimal, Digits(38, 0)]
    assert mean_type(Annotated[Decimal, pa.decimal128(30, 5)]) == Annotated[Decimal, Digits(38, 13)]
    assert mean_type(FINE) == Annotated[Decimal, Digits(38, 38)]
    assert mean_type(Decimal) == sum_type(Decimal) == Decimal
    assert str(flo.ZSet(flo.Int128)) == "ZSet[int]"


@pytest.mark.parametrize("aggregate", [flo.sum("price"), flo.avg("price")], ids=["sum", "avg"])
def test_what_is_left_in_a_group_that_does_not_exist_need_not_fit(aggregate: Any) -> None:
    """The weights cancel, the numbers do not: there is no row, and so nothing that is too large for a column."""

    class Priced(NamedTuple):
        group: str
        price: Annotated[Decimal, pa.decimal128(38, 2)]

    flow = flo.Flow("gone")
    flow.output("out", flow.input("rows", flo.ZSet[Priced]).group_by("group").agg(of=aggregate))
    large = Decimal(10) ** 35
    rows = {Priced("a", large): 9_007_199_254_740_993, Priced("a", -large): -9_007_199_254_740_993}
    assert flow.run(rows=rows)["out"] == {}
    assert flow.on(flo.here).run(rows=rows)["out"].num_rows == 0


@pytest.mark.parametrize("kind", [flo.Bag, flo.Set, flo.ZSet])
def test_an_integer_that_no_float_equals_does_not_fit_a_union_with_floats(kind: Any) -> None:
    flow = flo.Flow("both")
    flow.output("both", flow.input("ints", kind[int]).union(flow.input("floats", kind[float])))
    loop = flow.on(flo.here).loop()
    loop.push(ints=[2**53], floats=[1.5])
    with pytest.raises(ElementError, match="a value does not fit the column `value`") as caught:
        loop.push(ints=[7, 2**53 + 1])
    assert {("expected", "a double that equals it"), ("given", str(2**53 + 1))} <= set(caught.value.facts)
