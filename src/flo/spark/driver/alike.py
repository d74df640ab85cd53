"""Whether Spark gives what Arrow gives: an expression is tried on both, on values that are known to tell them apart.

Spark takes nan for the largest number, raises where integers overflow, and has other rules for the case of letters.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import narwhals as nw
import pyarrow as pa
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from flo.columnar.expression import Expression
from flo.columnar.layout import Layout
from flo.columnar.trial import example_rows

ROWS = 600
"""So many combinations of values are tried: most pairs of them."""
INTEGERS = [0, 1, 2, 3, 7, 10, 127, 128, 2**15, 2**31 - 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
FLOATS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 0.1, 0.5, 1.5, -2.5, 5.0, 1e16, -(2.0**63), 5e-324, 1.7e308]
TEXTS = ["", "a", "A", "ab", " a ", "a b", "-1", "1.5", "a%_", "\\", "\t\n", "\u00a0a"]
TEXTS += ["straße", "ŉ", "İı", "ΑΣ", "ǆ", "é", "e\u0301", "日本", "😀a"]
DATES = [date(1, 1, 1), date(1582, 10, 10), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]
MOMENTS = [datetime(2, 1, 1), datetime(1582, 10, 10, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999)]
MOMENTS += [datetime(1970, 1, 1), datetime(2024, 2, 29, 12, 30), datetime(2024, 3, 31, 2, 30), datetime(9998, 12, 31)]
SPANS = [timedelta(0), timedelta(microseconds=1), timedelta(days=-1, seconds=1), timedelta(days=100_000)]


def runs_alike(spark: SparkSession, function: Expression) -> bool:
    """Whether the function of one row gives the same on both, row by row."""
    logger = PySparkLogger.getLogger("DataFrameQueryContextLogger")  # of all that an expression raises
    before, logger.disabled = logger.disabled, True
    try:
        rows = _telling_rows(function.inputs[0], function.reads[0])
        expected = function.results(rows)
        given = spark.createDataFrame(function.beside(rows))
        found = nw.from_native(given).select(**dict(function.columns)).to_native().toArrow()
        return bool(found.schema.types == expected.schema.types and _texts(found) == _texts(expected))
    except Exception:  # one of them cannot run it, or raises on some value
        return False
    finally:
        logger.disabled = before


def _texts(table: pa.Table) -> list[str]:
    return list(map(repr, table.to_pylist()))  # nan is nan


def _telling_rows(layout: Layout, columns: tuple[str, ...]) -> pa.Table:
    """Each value of each column some times, beside others: always the same rows."""
    drawn, arrays = Random(0), []
    for name, cell in zip(layout.names, layout.cells, strict=True):
        if name in columns:
            values = _values(cell.arrow) or _of_examples(layout, name)
            values = [*values, None] if cell.nullable else values
            repeated = (values * ROWS)[:ROWS]
            drawn.shuffle(repeated)
            arrays.append(pa.array(repeated, cell.arrow))
    return pa.Table.from_arrays(arrays, names=[name for name in layout.names if name in columns])


def _values(kind: pa.DataType) -> list[Any]:
    """Values of a type at its bounds and around; none if they are not known here."""
    t = pa.types
    if t.is_integer(kind):
        low = 0 if t.is_unsigned_integer(kind) else -(2 ** (kind.bit_width - 1))
        high = low + 2**kind.bit_width - 1
        return sorted({n for each in INTEGERS for n in (each, -each, -each - 1) if low <= n <= high})
    if t.is_decimal(kind):
        most = 10**kind.precision - 1
        unscaled = {n for n in (0, 1, 5, 15, 10**kind.scale, 15 * 10**kind.scale // 10, most - 1, most) if n <= most}
        return [Decimal(f"{sign}{n}E-{kind.scale}") for n in sorted(unscaled) for sign in ("", "-")]
    known: dict[Any, list[Any]] = {
        t.is_floating: FLOATS,
        t.is_boolean: [False, True],
        t.is_string: TEXTS,
        t.is_binary: [b"", b"a", b"\0", b"\xff\xfe", "é".encode()],
        t.is_date: DATES,
        t.is_timestamp: MOMENTS,
        t.is_duration: SPANS,
    }
    return next((values for test, values in known.items() if test(kind)), [])


def _of_examples(layout: Layout, name: str) -> list[Any]:
    values: list[Any] = layout.to_table([row for (row,) in example_rows((layout,))])[name].to_pylist()
    return values
