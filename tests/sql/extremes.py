"""A table of extreme values of every type, for tests that compare expressions with Spark.

Each type has three columns, a, b and c. Together the rows have all pairs of two values of a type, or most of them.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

ROWS = 600
DAYS = datetime.date
NUMBERS = [0, 1, -1, 2, 3, 7, -10, 45, 50, 55, 127, 100]


def _integers(bits: int) -> list[int | None]:
    most = 2 ** (bits - 1) - 1
    return [None, *(each for each in NUMBERS), most, most - 1, -most, -most - 1, most // 2 + 1, -(most // 3)]


def _floats(kind: Any) -> list[float | None]:
    info = np.finfo(kind)
    return [
        None,
        0.0,
        -0.0,
        math.nan,
        math.inf,
        -math.inf,
        float(info.max),
        -float(info.max),
        float(info.smallest_subnormal),
        -float(info.tiny),
        1.5,
        -1.5,
        2.5,
        0.1,
        -7.25,
        127.9,
        -128.5,
        32768.0,
        2147483647.5,
        9.2233720368547758e18,
        -9.2233720368547758e18,
        1e20,
    ]


def _decimals(precision: int, scale: int) -> list[Decimal | None]:
    most = 10**precision - 1
    numbers = [
        0,
        1,
        -1,
        5,
        -5,
        15,
        25,
        1234,
        -777,
        most,
        -most,
        most // 3,
        most // 7,
        10 ** (precision // 2),
        5 * 10**scale,
    ]
    more = [10**scale // 2, -(3 * 10**scale) // 2, 2 * 10**scale, 10 ** (precision - 1)]
    found = {int(each) for each in (*numbers, *more) if abs(each) <= most}
    return [None, *(_unscaled(each, scale) for each in sorted(found))]


def _unscaled(number: int, scale: int) -> Decimal:
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


TEXTS = [
    None,
    "",
    " ",
    "a",
    "abc",
    "  padded ",
    "AbC dEf",
    "a,b,,c",
    "abcabc",
    "Straße",
    "İstanbul ΣΑΣ",
    "e\u0301a\u0300",
    "😀x😀",
    "a%b_c\\d",
    "line\nbreak\x85\u2028",
    "ǆ ﬁ",
    "\x00\x01",
    "b",
    "ab",
    "%",
    "x" * 30,
    "\t a\xa0",
    "日本語",
]
DATES = [
    None,
    DAYS(1, 1, 1),
    DAYS(1, 12, 31),
    DAYS(1582, 10, 4),
    DAYS(1582, 10, 15),
    DAYS(1582, 10, 10),
    DAYS(1900, 2, 28),
    DAYS(1969, 12, 31),
    DAYS(1970, 1, 1),
    DAYS(1999, 12, 31),
    DAYS(2000, 2, 29),
    DAYS(2020, 12, 28),
    DAYS(2021, 1, 3),
    DAYS(2023, 3, 31),
    DAYS(2024, 2, 29),
    DAYS(2024, 3, 31),
    DAYS(2024, 10, 27),
    DAYS(9999, 12, 31),
]
_CLOCKS = [
    "0001-01-01T00:00:00",
    "1582-10-09T23:59:59.999999",
    "1893-03-31T23:06:32",
    "1899-12-31T23:59:59.5",
    "1945-05-24T01:30:00",
    "1969-12-31T23:59:59.999999",
    "1970-01-01T00:00:00",
    "1980-04-06T00:59:59",
    "2024-03-31T00:59:59.999999",
    "2024-03-31T01:00:00",
    "2024-03-31T01:30:00.000001",
    "2024-03-31T02:30:00",
    "2024-03-30T02:15:00.5",
    "2024-10-27T00:30:00",
    "2024-10-27T01:30:00.123",
    "2024-10-27T02:30:00",
    "2024-10-26T02:45:59",
    "2024-02-29T12:34:56.789012",
    "2038-01-19T03:14:07",
    "9999-12-31T20:59:59.999999",
]
LOCALS = [None, *(datetime.datetime.fromisoformat(each) for each in _CLOCKS)]
INSTANTS = [None, *(datetime.datetime.fromisoformat(each).replace(tzinfo=datetime.UTC) for each in _CLOCKS)]
_DAY = datetime.timedelta(days=1)
INTERVALS = [
    None,
    datetime.timedelta(0),
    datetime.timedelta(microseconds=1),
    -datetime.timedelta(microseconds=1),
    _DAY,
    -_DAY,
    datetime.timedelta(hours=1),
    datetime.timedelta(hours=-25, minutes=30),
    datetime.timedelta(days=31, hours=2, minutes=30),
    datetime.timedelta(days=-366),
    datetime.timedelta(days=10_000),
    datetime.timedelta(days=106_751_990),
    -datetime.timedelta(days=106_751_990),
]

TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i8": (pa.int8(), _integers(8)),
    "i16": (pa.int16(), _integers(16)),
    "i32": (pa.int32(), _integers(32)),
    "i64": (pa.int64(), _integers(64)),
    "few": (pa.int32(), [None, 0, 1, 2, 3, -1, -2, 5, -7, 8]),
    "f32": (pa.float32(), _floats(np.float32)),
    "f64": (pa.float64(), _floats(np.float64)),
    "d5": (pa.decimal128(5, 2), _decimals(5, 2)),
    "d18": (pa.decimal128(18, 6), _decimals(18, 6)),
    "d38": (pa.decimal128(38, 0), _decimals(38, 0)),
    "e38": (pa.decimal128(38, 18), _decimals(38, 18)),
    "s": (pa.string(), TEXTS),
    "bool": (pa.bool_(), [None, True, False]),
    "date": (pa.date32(), DATES),
    "ts": (pa.timestamp("us", "UTC"), INSTANTS),
    "ntz": (pa.timestamp("us"), LOCALS),
    "iv": (pa.duration("us"), INTERVALS),
    "bin": (pa.binary(), [None, *(each.encode() for each in TEXTS if each is not None), b"\xff\x00\x80"]),
    "st": (
        pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string())]),
        [None, {"a": 1, "b": "x"}, {"a": None, "b": "é"}, {"a": -5, "b": None}],
    ),
    "ar": (pa.list_(pa.field("item", pa.int32())), [None, [], [1], [None, 2], [3, 4, 5], [2**31 - 1, None, 0, 1]]),
}


def extreme_table(rows: int = ROWS) -> pa.Table:
    """Return the table: columns such as a_i32, b_i32 and c_i32, and `row`, the number of the row."""
    columns: dict[str, Any] = {"row": pa.array(range(rows), pa.int32())}
    for name, (kind, values) in TYPES.items():
        count, given = len(values), pa.array(values, kind)
        places = {
            "a": [row % count for row in range(rows)],
            "b": [row // count % count for row in range(rows)],
            "c": [(row * 7 + row // count) % count for row in range(rows)],
        }
        for letter, each in places.items():
            columns[f"{letter}_{name}"] = given.take(pa.array(each))
    return pa.table(columns)
