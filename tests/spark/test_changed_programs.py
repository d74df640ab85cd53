"""A program that has changed: it goes on with its state, or is refused."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import narwhals as nw
import pytest

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.program_changes import describe_program
from flo.shards.tasks.output_files import COUNT
from flo.spark.on_spark import OnSpark
from tests.spark.shops import Sale, last_of, sales, shop_of, sums
from tests.spark.simulated import NO_SPARK, Simulated


def test_changes_of_the_program_that_go_on(tmp_path: Path) -> None:
    query = Simulated(sums(), tmp_path)
    query.turn({"sales": sales(0, 10)})
    key = FunctionType((lambda sale: str(sale.shop)).__code__, shop_of.__globals__, "shop_of")
    key.__qualname__, key.__annotations__ = "shop_of", {"sale": Sale, "return": str}
    again = Simulated(sums(key), tmp_path)
    again.turn({"sales": sales(10, 10)})
    assert again.values() == dict(sums().run(sales=sales(0, 20)))
    counted = Simulated(sums(key), tmp_path, how=COUNT)  # the view is let go of
    counted.turn({"sales": sales(20, 10)})
    assert not [each for each in Checkpoint(str(tmp_path)).sizes(2) if each.where == "view"]


def test_changes_of_the_program_that_are_refused(tmp_path: Path) -> None:
    where = str(tmp_path)
    Simulated(sums(), where, how=COUNT).turn({"sales": sales(0, 10)})
    with pytest.raises(flo.CheckpointError, match="needs all rows that the input `sales` has had"):
        Simulated(sums(), where)
    with pytest.raises(flo.CheckpointError, match="another program") as caught:
        Simulated(sums(last_of), where, how=COUNT)
    assert "last_of" in str(caught.value)
    assert "shop_of" in str(caught.value)
    flow = flo.Flow("sums")
    flow.output(
        "sums",
        flow.input("sales", flo.ZSet[Sale])
        .filter(lambda sale: sale.price > 1)
        .group_by(key=shop_of)
        .agg(sum=flo.sum("price")),
    )
    with pytest.raises(flo.CheckpointError, match="another program") as caught:
        Simulated(flow, where, how=COUNT)
    assert "filter" in str(caught.value)


def test_a_changed_function_of_rows_that_can_be_retracted(tmp_path: Path) -> None:
    why = {"sales": "its DataFrame has a column `weight`"}
    Simulated(sums(), tmp_path, retracting=why).turn({"sales": sales(0, 10)})
    Simulated(sums(), tmp_path, retracting=why).turn({"sales": sales(10, 10)})
    changed = FunctionType((lambda sale: sale.shop + "!").__code__, shop_of.__globals__, "shop_of")
    changed.__qualname__, changed.__annotations__ = "shop_of", {"sale": Sale, "return": str}
    with pytest.raises(flo.CheckpointError, match="results of `shop_of` as it was: it has changed") as caught:
        Simulated(sums(changed), tmp_path, retracting=why)
    text = " ".join(str(caught.value).split())
    assert "output `sums`" in text
    assert "(test_changed_programs.py:" in text
    assert "its DataFrame has a column `weight`" in text


def test_a_captured_value_is_a_part_of_the_program(tmp_path: Path) -> None:
    def key(length: int) -> Any:
        return lambda sale: sale.shop[:length]

    Simulated(sums(key(4)), tmp_path).turn({"sales": sales(0, 10)})
    Simulated(sums(key(4)), tmp_path)
    with pytest.raises(flo.CheckpointError, match="a lambda of `agg` has captured another value"):
        Simulated(sums(key(6)), tmp_path)


def test_what_has_changed_is_told_in_the_words_of_the_program(tmp_path: Path) -> None:
    def limited(least: int, function: Any = flo.sum) -> flo.Flow:
        flow = flo.Flow("limited")
        sold = flow.input("sales", flo.ZSet[Sale]).filter(nw.col("price") > least)
        flow.output("sums", sold.group_by("shop").agg(sum=function("price")))
        return flow

    Simulated(limited(1), tmp_path).turn({"sales": sales(0, 10)})
    with pytest.raises(flo.CheckpointError) as caught:
        Simulated(limited(2), tmp_path)
    assert "the checkpoint belongs to another program: `filter` has changed" in str(caught.value)
    facts = dict(caught.value.facts)
    assert facts["before"].startswith("filter(price > 1)   (test_changed_programs.py:")
    assert facts["now"].startswith("filter(price > 2)   (test_changed_programs.py:")
    with pytest.raises(flo.CheckpointError) as caught:
        Simulated(limited(1, flo.max), tmp_path)
    facts = dict(caught.value.facts)
    assert facts["before"].startswith("agg(shop: sum=sum(price))")
    assert facts["now"].startswith("agg(shop: sum=max(price))")


def test_a_lambda_is_its_text(tmp_path: Path) -> None:
    Simulated(sums(lambda sale: sale.shop), tmp_path).turn({"sales": sales(0, 10)})
    Simulated(sums(lambda sale: sale.shop), tmp_path)
    with pytest.raises(flo.CheckpointError, match="another program"):
        Simulated(sums(lambda sale: sale.shop + "!"), tmp_path)


def test_a_long_expression_is_its_whole_text(tmp_path: Path) -> None:
    def filtered(least: int) -> flo.Flow:
        flow, wanted = flo.Flow("filtered"), nw.col("shop") != "a shop with so long a name that what follows is cut"
        sold = flow.input("sales", flo.ZSet[Sale]).filter(wanted & (nw.col("price") > least))
        flow.output("sums", sold.group_by("shop").agg(sum=flo.sum("price")))
        return flow

    Simulated(filtered(1), tmp_path).turn({"sales": sales(0, 10)})
    Simulated(filtered(1), tmp_path)
    with pytest.raises(flo.CheckpointError, match="another program"):
        Simulated(filtered(2), tmp_path)


def test_what_a_program_begins_with_is_named_and_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body with rows of its own: saying what the checkpoint is of puts none of them into the working folder."""
    monkeypatch.chdir(tmp_path)

    def hop(edges: Any, loop: flo.Loop) -> Any:
        known = loop.read_defer("known", flo.Set[int], initial={0})
        reached = known.union(known.join(edges))
        loop.write_defer("known", reached)
        return reached

    flow = flo.Flow("reached")
    edges = flow.input("edges", flo.Set[tuple[int, int]], bounded=True)
    flow.output("reached", edges.repeat_nested(2).nest(hop))
    on = OnSpark(flow, NO_SPARK)
    assert describe_program(flow.name, on._plan, list(on._inputs), [], 2, ())["stages"]
    assert list(tmp_path.iterdir()) == []
