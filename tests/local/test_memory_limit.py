"""State larger than the memory that it may take: runs in mapped files, with the same results."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.local import here
from flo.shards.program import SHARDS_WITHIN_MEMORY
from flo.shards.tasks import stage_task
from flo.tables.state import run as run_module
from flo.tables.state import spilling
from flo.tables.state.matching import match_keys
from flo.tables.state.run import Run, join_parts, run_of
from flo.tables.state.spilling import limit_memory, spill
from flo.tables.values import WEIGHT
from tests.engines.engine import comparable
from tests.quick import times
from tests.relational.harness import random_deltas
from tests.relational.random_programs import SOURCES, draw_program


@dataclass(frozen=True)
class Order:
    id: int
    shop: int
    note: str


def orders(start: int, count: int) -> pa.Table:
    ids = np.arange(start, start + count)
    notes = [f"{number:>400}" for number in ids.tolist()]
    return pa.table({"id": ids, "shop": ids % 997, "note": notes})


def latest_notes() -> flo.Flow:
    flow = flo.Flow("latest notes")
    given = flow.input("orders", flo.ZSet[Order])
    flow.output("latest", given.group_by("shop").agg(n=flo.count(), latest=flo.max("note")))
    flow.output("orders", given)
    return flow


def held_runs(checkpoint: Path) -> list[Run]:
    """The runs of the shards that this process has cached."""
    cached = [each for key, each in stage_task._shards.items() if key[0] == str(checkpoint)]
    return [run for each in cached for run in each.shard.runs]


def rows(query: flo.local.query.LocalQuery) -> dict[str, pa.Table]:
    keys = {"latest": "shop", "orders": "id"}
    return {name: view.arrow().sort_by(keys[name]).combine_chunks() for name, view in query.views().items()}


def test_a_query_keeps_to_its_limit_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    limit, count = 1_000_000, 2_000
    for turn in range(2):
        with (
            latest_notes().on(flo.here).start(checkpoint=tmp_path / "free", shards=4) as free,
            latest_notes().on(flo.here).start(checkpoint=tmp_path / "limited", shards=4, memory="1 MB") as limited,
        ):
            for query in (free, limited):
                for part in range(4):
                    query.push(orders=orders((4 * turn + part) * count, count))
            assert rows(limited) == rows(free)
            assert limited.view("latest").arrow().num_rows == 997
            runs = held_runs(tmp_path / "limited")
            assert sum(run.bytes for run in runs) <= limit, "what is in memory is below the limit"
            assert sum(run.table.nbytes for run in runs if run.mapped) > 5 * limit, "the rest is in files"
            assert not any(run.mapped for run in held_runs(tmp_path / "free"))


def test_a_checkpoint_of_a_limited_query_needs_no_limit(tmp_path: Path) -> None:
    with latest_notes().on(flo.here).start(checkpoint=tmp_path, shards=2, memory="1 MB") as query:
        query.push(orders=orders(0, 5_000))
        limited = rows(query)
    with latest_notes().on(flo.here).start(checkpoint=tmp_path) as query:
        assert rows(query) == limited


def test_spilled_files_have_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLO_CACHE", str(tmp_path / "cache"))
    with latest_notes().on(flo.here).start(checkpoint=tmp_path / "state", memory="1 MB") as query:
        query.push(orders=orders(0, 5_000))
        assert any(run.mapped for run in held_runs(tmp_path / "state"))
        assert os.listdir(tmp_path / "cache") == [], "so none is left behind if the process is killed"


def test_a_full_disk_is_an_error_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with latest_notes().on(flo.here).start(checkpoint=tmp_path, shards=2, memory="1 MB") as query:
        query.push(orders=orders(0, 1_000))
        with monkeypatch.context() as patched:
            patched.setattr(spilling.tempfile, "TemporaryFile", fail)
            with pytest.raises(flo.CheckpointError, match="beyond the limit of memory cannot be written") as error:
                query.push(orders=orders(1_000, 5_000))
            assert "FLO_CACHE" in str(error.value)
        query.push(orders=orders(1_000, 5_000))
        assert query.view("orders").arrow().num_rows == 6_000


def test_a_new_query_with_a_limit_has_more_shards(tmp_path: Path) -> None:
    with latest_notes().on(flo.here).start(checkpoint=tmp_path, memory="1 MB") as query:
        assert query._loop.batches.shards == SHARDS_WITHIN_MEMORY
    with latest_notes().on(flo.here, workers=2).start(checkpoint=tmp_path, memory="3 MB") as query:
        assert query._loop.batches.memory == 1_500_000, "workers share it"


@pytest.mark.parametrize("memory", ["4", "lots", "900 kB", "-1 GB", 4_000_000_000, "4 GiB"])
def test_other_limits_are_errors(memory: object, tmp_path: Path) -> None:
    with pytest.raises(flo.FloError, match=r"`memory` must be an amount of at least 1 MB, as text") as error:
        latest_notes().on(flo.here).start(checkpoint=tmp_path, memory=memory)  # type: ignore[arg-type]
    assert 'memory="4 GB"' in str(error.value)


@pytest.mark.parametrize("seed", range(times(24)))
@pytest.mark.every(test=4)
def test_random_programs_with_all_state_in_files(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilling, "SMALLEST", 0)
    monkeypatch.setattr(here, "expect_memory", lambda memory: memory)
    names, deltas = list(draw_program(seed)[0]._outputs), list(random_deltas(SOURCES, seed, 6, 4))
    for part in (deltas[:3], deltas[3:]):
        free, limited = (
            draw_program(seed)[0].on(flo.here).start(checkpoint=tmp_path / str(memory), shards=2, memory=memory)
            for memory in (None, 1)
        )
        with free, limited:
            for delta in part:
                free.push(**delta)
                limited.push(**delta)
                assert all(run.mapped for run in held_runs(tmp_path / "1") if run.rows)
                for name in names:
                    assert value_or_error(limited.view(name).value) == value_or_error(free.view(name).value)


def value_or_error(read: Callable[[], object]) -> object:
    """The rows of an output, or the first line of the error: a sum may not fit into 64 bits."""
    try:
        return comparable(read())
    except flo.FloError as error:
        return str(error).splitlines()[0]


KEYS = {
    "numbers": st.lists(st.one_of(st.integers(0, 6), st.sampled_from([-(2**63), 2**63 - 1])), max_size=60),
    "texts": st.lists(st.sampled_from(["", "a", "b", None, "a long text of many bytes"]), max_size=60),
}


def run_with(values: list[object], kind: pa.DataType) -> Run:
    columns = {"k": pa.array(values, kind), "at": np.arange(len(values)), WEIGHT: np.ones(len(values), np.int64)}
    return run_of(pa.table(columns), ("k",))


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
def test_a_spilled_run_is_searched_as_before(kind: str, data: st.DataObject, tmp_path_factory) -> None:
    folder, arrow = tmp_path_factory.getbasetemp(), {"numbers": pa.int64(), "texts": pa.string()}[kind]
    one, other = (run_with(data.draw(KEYS[kind]), arrow) for _ in range(2))
    pairs, name, mixed = match_keys(one, other), other.name, other.mixed
    for run in (one, other):
        if run.rows:
            spill(run, folder)
    again = match_keys(one, other)
    assert [each.tolist() for each in again] == [each.tolist() for each in pairs]
    assert (other.name, other.mixed) == (name, mixed)
    del other.__dict__["name"]
    assert other.name == name, "its content is the same"
    copied = other.copy()
    assert [each.tolist() for each in copied.find(one.keys.numbers)] == [
        each.tolist() for each in other.find(one.keys.numbers)
    ]


def test_a_large_run_is_searched_through_its_coarse_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for large in (run_module.LARGE, 1_000):  # with key numbers of its own, and with those that the columns imply
        monkeypatch.setattr(run_module, "LARGE", large)
        run = run_with(list(range(5_000)) * 2, pa.int64()).prepare()
        asked = np.sort(np.concatenate([run.keys.numbers[::7], np.arange(2_000, dtype=np.uint64) << np.uint64(50)]))
        before = [each.tolist() for each in run.find(asked)]
        entries = len(run.index.starts)
        spill(run, tmp_path)
        assert run.mapped
        assert len(run.index.starts) < entries / 50
        assert [each.tolist() for each in run.find(asked)] == before
        assert [each.tolist() for each in run.find(asked[:5])] == [
            each.tolist() for each in run_with(list(range(5_000)) * 2, pa.int64()).find(asked[:5])
        ]


def test_the_parts_of_a_run_are_spilled_with_it(tmp_path: Path) -> None:
    whole = run_with(list(range(3_000)), pa.int64())
    parts = [whole.part(0, 1_000), whole.part(1_000, 3_000)]
    run = join_parts(parts)
    names = [part.name for part in run.files]
    spill(run, tmp_path)
    assert all(part.mapped for part in run.files)
    assert [part.table["at"].to_pylist() for part in run.files] == [part.table["at"].to_pylist() for part in parts]
    for part in run.files:
        del part.__dict__["name"]
    assert [part.name for part in run.files] == names


def test_the_largest_runs_are_spilled_first(tmp_path: Path) -> None:
    runs = [run_with(list(range(count)), pa.int64()) for count in (4_000, 40_000, 8_000)]
    sizes = [run.bytes for run in runs]
    assert limit_memory(runs, sum(sizes), tmp_path) == 0
    assert limit_memory([*runs, runs[1]], sizes[1], tmp_path) == sizes[1], "a run that is there twice counts once"
    assert [run.mapped for run in runs] == [False, True, False]
