"""A pipeline that is disturbed gives what an undisturbed one gives: a handful of the trials of `make chaos`."""

from __future__ import annotations

import threading

import pytest

from tests.spark.chaos.disturbances import KINDS
from tests.spark.chaos.pipeline import start, write_inputs
from tests.spark.chaos.yard import Trial, Yard


@pytest.fixture(scope="module")
def yard(tmp_path_factory):
    with Yard(tmp_path_factory.mktemp("chaos"), seed=1) as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("driver killed", 1),
        pytest.param("worker killed", 2, marks=pytest.mark.thorough),
        pytest.param("task fails twice", 1, marks=pytest.mark.thorough),  # as one whose process is killed
        pytest.param("state truncated", 1, marks=pytest.mark.thorough),
        pytest.param("executor lost", 1, marks=pytest.mark.thorough),  # a cluster: five sessions of Java
    ],
)
def test_a_disturbed_run_gives_what_an_undisturbed_one_gives(yard, request, kind, seed):
    trial = Trial(yard, request.node.callspec.id, seed)
    KINDS[kind][0](trial)
    assert trial.done
    assert not trial.differences


@pytest.mark.slow
def test_a_difference_is_seen(yard):
    """Lost, and doubled."""
    for name, (first, *rest) in yard.expected.items():
        for other in (rest, [first, first, *rest]):
            trial = Trial(yard, f"compared {name} {len(other)}", 0)
            trial.compare(yard.expected)
            assert not trial.differences
            trial.compare(yard.expected | {name: other})
            assert len(trial.differences) == 1


@pytest.mark.slow
def test_a_stopped_query_leaves_no_turn_half_done(spark, tmp_path):
    """`stop` waits for a callback that runs, and what that raises is what `wait` raises."""
    write_inputs(tmp_path / "source", 1)
    inside, go_on, left = threading.Event(), threading.Event(), []

    def slow(version):
        inside.set()
        assert go_on.wait(60)
        left.append(version)

    query = start(spark, tmp_path / "source", tmp_path, slow)
    assert inside.wait(120)
    threading.Timer(1, go_on.set).start()
    query.stop()
    assert left == [0]
    assert not query.active
    assert query.exception is None

    def gives_up(version):
        raise RuntimeError(f"gave up at {version}")

    query = start(spark, tmp_path / "source", tmp_path, gives_up)
    with pytest.raises(RuntimeError, match="gave up at"):
        query.wait()
