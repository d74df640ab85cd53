"""Every program of the gallery gives the same on values, on tables and on Spark, however its data is cut."""

from __future__ import annotations

import pytest

import flo
from examples.paper import growing_radius, reachability
from tests.spark.harness import POSITION, agree
from tests.spark.programs import GALLERY, together
from tests.spark.simulated import agree_as_one_job, agree_simulated, as_plain
from tests.spark.sources import stream

pytestmark = pytest.mark.every(check=3, test=2)


@pytest.mark.parametrize("name", GALLERY)
def test_on_tables(name):
    case = GALLERY[name]
    flow = case.build()
    expected = flow.run(**case.data, negative="allow")
    here = flow.on(flo.here)
    found = here.run(**case.data, negative="allow")
    kinds = zip(expected, here._dag.output_types, strict=False)
    assert {each: as_plain(kind, found[each]) for each, kind in kinds} == dict(expected)


@pytest.mark.parametrize("name", GALLERY)
@pytest.mark.every(test=2)
def test_in_tasks(tmp_path, name):
    """All numbers of shards, in this process."""
    for seed, shards in enumerate((1, 2, 7)):
        case = GALLERY[name]
        agree_simulated(case.build(), case.data, tmp_path / str(shards), parts=3 - seed, shards=shards, seed=seed)


BOUNDED = [name for name, case in GALLERY.items() if all(each.bounded for each in case.build()._scope.inputs)]
STREAMED = [name for name in GALLERY if name not in BOUNDED]


@pytest.mark.parametrize(("place", "shards"), [pytest.param(0, 1, marks=pytest.mark.thorough), (1, 2), (2, 7)])
@pytest.mark.thorough
def test_streaming(spark, tmp_path, place, shards):
    """A third of the programs, side by side in one query. In tasks, all run on each number of shards."""
    case = together({name: GALLERY[name] for name in STREAMED[place::3]})
    agree(spark, case.build(), case.data, tmp_path, shards=shards, parts=1 + shards % 3, seed=shards)


def test_as_one_job(spark):
    agree_as_one_job(spark, together({name: GALLERY[name] for name in BOUNDED}), 7)


@pytest.mark.parametrize("shards", [2, pytest.param(7, marks=pytest.mark.thorough)])
def test_reachability_with_a_growing_radius(spark, tmp_path, shards):
    """Its inputs are streams of streams: each micro-batch is an inner stream of both."""
    data = {"edges": [reachability.EDGES] * 3, "queries": [[1], [1], [2]]}
    flow = growing_radius.growing()
    inputs = {
        "edges": stream(spark, flo.Set[reachability.Edge], data["edges"], tmp_path / "edges"),
        "queries": stream(spark, flo.Sequence[int], data["queries"], tmp_path / "queries"),
    }
    options = {"order": {"queries": POSITION}, "shards": shards, "trigger": {"availableNow": True}}
    query = flow.on(spark).start(inputs, checkpoint=tmp_path / "checkpoint", **options)
    query.wait()
    assert query.view("reached").value() == flow.run(**data)["reached"]
