"""Columns that a program does not read are left out before its tasks, with the same results, counts and errors."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.shards.checkpoint.change_folders import StoredChanges
from flo.shards.plan.rewrites import rewrites
from flo.spark import Changes
from flo.spark.driver import micro_batches
from flo.spark.driver.micro_batches import SparkMicroBatches
from flo.tables.io.files import WEIGHTS
from tests.spark.sources import files

pytestmark = [pytest.mark.slow, pytest.mark.every(test=3)]


class Item(NamedTuple):
    n: int
    m: int
    text: str
    note: str | None
    size: float | None


TEXTS = ["", "a", "A", "é", "😀", "a\0b"]


def draw_rows(rng: random.Random, count: int, weighted: bool) -> pa.Table:
    columns = {
        "n": pa.array([rng.choice([0, 1, -1, 2**62, -(2**62)]) for _ in range(count)], pa.int64()),
        "m": pa.array([rng.choice([3, 2**63 - 1, -(2**63)]) for _ in range(count)], pa.int64()),
        "text": pa.array([rng.choice(TEXTS) for _ in range(count)], pa.string()),
        "note": pa.array([rng.choice([None, *TEXTS]) for _ in range(count)], pa.string()),
        "size": pa.array([rng.choice([None, 0.0, -0.0, float("nan"), 1e308]) for _ in range(count)], pa.float64()),
    }
    if weighted:
        columns[WEIGHTS] = pa.array([rng.choice([1, 2, -1]) for _ in range(count)], pa.int64())
    return pa.table(columns)


EXPRESSIONS = {
    "sum": nw.col("n") + 1,
    "upper": nw.col("text").str.to_uppercase(),
    "noted": nw.col("note").fill_null("none").str.to_lowercase(),
    "half": nw.col("size") / 2,
    "m": nw.col("m"),
    "size": nw.col("size"),
}
"""Catalyst may run the last two."""


def draw_program(rng: random.Random, kind: Any) -> flo.Flow:
    """One or two readers of an input, at most one of which reads all columns."""
    flow = flo.Flow("drawn")
    rows: Any = flow.input("rows", kind[Item])
    early = kind is flo.Bag and rng.random() < 0.5
    rows, is_zset = rows.to_zset() if early else rows, early or kind is flo.ZSet
    for place in range(rng.randrange(1, 3)):
        names = rng.sample(list(EXPRESSIONS), rng.randrange(1, 4))
        made: Any = rows.select(**{name: EXPRESSIONS[name] for name in names})
        if rng.random() < 0.5:
            made = (made if is_zset else made.to_zset()).group_by(names[0]).agg(number=flo.count())
        flow.output(f"out{place}", made)
    return flow


def run(spark: Any, flow: flo.Flow, tables: list[pa.Table], folder: Path) -> Any:
    outputs = list(flow._outputs)
    sinks = {name: Changes(str(folder / name)) for name in outputs}
    rows = files(spark, tables, folder / "rows")
    query = flow.on(spark).start({"rows": rows}, sinks, checkpoint=folder / "c", trigger={"availableNow": True})
    query.wait()
    found = []
    for name in outputs:
        stored = StoredChanges(str(folder / name))
        for version in stored.versions():
            counts = Counter[str]()
            for part in stored.parts(None, version - 1, version)[0]:
                for row in part.changes().to_pylist():
                    weight = row.pop(WEIGHTS)
                    counts[repr(row)] += weight
            found.append((name, version, {row: weight for row, weight in counts.items() if weight}))
    return found, [(each.taken, each.ended) for each in query.progress]


def columns_read(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The columns of each input that is added from now on."""
    read, proper = [], SparkMicroBatches.add_inputs

    def add(self: Any, given: Any, divert: bool = False) -> Any:
        read.extend(set(each.frame.columns) for each in given.values())
        return proper(self, given, divert)

    monkeypatch.setattr(SparkMicroBatches, "add_inputs", add)
    return read


