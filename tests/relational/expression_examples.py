"""What column expressions offer: examples, with the SQL of DuckDB that means the same, or what is expected and why.

`docs/expressions.md` is made of these, and the tests run every one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, Optional
from zoneinfo import ZoneInfo

import narwhals as nw
import pyarrow as pa

import flo
from flo.columns.row_types import row_type

BERLIN = ZoneInfo("Europe/Berlin")
MAX, MIN = 2**63 - 1, -(2**63)


class Person(NamedTuple):
    name: str
    age: int


FIELDS: dict[str, Any] = {
    "a": int,
    "b": int,
    "x": float,
    "y": float,
    "s": str,
    "t": str,
    "p": bool,
    "q": bool,
    "d": Annotated[Decimal, pa.decimal128(10, 2)],
    "day": date,
    "at": datetime,
    "z": Annotated[datetime, pa.timestamp("us", "Europe/Berlin")],
    "lasts": timedelta,
    "items": tuple[int, ...],
    "tags": tuple[str, ...],
    "who": Person,
}
Row: Any = row_type(FIELDS)
"""A row without nulls."""
Maybe: Any = row_type({name: Optional[kind] for name, kind in FIELDS.items()})  # noqa: UP045
"""A row in which everything may be null."""

VALUES: dict[str, list[Any]] = {
    "a": [7, -7, 0, 1, MAX, MIN, 3, 250],
    "b": [2, 3, 0, -1, 1, -1, -4],
    "x": [1.5, -0.0, 0.0, math.nan, math.inf, -math.inf, 2.0, -2.25, 1e300, 0.1],
    "y": [0.5, 2.0, math.nan, -0.0, 3.0],
    "s": ["ab-12", "", "Ünïcode 😀", "a\u2028b", "x\x85y", "12", " 7", "3.5", "2024-02-29", "a-b-c", "-5", "true"],
    "t": ["ab", "-", "", "x", "Z"],
    "p": [True, False, True, True, False],
    "q": [True, True, False],
    "d": [Decimal("1.50"), Decimal("-0.01"), Decimal("99999999.99"), Decimal("0.00")],
    "day": [date(2024, 1, 31), date(2024, 2, 29), date(1969, 12, 31), date(2023, 12, 31), date(1, 1, 1)],
    "at": [
        datetime(2024, 1, 31, 23, 59, 59, 999999),
        datetime(1969, 12, 31, 23, 30),
        datetime(2024, 2, 29),
        datetime(2024, 10, 27, 2, 30),
        datetime(1900, 1, 1, 0, 0, 0, 1),
    ],
    "z": [
        datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN),  # the hour that is there twice
        datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1),
        datetime(2024, 3, 30, 2, 30, tzinfo=BERLIN),  # a day before the hour that is skipped
        datetime(2024, 12, 31, 23, 30, tzinfo=UTC),
        datetime(2024, 1, 31, 12, tzinfo=UTC),
    ],
    "lasts": [timedelta(seconds=90, microseconds=1), timedelta(days=-1, seconds=1), timedelta(0)],
    "items": [(3, 1, 2), (), (7,), (5, 5, -1, 0)],
    "tags": [("b", "a"), (), ("", "\u2028")],
    "who": [Person("ann", 40), Person("", 0)],
}


def rows(count: int = 60) -> list[Any]:
    """Rows that combine the values: each value comes up several times, beside others."""
    found = []
    for n in range(count):
        parts = {name: some[(n * step + n // 7) % len(some)] for step, (name, some) in enumerate(VALUES.items(), 1)}
        found.append(Row(**parts))
    return found


def rows_with_nulls(count: int = 60) -> list[Any]:
    """The same, with nulls in changing places; one row has nothing else."""
    found = [
        Maybe(*(None if (n * 7 + place * 3) % 5 == 0 else value for place, value in enumerate(row)))
        for n, row in enumerate(rows(count))
    ]
    return [Maybe(*(None for _ in FIELDS)), *found]


@dataclass(frozen=True)
class Example:
    """An expression, and what it is in SQL."""

    text: str
    """In Python; `c` is `nw.col`."""
    sql: str
    """As people write it, for the table."""
    duck: str | None = None
    """What DuckDB computes, if it must be put in another way to mean the same."""
    expected: Callable[[Any], Any] | None = None
    """What it gives of a row, if DuckDB means something else."""
    why: str = ""
    """What is different from SQL, or worth saying."""
    close: bool = False
    """Whether the last digits may differ: both round, in different ways."""

    @property
    def expression(self) -> nw.Expr:
        names = {"c": nw.col, "nw": nw, "flo": flo, "date": date, "datetime": datetime, "timedelta": timedelta}
        found = eval(self.text, names | {"Decimal": Decimal})
        assert isinstance(found, nw.Expr)
        return found

    @property
    def shown(self) -> str:
        return self.text.replace("c(", "nw.col(").replace("funnw.col(", "func(") if "c(" in self.text else self.text


def null_if_any(*names: str) -> Callable[[Callable[..., Any]], Callable[[Any], Any]]:
    """Make a function of some columns one of rows, null if one of them is."""

    def decorate(compute: Callable[..., Any]) -> Callable[[Any], Any]:
        def of_row(row: Any) -> Any:
            values = [getattr(row, name) for name in names]
            return None if any(value is None for value in values) else compute(*values)

        return of_row

    return decorate


def of(names: str, compute: Callable[..., Any]) -> Callable[[Any], Any]:
    return null_if_any(*names.split())(compute)


def divided(x: float, y: float) -> float:
    if y:
        return x / y
    return math.nan if not x or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1.0, y)


def quotient(a: int, b: int) -> int | None:
    if (a, b) == (MIN, -1):
        raise flo.ElementError("integer out of range")
    return a // b if b else None


def rounded_root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def logarithm(x: float) -> float:
    return math.nan if x < 0 or math.isnan(x) else -math.inf if not x else math.log(x)


def whole(x: float) -> int:
    if not x.is_integer() or not MIN <= x <= MAX:
        raise flo.ElementError("it does not fit")
    return int(x)


def read_integer(text: str) -> int:
    if not text.lstrip("-").isdecimal() or not text.isascii():
        raise flo.ElementError("not an integer")
    return int(text)


def local(moment: datetime) -> datetime:
    return moment.astimezone(BERLIN).replace(tzinfo=None)


def encoded_hash(*values: bytes) -> int:
    joined = b"".join(each[:1] + len(each[1:]).to_bytes(4, "big") + each[1:] for each in values)
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big", signed=True)


ROUNDING = "DuckDB truncates towards zero; Flo rounds down, as Python does"
NANS = "comparisons follow IEEE 754: NaN equals nothing"
ARITHMETIC = [
    Example('c("a") + c("b")', "a + b", why="an integer that leaves 64 bits is an error"),
    Example('c("a") - 1', "a - 1"),
    Example('c("a") * c("b")', "a * b"),
    Example('c("a") / c("b")', "a / b", expected=of("a b", lambda a, b: divided(float(a), float(b))), why="floats"),
    Example('c("x") / c("y")', "x / y", expected=of("x y", divided), why="by zero: inf, -inf or NaN"),
    Example(
        'c("a") // c("b")',
        "floor(a / b)",
        expected=of("a b", quotient),
        why="rounded down; by zero: null",
    ),
    Example('c("a") // 3', "floor(a / 3)", expected=of("a", lambda a: a // 3), why=ROUNDING),
    Example('c("a") % 3', "mod(a, 3)", expected=of("a", lambda a: a % 3), why="the sign of the divisor"),
    Example('-c("a")', "-a"),
    Example('c("a").abs()', "abs(a)"),
    Example('c("x") ** 2', "x ** 2", expected=of("x", lambda x: math.inf if abs(x) == 1e300 else x * x)),
    Example('c("x").round(1)', "round(x, 1)", close=True, why="halves away from zero"),
    Example('c("x").floor()', "floor(x)"),
    Example('c("x").ceil()', "ceil(x)"),
    Example('c("x").sqrt()', "sqrt(x)", expected=of("x", rounded_root), why="of negative numbers: NaN"),
    Example('c("y").exp()', "exp(y)", close=True),
    Example('c("x").log()', "ln(x)", expected=of("x", logarithm), close=True, why="of 0: -inf; below 0: NaN"),
    Example('c("y").sin()', "sin(y)", close=True),
    Example(
        'c("a").clip(0, 5)',
        "greatest(0, least(a, 5))",
        duck="CASE WHEN a IS NOT NULL THEN greatest(0, least(a, 5)) END",
    ),
    Example('c("d") + c("d")', "d + d", why="exact"),
    Example('c("d") * 2', "d * 2"),
    Example('c("d") * c("x")', "d::DOUBLE * x", close=True, why="with a float: a float"),
]
COMPARISONS = [
    Example('c("a") == c("b")', "a = b"),
    Example('c("a") != c("b")', "a <> b"),
    Example('c("a") < c("b")', "a < b"),
    Example('c("s") >= c("t")', "s >= t", why="by code points"),
    Example('c("x") <= c("y")', "x <= y", expected=of("x y", lambda x, y: x <= y), why=NANS),
    Example(
        'c("a") == c("x")',
        "a = x",
        expected=of("a x", lambda a, x: a == x),
        why="exact; DuckDB rounds the integer to a float first",
    ),
    Example('c("day") > date(2024, 1, 1)', "day > DATE '2024-01-01'"),
    Example('c("at") < c("day")', "at < day", duck='"at" < day'),
    Example('c("a").is_between(0, 10)', "a BETWEEN 0 AND 10"),
    Example('c("a").is_in([1, 7])', "a IN (1, 7)"),
    Example('c("s").is_in([])', "", expected=of("s", lambda s: False), why="SQL has no empty list"),
    Example('c("p") & c("q")', "p AND q", why="three values: null and false is false"),
    Example('c("p") | c("q")', "p OR q"),
    Example('~c("p")', "NOT p"),
    Example('nw.all_horizontal("p", "q", ignore_nulls=True)', "coalesce(p, true) AND coalesce(q, true)"),
    Example('nw.any_horizontal("p", "q", ignore_nulls=False)', "p OR q"),
]
NULLS = [
    Example('c("a").is_null()', "a IS NULL"),
    Example('~c("a").is_null()', "a IS NOT NULL"),
    Example('c("a").fill_null(0)', "coalesce(a, 0)"),
    Example('nw.coalesce("a", "b", nw.lit(0))', "coalesce(a, b, 0)"),
    Example('nw.when(c("a") > 5).then(c("b")).otherwise(0)', "CASE WHEN a > 5 THEN b ELSE 0 END"),
    Example('nw.when(c("a") > 5).then(c("b"))', "CASE WHEN a > 5 THEN b END"),
    Example(
        'nw.when(c("a") > 5).then(nw.lit("high")).otherwise(nw.when(c("a") > 0).then(nw.lit("low")))',
        "CASE WHEN a > 5 THEN 'high' WHEN a > 0 THEN 'low' END",
        why="strings are names of columns: `nw.lit` makes constants",
    ),
    Example('nw.when((c("a") != c("b")).fill_null(True)).then(c("a"))', "nullif(a, b)"),
    Example(
        'c("t").replace_strict(["ab", "x"], [1, 2], default=0)',
        "CASE t WHEN 'ab' THEN 1 WHEN 'x' THEN 2 ELSE 0 END",
        why="without a default, any other value is an error",
    ),
    Example('flo.greatest("a", "b")', "greatest(a, b)", why="skips nulls: null if all are"),
    Example('flo.greatest("x", "y")', "greatest(x, y)", why="NaN is the greatest number"),
    Example('flo.least("a", "b", nw.lit(3))', "least(a, b, 3)"),
    Example('flo.least("s", "t")', "least(s, t)"),
    Example(
        'nw.max_horizontal("x", "y")', "", expected=lambda row: fmax(row.x, row.y), why="like greatest, but skips NaN"
    ),
    Example('nw.sum_horizontal("b", nw.lit(1))', "coalesce(b, 0) + 1"),
    Example('c("x").is_nan()', "isnan(x)"),
    Example('c("x").is_finite()', "isfinite(x)"),
    Example('c("x").fill_nan(None)', "nullif(x, 'nan')", duck="CASE WHEN NOT isnan(x) THEN x END"),
]


def fmax(x: float | None, y: float | None) -> float | None:
    there = [each for each in (x, y) if each is not None]
    numbers = [each for each in there if not math.isnan(each)]
    return max(numbers) if numbers else math.nan if there else None


TEXTS = [
    Example('nw.concat_str("s", nw.lit("/"), "t")', "s || '/' || t", why="null if one is"),
    Example('nw.concat_str("s", "t", separator="-", ignore_nulls=True)', "concat_ws('-', s, t)"),
    Example('nw.concat_str("t", "a")', "t || a", duck="t || a::VARCHAR", why="others as `cast` writes them"),
    Example('c("s").str.to_uppercase()', "upper(s)"),
    Example('c("s").str.to_lowercase()', "lower(s)"),
    Example('c("s").str.len_chars()', "length(s)", why="code points"),
    Example('c("s").str.slice(1, 2)', "substring(s, 2, 2)", why="counts from 0"),
    Example('c("s").str.head(2)', "left(s, 2)"),
    Example('c("s").str.tail(2)', "right(s, 2)"),
    Example('c("s").str.starts_with("a")', "starts_with(s, 'a')"),
    Example('c("s").str.ends_with("2")', "ends_with(s, '2')", duck="suffix(s, '2')"),
    Example('c("s").str.contains("-", literal=True)', "contains(s, '-')"),
    Example(r'c("s").str.contains(r"^\w+-\d")', r"regexp_matches(s, '^\w+-\d')", why="RE2; anywhere in the string"),
    Example('c("s").str.contains("a.b")', "regexp_matches(s, 'a.b')"),
    Example('c("s").str.replace_all("-", "+", literal=True)', "replace(s, '-', '+')"),
    Example(
        r'c("s").str.replace_all(r"(\w)-(\w)", r"\2-\1")',
        r"regexp_replace(s, '(\w)-(\w)', '\2-\1', 'g')",
        why=r"groups are `\1`, `\2`, …",
    ),
    Example('c("s").str.replace("-", "", n=1)', "regexp_replace(s, '-', '')"),
    Example(
        r'flo.regexp_extract("s", r"(\w+)-(\d+)", 2)',
        r"regexp_extract(s, '(\w+)-(\d+)', 2)",
        duck=r"CASE WHEN regexp_matches(s, '(\w+)-(\d+)') THEN regexp_extract(s, '(\w+)-(\d+)', 2) END",
        why="null without a match; empty in DuckDB and Spark",
    ),
    Example('c("s").str.split("-")', "string_split(s, '-')"),
    Example('c("s").str.split("-").list.get(1)', "string_split(s, '-')[2]", why="null out of range"),
    Example('flo.split_part("s", "-", 2)', "split_part(s, '-', 2)", why="counts from 1; empty out of range"),
    Example('flo.split_part("s", "-", -1)', "split_part(s, '-', -1)"),
    Example('c("s").str.strip_chars()', "trim(s, …)", duck="trim(s, ' \t\n\r\v\f')", why="ASCII blanks"),
    Example('c("s").str.strip_chars("-1")', "trim(s, '-1')"),
    Example('c("t").str.pad_start(4, "0")', "lpad(t, 4, '0')", why="longer strings stay as they are"),
    Example('c("t").str.zfill(4)', "lpad(t, 4, '0')", expected=of("t", lambda t: t.zfill(4)), why="after the sign"),
]
HASHES = [
    Example('flo.md5("s")', "md5(s)", why="of UTF-8, in hexadecimal"),
    Example('flo.sha256("s")', "sha256(s)"),
    Example(
        'flo.hash("a", "s")',
        "hash(a, s)",
        expected=lambda row: encoded_hash(
            b"N" if row.a is None else b"I" + str(row.a).encode(), b"N" if row.s is None else b"S" + row.s.encode()
        ),
        why="8-byte BLAKE2b, the same everywhere; every SQL engine has its own",
    ),
]
CASTS = [
    Example('c("s").cast(nw.Int64)', "CAST(s AS BIGINT)", expected=of("s", read_integer), why="blanks are errors"),
    Example(
        'flo.try_cast("s", nw.Int64)',
        "TRY_CAST(s AS BIGINT)",
        expected=of("s", lambda s: int(s) if s.lstrip("-").isdecimal() else None),
        why="null where `cast` fails",
    ),
    Example(
        'flo.try_cast("s", nw.Float64)',
        "TRY_CAST(s AS DOUBLE)",
        duck="CASE WHEN s = trim(s) THEN TRY_CAST(s AS DOUBLE) END",
    ),
    Example('flo.try_cast("s", nw.Date)', "TRY_CAST(s AS DATE)"),
    Example('c("a").cast(nw.String)', "CAST(a AS VARCHAR)"),
    Example('c("a").cast(nw.Float64)', "CAST(a AS DOUBLE)", why="the nearest float"),
    Example('c("a").cast(nw.Int8)', "CAST(a AS TINYINT)"),
    Example('flo.try_cast("a", nw.Int8)', "TRY_CAST(a AS TINYINT)"),
    Example('c("x").cast(nw.Int64)', "CAST(x AS BIGINT)", expected=of("x", whole), why="must be whole; SQL rounds"),
    Example('c("p").cast(nw.Int64)', "CAST(p AS BIGINT)"),
    Example('c("d").cast(nw.Float64)', "CAST(d AS DOUBLE)"),
    Example('c("a").cast(nw.Decimal(20, 2))', "CAST(a AS DECIMAL(20, 2))"),
    Example('c("at").cast(nw.Date)', "CAST(at AS DATE)", duck='CAST("at" AS DATE)'),
]
TIMES = [
    *(
        Example(f'c("at").dt.{name}()', f"{name}(at)", duck=f'{name}("at")')
        for name in ("year", "month", "day", "hour", "minute", "second")
    ),
    Example('c("day").dt.weekday()', "isodow(day)", why="Monday is 1"),
    Example('c("day").dt.ordinal_day()', "dayofyear(day)"),
    Example('c("at").dt.date()', "CAST(at AS DATE)", duck='CAST("at" AS DATE)'),
    Example('c("at").dt.truncate("1h")', "date_trunc('hour', at)", duck="""date_trunc('hour', "at")"""),
    Example(
        'c("at").dt.truncate("15m")',
        "time_bucket(INTERVAL 15 MINUTE, at)",
        duck="""time_bucket(INTERVAL 15 MINUTE, "at")""",
    ),
    Example('c("day").dt.truncate("1mo")', "date_trunc('month', day)", duck="date_trunc('month', day)::DATE"),
    Example('c("at").dt.offset_by("3h")', "at + INTERVAL 3 HOUR", duck='"at" + INTERVAL 3 HOUR'),
    Example(
        'c("day").dt.offset_by("1mo")',
        "day + INTERVAL 1 MONTH",
        duck="(day + INTERVAL 1 MONTH)::DATE",
        why="at most the last day of the month",
    ),
    Example('c("at").dt.offset_by("-1y")', "at - INTERVAL 1 YEAR", duck='"at" - INTERVAL 1 YEAR'),
    Example('c("at") + timedelta(minutes=5)', "at + INTERVAL 5 MINUTE", duck='"at" + INTERVAL 5 MINUTE'),
    Example(
        'c("at") - datetime(2024, 1, 1)',
        "at - TIMESTAMP '2024-01-01'",
        expected=of("at", lambda at: at - datetime(2024, 1, 1)),
        why="a duration",
    ),
    Example(
        '(c("at") - datetime(2024, 1, 1)).dt.total_minutes()',
        "date_sub('minute', '2024-01-01', at)",
        duck="""date_sub('minute', TIMESTAMP '2024-01-01', "at")""",
        why="towards zero",
    ),
    Example(
        'c("lasts").dt.total_seconds()',
        "extract(epoch FROM lasts)",
        expected=of("lasts", lambda lasts: math.trunc(lasts / timedelta(seconds=1))),
        why="towards zero",
    ),
    Example(
        'c("at").dt.timestamp("ms")',
        "epoch_ms(at)",
        duck='epoch_ms("at")',
        expected=of("at", lambda at: (at - datetime(1970, 1, 1)) // timedelta(milliseconds=1)),
        why="rounded down",
    ),
    Example(
        'c("at").dt.to_string("%Y-%m-%d %H:%M")',
        "strftime(at, '%Y-%m-%d %H:%M')",
        duck="""strftime("at", '%Y-%m-%d %H:%M')""",
    ),
    Example(
        'nw.lit("29.02.2024").str.to_date("%d.%m.%Y")',
        "strptime('29.02.2024', '%d.%m.%Y')::DATE",
        why="a format is needed; what does not fit is an error",
    ),
    Example(
        'nw.lit("2024-02-29 12:30:01.25").str.to_datetime("%Y-%m-%d %H:%M:%S.%f")',
        "strptime(…, '%Y-%m-%d %H:%M:%S.%f')",
        duck="strptime('2024-02-29 12:30:01.25', '%Y-%m-%d %H:%M:%S.%f')",
    ),
]
ZONES = [
    Example('c("z").dt.hour()', "hour(z)", why="in local time"),
    Example('c("z").dt.date()', "CAST(z AS DATE)"),
    Example('c("z").dt.truncate("1d")', "date_trunc('day', z)", why="the local day"),
    Example('c("z").dt.offset_by("1d")', "z + INTERVAL 1 DAY", why="in local time"),
    Example('c("z").dt.offset_by("24h")', "z + INTERVAL 24 HOUR", duck="z + to_hours(24)", why="on the timeline"),
    Example('c("z").dt.replace_time_zone(None)', "CAST(z AS TIMESTAMP)"),
    Example('c("z").dt.convert_time_zone("Asia/Tokyo").dt.hour()', "hour(z AT TIME ZONE 'Asia/Tokyo')"),
    Example('c("z").dt.timestamp("us")', "epoch_us(z)"),
    Example(
        'c("z").dt.to_string("%H:%M %z")',
        "strftime(z, '%H:%M %z')",
        expected=of("z", lambda z: z.astimezone(BERLIN).strftime("%H:%M %z")),
        why="offsets as in Python",
    ),
]
NESTED = [
    Example('c("items").list.len()', "len(items)"),
    Example('c("items").list.get(0)', "items[1]", why="counts from 0; null out of range"),
    Example('c("items").list.contains(7)', "list_contains(items, 7)"),
    Example('c("items").list.sort()', "list_sort(items)"),
    Example('c("items").list.sum()', "list_sum(items)", expected=of("items", sum), why="of an empty list: 0"),
    Example('c("items").list.max()', "list_max(items)"),
    Example('c("tags").list.get(1)', "tags[2]"),
    Example('c("who").struct.field("age")', "who.age"),
    Example('c("who").struct.field("name").str.to_uppercase()', "upper(who.name)"),
    Example(
        'nw.struct("a", "s")', "struct_pack(a, s)", expected=lambda row: (row.a, row.s), why="a row within the row"
    ),
]
CONSTANTS = [
    Example("nw.lit(1)", "1"),
    Example('nw.lit("text")', "'text'"),
    Example("nw.lit(0.1)", "0.1::DOUBLE"),
    Example("nw.lit(True)", "true"),
    Example("nw.lit(None, nw.Int64)", "CAST(NULL AS BIGINT)"),
    Example("nw.lit(date(2024, 2, 29))", "DATE '2024-02-29'"),
    Example("nw.lit(7, nw.Int8)", "7::TINYINT", why="a constant that does not fit is rejected"),
    Example('nw.lit(Decimal("1.50"))', "1.50"),
]
SECTIONS: dict[str, list[Example]] = {
    "Arithmetic": ARITHMETIC,
    "Comparisons and conditions": COMPARISONS,
    "Nulls and choices": NULLS,
    "Texts": TEXTS,
    "Hashes": HASHES,
    "Casts": CASTS,
    "Dates and times": TIMES,
    "Times with a zone": ZONES,
    "Lists and rows within rows": NESTED,
    "Constants": CONSTANTS,
}
EXAMPLES = [example for section in SECTIONS.values() for example in section]
