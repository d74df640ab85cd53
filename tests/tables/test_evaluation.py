"""What column expressions mean: checked integers, exact comparisons, and what follows from their structure."""

from __future__ import annotations

import math
import operator
import re
from itertools import product
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.columns import evaluation, node_functions, windowing
from flo.columns import functions as own_functions
from flo.columns.evaluation import nodes_of
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from tests.quick import tried


class Pair(NamedTuple):
    x: int
    y: int


class Mixed(NamedTuple):
    tiny: Annotated[int, pa.int8()]
    small: Annotated[int, pa.int32()]
    large: Annotated[int, pa.uint64()]
    number: float
    some: int | None
    items: tuple[int, ...]


PAIR, MIXED = Layout.of(Pair), Layout.of(Mixed)
X, Y = nw.col("x"), nw.col("y")
LOW, HIGH = -(2**63), 2**63 - 1
EDGES = sorted({s * n + d for n in (0, 1, 2, 3, 2**31, 2**53, 2**62, 2**63) for s in (1, -1) for d in (-1, 0, 1)})
EDGES = [n for n in EDGES if LOW <= n <= HIGH]
OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
FLOATS = [0.0, -0.0, 0.5, -1.5, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e308, math.inf, -math.inf, math.nan]
mixed = Mixed(1, 2, 3, 0.5, None, (1, 2))


def on_tables(expression: Expression, rows: list[Any]) -> list[Any]:
    return expression.layout.to_elements(expression.results(expression.inputs[0].to_table(rows)))


@pytest.mark.parametrize("sign", OPERATIONS)
def test_integers_are_exact_or_refused(sign):
    compute = OPERATIONS[sign]
    expression = Expression(compute(X, Y), (PAIR,))
    fine, refused = [], []
    for x, y in product(EDGES, repeat=2):
        result = None if y == 0 and sign in ("//", "%") else compute(x, y)
        (fine if result is None or LOW <= result <= HIGH else refused).append((Pair(x, y), result))
    assert on_tables(expression, [row for row, _ in fine]) == [result for _, result in fine]
    assert refused or sign == "%"
    for row, _ in refused:
        with pytest.raises(flo.ElementError, match="integer out of range"):
            expression(row)