@pytest.mark.always
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 30))])
def test_drawn_programs_have_the_same_results_with_fewer_columns(spark, tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    kind, found = rng.choice([flo.Bag, flo.ZSet]), []
    rows = draw_rows(rng, 200, weighted=kind is flo.ZSet and rng.random() < 0.5)
    tables = [rows.slice(low, high - low) for low, high in pairwise([0, 90, 90, 200])]
    monkeypatch.setattr(micro_batches, "FEW_BYTES", rng.choice([0, micro_batches.FEW_BYTES]))
    for narrows in (True, False):
        monkeypatch.setattr(rewrites, "narrow_inputs", narrows)
        found.append(run(spark, draw_program(random.Random(seed), kind), tables, tmp_path / str(narrows)))
    assert found[0] == found[1]
    assert [taken for taken, _ in found[0][1]] == [{"rows": table.num_rows} for table in tables]


@pytest.mark.always
def test_the_columns_that_are_read(spark, tmp_path, monkeypatch):
    read = columns_read(monkeypatch)
    table = draw_rows(random.Random(0), 5, weighted=True)
    for number, selected in enumerate((["sum"], ["sum", "half"], ["sum", "upper", "noted", "half", "m"])):
        flow = flo.Flow("some")
        flow.output("out", flow.input("rows", flo.ZSet[Item]).select(**{name: EXPRESSIONS[name] for name in selected}))
        run(spark, flow, [table], tmp_path / str(number))
        assert ("rows(n)" in flow.on(spark).explain()) == (number == 0)
        assert ("its other columns left out, in Catalyst" in flow.on(spark).explain()) == (number < 2)
    assert read == [{"n", WEIGHTS}, {"n", "size", WEIGHTS}, {*Item._fields, WEIGHTS}]


@pytest.mark.always
def test_a_bag_as_a_z_set_is_read_like_a_bag(spark, tmp_path, monkeypatch):
    """Its weights are those of a bag, though Catalyst runs the operators behind."""
    read, table = columns_read(monkeypatch), draw_rows(random.Random(0), 5, weighted=False)
    flow = flo.Flow("some")
    sums = flow.input("rows", flo.Bag[Item]).to_zset().select(sum=EXPRESSIONS["sum"])
    flow.output("out", sums.group_by("sum").agg(number=flo.count()))
    for weights in ([1, 2, 2, 3, 1], [1, 1, -1, 1, 1]):
        given = table.append_column(WEIGHTS, pa.array(weights, pa.int64()))
        folder = tmp_path / str(min(weights))
        if min(weights) > 0:
            run(spark, flow, [given], folder)
            continue
        with pytest.raises(flo.ElementError, match="less than 1, the lowest weight in a Bag"):
            run(spark, flow, [given], folder)
    assert read == [{"n", WEIGHTS}] * 2


@pytest.mark.always
def test_explain_names_the_inputs_beside_the_time(spark):
    flow = flo.Flow("timed")
    flow.output("whole", flow.input("whole", flo.ZSet[Item]))
    flow.output("now", flow.now(because="a test"))
    flow.output("some", flow.input("some", flo.ZSet[Item]).select(sum=EXPRESSIONS["sum"]))
    assert "some(n)" in flow.on(spark).explain()


@pytest.mark.parametrize("narrows", [True, False])
def test_a_null_in_a_column_that_is_left_out_is_an_error(spark, tmp_path, monkeypatch, narrows):
    monkeypatch.setattr(rewrites, "narrow_inputs", narrows)
    table = draw_rows(random.Random(0), 5, weighted=False)
    bad = table.set_column(2, "text", pa.array(["a", None, "b", "c", "d"]))
    flow = flo.Flow("some")
    flow.output("out", flow.input("rows", flo.ZSet[Item]).select(sum=EXPRESSIONS["sum"]))
    with pytest.raises(flo.ElementError, match="`text` is null"):
        run(spark, flow, [table, bad], tmp_path)
