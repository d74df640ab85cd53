"""A pipeline that is disturbed gives what an undisturbed one gives: a handful of the trials of `make chaos`."""

from __future__ import annotations

import threading
import time

import pytest

from tests.spark.chaos.__main__ import counts_of
from tests.spark.chaos.disturbances import KINDS, TRIES, disturb
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
@pytest.mark.always
def test_a_disturbed_run_gives_what_an_undisturbed_one_gives(yard, request, kind, seed):
    trial = disturb(yard, kind, request.node.callspec.id, seed)
    assert trial.done
    assert not trial.differences


@pytest.mark.parametrize("needed", [3, TRIES + 1])
def test_a_disturbance_that_did_not_happen_is_tried_again_or_reported(tmp_path, monkeypatch, needed):
    """A worker is to be killed, but none is there at that moment."""
    tries = []

    def none_killed(trial):
        tries.append(trial.rng.random())
        trial.restarts = 0
        if len(tries) == needed:
            trial.done.append("killed")

    monkeypatch.setitem(KINDS, "worker killed", (none_killed, 8))
    with Yard(tmp_path, seed=1) as here:
        trial = disturb(here, "worker killed", 1, seed=7)
    happened = needed <= TRIES
    assert len(tries) == len(set(tries)) == min(needed, TRIES)
    assert (counts_of(trial)["trials"], counts_of(trial)["undisturbed"]) == (happened, not happened)


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
        assert go_on.wait(600)
        left.append(version)

    query = start(spark, tmp_path / "source", tmp_path, slow)
    assert inside.wait(600)

    def release() -> None:
        while query.active:  # until `stop` has begun
            time.sleep(0.01)
        go_on.set()

    threading.Thread(target=release).start()
    query.stop()
    assert left == [0]
    assert not query.active
    assert query.exception is None

    def gives_up(version):
        raise RuntimeError(f"gave up at {version}")

    query = start(spark, tmp_path / "source", tmp_path, gives_up)
    with pytest.raises(RuntimeError, match="gave up at"):
        query.wait()
