"""Column expressions: as functions of rows on values, on tables, and what is refused when the program is built."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import narwhals as nw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

import flo
from flo.columns.evaluation import nodes_of, output_name
from flo.columns.expression import Expression, nullable_layout
from flo.columns.expression_text import expression_text
from flo.columns.layout import Layout
from flo.core.checkpoint import decode, encode
from flo.core.elements import returned_type
from flo.core.labels import identity
from flo.core.term import Lifting, Lowering
from flo.spark.driver.pushdown import runs_in_catalyst
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables

pytestmark = pytest.mark.slow


class Order(NamedTuple):
    user: str
    price: int
    count: int
    note: str | None


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Painted:
    colour: Colour
    size: float


ORDER = Layout.of(Order)
A = Order("ann", 3, 2, None)
B = Order("bob", 5, 1, "gift")


def test_what_an_expression_gives_for_a_row():
    assert Expression("price", (ORDER,))(A) == 3
    assert Expression(nw.col("price") * nw.col("count"), (ORDER,))(A) == 6
    assert Expression(("user", "price"), (ORDER,))(A) == ("ann", 3)
    row = Expression({"user": "user", "total": nw.col("price") * nw.col("count")}, (ORDER,))(A)
    assert row == ("ann", 6)
    assert (row.user, row.total) == ("ann", 6)
    assert repr(row) == "Row(user='ann', total=6)"
    assert Expression(nw.lit(1), (ORDER,))(A) == 1
    assert Expression("value", (Layout.of(int),))(4) == 4
    assert Expression(("1", "0"), (Layout.of(tuple[int, str]),))((4, "x")) == ("x", 4)


def test_two_rows_side_by_side():
    both = Expression({"user": "user", "more": nw.col("price_right") - nw.col("price")}, (ORDER, ORDER))
    assert both(A, B) == ("ann", 2)
    assert both.reads == (("user", "price"), ("price",))
    alone = Expression({"user": "user", "other": "user_right"}, (ORDER, nullable_layout(ORDER)))
    assert alone(A, None) == ("ann", None)
    assert alone(A, B) == ("ann", "bob")


def test_what_it_says_it_returns():
    def kind(given: Any) -> Any:
        return returned_type(Expression(given, (ORDER,)))

    assert kind("price") is int
    assert kind("note") == str | None
    assert kind(nw.col("price") * 2) is int
    assert kind(nw.col("price") / 2) is float
    assert kind(nw.col("price") // nw.col("count")) == int | None, "null where the count is 0"
    assert kind(nw.col("note").fill_null("")) is str
    assert kind(nw.col("price") // 2) is int
    assert kind(nw.col("price") // 0) == int | None
    assert kind(nw.col("note").str.len_chars()) == int | None
    assert kind(nw.coalesce("note", "user")) is str
    assert kind(nw.lit(None, nw.Int64)) == int | None
    assert kind(nw.col("note").is_null()) is bool
    assert kind(nw.col("user").str.split(" ").list.get(0)) == str | None
    assert kind(nw.col("note").replace_strict({"gift": 1}, default=0)) is int
    assert kind(nw.col("note").replace_strict({"gift": 1})) == int | None
    assert kind(nw.col("user").replace_strict({"ann": None}, default=0)) == int | None
    assert kind(nw.when(nw.col("price") > 1000).then(nw.col("price"))) == int | None
    assert kind(nw.when(nw.col("price") > 1000).then(nw.col("price")).otherwise(0)) is int
    assert kind(nw.col("user").str.len_chars()) is int
    assert kind(("user", "note")) == tuple[str, str | None]
    painted = Layout.of(Painted)
    assert returned_type(Expression("colour", (painted,))) is Colour
    assert Expression("colour", (painted,))(Painted(Colour.RED, 1.0)) is Colour.RED


def test_long_expressions_are_told_apart():
    long = nw.col("price")
    for _ in range(30):
        long = long + nw.col("count")
    one, other = Expression(long, (ORDER,)), Expression(long + 1, (ORDER,))
    assert one != other
    assert one == Expression(long, (ORDER,))
    assert hash(one) == hash(Expression(long, (ORDER,)))
    assert len(one.__name__) <= 80
    assert one.__name__[:70] == other.__name__[:70]
    assert identity(one) != identity(other)
    lowering = Lowering()
    assert lowering(one) != lowering(other)
    assert list(lowering.names.values()) == [one, other]


def test_rows_of_a_dict_are_written_down_and_read_again():
    row = Expression({"user": "user", "total": nw.col("price") * 2}, (ORDER,))(A)
    other = Expression({"user": "user", "total": nw.col("price") * 0.5}, (ORDER,))(A)
    for each in (row, other):
        read = Lifting()(decode(encode(Lowering()(each))))
        assert read == each
        assert type(read) is type(each)
    assert type(row) is not type(other)


def flow_of(*collections: Any, bounded: bool = False) -> tuple[Any, ...]:
    flow = flo.Flow("test")
    return flow, *(flow.input(f"in{n}", of, bounded=bounded) for n, of in enumerate(collections))


orders = st.builds(
    Order, st.sampled_from(["ann", "bob"]), st.integers(0, 5), st.integers(0, 3), st.sampled_from([None, "gift"])
)
zsets = st.dictionaries(orders, st.sampled_from([1, 2]), max_size=5)


def both_ways(flow: Any, streams: list[Any], *data: Any) -> dict[str, Any]:
    """What a run on values gives; one on tables gives the same."""
    agree(flow.graph(), tuple(stream.type for stream in streams), [data], seeds=1)
    return flow.run(**{stream.name: each for stream, each in zip(streams, data, strict=True)})


@given(zsets, zsets)
@tried(10)
def test_verbs_with_columns_on_values_and_on_tables(some, others):
    flow, left, right = flow_of(flo.ZSet[Order], flo.ZSet[Order], bounded=True)
    total = {"user": "user", "total": nw.col("price") * nw.col("count")}
    flow.output("filter", left.filter(nw.col("price") > 3))
    flow.output("map", left.map(total))
    flow.output("chained", left.map(total).filter(nw.col("total") > 1).map("user"))
    into = {"user": "user", "sum": nw.col("price") + nw.col("price_right")}
    flow.output("join", left.join(right, on="user", other_on="user", into=into))
    flow.output("pairs", left.join(right, on=("user", "price"), other_on=("user", "price")))
    flow.output("semi", left.join(right, on="user", other_on="user", how="semi"))
    flow.output("anti", left.join(right, on="user", other_on=lambda row: row.user, how="anti"))
    flow.output("left", left.join(right, "user", "user", into={"user": "user", "other": "note_right"}, how="left"))
    flow.output("full", left.join(right, "price", "price", into={"one": "user", "other": "user_right"}, how="full"))
    flow.output("weights", left.map_weights(nw.col("weight") * nw.col("count")))
    flow.output("sum_by", left.group_by("user").agg(sum=flo.sum("price")))
    flow.output("sum_of", left.group_by("user", "note").agg(sum=flo.sum(nw.col("price") * nw.col("count"))))
    flow.output("count_by", left.group_by("user").agg(n=flo.count()))
    flow.output("max_by", left.group_by("user").agg(max=flo.max("price")))
    flow.output("top", left.top(1, "price", by="user"))
    found = both_ways(flow, [left, right], some, others)
    assert len(forms(on_tables(flow.graph(), (left.type, right.type))[0])) >= 14
    kept = {row: weight for row, weight in some.items() if row.price > 3}
    assert found["filter"] == kept
    sums = Counter[str]()
    for row, weight in some.items():
        sums[row.user] += row.price * weight
    assert {user for user, _ in found["sum_by"]} == {row.user for row in some}
    assert all(sums[user] == value for user, value in found["sum_by"])


def test_other_verbs_with_columns():
    flow, rows = flow_of(flo.Sequence[Order], bounded=True)
    flow.output("sorted", rows.sort("price"))
    flow.output("keyed", rows.key_by("user").map_values("price").filter_keys(nw.col("value") == "ann").entries())
    flow.output("windows", rows.tumbling(10, "price").nest(lambda w: w.map("user")))
    flow.output("largest", rows.fold_lattice(flo.Max(int), "price").to_sequence())
    result = flow.run(in0=[B, A])
    assert result["sorted"] == [A, B]
    assert result["keyed"] == Counter({("ann", 3): 1})
    assert result["windows"] == [["bob", "ann"]]
    assert result["largest"] == [5]


REFUSED = {
    "a column that is not there": (
        lambda rows: rows.map("prize"),
        "`f` of `map` gets the column `prize`, which `rows` does not have",
        "user, price, count, note",
    ),
    "one that an expression names": (
        lambda rows: rows.filter(nw.col("prize") > 3),
        "`keep` of `filter` reads the column `prize`, which `rows` does not have",
        "expression",
    ),
    "a sum": (lambda rows: rows.map(nw.col("price").sum()), "from one row", "on other rows"),
    "a running sum": (lambda rows: rows.map(nw.col("price").cum_sum()), "from one row", "on other rows"),
    "a shift": (
        lambda rows: rows.map({"last": nw.col("price").shift(1)}),
        "from one row",
        "on other rows",
    ),
    "a rank": (lambda rows: rows.map(nw.col("price").rank("min")), "from one row", "on other rows"),
    "a sum over a group": (
        lambda rows: rows.map(nw.col("price").sum().over("user")),
        "from one row",
        "on other rows",
    ),
    "a format that is looked for": (
        lambda rows: rows.map(nw.col("user").str.to_datetime()),
        "from one row",
        "`str.to_datetime` without a format infers one from other rows",
    ),
    "types that do not go together": (lambda rows: rows.map(nw.col("user") + 1), "cannot be computed", "string"),
    "a filter that gives no truth": (
        lambda rows: rows.filter("price"),
        "`keep` of `filter` must be true or false; got int",
        'filter(nw.col("price") > …)',
    ),
    "weights that are no integers": (
        lambda rows: rows.map_weights(nw.col("weight") * 0.5),
        "`f` of `map_weights` must be of type int; got float",
        "weight",
    ),
    "no function of rows": (lambda rows: rows.flat_map("user"), "`f` of `flat_map` must be a function", "given"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refused_when_the_program_is_built(case):
    build, summary, fact = REFUSED[case]
    flow = flo.Flow("test")
    rows = flow.input("rows", flo.ZSet[Order])
    with pytest.raises(flo.FloError) as refused:
        build(rows)
    text = str(refused.value)
    assert summary in text
    assert fact in text
    assert "test_expressions.py" in text


def test_elements_without_columns():
    flow = flo.Flow("test")
    rows = flow.input("rows", flo.Bag)
    with pytest.raises(flo.FloError, match="the elements of `rows` have none") as refused:
        rows.map("price")
    assert "flo.Bag[Row]" in str(refused.value)


OF_FLO = (
    flo.split_part("user", "-", 1),
    flo.regexp_extract("note", "(g)(i)", 2),
    flo.hash("user", "price"),
    flo.md5("user"),
    flo.sha256("user"),
    flo.try_cast("user", nw.Int64),
    flo.greatest("price", "count"),
    flo.least("price", nw.col("count") * 2),
)


@pytest.mark.parametrize("given", OF_FLO, ids=repr)
def test_functions_of_flo_compose_and_travel(given):
    alone = Expression(given, (ORDER,))
    sent = pickle.loads(cloudpickle.dumps(alone))
    assert [sent(row) for row in (A, B)] == [alone(row) for row in (A, B)]
    assert sent == alone
    assert Expression(given.is_null().fill_null(True), (ORDER,)).kind is bool
    assert Expression(nw.when(nw.col("price") > 3).then(given), (ORDER,))(B) == alone(B)
    assert not runs_in_catalyst(Expression({"x": given}, (ORDER,)))
    assert alone.__name__.startswith(nodes_of(given)[0].name + "(")
    assert output_name(given) in ("user", "note", "price")


def test_functions_of_flo_are_told_apart():
    made = [flo.split_part("user", "-", n) for n in (1, 2)] + [flo.split_part("user", "+", 1)]
    made += [flo.regexp_extract("user", "(a)"), flo.regexp_extract("user", "(a)", 1)]
    assert len({Expression(each, (ORDER,)).text for each in made}) == len(made)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (flo.hash(nw.lit(1)), flo.hash(nw.lit("1"))),
        (nw.col("user") == "a", nw.col("user") == nw.col("a")),
        (nw.col("user").str.replace_all("b", "c, d"), nw.col("user").str.replace_all("b", "c").str.head(1)),
        (nw.col("a, b"), nw.col("a", "b")),
        (nw.col("price").is_in([1]), nw.col("price").is_in(["1"])),
        (nw.lit(1), nw.lit(True)),
        (nw.lit(1), nw.lit(1.0)),
    ],
    ids=repr,
)
def test_different_expressions_have_different_texts(one, other):
    assert expression_text(one) != expression_text(other)
    assert expression_text(one) == expression_text(pickle.loads(pickle.dumps(one)))


def test_arguments_of_aggregates_are_told_apart():
    flow, rows = flow_of(flo.ZSet[Order])
    dear = nw.when(nw.col("price") > 3)
    flow.output("out", rows.agg(n=flo.sum(dear.then(nw.lit(1))), all=flo.max(dear.then(nw.lit("1")))))
    (row,) = flow.run(in0=[A, B])["out"]
    assert (row.n, row.all) == (1, "1")


@pytest.mark.parametrize(
    ("pattern", "group", "text", "found"),
    [
        ("(a)(b)", 0, "xab", "ab"),
        ("(a)(b)", 2, "xab", "b"),
        ("(?:a)(b)", 1, "ab", "b"),
        ("(?P<first>a)(?P<second>b)", 2, "ab", "b"),
        ("(?<first>a)(b)", 1, "ab", "a"),
        (r"\((a)\)", 1, "(a)", "a"),
        ("[(](a)", 1, "(a", "a"),
        ("[])(]+(a)", 1, "](a", "a"),
        ("[^])(]+(a)", 1, "xa", "a"),
        ("[[:alpha:](]+(1)", 1, "a(1", "1"),
        (r"\Q(\E(a)", 1, "(a", "a"),
        ("(?i)(A)", 1, "a", "a"),
        ("(?i:(A))", 1, "a", "a"),
        ("((a)b)", 1, "ab", "ab"),
        ("((a)b)", 2, "ab", "a"),
        ("(a)|(b)", 2, "a", ""),
        ("a", 0, "b", None),
        ("", 0, "b", ""),
    ],
)
def test_groups_of_regular_expressions(pattern, group, text, found):
    extract = Expression(flo.regexp_extract("value", pattern, group), (Layout.of(str),))
    assert extract(text) == found


class Two(NamedTuple):
    k: int
    v: int


def test_an_expression_that_another_thread_calls_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one cache of results of single calls, which the other begins anew."""
    layout = Layout.of(Two)
    assert layout is not None
    total = Expression(nw.col("k") + nw.col("v"), (layout,))
    evaluate = Expression._evaluate

    def interrupted(self: Expression, *given: Any) -> None:
        evaluate(self, *given)
        monkeypatch.setattr(Expression, "_evaluate", evaluate)
        self.prepare([Two(5, 6)])

    monkeypatch.setattr(Expression, "_evaluate", interrupted)
    assert total(Two(1, 2)) == 3
