"""Queries as people write them at the first attempt, on values and on tables, against DuckDB."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.api.projections import columns_of
from tests.harness import all_digits
from tests.relational.harness import Query, Source, agree

UInt = Annotated[int, pa.uint64()]


class Reading(NamedTuple):
    place: str | None
    value: int | None
    size: UInt | None
    note: str


def draw_reading(rng: random.Random) -> Reading:
    return Reading(
        rng.choice([None, "a", "b"]),
        rng.choice([None, -1, 0, 7, 2**63 - 1]),
        rng.choice([None, 0, 3, 2**63, 2**64 - 1]),
        rng.choice(["", "x", "y"]),
    )


READINGS = {"readings": Source(Reading, draw_reading)}


def compare(make: Any, sql: str, close: frozenset[str] = frozenset(), **options: Any) -> None:
    """Compares the stream that `make` builds of the readings with a query, after every delta."""

    def build() -> flo.Flow:
        flow = flo.Flow("everyday")
        flow.output("found", make(flow.input("readings", flo.ZSet[Reading])))
        return flow

    agree(build, READINGS, {"found": Query(sql, close)}, **options)


def test_an_aggregate_reads_one_column_twice() -> None:
    compare(
        lambda readings: readings.group_by("place").agg(
            least=flo.first("value", order_by="value"),
            last=flo.last("note", order_by=["note", "value"]),
            best=flo.arg_max("value", by="value"),
            notes=flo.string_agg("note", order_by=flo.desc("note")),
            values=flo.collect("value", order_by=["value", "value"]),
            different=flo.count_distinct("value", "value"),
        ),
        """SELECT place, min(value), max(note), max(value), string_agg(note, ',' ORDER BY note DESC),
        coalesce(list(value ORDER BY value) FILTER (value IS NOT NULL), []), count(DISTINCT value)
        FROM readings GROUP BY place""",
    )


def test_unsigned_numbers_are_computed_on_tables() -> None:
    compare(
        lambda readings: all_digits(
            readings.group_by("place").agg(
                total=flo.sum("size"),
                mean=flo.avg("size"),
                middle=flo.median("size"),
                spread=flo.var_pop("size"),
                together=flo.covar_pop("size", "value"),
                different=flo.sum("size", distinct=True),
            )
        ),
        """SELECT place, sum(size::HUGEINT)::DECIMAL(38, 0), avg(size), median(size::DOUBLE), var_pop(size::DOUBLE),
        covar_pop(size, value), sum(DISTINCT size::HUGEINT)::DECIMAL(38, 0) FROM readings GROUP BY place""",
        frozenset({"mean", "middle", "spread", "together"}),
    )
    compare(
        lambda readings: (
            readings.over(partition_by="place", order_by=["note", "value", "size"])
            .with_columns(running=flo.sum("size", rows=(-1, 0)))
            .select("place", "note", running=nw.col("running").cast(nw.Decimal(38, 0)))
        ),
        """SELECT place, note, (sum(size::HUGEINT) OVER (PARTITION BY place
        ORDER BY note, value NULLS FIRST, size NULLS FIRST ROWS 1 PRECEDING))::DECIMAL(38, 0) FROM readings""",
    )


class Who(NamedTuple):
    name: str
    age: int


class Visit(NamedTuple):
    day: date
    seconds: int
    who: Who


def loop_on(place: str, flow: flo.Flow) -> Any:
    return flow.loop() if place == "values" else flow.on(flo.here).loop()


@pytest.mark.parametrize("place", ["values", "tables"])
@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (Visit(date(2026, 1, 1), 1.5, Who("ann", 1)), "`seconds` of element 1 of `visits` is 1.5; expected int"),  # type: ignore[arg-type]
        (Visit(datetime(2026, 1, 1, 12), 1, Who("ann", 1)), "`day` of element 1 of `visits` is datetime.datetime"),
        (Visit(3, 1, Who("ann", 1)), "`day` of element 1 of `visits` is 3; expected date"),  # type: ignore[arg-type]
        (Visit(date(2026, 1, 1), 1, Who("ann", None)), "`who.age` of element 1 of `visits` is None; expected int"),  # type: ignore[arg-type]
    ],
    ids=["float", "time of day", "number", "row within the row"],
)
def test_a_value_of_another_type_is_an_error_never_another_value(place: str, row: Visit, wrong: str) -> None:
    flow = flo.Flow("visits")
    flow.output("found", flow.input("visits", flo.ZSet[Visit]).select("day", "seconds"))
    loop = loop_on(place, flow)
    with pytest.raises(flo.ElementError, match=re.escape(wrong)):
        loop.push(visits=[Visit(date(2026, 1, 1), 1, Who("ann", 1)), row])


@pytest.mark.parametrize("place", ["values", "tables"])
def test_a_row_of_a_function_has_values_of_its_types(place: str) -> None:
    def halved(visit: Visit) -> Visit:
        return visit._replace(seconds=visit.seconds / 2)  # type: ignore[arg-type]

    flow = flo.Flow("halved")
    flow.output("found", flow.input("visits", flo.ZSet[Visit]).map(halved))
    run = flow.run if place == "values" else flow.on(flo.here).run
    with pytest.raises(flo.FunctionError, match="`seconds` of the function's results must be int"):
        run(visits=[Visit(date(2026, 1, 1), 3, Who("ann", 1))])


@pytest.mark.parametrize("place", ["values", "tables"])
def test_a_row_of_a_table_has_no_null_where_none_is_allowed(place: str) -> None:
    flow = flo.Flow("customers")
    flow.output("found", flow.table("customers", Who, key="name"))
    loop = loop_on(place, flow)
    with pytest.raises(flo.ElementError, match="element 0 of `customers` has null in `age`: expected int"):
        loop.push(customers=[Who("ann", None)])  # type: ignore[arg-type]


class Listed(NamedTuple):
    id: int
    items: list[int]


def test_a_column_of_lists_in_a_z_set_is_refused_when_the_program_is_built() -> None:
    """Rows of a z-set are compared by hash, so it would fail with the first row."""
    flow = flo.Flow("lists")
    with pytest.raises(flo.TypeMismatch, match=r"`items` of Listed is list\[int\](.|\n)*items: tuple\[int, ...\]"):
        flow.input("orders", flo.ZSet[Listed])
    readings = flow.input("readings", flo.ZSet[Reading])
    with pytest.raises(flo.TypeMismatch, match=r"must be hashable, because rows of a ZSet are; got list\[str\]"):
        readings.with_columns(words=lambda row: row.note.split(" "))
    words = readings.select(word=lambda row: tuple(row.note.split(" "))).explode("word")
    flow.output("words", words)
    assert flow.run(readings=[Reading("a", 1, 1, "x y")])["words"] == {("x",): 1, ("y",): 1}


BERLIN = ZoneInfo("Europe/Berlin")
Cents = Annotated[Decimal, pa.decimal128(4, 2)]


class Label(NamedTuple):
    text: str
    number: int | None


class Offer(NamedTuple):
    item: str
    label: Label | None
    price: Cents | None
    pieces: int
    seen: Annotated[datetime, BERLIN]
    sold: Annotated[datetime, pa.timestamp("us", "UTC")] | None


OFFERS = [
    Offer("a", Label("x", None), Decimal("1.50"), 0, datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), None),
    Offer(
        "a", Label("x", 2), Decimal("-1.50"), 3, datetime(2026, 1, 1, tzinfo=BERLIN), datetime(2026, 1, 2, tzinfo=UTC)
    ),
    Offer("a", None, None, 1, datetime(2026, 1, 1, tzinfo=BERLIN), datetime(2026, 1, 1, tzinfo=UTC)),
]


def on_both(make: Any) -> list[Any]:
    """Returns the rows that a stream of the offers has on values; on tables it must have the same."""
    flow = flo.Flow("offers")
    flow.output("found", make(flow.input("offers", flo.ZSet[Offer])))
    found = flow.run(offers=OFFERS)["found"]
    table = flow.on(flo.here).run(offers=OFFERS)["found"].to_pylist()
    assert len(table) == len(found)
    assert {repr(list(row.values())[:-1]) for row in table} == {
        repr([plain_item(item) for item in row]) for row in found
    }
    return sorted((tuple(row) for row in found), key=repr)


def plain_item(item: Any) -> Any:
    """A value as Arrow gives it."""
    if isinstance(item, datetime):
        return item if item.tzinfo != timezone(timedelta(hours=1)) else item.astimezone(BERLIN)
    return item._asdict() if isinstance(item, Label) else [*map(plain_item, item)] if isinstance(item, tuple) else item


def test_rows_within_rows_have_an_order_nulls_first() -> None:
    found = on_both(
        lambda offers: offers.group_by("item").agg(
            least=flo.min("label"),
            last=flo.arg_max("pieces", by="label"),
            all=flo.collect("label"),
            usual=flo.mode("label"),
        )
    )
    first, second = Label("x", None), Label("x", 2)
    assert found == [("a", first, 3, (first, second), first)]
    top = on_both(lambda offers: offers.top(1, order_by=flo.desc("label", nulls_last=True)).select("label"))
    assert top == [(second,)]


def test_the_later_of_two_times_with_zones() -> None:
    found = on_both(
        lambda offers: offers.select("pieces", late=flo.greatest("sold", "seen"), soon=flo.least("sold", "seen"))
    )
    assert [(pieces, late.astimezone(UTC).day, soon.astimezone(UTC).day) for pieces, late, soon in found] == [
        (0, 25, 25),
        (1, 1, 31),
        (3, 2, 31),
    ]


def test_a_decimal_divided_by_zero_is_null() -> None:
    found = on_both(lambda offers: offers.select("pieces", each=nw.col("price") / nw.col("pieces")))
    assert [each for _, each in found] == [None, None, Decimal("-0.5")]


def test_several_columns_in_one_expression() -> None:
    flow = flo.Flow("several")
    readings = flow.input("readings", flo.ZSet[Reading])
    assert columns_of(readings.select(nw.all()), "select") == ("place", "value", "size", "note")
    assert columns_of(readings.select(nw.col("note", "place")), "select") == ("note", "place")
    assert columns_of(readings.select("note", nw.selectors.numeric() * 2), "select") == ("note", "value", "size")
    assert columns_of(readings.select(nw.exclude("note").name.suffix("_1")), "select") == (
        "place_1",
        "value_1",
        "size_1",
    )
    assert columns_of(readings.drop(["note", "size"]), "drop") == ("place", "value")
    flow.output("doubled", readings.select(nw.col("value", "size") * 2))
    assert flow.run(readings=[Reading("a", 1, 3, "")])["doubled"] == {(2, 6): 1}


@pytest.mark.parametrize(
    ("write", "instead"),
    [
        (lambda readings: readings.sort("value"), "readings.top(n, order_by=…)"),
        (lambda readings: readings.value, 'nw.col("value")'),
        (lambda readings: readings.fillna(0), 'with_columns(x=nw.col("x").fill_null(…))'),
        (lambda readings: readings.collect(), "flow.output(name, …)"),
        (lambda readings: readings.filter(nw.col("value") > 1, nw.col("size") > 1), "&"),
        (lambda readings: readings.filter(place="a"), "&"),
        (lambda readings: readings.select(), "select(nw.all())"),
        (lambda readings: readings.drop(nw.col("value")), 'drop("price")'),
        (lambda readings: readings.rename(str.upper), 'rename({"old": "new"})'),
        (lambda readings: readings.rename({"value": 3}), 'rename({"old": "new"})'),
        (lambda readings: readings.group_by("place").count(), "agg(n=flo.count())"),
        (lambda readings: readings.group_by("place").having(nw.col("n") > 1), "agg(…).filter(…)"),
        (lambda readings: readings.agg(flo.sum("value")), "agg(sum_1=flo.sum('value'))"),
        (lambda readings: readings.agg(flo.sum("value").alias("total")), "agg(name=flo.sum('value'))"),
        (lambda readings: flo.rank().over("place"), "with_columns(name=flo.rank(…))"),
        (lambda readings: readings.filter(flo.col("value") > 1), "nw.col"),
        (lambda readings: readings.over("place").select(n=flo.rank()), "over(…).with_columns(name=flo.rank())"),
        (lambda readings: readings.over("place").with_columns(flo.rank()), "with_columns(place=flo.rank())"),
        (lambda readings: readings.group_by("place").agg(id=flo.grouping_id()), 'rollup("a", "b").agg(…)'),
        (lambda readings: readings.agg(n=flo.count_distinct()), 'flo.count_distinct("x")'),
        (lambda readings: readings.select(n=flo.sum("value")), "group_by(…).agg(n=flo.sum('value'))"),
        (lambda readings: readings.agg(n=flo.rank()), "over(…).with_columns(n=flo.rank())"),
        (lambda readings: readings.agg(n=flo.first("value")), "flo.first('value', order_by=…)"),
        (lambda readings: readings.agg(n=flo.string_agg("value")), 'flo.string_agg(nw.col("value").cast(nw.String))'),
        (lambda readings: readings.grouping_sets(5), 'grouping_sets(["a", "b"], ["a"], [])'),
        (lambda readings: readings.top(2, order_by="value", rank="size"), "size_2=…"),
        (lambda readings: readings.agg(n=flo.mean("value")), 'flo.avg("x")'),
    ],
)
def test_words_of_other_libraries_lead_to_the_verb(write: Any, instead: str) -> None:
    readings = flo.Flow("words").input("readings", flo.ZSet[Reading])
    with pytest.raises(flo.FloError) as caught:
        write(readings)
    assert instead in " ".join(text for text, _ in caught.value.instead).replace("{input}", "readings")
    assert caught.value.where is not None


@dataclass(frozen=True)
class Frozen:
    a: int
    b: str | None = None


@dataclass
class Loose:
    a: int


class Pair(NamedTuple):
    a: int
    b: str | None


@pytest.mark.parametrize("row", [Frozen, Pair])
def test_dicts_are_rows_on_every_engine(row: Any) -> None:
    flow = flo.Flow("dicts")
    flow.output("found", flow.input("rows", flo.ZSet[row]))
    data = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert flow.run(rows=data)["found"] == {row(1, "x"): 1, row(2, None): 1}
    assert flow.on(flo.here).run(rows=data)["found"].num_rows == 2


def test_what_can_be_changed_is_no_row_of_a_z_set() -> None:
    with pytest.raises(flo.TypeMismatch, match="Loose is a dataclass that can be changed"):
        flo.Flow("loose").input("rows", flo.ZSet[Loose])


def test_a_frame_on_values_leads_to_tables() -> None:
    flow = flo.Flow("frames")
    flow.output("found", flow.input("rows", flo.ZSet[Pair]))
    with pytest.raises(flo.ElementError, match=r"got a Table(.|\n)*flow.on\(flo.here\)"):
        flow.run(rows=pa.table({"a": [1], "b": ["x"]}))


def test_a_join_takes_keys_by_the_names_of_its_arguments() -> None:
    flow = flo.Flow("joins")
    readings, others = flow.input("readings", flo.ZSet[Reading]), flow.input("others", flo.ZSet[Reading])
    with pytest.raises(flo.TypeMismatch, match=r"must be the columns that are equal; got the condition(.|\n)*where="):
        readings.join(others, nw.col("value") == nw.col("value"))
    with pytest.raises(flo.TypeMismatch, match=r"`join` has no argument `left_on`(.|\n)*join\(…, on=…\)"):
        readings.join(others, left_on="value", right_on="value")  # type: ignore[call-overload]
    with pytest.raises(flo.TypeMismatch, match=r"no argument `strategy`(.|\n)*direction=…"):
        readings.join_asof(others, on="value", strategy="backward")  # type: ignore[arg-type]
    with pytest.raises(flo.ScopeError, match="`join` must get streams; got str"):
        readings.join("others", on="value")  # type: ignore[call-overload]


def test_top_takes_an_integer_and_one_order() -> None:
    readings = flo.Flow("top").input("readings", flo.ZSet[Reading])
    with pytest.raises(flo.TypeMismatch, match="`count` of `top` must be an integer ≥ 0; got '3'"):
        readings.top("3", order_by="value")  # type: ignore[call-overload]
    with pytest.raises(flo.TypeMismatch, match=r"flo\.desc"):
        readings.top(3, order_by="value", descending=True)


class Narrow(NamedTuple):
    id: Annotated[int, pa.int32()]


class Wide(NamedTuple):
    id: int


class Unsigned(NamedTuple):
    id: UInt


def test_a_union_of_integers_is_as_wide_as_it_must_be() -> None:
    flow = flo.Flow("integers")
    narrow, wide = flow.input("narrow", flo.ZSet[Narrow]), flow.input("wide", flo.ZSet[Wide])
    unsigned = flow.input("unsigned", flo.ZSet[Unsigned])
    flow.output("both", narrow.union(wide))
    flow.output("all", narrow.union(wide).union(unsigned))
    data = {"narrow": [Narrow(1)], "wide": [Wide(2**40), Wide(1)], "unsigned": [Unsigned(2**64 - 1)]}
    found = flow.on(flo.here).run(**data)
    assert (found["both"].schema.field("id").type, found["all"].schema.field("id").type) == (
        pa.int64(),
        pa.decimal128(38, 0),
    )
    assert flow.run(**data)["all"] == {(1,): 2, (2**40,): 1, (2**64 - 1,): 1}
    assert sorted(map(int, found["all"]["id"].to_pylist())) == [1, 2**40, 2**64 - 1]
