"""The `repr` of flows, streams and loops, and the module for authors of operators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
import flo.authoring


def double(x: int) -> int:
    return 2 * x


def shop() -> flo.Flow:
    flow = flo.Flow("shop")
    prices = flow.input("prices", flo.Sequence[int], bounded=True)
    orders = flow.input("orders", flo.Bag[str])
    flow.output("doubled", prices.map(double).filter(bool))
    flow.output("orders", orders)
    return flow


def test_a_flow_shows_its_inputs_outputs_and_size() -> None:
    assert repr(shop()) == (
        "<Flow 'shop': 2 operators\n"
        "  input   prices   Sequence[int], bounded\n"
        "  input   orders   Bag[str], unbounded\n"
        "  output  doubled  Sequence[int], bounded\n"
        "  output  orders   Bag[str], unbounded>"
    )


def test_operators_in_bodies_count() -> None:
    flow = flo.Flow("sums")
    prices = flow.input("prices", flo.Sequence[int])
    flow.output("sums", prices.batch(2).nest(lambda batch: batch.map(double).sum()))
    assert repr(flow).startswith("<Flow 'sums': 4 operators\n")


def test_rows_over_partitions() -> None:
    class Sale(NamedTuple):
        shop: str

    sales = flo.Flow("shop").input("sales", flo.ZSet[Sale])
    assert repr(sales.over(partition_by="shop")) == "<over(…) of <Stream sales: ZSet[Sale(shop: str)], unbounded>>"


def test_what_functions_without_annotations_return_is_shown() -> None:
    class Sale(NamedTuple):
        shop: str
        price: float

    flow = flo.Flow("shop")
    sales = flow.input("sales", flo.Sequence[Sale])
    pairs = sales.map(lambda sale: (sale.shop, sale.price * 2))
    states = sales.key_by("shop").current(0, lambda total, sale: total + 1)
    assert repr(pairs) == "<Stream pairs: Sequence[tuple[str, float]], unbounded>"
    assert repr(states) == "<Stream states: ZSet[tuple[str, int]], unbounded>"
    assert pairs.columns == states.columns == ["0", "1"]
    assert pairs.schema.field("1").type == pa.float64()
    flow.output("pairs", pairs)
    assert "output  pairs  Sequence[tuple[str, float]], unbounded" in repr(flow)
    assert "    Sequence[tuple[str, float]], unbounded" in flow.explain().splitlines()
    assert "Sequence[tuple[str, float]]" in str(flow.draw())
    mixed = sales.map(lambda sale: sale.price if sale.shop else "none")
    with pytest.raises(flo.TypeMismatch, match="`mixed` has no columns") as caught:
        mixed.columns  # noqa: B018
    assert "annotate what the function returns" in str(caught.value)


def test_types_and_reports_are_one_line() -> None:
    flow = flo.Flow("doubled")
    flow.output("doubled", flow.input("prices", flo.Sequence[int]).map(double))
    assert "\n" not in repr(flow.type())
    assert len(repr(flow.type())) < 120
    assert repr(flo.verify.check(lambda total, x: total + x, int, int)).endswith("total + x` passes>")


def test_a_flow_that_is_not_finished_has_a_repr_too() -> None:
    flow = flo.Flow()
    assert repr(flow) == "<Flow 'flow': 0 operators>"
    flow.input("unread", flo.Sequence[int]).map(double)
    assert repr(flow) == "<Flow 'flow': 1 operator\n  input   unread  Sequence[int], unbounded>"


def test_a_stream_shows_its_name_and_type() -> None:
    flow = flo.Flow("names")
    numbers = flow.input("prices", flo.Sequence[int])
    doubled = numbers.map(double)
    assert repr(numbers) == "<Stream prices: Sequence[int], unbounded>"
    assert repr(doubled) == "<Stream doubled: Sequence[int], unbounded>"


class Sale(NamedTuple):
    shop: str
    price: Annotated[Decimal, pa.decimal128(10, 2)]
    sold: int
    at: datetime | None


def test_streams_of_rows_show_their_columns() -> None:
    flow = flo.Flow("rows")
    sales = flow.input("sales", flo.ZSet[Sale])
    totals = sales.group_by("shop").agg(revenue=flo.sum("price"), sold=flo.sum("sold"))
    row = "Sale(shop: str, price: decimal128(10, 2), sold: int, at: datetime | None)"
    assert repr(sales) == f"<Stream sales: ZSet[{row}], unbounded>"
    assert repr(totals) == "<Stream totals: ZSet[Row(shop: str, revenue: decimal(38, 2), sold: int)], unbounded>"
    assert f"Nested[Sequence[{row}]], unbounded>" in repr(flow.input("log", flo.Sequence[Sale]).batch(2))
    flow.output("totals", totals)
    assert repr(flow).endswith("  output  totals  ZSet[Row(shop: str, revenue: decimal(38, 2), sold: int)], unbounded>")


def test_streams_have_columns_and_a_schema() -> None:
    flow = flo.Flow("rows")
    sales = flow.input("sales", flo.ZSet[Sale])
    assert sales.columns == ["shop", "price", "sold", "at"]
    assert sales.schema.field("at") == pa.field("at", pa.timestamp("us"))
    assert flow.input("log", flo.Partitioned[Sale], partitions=2).columns == sales.columns
    assert flow.input("numbers", flo.Sequence[int]).schema == pa.schema([pa.field("value", pa.int64(), False)])
    assert sales.select("shop", n=nw.col("sold") * 2).columns == ["shop", "n"]
    with pytest.raises(flo.TypeMismatch, match="`largest` has no columns"):
        _ = flow.input("largest", flo.LVar[flo.Max[int]]).columns


def test_long_rows_are_short_in_errors() -> None:
    many = flo.rows(pa.schema([pa.field(f"column_{place}", pa.int64(), False) for place in range(9)]))
    stream = flo.Flow().input("wide", flo.ZSet[many])
    assert str(stream.type) == "(ZSet[Row(column_0: int, column_1: int, column_2: int, column_3: int, … 5 more)], U)"
    assert repr(stream).count("column_") == 9


def test_explain_has_the_verbs_as_they_are_written_in_lines_that_fit_a_terminal() -> None:
    flow = flo.Flow("rows")
    sales = flow.input("sales", flo.ZSet[Sale])
    totals = (
        sales.filter(nw.col("price") > 3)
        .group_by("shop")
        .agg(
            revenue=flo.sum("price"), sold=flo.sum("sold"), latest=flo.max("at"), earliest=flo.min("at"), n=flo.count()
        )
    )
    flow.output("totals", totals)
    for text in (flow.explain(), flow.on(flo.here).explain()):
        assert max(map(len, text.splitlines())) <= 100
        assert 'filter(nw.col("price") > 3)' in text
        assert 'group_by("shop").agg(revenue=flo.sum("price"),' in text
        assert "Annotated" not in text
    lines = flow.explain().splitlines()
    assert lines[1].startswith("  input sales ")
    assert lines[1].endswith(f" {sales.origin}")
    assert lines[2] == "    ZSet[Sale(shop: str, price: decimal128(10, 2), sold: int, at: datetime | None)], unbounded"
    assert "  output totals   = agg" in lines


def test_a_loop_shows_its_inputs_and_outputs() -> None:
    loop, on_tables = shop().loop(), shop().on(flo.here)
    loop.end("prices")
    assert repr(loop) == "<FlowLoop from prices (ended), orders to doubled, orders>"
    assert repr(on_tables.loop()) == "<TableLoop from prices, orders to doubled, orders>"
    assert repr(on_tables) == "<Flow 'shop', in this process: run(…), loop(…), start(…), explain()>"


def test_a_stream_without_a_name_shows_the_verb_and_the_line() -> None:
    stream = flo.Flow("lines").input("prices", flo.Sequence[int])
    shown = repr(stream.map(double).take(3))
    assert shown.startswith("<Stream `take` at test_reprs.py:")
    assert shown.endswith(": Sequence[int], unbounded>")


def test_authors_find_everything_in_one_module() -> None:
    assert all(hasattr(flo.authoring, name) for name in flo.authoring.__all__)
    assert flo.authoring.Operator is flo.Operator
    assert {"expect_bounded", "expect_collection", "Unary", "Sides", "SequenceValue"} <= set(flo.authoring.__all__)


@dataclass(frozen=True)
class Differences(flo.authoring.Unary):
    """Emits how much each number differs from the one before it."""

    last: int | None = None

    name = "running_differences"

    def type(self, inputs: flo.authoring.StreamTypes) -> flo.authoring.StreamTypes:
        flo.authoring.expect_collection(self, inputs[0], flo.Sequence)
        return inputs

    def consume(self, units: list[int], source: Any) -> Any:
        known = units if self.last is None else [self.last, *units]
        differences = [after - before for before, after in pairwise(known)]
        return replace(self, last=known[-1]), (flo.authoring.SequenceValue.of(differences),)


def test_an_operator_by_elements_needs_a_type_and_what_it_does_to_them() -> None:
    flow = flo.Flow("differences")
    (found,) = flow.input("numbers", flo.Sequence[int], bounded=True).apply(Differences())
    flow.output("found", found)
    loop = flow.loop(record=True)
    loop.push(numbers=[1, 4])
    loop.end("numbers")
    loop.run()
    assert loop.result() == {"found": [3]}
    rules = [step.rule for step in loop.history]
    assert rules == ["running-differences", "running-differences", "running-differences-terminator"]
    assert flow.on(flo.here).run(numbers=[1, 4, 9])["found"].to_pylist() == [{"value": 3}, {"value": 5}]
    assert flo.verify.check(Differences(), flo.Sequence[int], most=2, tries=20).ok