@pytest.mark.parametrize(
    ("given", "row"),
    [
        (-X, Pair(LOW, 0)),
        (X.abs(), Pair(LOW, 0)),
        (X**Y, Pair(2, 63)),
        (2 - X, Pair(LOW, 0)),
        (nw.sum_horizontal("x", "y"), Pair(HIGH, 1)),
        (X.cast(nw.Int8), Pair(128, 0)),
        (X.cast(nw.UInt64), Pair(-1, 0)),
        (X.cast(nw.Float64).cast(nw.Int64), Pair(HIGH, 0)),
        (X // Y, Pair(LOW, -1)),
    ],
    ids=str,
)
def test_other_functions_that_leave_the_range(given, row):
    with pytest.raises(flo.ElementError):
        Expression(given, (PAIR,))(row)


def test_what_stays_in_the_range():
    assert Expression(X**Y, (PAIR,))(Pair(-2, 63)) == LOW
    assert Expression(X % Y, (PAIR,))(Pair(LOW, -1)) == 0
    assert Expression(nw.mean_horizontal("x", "y"), (PAIR,))(Pair(HIGH, HIGH)) == 2.0**63
    assert Expression((X * 2).cast(nw.Int8), (PAIR,))(Pair(63, 0)) == 126


def test_narrow_columns_are_computed_in_64_bits():
    row = mixed._replace(tiny=127, small=2**31 - 1)
    assert Expression(nw.col("tiny") * 2, (MIXED,))(row) == 254
    assert Expression(nw.col("small") * nw.col("small"), (MIXED,))(row) == (2**31 - 1) ** 2
    assert Expression(-nw.col("tiny"), (MIXED,))(row._replace(tiny=-128)) == 128
    assert Expression(nw.col("tiny").abs(), (MIXED,))(row._replace(tiny=-128)) == 128


def test_unsigned_columns():
    row = mixed._replace(large=2**64 - 1)
    large = nw.col("large")
    assert Expression(large - 1, (MIXED,))(row) == 2**64 - 2
    assert Expression(large // 2, (MIXED,))(row) == 2**63 - 1
    assert Expression(large > nw.col("tiny"), (MIXED,))(row._replace(tiny=-1)) is True
    assert Expression(large == -1, (MIXED,))(row) is False
    assert Expression(large + nw.col("tiny"), (MIXED,))(row._replace(large=5, tiny=-7)) == -2
    for wrong, on in ((large + 1, row), (large - 1, row._replace(large=0)), (large + nw.col("tiny"), row)):
        with pytest.raises(flo.ElementError, match="integer out of range"):
            Expression(wrong, (MIXED,))(on)


def test_sums_within_lists():
    total = Expression(nw.col("items").list.sum(), (MIXED,))
    assert total(mixed._replace(items=(HIGH, -1))) == HIGH - 1
    with pytest.raises(flo.ElementError):
        total(mixed._replace(items=(HIGH, 1)))


def test_lists_as_arrow_may_store_them():
    """Parts of longer columns, and nulls that have items in their place."""
    hidden = pa.ListArray.from_arrays([0, 2, 4, 5], [1, 2, 3, 4, 7], mask=pa.array([False, True, False]))
    parts = pa.array([[9, 9], [3, 1, None, 2], None, [], [5, 4]]).slice(1)
    items = nw.col("items").list

    def found(lists: pa.Array, given: nw.Expr) -> list[Any]:
        return evaluation.evaluate(given, evaluation.InputRows.of(pa.table({"items": lists}))).data.to_pylist()

    assert found(hidden, items.sort(descending=True)) == [[2, 1], None, [7]]
    assert found(hidden, items.contains(3)) == [False, None, False]
    assert found(hidden, items.contains(7)) == [False, None, True]
    assert found(hidden, items.get(0)) == [1, None, 7]
    assert found(parts, items.sort()) == [[None, 1, 2, 3], None, [], [4, 5]]
    assert found(parts, items.sort(nulls_last=True)) == [[1, 2, 3, None], None, [], [4, 5]]
    assert found(parts, items.get(1)) == [1, None, None, 4]
    assert found(parts, items.contains(1)) == [True, None, False, False]
    assert found(pa.array([[2.0, math.nan, None, -1.0]]), items.sort(descending=True))[0][2:] == [2.0, -1.0]


def test_integers_of_38_digits():
    """Sums of integers: the columns that `flo.sum` gives."""

    class Sums(NamedTuple):
        total: Annotated[Any, pa.decimal128(38, 0)]
        n: int

    table = pa.table({"total": pa.array([10**37, -(2**64)], pa.decimal128(38, 0)), "n": [9, 2]})
    rows = evaluation.InputRows.of(table)

    def found(given: nw.Expr) -> list[Any]:
        return [int(each) for each in evaluation.evaluate(given, rows).data.to_pylist()]

    total, n = nw.col("total"), nw.col("n")
    assert found(total + 1) == [10**37 + 1, -(2**64) + 1]
    assert found(n - total) == [9 - 10**37, 2 + 2**64]
    assert found(total * n) == [9 * 10**37, -(2**65)]
    assert found(-total) == [-(10**37), 2**64]
    assert evaluation.evaluate(total > n, rows).data.to_pylist() == [True, False]
    assert evaluation.evaluate(total / 2, rows).data.to_pylist() == [5e36, -(2.0**63)]
    with pytest.raises(flo.ElementError, match="integer out of range"):
        found(total * 10)
    with pytest.raises(TypeError, match=re.escape("cast(nw.Int64)")):
        found(total // 2)


def test_division_by_zero():
    row = Pair(7, 0)
    assert Expression(X // Y, (PAIR,))(row) is None
    assert Expression(X % Y, (PAIR,))(row) is None
    assert Expression(X / Y, (PAIR,))(row) == math.inf
    assert Expression(-X / Y, (PAIR,))(row) == -math.inf
    assert math.isnan(Expression(X / Y, (PAIR,))(Pair(0, 0)))
    assert Expression(nw.col("number") // 0.0, (MIXED,))(mixed) is None
    assert Expression(nw.col("number") % 0.0, (MIXED,))(mixed) is None


def test_integers_beside_floats():
    row = Pair(2**53 + 1, 0)
    assert Expression(X + 0.0, (PAIR,))(row) == 2.0**53
    assert Expression(X.sqrt(), (PAIR,))(row) == math.sqrt(2**53 + 1)
    assert Expression(X.cast(nw.Float64), (PAIR,))(row) == 2.0**53
    assert Expression(nw.when(Y == 0).then(X).otherwise(0.5), (PAIR,))(row) == 2.0**53


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparisons_are_those_of_python(compare):
    class Both(NamedTuple):
        n: int
        number: float

    rows = [Both(n, number) for n in EDGES for number in FLOATS]
    layout = Layout.of(Both)
    straight = Expression(compare(nw.col("n"), nw.col("number")), (layout,))
    reverse = Expression(compare(nw.col("number"), nw.col("n")), (layout,))
    assert on_tables(straight, rows) == [compare(row.n, row.number) for row in rows]
    assert on_tables(reverse, rows) == [compare(row.number, row.n) for row in rows]


def test_a_branch_that_is_not_taken_does_not_fail():
    doubled = nw.when(X < 2**62).then(X * 2).otherwise(Y)
    expression = Expression(doubled, (PAIR,))
    assert on_tables(expression, [Pair(1, 0), Pair(HIGH, 5), Pair(3, 0)]) == [2, 5, 6]
    with pytest.raises(flo.ElementError, match="integer out of range"):
        Expression(nw.when(X > 0).then(X * 2).otherwise(Y), (PAIR,))(Pair(HIGH, 5))
    maybe = Expression(nw.when(X < 2**62).then(X * 2), (PAIR,))
    assert on_tables(maybe, [Pair(HIGH, 5), Pair(3, 0)]) == [None, 6]


def doubling() -> flo.Flow:
    flow = flo.Flow("doubling")
    rows = flow.input("rows", flo.Bag[Pair])
    flow.output("doubled", rows.map({"x": X * 2, "y": "y"}))
    return flow


BAD = Pair(2**62, 5)


@pytest.mark.parametrize("run", [lambda flow: flow, lambda flow: flow.on(flo.here)], ids=["values", "tables"])
def test_the_error_names_the_row(run):
    with pytest.raises(flo.ElementError, match="integer out of range") as caught:
        run(doubling()).run(rows=[Pair(1, 1), BAD, Pair(2, 2)])
    assert repr(BAD) in str(caught.value)
    assert "x * 2" in str(caught.value)


def test_the_row_is_put_aside():
    result = doubling().on(flo.here).run(rows=[Pair(1, 1), BAD, Pair(2, 2)], on_error="divert")
    assert sorted(row["x"] for row in result["doubled"].to_pylist()) == [2, 4]
    (aside,) = result.diverted["rows"].to_pylist()
    assert aside["row"] == repr(BAD)
    assert "integer out of range" in aside["reason"]


# Structure


def test_nodes_of_narwhals_are_as_they_are_read():
    """If this fails, Narwhals keeps its expressions in another way, and `evaluation` must learn to read them."""
    (column, times) = nodes_of(nw.col("a") * 2)
    assert (column.kind.name, column.name, column.kwargs) == ("COL", "col", {"names": ["a"]})
    assert (times.kind.name, times.name, times.exprs, times.str_as_lit) == ("ELEMENTWISE", "__mul__", (2,), True)
    (literal,) = nodes_of(nw.lit(1, nw.Int8))
    assert (literal.kind.name, literal.name) == ("LITERAL", "lit")
    assert literal.kwargs == {"value": 1, "dtype": nw.Int8}
    (chosen,) = nodes_of(nw.when(nw.col("a") > 1).then(2).otherwise(3))
    assert (chosen.name, chosen.exprs[1:]) == ("when_then", (2, 3))
    assert [node.name for node in nodes_of(chosen.exprs[0])] == ["all_horizontal"]
    (pattern,) = nodes_of(nw.col("a").str.contains("b"))[1:]
    assert (pattern.name, pattern.exprs, pattern.kwargs) == ("str.contains", ("b",), {"literal": False})
    (filled,) = nodes_of(nw.col("a").fill_null("b"))[1:]
    assert (filled.exprs, filled.str_as_lit) == (("b",), True)
    assert nodes_of(nw.col("a").fill_null(strategy="forward"))[1].kind.name == "ORDERABLE_WINDOW"
    kinds = {node.kind.name for each in (nw.all(), nw.nth(0), nw.exclude("a")) for node in nodes_of(each)}
    assert kinds == {"ALL", "NTH", "EXCLUDE"}
    assert nodes_of(nw.selectors.numeric())[0].kind.name == "SELECTOR"


def test_every_function_that_is_read_exists():
    """A function that Narwhals calls otherwise now would be handed to Narwhals, with other results."""
    x = nw.col("x")
    made: dict[str, Any] = {}
    spaces = {"": x, "dt.": x.dt, "str.": x.str, "list.": x.list, "struct.": x.struct}
    for prefix, space in spaces.items():
        for name in dir(space):
            made[prefix + name] = getattr(space, name)
    functions = set(dir(nw))
    private = {"clip_lower", "clip_upper"}  # of `clip` with one bound
    of_flo = {"try_cast", *own_functions.FUNCTIONS, *windowing.FUNCTIONS}
    known = {*node_functions.OWN, *node_functions.KEPT_BY_NARWHALS} - private - of_flo
    assert {name for name in known if name not in made and name not in functions} == set()
    assert [node.name for node in nodes_of(x.clip(1))[1:]] == ["clip_lower"]
    assert [node.name for node in nodes_of(x.clip(upper_bound=1))[1:]] == ["clip_upper"]


def test_columns_by_place_and_kind():
    assert Expression(nw.nth(1) + 1, (PAIR,))(Pair(1, 5)) == 6
    assert Expression(nw.nth(1), (PAIR,)).reads == (("y",),)
    assert Expression(nw.sum_horizontal(nw.all()), (PAIR,))(Pair(1, 5)) == 6
    assert Expression(nw.max_horizontal(nw.exclude("x")), (PAIR,)).reads == (("y",),)
    assert Expression(nw.sum_horizontal(nw.selectors.numeric()), (PAIR,))(Pair(2, 5)) == 7
    with pytest.raises(flo.FloError, match="it returns 2"):
        Expression(nw.all(), (PAIR,))


GIVEN = {
    "texts": (nw.col("s").str.to_uppercase(), nw.col("s").str.slice(1, 2), nw.col("s").str.replace_all("a", "b")),
    "patterns": (nw.col("s").str.contains("a$"), nw.col("s").str.starts_with("a"), nw.col("s").str.len_chars()),
    "choices": (nw.when(nw.col("s") == "a").then(nw.lit("x")).otherwise(nw.col("s")), nw.col("n").is_in([1, 2])),
    "joined": (nw.concat_str("s", nw.lit("!"), separator="-"), nw.coalesce("o", "n")),
    "numbers": (nw.col("f").round(1), nw.col("f").floor(), nw.col("n").clip(0, 3), nw.max_horizontal("n", "o")),
    "logic": ((nw.col("n") > 1) & (nw.col("o") > 1), ~(nw.col("n") > 1), nw.col("o").is_between(0, 2)),
    "replaced": (
        nw.col("s").replace_strict({"a": 1, "ß": 2}, default=0),
        nw.col("o").replace_strict({1: 2}, default=5),
    ),
    "nulls": (nw.col("o").fill_null(0), nw.col("o").is_null(), nw.any_horizontal(nw.col("o") > 1, ignore_nulls=True)),
    "floats": (nw.col("f") / 3, nw.col("f") ** 2, nw.col("f").exp(), nw.col("f").log(), nw.col("n") * 0.5),
}


class Row(NamedTuple):
    s: str
    n: int
    o: int | None
    f: float


rows_of = st.lists(
    st.builds(
        Row,
        st.sampled_from(["", "a", "ab\n", "a\x85", "ß", "İ", "e\u0301", "😀a", "\u2028"]),
        st.integers(-5, 5),
        st.none() | st.integers(-5, 5),
        st.floats(-1e6, 1e6),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("group", GIVEN)
@given(rows=rows_of)
@tried(10)
def test_the_rest_is_what_narwhals_gives(group, rows):
    """Node by node, or the whole expression on Arrow: the same, where nothing overflows."""
    layout = Layout.of(Row)
    table = layout.to_table(rows)
    for number, each in enumerate(GIVEN[group]):
        expression = Expression({"result": each}, (layout,))
        expected = nw.from_native(table, eager_only=True).select(result=each).to_native()["result"].to_pylist()
        found = expression.results(table)["result"].to_pylist()
        assert repr(found) == repr(expected), (group, number)  # nan is nan
        assert expression.schema.field("result").nullable or None not in expected


def test_rows_within_rows():
    layout = Layout.of(Row)
    row = Row("a", 1, None, 0.5)
    made = Expression(nw.struct("s", (nw.col("n") + 1).alias("more"), nw.lit(3)), (layout,))
    assert made(row) == ("a", 2, 3)
    assert made(row).more == 2
    joined = Layout.of(tuple[Row, Row | None])
    field = nw.col("0").struct.field("n")
    assert Expression(field + 1, (joined,)).kind is int
    assert Expression(nw.col("1").struct.field("n"), (joined,)).kind == int | None
    assert Expression(field + 1, (joined,))((row, None)) == 2


def test_names_take_the_columns_out_of_elements():
    """No table is made for them: a number that no column holds comes back as it was."""
    whole = Pair(2**70, 3)
    assert Expression("x", (PAIR,))(whole) == 2**70
    assert Expression(("y", "x"), (PAIR,))(whole) == (3, 2**70)
    assert Expression({"z": "x"}, (PAIR,))(whole).z == 2**70
    assert Expression({"a": "x", "b": "x_right"}, (PAIR, PAIR))(whole, Pair(1, 2)) == (2**70, 1)


def test_results_are_not_mixed_up_where_elements_come_and_go():
    """Elements that are gone leave their identity to others."""
    double, both = Expression(X * 2, (PAIR,)), Expression(X + nw.col("y_right"), (PAIR, PAIR))
    for n in range(6000):
        assert double(Pair(n, 0)) == 2 * n
        if n % 50 == 0:
            assert both(Pair(n, 0), Pair(0, n)) == 2 * n
        if n % 1000 == 0:
            some = [Pair(n + k, 0) for k in range(5)]
            double.prepare(some)
            assert list(map(double, some)) == [2 * (n + k) for k in range(5)]
            some.clear()


def test_a_delta_is_evaluated_at_once(monkeypatch):
    tables = []
    arrays = Expression._arrays

    def counted(self: Expression, rows: evaluation.InputRows) -> list[pa.Array]:
        tables.append(rows.count)
        return arrays(self, rows)

    monkeypatch.setattr(Expression, "_arrays", counted)
    flow = flo.Flow("once")
    rows, others = flow.input("rows", flo.ZSet[Pair]), flow.input("others", flo.ZSet[Pair])
    flow.output("kept", rows.map({"x": X + Y, "y": "y"}).filter(nw.col("x") > 50))
    flow.output("sums", rows.group_by(key=X % 3).agg(sum=flo.sum(Y * 2)))
    flow.output("joined", rows.join(others, X + 1, "x", into={"z": Y - nw.col("y_right")}))
    flow.output("weights", rows.map_weights(nw.col("weight") * X))
    data = [Pair(n, n) for n in range(1, 101)]
    tables.clear()  # the laws of `map_weights` were tried
    result = flow.run(rows=data, others=data)
    assert len(result["kept"]) == 75
    assert len(result["joined"]) == 1
    assert result["weights"][Pair(7, 7)] == 7
    assert min(tables) > 90, "one table for each expression, and not for each row"
    assert len(tables) == 6


@pytest.mark.parametrize("given", ["number", nw.col("number"), nw.col("number") * 1.0, nw.col("number").fill_null(1.0)])
def test_elements_of_sequences_keep_the_sign_of_zero(given: Any) -> None:
    """As results of Python functions do."""

    class Reading(NamedTuple):
        number: float

    flow = flo.Flow("zeros")
    numbers = flow.input("readings", flo.Sequence[Reading]).map(given)
    flow.output("signs", numbers.map(sign_of))
    readings = [Reading(-0.0), Reading(0.0)]
    assert flow.run(readings=readings)["signs"] == [-1.0, 1.0]
    assert flow.on(flo.here).run(readings=readings)["signs"]["value"].to_pylist() == [-1.0, 1.0]


def sign_of(number: float | None) -> float:
    assert number is not None
    return math.copysign(1.0, number)
