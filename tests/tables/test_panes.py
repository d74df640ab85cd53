"""Rows that wait for their windows: those of each key leave in the order of time, whatever has been merged."""

from __future__ import annotations

from dataclasses import replace
from math import log, log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flo.core.checkpoint import decode, encode
from flo.core.term import Lifting, Lowering
from flo.tables.groups import ONE
from flo.tables.state import merging
from flo.tables.state.expiring import Interval
from flo.tables.state.keys import Keys, keys_of
from flo.tables.state.panes import ARRIVAL, Panes
from flo.tables.state.run import run_of
from tests.quick import tried
from tests.tables.patches import colliding

KEY = ("key",)


class Waiting:
    """Panes, and beside them the rows that wait, as a list."""

    def __init__(self, columns, kind):
        self.panes, self.columns, self.kind = Panes(), columns, kind
        self.rows, self.count = [], 0
        self.gone = {}
        """The time before which the rows of each key are gone."""

    def bounds(self, keys):
        found = [self.gone.get(key, 0) for key in keys.table["key"].to_pylist()]
        return np.array(found, self.kind), np.zeros(len(found), bool)

    def add(self, rows):
        """Adds rows, given as keys and times after what is gone."""
        rows = [(key, self.kind(self.gone.get(key, 0) + after)) for key, after in rows]
        table = pa.table({"key": pa.array([key for key, _ in rows], pa.int64())})
        keys = keys_of([table["key"]]) if self.columns else Keys(np.zeros(len(rows), np.uint64), exact=True)
        times = np.array([time for _, time in rows], self.kind)
        some = np.arange(len(rows))
        self.panes = self.panes.add(table, some, times, self.count, self.columns, keys, self.bounds)
        self.rows += [(key, time, self.count + place) for place, (key, time) in enumerate(rows)]
        self.count += len(rows)

    def close(self, key, by, further):
        """Finds the rows of a key up to some time; up to an earlier one they leave."""
        since = self.gone.get(key, 0)
        gone = self.gone[key] = since + by
        keys = run_of(pa.table({"key": [key]}), KEY) if self.columns else ONE
        *bounds, until = (np.array([time], self.kind) for time in (since, gone + further, gone))
        owners, found, self.panes = self.panes.take(keys, Interval(*bounds), until)
        mine = [row for row in self.rows if row[0] == key and row[1] < gone + further]
        assert sorted(found[ARRIVAL].to_pylist() if found else []) == [arrival for _, _, arrival in mine]
        assert len(owners) == (len(mine) if self.columns else 0)
        self.rows = [row for row in self.rows if row[0] != key or row[1] >= gone]

    def store(self):
        self.panes = Lifting({})(decode(encode(Lowering()(self.panes))))

    def check(self):
        panes = self.panes
        live = panes.read_waiting(self.bounds)
        assert (live[ARRIVAL].to_pylist() if live else []) == [arrival for _, _, arrival in self.rows]
        assert panes.rows == len(self.rows)
        assert all(0 <= left <= run.rows for run, left in zip(panes.runs, panes.left, strict=True))


keys = st.integers(0, 2)
adds = st.lists(st.tuples(keys, st.integers(0, 12)), min_size=1, max_size=10)
closes = st.tuples(keys, st.integers(0, 9), st.integers(0, 5))


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("columns", [(), KEY])
@pytest.mark.parametrize("smallest", [1, 8])
@given(st.lists(adds | adds | closes | st.none(), max_size=40), st.booleans())
@tried(30)
def test_what_waits_is_found_by_time(kind, columns, smallest, steps, collide):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "SMALLEST_PART", smallest)
        if collide:
            colliding(patch)
        waiting = Waiting(columns, kind)
        for step in steps:
            match step:
                case None:
                    waiting.store()
                case list():
                    waiting.add(step if columns else [(0, after) for _, after in step])
                case (key, by, further):
                    waiting.close(key if columns else 0, by, further)
            waiting.check()
        uncounted = replace(waiting.panes, left=()).count_left(waiting.bounds)
        assert not columns or uncounted.is_same(waiting.panes, waiting.bounds)


@pytest.mark.parametrize("keys", [0, 1, 1000])
@pytest.mark.parametrize("late", [0, 60, 100_000])
def test_a_checkpoint_writes_in_proportion_to_its_rows(keys, late, monkeypatch):
    """Of windows that stay open, with so many keys. `late` is how far times are out of order."""
    monkeypatch.setattr(merging, "SMALLEST_PART", 16)
    rng, waiting, known, written = np.random.default_rng(1), Waiting(KEY if keys else (), np.int64), set(), []
    for number in range(200):
        times = number * 50 + np.arange(50) + rng.integers(0, late + 1, 50)
        waiting.add([(int(rng.integers(0, max(1, keys))), int(time)) for time in times])
        panes = waiting.panes
        files = {id(file): file for run in panes.runs for file in run.files}
        files |= {id(part): part for merge in panes.merges for part in merge.parts}
        kept = {file.name: file.rows for file in files.values()}
        written.append(sum(rows for name, rows in kept.items() if name not in known))
        known |= kept.keys()
        assert len(panes.runs) <= 14 * log(200, 8)
    waiting.check()
    assert max(written) <= 50 * (2 + log2(200))
    if not keys and late < 100:  # most files are kept
        assert sum(written) < 4 * 200 * 50


@pytest.mark.parametrize("columns", [(), KEY])
@pytest.mark.every(test=2)
def test_rows_that_are_gone_leave_soon(columns, monkeypatch):
    monkeypatch.setattr(merging, "SMALLEST_PART", 16)
    waiting = Waiting(columns, np.int64)
    for number in range(200):  # windows that slide, of 20 additions
        waiting.add([(place % 5 if columns else 0, 200 + number % 3) for place in range(20)])
        for key in range(5 if columns else 1):
            waiting.close(key, 10, 5)
        assert sum(run.rows for run in waiting.panes) <= 3 * max(20, waiting.panes.rows)
    waiting.check()
    for key in range(5 if columns else 1):
        waiting.close(key, 1000, 0)
    assert not waiting.panes.runs
