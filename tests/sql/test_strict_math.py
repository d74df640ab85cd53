"""Exponentials, logarithms and powers have the bits that Spark's have, for many floats of all sizes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from flo.columns.evaluation import Rows
from flo.sql.nodes import Node, column, evaluate
from tests.sql.expression_harness import differences

X, Y = column("x", pa.float64(), True), column("y", pa.float64(), True)
FUNCTIONS = {
    "exp(x)": Node("Exp", pa.float64(), True, (X,)),
    "ln(x)": Node("Log", pa.float64(), True, (X,)),
    "log10(x)": Node("Log10", pa.float64(), True, (X,)),
    "log2(x)": Node("Log2", pa.float64(), True, (X,)),
    "log(y, x)": Node("Logarithm", pa.float64(), True, (Y, X)),
    "pow(x, y)": Node("Pow", pa.float64(), True, (X, Y)),
}


def floats(count: int) -> pa.Table:
    """Return pairs of floats: arbitrary bits, and those for which results are neither 0 nor infinite."""
    draw = np.random.default_rng(7)
    numbers = [0.0, 1.0, 2.0, 0.5, 3.0, np.inf, 5e-324, 1e300, 2.0**53, 2.0**64]
    special = np.array([*numbers, *(-each for each in numbers), np.nan])
    one = [
        draw.integers(-(2**63), 2**63 - 1, count).view(np.float64),
        draw.uniform(-750, 720, count),
        draw.uniform(-2, 2, count),
        np.exp(draw.uniform(-700, 700, count)),
        1 + draw.uniform(-1e-5, 1e-5, count),
        1 + draw.uniform(-1e-12, 1e-12, count),
        2.0 ** draw.integers(-1074, 1023, count),
        np.repeat(special, len(special)),
    ]
    other = [
        draw.integers(-(2**63), 2**63 - 1, count).view(np.float64),
        draw.integers(-90, 90, count).astype(np.float64),
        draw.uniform(-700, 700, count),
        draw.uniform(-1.2, 1.2, count),
        draw.uniform(-1e8, 1e8, count),
        draw.uniform(-1e14, 1e14, count),
        draw.uniform(-1.1, 1.1, count),
        np.tile(special, len(special)),
    ]
    return pa.table({"x": np.concatenate(one), "y": np.concatenate(other)})


def compare(spark, count: int) -> None:
    table = floats(count)
    spark.createDataFrame(table).createOrReplaceTempView("floats")
    names = ", ".join(f"{sql} AS c{place}" for place, sql in enumerate(FUNCTIONS))
    wanted = spark.sql(f"SELECT {names} FROM floats").toArrow()
    for place, (sql, node) in enumerate(FUNCTIONS.items()):
        found = evaluate(node, Rows.of(table))
        wrong = differences(found, wanted.column(place).combine_chunks())
        assert not wrong, (sql, table.take(pa.array(wrong[:3])).to_pylist())


def test_some_floats(spark):
    compare(spark, 300)


@pytest.mark.thorough
def test_many_floats(spark):
    compare(spark, 50_000)
