"""Catalyst writes outputs of programs that have several inputs and outputs, and tasks write the others."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from flo.columns.expression import Expression
from flo.shards.plan.rewrites import rewrites
from flo.spark import Changes
from flo.spark.driver import micro_batches
from flo.spark.driver.catalyst_outputs import OWN
from flo.spark.driver.query import Query
from tests.spark.sources import files
from tests.spark.test_catalyst_outputs import (
    BY_CATALYST,
    BY_TASKS,
    ITEMS,
    WEIGHTED,
    Item,
    break_off,
    grouped,
    pick_even,
    read_back,
    row,
    writers_of,
)
from tests.spark.test_pushdown import LAYOUT, Row, cases, telling_rows

pytestmark = [pytest.mark.slow, pytest.mark.every(test=3)]


@pytest.fixture(autouse=True)
def none_is_small(monkeypatch):
    """Catalyst writes all micro-batches, though they have few rows."""
    monkeypatch.setattr(micro_batches, "FEW_ROWS", -1)


def written_outputs(spark: Any, flow: flo.Flow) -> set[str]:
    """The outputs that Catalyst writes, as `explain` says."""
    on = flow.on(spark)
    return {name for section in on._blocks(2) for name in section.outputs if name in section.written}


def several_outputs() -> flo.Flow:
    """Two inputs: one has outputs without state only, the other has both kinds."""
    flow = flo.Flow("several")
    rows, others = flow.input("rows", flo.ZSet[Item]), flow.input("others", flo.ZSet[Item])
    named = rows.select(m="n", name="text")
    flow.output("all", rows)
    flow.output("even", named.filter(nw.col("m") % 2 == 0))
    flow.output("named", named)
    flow.output("kept", others.filter(nw.col("n") > 1))
    flow.output("sums", grouped(others))
    return flow


def test_explain_says_which_of_several_outputs_catalyst_writes(spark):
    """Those of an input whose rows nothing else reads."""
    assert written_outputs(spark, several_outputs()) == {"all", "even", "named"}
    flow = pick_even()
    flow.output("joined", flow._outputs["even"].join(flow.input("others", flo.ZSet[Item]), on="n"))
    assert written_outputs(spark, flow) == set()
    flow = pick_even()
    flow.output("others", flow.input("others", flo.ZSet[Item]))
    assert written_outputs(spark, flow) == {"even", "others"}
    flow = pick_even()
    flow.output("both", flow._outputs["even"].union(flow.input("others", flo.ZSet[Item])))
    assert written_outputs(spark, flow) == set()


def run_several(
    spark: Any, flow: flo.Flow, tables: dict[str, list[pa.Table]], folder: Path, **options: Any
) -> tuple[Query, dict[str, list[Counter[str]]]]:
    """Runs a flow to the end of its inputs; returns what each output has in each version."""
    sinks: dict[str, Any] = {name: Changes(str(folder / "out" / name)) for name in flow._outputs}
    options = {"checkpoint": folder / "checkpoint", "trigger": {"availableNow": True}, "shards": 2} | options
    inputs = {name: files(spark, some, folder / name) for name, some in tables.items()}
    query = flow.on(spark).start(inputs, sinks | options.pop("sinks", {}), **options)
    query.wait()
    return query, {name: read_back(folder / "out" / name) for name in sinks if (folder / "out" / name).exists()}


OF_BOTH = {"rows": ITEMS, "others": [ITEMS[0], ITEMS[0], ITEMS[2]]}


@pytest.mark.always
def test_catalyst_writes_some_outputs_and_tasks_the_others(spark, tmp_path, monkeypatch):
    """With the same changes, counts and states: each way goes on where the other one has stopped."""
    found = []
    for ways in ((True, True), (False, False), (True, False), (False, True)):
        folder = tmp_path / "".join(map(str, ways))
        counts = []
        for count, on in ((2, ways[0]), (3, ways[1])):
            monkeypatch.setattr(rewrites, "catalyst_outputs", on)
            given = {name: some[:count] for name, some in OF_BOTH.items()}
            query, outputs = run_several(spark, several_outputs(), given, folder)
            counts += [(each.version, each.rows, each.taken, each.ended) for each in query.progress]
            last = f"version={query.progress[-1].version:08}"
            writers = {name: writers_of(folder / "out" / name / last) for name in outputs}
            written = {"all", "even", "named"} if on else set()
            assert writers == {name: {BY_CATALYST if name in written else BY_TASKS} for name in outputs}
        found.append((outputs, counts))
    assert found[0] == found[1] == found[2] == found[3]
    outputs, counts = found[0]
    assert outputs["all"] == [{row(1): 1, row(2): 2}, {row(3): 1}, {row(4): 1}]
    assert [taken for _, _, taken, _ in counts] == [{"rows": 3, "others": 3}, {"rows": 1, "others": 3}] + [
        {"rows": 1, "others": 1}
    ]
    assert not list(tmp_path.rglob(f"{OWN}*"))


@pytest.mark.always
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 15))])
def test_drawn_programs_with_several_outputs_have_the_same_rows_either_way(spark, tmp_path, monkeypatch, seed):
    """Maps and filters that have several readers, over inputs of which some have empty micro-batches."""
    rng, values = random.Random(seed), LAYOUT.to_table(telling_rows())
    cuts = {name: sorted(rng.choices(range(485), k=2)) for name in ("one", "two")}
    tables = {
        name: [values.slice(low, high - low) for low, high in pairwise([0, *places, 484])]
        for name, places in cuts.items()
    }
    expressions = cases()
    truths = [each for each in expressions if Expression(each, (LAYOUT,)).schema.field(0).type == pa.bool_()]
    drawn: Any = rng.getstate()

    def program() -> flo.Flow:
        rng.setstate(drawn)
        flow = flo.Flow("drawn")
        streams: list[Any] = [flow.input(name, flo.ZSet[Row]) for name in tables]
        for _ in range(rng.randrange(4)):
            streams.append(rng.choice(streams).filter(rng.choice(truths)))
        for place, stream in enumerate(streams):
            some = {f"x{number}": each for number, each in enumerate(rng.sample(expressions, 3))}
            flow.output(f"out{place}", stream.select("i", "f", **some) if rng.random() < 0.7 else stream)
        if rng.random() < 0.5:
            flow.output("counts", rng.choice(streams).group_by("b").agg(n=flo.count()))
        return flow

    found = []
    for on in (True, False):
        monkeypatch.setattr(rewrites, "catalyst_outputs", on)
        query, outputs = run_several(spark, program(), tables, tmp_path / str(on))
        assert bool(query._batches.written) is on
        found.append((outputs, [(each.rows, each.taken, each.ended) for each in query.progress]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "after", ["written", pytest.param("published", marks=pytest.mark.always), "taken", "committed"]
)
@pytest.mark.parametrize("then", [True, False])
def test_a_micro_batch_with_several_outputs_that_was_broken_off_comes_again(spark, tmp_path, monkeypatch, after, then):
    """Some outputs may have been written, and others not."""
    with pytest.MonkeyPatch.context() as patch:
        break_off(patch, after, 5 if after == "written" else 2)
        with pytest.raises(RuntimeError, match=f"when it was {after}"):
            run_several(spark, several_outputs(), OF_BOTH, tmp_path)
    monkeypatch.setattr(rewrites, "catalyst_outputs", then)
    _, outputs = run_several(spark, several_outputs(), OF_BOTH, tmp_path)
    _, expected = run_several(spark, several_outputs(), OF_BOTH, tmp_path / "at once")
    assert outputs == expected
    assert not list(tmp_path.rglob(f"{OWN}*"))


def test_rows_that_executors_hold_are_released_when_a_micro_batch_fails(spark, tmp_path):
    """They are read by several jobs. One of the later ones fails."""
    held = spark._jsparkSession.sharedState().cacheManager()
    before = held.isEmpty()
    with pytest.MonkeyPatch.context() as patch:
        break_off(patch, "written", 2)
        with pytest.raises(RuntimeError, match="when it was written"):
            run_several(spark, several_outputs(), OF_BOTH, tmp_path)
    assert held.isEmpty() is before
    run_several(spark, several_outputs(), OF_BOTH, tmp_path)
    assert held.isEmpty() is before


def test_the_time_of_the_outside_world_beside_outputs_that_catalyst_writes(spark, tmp_path, monkeypatch):
    """It comes to the tasks in each micro-batch, though they read no rows."""
    found = []
    for on in (True, False):
        monkeypatch.setattr(rewrites, "catalyst_outputs", on)
        flow, folder = pick_even(), tmp_path / str(on)
        flow.output("now", flow.now(because="a test"))
        given = {"rows": files(spark, ITEMS, folder / "rows")}
        options = {"checkpoint": folder / "state", "trigger": {"availableNow": True}}
        query = flow.on(spark).start(given, {"even": Changes(str(folder / "out"))}, **options)
        query.wait()
        assert query.view("now").value() is not None
        counts = [(each.rows, each.taken) for each in query.progress]
        assert writers_of(folder / "out") == {BY_CATALYST if on else BY_TASKS}
        found.append((read_back(folder / "out"), counts))
    assert found[0] == found[1]
    assert found[0][0] == [{row(2): 2}, {}, {row(4): 1}]


def test_a_sink_that_takes_no_parquet_keeps_the_outputs_of_its_input_with_tasks(spark, tmp_path):
    query, _ = run_several(spark, several_outputs(), OF_BOTH, tmp_path, sinks={"named": "memory"})
    assert not query._batches.written


def test_an_input_that_has_ended_needs_no_rows(spark, tmp_path, monkeypatch):
    """A bounded input is read in the first micro-batch, by tasks. Its output has ended then."""
    found = []
    for on in (True, False):
        monkeypatch.setattr(rewrites, "catalyst_outputs", on)
        flow, folder = pick_even(), tmp_path / str(on)
        flow.output("fixed", flow.input("fixed", flo.ZSet[Item], bounded=True).filter(nw.col("n") > 1))
        sinks = {name: Changes(str(folder / "out" / name)) for name in flow._outputs}
        given = {
            "rows": files(spark, ITEMS, folder / "rows"),
            "fixed": spark.createDataFrame([(1, "1"), (2, "2")], "n long, text string"),
        }
        query = flow.on(spark).start(given, sinks, checkpoint=folder / "state", trigger={"availableNow": True})
        query.wait()
        counts = [(each.rows, each.taken, each.ended) for each in query.progress]
        found.append(([read_back(folder / "out" / name) for name in flow._outputs], counts))
    assert found[0] == found[1]
    assert found[0][0] == [[{row(2): 2}, {}, {row(4): 1}], [{row(2): 1}, {}, {}]]


@pytest.mark.always
def test_catalyst_writes_views_of_sql_without_state(spark, tmp_path, monkeypatch):
    """Beside one that has a state, and only if the rows of the input have no weights."""
    queries = {
        "even": "SELECT n, upper(text) AS text FROM rows WHERE n % 2 = 0",
        "sums": "SELECT text, sum(n) AS n FROM others GROUP BY text",
    }
    found = []
    for on, some in ((True, ITEMS), (False, ITEMS), (True, WEIGHTED)):
        monkeypatch.setattr(rewrites, "catalyst_outputs", on)
        folder = tmp_path / str(len(found))
        inputs = {name: files(spark, some, folder / name) for name in ("rows", "others")}
        sinks = {name: Changes(str(folder / "out" / name)) for name in queries}
        options = {"checkpoint": folder / "state", "trigger": {"availableNow": True}}
        query = flo.spark.views(spark, queries, inputs).start(sinks, **options)
        query.wait()
        by = BY_CATALYST if on and some is ITEMS else BY_TASKS
        assert writers_of(folder / "out" / "even") == {by}
        counts = [(each.rows, each.taken) for each in query.progress]
        found.append(([read_back(folder / "out" / name) for name in queries], counts))
    assert found[0] == found[1] == found[2]
    assert found[0][0][0] == [{row(2): 2}, {}, {row(4): 1}]
