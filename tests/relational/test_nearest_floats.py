"""A decimal as a float is the nearest float: in a cast, beside a float, and in functions of floats."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from tests.engines.engine import Engine

Cents = Annotated[Decimal, pa.decimal128(10, 2)]
Long = Annotated[Decimal, pa.decimal128(38, 18)]


class Price(NamedTuple):
    d: Cents
    f: float


class Wide(NamedTuple):
    d: Long | None


PRICES = [Decimal(cents) / 100 for cents in (*range(0, 10_000, 7), -1, -29, 9_999_999_999)]


def nearest(number: Decimal) -> float:
    return float(Fraction(number))


EXPRESSIONS: dict[str, tuple[Any, Any]] = {
    "cast": (nw.col("d").cast(nw.Float64), nearest),
    "times": (nw.col("d") * nw.col("f"), lambda d: nearest(d) * 1.5),
    "of a float": (nw.col("f") - nw.col("d"), lambda d: 1.5 - nearest(d)),
    "quotient": (nw.col("d") / nw.col("f"), lambda d: nearest(d) / 1.5),
    "literal": (nw.col("d") * 1.1, lambda d: nearest(d) * 1.1),
    "root": ((nw.col("d") * nw.col("d")).sqrt(), lambda d: math.sqrt(nearest(d * d))),
    "power": (nw.col("d") ** 2, lambda d: nearest(d) ** 2),
    "chosen": (nw.when(nw.col("f") > 1).then(nw.col("d")).otherwise(nw.col("f")), nearest),
    "filled": (nw.coalesce("d", "f"), nearest),
    "mean": (nw.mean_horizontal("d", "f"), lambda d: (nearest(d) + 1.5) / 2),
    "most": (nw.max_horizontal("d", "f"), lambda d: max(nearest(d), 1.5)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name: str, tmp_path: Any) -> None:
    given, expected = EXPRESSIONS[name]
    flow = flo.Flow(name)
    flow.output("out", flow.input("rows", flo.ZSet[Price]).select("d", y=given))
    rows = [Price(each, 1.5) for each in PRICES]
    for result in (flow.run(rows=rows)["out"], Engine("tables", tmp_path).run(flow, {"rows": rows})["out"]):
        if isinstance(result, dict):
            assert {row.d: row.y for row in result} == {each: expected(each) for each in PRICES}
        else:
            found = {Decimal(str(row[0])): float(row[1]) for row, _ in result}
            assert found == {each: expected(each) for each in PRICES}


def test_comparisons_with_floats() -> None:
    flow = flo.Flow("compared")
    rows = flow.input("rows", flo.ZSet[Price])
    flow.output(
        "out", rows.filter((nw.col("d") == nw.col("f")) & nw.col("d").is_in([nearest(each) for each in PRICES]))
    )
    given = [Price(each, nearest(each)) for each in PRICES]
    assert len(flow.run(rows=given)["out"]) == flow.on(flo.here).run(rows=given)["out"].num_rows == len(given)


def test_many_digits() -> None:
    texts = ["12345678901234567890.123456789012345678", "-0.000000000000000001", "99999999999999999999.9", "0", "0.1"]
    flow = flo.Flow("wide")
    flow.output("out", flow.input("rows", flo.ZSet[Wide]).select("d", y=nw.col("d").cast(nw.Float64)))
    found = flow.run(rows=[Wide(Decimal(text)) for text in texts] + [Wide(None)])["out"]
    assert {row.d: row.y for row in found} == {Decimal(text): float(text) for text in texts} | {None: None}


def test_sums_of_integers() -> None:
    """A sum has up to 38 digits."""
    flow = flo.Flow("sums")
    rows = flow.input("rows", flo.ZSet[int]).agg(n=flo.sum("value"))
    flow.output("out", rows.select(y=nw.col("n").cast(nw.Float64)))
    many = {2**63 - 1: 2**40 + 12345, 2**53 + 1: 3}
    expected = float(sum(value * weight for value, weight in many.items()))
    assert [row.y for row in flow.run(rows=many)["out"]] == [expected]
    assert flow.on(flo.here).run(rows=many)["out"]["y"].to_pylist() == [expected]
