"""What Catalyst may run: every entry of the list against Arrow, on values that tell engines apart."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.columns.expression import Expression
from flo.columns.layout import Layout
from flo.spark.driver.catalyst_columns import DAY_FORMAT, TIME_FORMATS, catalyst_column
from flo.spark.driver.pushdown import ALLOWED, key_of, runs_in_catalyst, with_digits
from flo.values.weighted import Bag
from tests.spark.harness import frame
from tests.tables.test_evaluation import BAD, Pair, doubling
from tests.tables.test_zoned_times import EXPECTED, READINGS, hourly

INTEGERS = [0, 1, -1, 2**31, -(2**31) - 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), None]
TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "a\n",
    "a\x85",
    "a\u2028b",
    "a\0b",
    " a ",
    "%",
    "a_b",
    "\\",
    "ß",
    "SS",
    "İ",
    "i",
    "é",
    "e\u0301",
]
TEXTS += ["😀", "\uffff", "日本", None]
FLOATS = [0.0, -0.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, None]
DATES = [
    date(1, 1, 1),
    date(1582, 10, 4),
    date(1582, 10, 15),
    date(1969, 12, 31),
    date(2024, 2, 29),
    date(9999, 12, 31),
]
TIMES = [datetime(1, 1, 2), datetime(1582, 10, 10, 1), datetime(2024, 3, 31, 2, 30), datetime(9999, 12, 30, 23), None]


LARGE = Decimal("9" * 20 + "." + "9" * 18)
DECIMALS = [Decimal(0), LARGE, LARGE.copy_negate(), Decimal("1E-18"), None]


class Row(NamedTuple):
    i: int | None
    j: int | None
    s: str | None
    t: str | None
    b: bool | None
    c: bool | None
    d: date | None
    e: date | None
    f: float | None
    raw: bytes | None
    at: datetime | None
    m: Decimal | None


LAYOUT = Layout.of(Row)
TYPES = "i long, j long, s string, t string, b boolean, c boolean, d date, e date, f double, raw binary"
TYPES += ", at timestamp_ntz, m decimal(38, 18), number long"


def telling_rows() -> list[Row]:
    """All pairs of integers, of texts, of truths and of dates; the others again and again."""
    columns = []
    for values in (INTEGERS, TEXTS, [False, True, None], [*DATES, None]):
        both = list(product(values, repeat=2))
        columns += [[one for one, _ in both], [other for _, other in both]]
    columns += [FLOATS, [b"", b"\0", b"\xff\xfe", None], TIMES, DECIMALS]
    count = max(map(len, columns))
    return [Row(*row) for row in zip(*((column * count)[:count] for column in columns), strict=True)]


N, J, S, T, B, C, D, E = map(nw.col, "ijstbcde")
M, AT = nw.col("m"), nw.col("at")
COMPARED = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}


def cases() -> list[nw.Expr]:
    found: list[nw.Expr] = [nw.col(name) for name in Row._fields]
    found += [nw.col(name).is_null() for name in Row._fields]
    for name in sorted(COMPARED):
        found += [getattr(one, name)(other) for one, other in ((N, J), (S, T), (D, E))]
        found += [getattr(N, name)(value) for value in INTEGERS if value is not None]
        found += [getattr(S, name)(value) for value in TEXTS if value is not None]
    found += [B == C, B != C, B == True, B != False]  # noqa: E712
    found += [B & C, B | C, ~B, (B & True), (B | False), (N > 0) & ~(S == "a") | B]
    found += [N.fill_null(J), N.fill_null(7), S.fill_null(T), S.fill_null("\x85"), B.fill_null(C), B.fill_null(True)]
    found += [D.fill_null(E)]
    divisors = (1, 2, 123, 2**31, 2**53 + 1, 2**62)
    found += [N % divisor for divisor in divisors] + [N % divisor == 0 for divisor in divisors]
    factors = ("0", "-5", "0.908", "-100.00", "0.001", "9" * 17, "0." + "9" * 17, "-1." + "9" * 16)
    found += [N * Decimal(factor) for factor in factors]
    found += [nw.when(J % 7 > 3).then(N % 5 % 3).otherwise(J % 2**61), (N % 10).is_between(J % 3, 8)]
    for closed in ("both", "left", "right", "none"):
        found += [N.is_between(low, high, closed) for low, high in ((J, J), (-1, J), (J, 2**53 + 1), (-1, 2**53 + 1))]
        texts = (T, nw.lit("a")), (nw.lit("A"), T), (T, T), (nw.lit(""), nw.lit("ß"))
        found += [S.is_between(low, high, closed) for low, high in texts]
    found += [N.is_in([0, 2**63 - 1]), N.is_in([-(2**63)]), S.is_in(["", "a\x85", "ß"]), S.is_in(["e\u0301"])]
    for text in ("", "a", "\n", "\x85", "\u2028", "%", "_", "\\", "é", "😀", "$", "."):
        found += [S.str.starts_with(text), S.str.ends_with(text), S.str.contains(text, literal=True)]
    for one, other in ((N, J), (S, T), (B, C), (D, E)):
        found += [nw.when(B).then(one).otherwise(other), nw.when(B, N > 0).then(one).otherwise(other)]
    found += [nw.when(B).then(one).otherwise(other) for one, other in product((S, nw.lit("x"), nw.lit("é")), repeat=2)]
    for number in (0, 1, -5, 10**9, 2**63 - 1, -(2**63)):
        found += [getattr(M, name)(number) for name in sorted(COMPARED - {"__eq__", "__ne__"})]
        found += [M.is_between(-7, number, closed) for closed in ("both", "left", "right", "none")]
        found += [(N * Decimal("0.908")).is_between(number, 2**40), (N * Decimal("9" * 17)) > number]
    found += [S.str.len_chars() - T.str.len_chars(), (S.str.len_chars() - T.str.len_chars()) % (2**31 - 1)]
    for pattern, value in product(("a", "\x85", "\\", "é", "a_", ".", "\0"), ("", "$1", "\\1", "aa", "😀")):
        found.append(S.str.replace_all(pattern, value, literal=True))
    found += [
        S.str.split(by).list.get(index) for by in ("a", "_", "\\", "%", ".", " ", "a_", "|") for index in (0, 1, 2)
    ]
    found += [S.str.split(by).list.get(2**31 - 2) for by in ("a", "\\Qa\\E", "[", "a|b")]
    found += [S.str.replace_all("b", "$", literal=True).str.split("$").list.get(1).fill_null("none")]
    found += [AT.dt.hour(), AT.dt.hour() % (2**31 - 1), AT.dt.hour().is_between(8, 18), AT.dt.hour() == N]
    found += [AT.dt.to_string(form) for form in (DAY_FORMAT, *TIME_FORMATS)]
    found += [nw.when(B, C, N > 0).then(S).otherwise(nw.lit("x")), nw.when(N.is_null()).then(S).otherwise(nw.lit(""))]
    several = nw.col("b", "c"), nw.nth(4, 5), ~nw.col("b", "c") | B, nw.col("i", "j") > 1, nw.col("i", "j") == J % 7
    found += [nw.all_horizontal(each, ignore_nulls=False) for each in several] + [nw.nth(0) > 1]
    found += [nw.when("b", nw.col("b", "c")).then("s").otherwise("t")]
    return found


@pytest.mark.always
def test_every_entry_is_compared_with_spark(spark, tmp_path):
    given = cases()
    expressions = [Expression({"result": each}, (LAYOUT,)) for each in given]
    pushed = [runs_in_catalyst(each) for each in expressions]
    assert all(pushed), [str(each) for each, native in zip(given, pushed, strict=True) if not native]
    covered = {key_of(call) for each in expressions for call in each.calls}
    assert set(ALLOWED) - covered == set(), "entries that no case is about"

    table = LAYOUT.to_table(telling_rows()).append_column("number", pa.array(range(len(telling_rows()))))
    spark.createDataFrame(table, TYPES).coalesce(1).write.parquet(str(tmp_path / "rows"))
    rows = spark.read.parquet(str(tmp_path / "rows"))  # the optimiser computes rows that it has at hand
    names = [f"c{number}" for number in range(len(given))]
    made = (
        with_digits(catalyst_column(each, LAYOUT.schema), expression.schema.field(0).type).alias(name)
        for name, each, expression in zip(names, given, expressions, strict=True)
    )
    on_spark = rows.select("number", *made).toArrow().sort_by("number")
    for name, each in zip(names, expressions, strict=True):
        expected = each.results(table.drop_columns(["number"]))["result"]
        assert on_spark[name].type == expected.type, each
        assert repr(on_spark[name].to_pylist()) == repr(expected.to_pylist()), each


def test_formats_of_each_minute_and_day(spark):
    minutes = np.arange("2024-02-29", "2024-03-01", dtype="datetime64[m]").astype("datetime64[us]")
    days = [np.arange(f"{year:04}", f"{year + 1:04}", dtype="datetime64[D]") for year in (0, 4, 1582, 1900, 2100, 9998)]
    expect_formats_of_arrow(spark, [*minutes, *np.concatenate(days).astype("datetime64[us]")])


@pytest.mark.parametrize("policy", ["CORRECTED", "LEGACY"])
def test_times_that_python_does_not_have(spark, policy):
    """Before the year 1 and after 9999: tables can hold them. Arrow itself counts years with 16 bits."""
    spark.conf.set("spark.sql.legacy.timeParserPolicy", policy)
    try:
        expect_formats_of_times_beyond(spark)
    finally:
        spark.conf.unset("spark.sql.legacy.timeParserPolicy")


def expect_formats_of_times_beyond(spark):
    texts = ["10000-01-01", "0000-12-31T23:59:59.999999", "-0002-12-31T23:59:59.999999", "-32767-01-01"]
    texts += ["32767-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999", "1970-01-01"]
    texts += ["0000-02-29", "0099-12-31T23:59", "0100-01-01", "0999-10-10T09:09", "9999-12-31T23:59:59.999999"]
    texts += [f"2023-{month:02}-28T{2 * month - 1:02}:{5 * month - 1:02}:59.999999" for month in range(1, 13)]
    expect_formats_of_arrow(spark, texts)


def expect_formats_of_arrow(spark, given):
    times = pa.array(np.array(given, "datetime64[us]").astype(np.int64)).view(pa.timestamp("us"))
    table = pa.table({"at": times, "number": range(len(given))})
    layout = Layout.of(flo.rows(pa.schema([pa.field("at", pa.timestamp("us"))])))
    assert layout is not None
    columns = {f"c{place}": AT.dt.to_string(form) for place, form in enumerate((DAY_FORMAT, *TIME_FORMATS))}
    columns["hour"] = AT.dt.hour()
    rows = spark.createDataFrame(table, "at timestamp_ntz, number long")
    made = (catalyst_column(each, layout.schema).alias(name) for name, each in columns.items())
    on_spark = rows.select("number", *made)
    expected = Expression(columns, (layout,)).results(table)
    assert on_spark.toArrow().sort_by("number").drop_columns(["number"]).to_pydict() == expected.to_pydict()


STAY = {
    "arithmetic": N + 1,
    "arithmetic inside a comparison": N * 2 > 0,
    "a remainder of zero": N % 0,
    "a negative divisor": N % -3 == 0,
    "a divisor that may overflow": N % (2**62 + 1),
    "a divisor that is a column": N % J,
    "a divisor that is an expression": N % nw.lit(0),
    "a remainder of a remainder of zero": (N % 7) % 0,
    "a remainder inside a comparison": J == N % 0,
    "a dividend that is a literal": 5 % N,
    "a remainder of floats": nw.col("f") % 2,
    "a decimal of many digits": N * Decimal("1" * 18),
    "a decimal of many places": N * Decimal("1E-18"),
    "a decimal without a point": N * Decimal("1E+3"),
    "a sum of decimals": nw.col("m") + 1,
    "a comparison of decimals": nw.col("m") > nw.col("m"),
    "a difference of integers": N - J,
    "nothing to replace": S.str.replace_all("", "a", literal=True),
    "a pattern to replace": S.str.replace_all("a.", "b"),
    "a separator that is not ASCII": S.str.split("é").list.get(0),
    "a list": S.str.split("a"),
    "a place that no list has": S.str.split("a").list.get(2**31),
    "a day and a time": AT.dt.to_string("%Y-%m-%d %H:%M"),
    "seconds": AT.dt.to_string("%H:%M:%S"),
    "the name of a day": AT.dt.to_string("%A"),
    "floats": nw.col("f") > 1.0,
    "an integer beside a float": N > 1.5,
    "a pattern": S.str.contains("a"),
    "a pattern that is an option": S.str.contains("a", literal=False),
    "the case of letters": S.str.to_lowercase() == "a",
    "a narrower result": S.str.len_chars(),
    "a literal alone": nw.lit(1),
    "a literal as a branch": nw.when(B).then(N).otherwise(0),
    "no value": N == None,  # noqa: E711
    "a list with none in it": N.is_in([1, None]),
    "a list of nothing": N.is_in([]),
    "a list of other numbers": N.is_in([1.0]),
    "a large number": N < 2**63,
    "a date": date(1582, 10, 10) < D,
    "times": nw.col("at").dt.minute(),
    "a cast": N.cast(nw.String),
    "null as true": nw.all_horizontal(B, C, ignore_nulls=True),
}


@pytest.mark.parametrize("case", STAY)
def test_what_is_not_listed_stays(case):
    assert not runs_in_catalyst(Expression({"result": STAY[case]}, (LAYOUT,)))


def test_names_that_spark_takes_for_others_stay():
    dotted = Layout.of(flo.rows(pa.schema([pa.field("a.b", pa.int64())])))
    assert not runs_in_catalyst(Expression({"x": "a.b"}, (dotted,)))
    cased = Layout.of(flo.rows(pa.schema([pa.field("a", pa.int64()), pa.field("A", pa.int64())])))
    assert not runs_in_catalyst(Expression({"x": "a"}, (cased,)))
    assert not runs_in_catalyst(Expression({"x": "i", "X": "j"}, (LAYOUT,)))
    assert not runs_in_catalyst(Expression({"_WEIGHT": "i"}, (LAYOUT,)))


class Text(NamedTuple):
    text: str


LINES = [
    Text(text)
    for text in ("a", "a\n", "a\x85", "a\u2028", "a\nb", "a\x85b", "a\u2028b", "axb", "a\x0bb", "a b", "a\xa0b")
]


PATTERNS = ["a$", "a.b", r"a\sb", r"^a\b", "(?i)A"]


def test_regular_expressions_are_those_of_arrow(spark):
    flow = flo.Flow("matching")
    rows = flow.input("rows", flo.Bag[Text], bounded=True)
    for number, pattern in enumerate(PATTERNS):
        flow.output(f"found {number}", rows.filter(nw.col("text").str.contains(pattern)))
    assert "native" not in flow.on(spark).explain()
    on_spark = flow.on(spark).run(rows=frame(spark, Bag(Text), LINES))
    on_tables, on_values = flow.on(flo.here).run(rows=LINES), flow.run(rows=LINES)
    for number, pattern in enumerate(PATTERNS):
        name = f"found {number}"
        found = sorted(on_spark[name].toArrow()["text"].to_pylist())
        assert found == sorted(on_tables[name]["text"].to_pylist()), pattern
        assert found == sorted(row.text for row in on_values[name]), pattern


def test_texts_that_are_compared_without_case_are_not_left_to_spark(spark):
    """A column may have a collation, and Arrow has none."""
    flow = flo.Flow("collated")
    flow.output("found", flow.input("rows", flo.Bag[Text], bounded=True).filter(nw.col("text") == "a"))
    assert "native" in flow.on(spark).explain()
    rows = spark.sql("SELECT text COLLATE UTF8_LCASE AS text FROM VALUES ('a'), ('A') AS given(text)")
    assert flow.on(spark).run(rows=rows)["found"].toArrow()["text"].to_pylist() == ["a"]


def test_integers_that_leave_the_range(spark):
    flow = flo.Flow("doubling")
    rows = flow.input("rows", flo.Bag[Pair], bounded=True)
    flow.output("doubled", rows.map({"x": nw.col("x") * 2, "y": "y"}))
    given = frame(spark, Bag(Pair), [Pair(1, 1), BAD])
    with pytest.raises(flo.ElementError, match="integer out of range") as caught:
        flow.on(spark).run(rows=given)["doubled"].toArrow()
    assert repr(BAD) in str(caught.value)


def test_a_row_that_leaves_the_range_is_put_aside(spark, tmp_path):
    pa.parquet.write_table(LAYOUT_OF_PAIRS.to_table([Pair(1, 1), BAD]), tmp_path / "rows.parquet")
    source = spark.readStream.schema("x long, y long").parquet(str(tmp_path))
    query = (
        doubling()
        .on(spark)
        .start({"rows": source}, checkpoint=tmp_path / "c", trigger={"availableNow": True}, on_error="divert")
    )
    query.wait()
    assert [row.x for row in query.view("doubled").value()] == [2]
    (aside,) = query.diverted("rows").to_pylist()
    assert "integer out of range" in aside["reason"]


LAYOUT_OF_PAIRS = Layout.of(Pair)


def test_times_in_the_repeated_hour(spark):
    flow = hourly()
    rows = spark.createDataFrame(Layout.of(type(READINGS[0])).to_table(READINGS))
    found = flow.on(spark).run(rows=rows)["hours"].toArrow().to_pylist()
    assert {(row["n"], row["at"].astimezone(UTC)) for row in found} == EXPECTED
    assert {row["hour"] for row in found} == {2}


def test_an_expression_without_columns_is_not_pushed_down() -> None:
    layout = Layout.of(Row)
    assert layout is not None
    assert runs_in_catalyst(Expression(nw.col("i") > 1, (layout,), bool))
    assert not runs_in_catalyst(Expression(nw.lit(True), (layout,), bool))
