"""Rows that wait for their windows to close, by time: what closes is the oldest, and is found without a scan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from flo.columns.indices import Numbers, Places, taken
from flo.core.term import Call, Lowering, Term, register
from flo.tables.state.keys import Keys
from flo.tables.state.packing import arranged
from flo.tables.state.run import Run, merged
from flo.tables.state.trace import Trace, text_of

ARRIVAL = "@"
"""The column of the row's place in the order of arrival. No field of a Python class can have this name."""
_ARRIVAL = pa.field(ARRIVAL, pa.int64(), nullable=False)
_DIGITS = 3
"""Runs that have as many octal digits are of one level, and are merged when there are eight."""


@dataclass(frozen=True, eq=False)
class Waiting(Trace):
    """Runs sorted by time. Rows with a key below `gone` are no longer there, though a run may still hold them: it is
    written once, and not each time that a window closes."""

    columns: tuple[str, ...] = ()
    gone: int = 0

    @property
    def rows(self) -> int:
        return sum(run.rows for run in self.below(1 << 64))

    def below(self, bound: int) -> Iterator[Run]:
        """The rows that wait with a key below this one, of each run."""
        for run in self.runs:
            low, high = (_before(run.keys.numbers, each) for each in (self.gone, bound))
            if low < high:
                yield part(run, low, high)

    def without(self, bound: int) -> Waiting:
        """Without the rows below this key. A run that is mostly gone is made anew, so that it holds no memory."""
        kept = []
        for run in self.runs:
            low = _before(run.keys.numbers, bound)
            if low <= run.rows // 2:
                kept.append(run)
            elif low < run.rows:
                rows = taken(run.table, np.arange(low, run.rows))
                kept.append(Run((), Keys(run.keys.numbers[low:].copy(), exact=True), rows))
        return replace(self, runs=tuple(kept), gone=max(bound, self.gone))

    def extended(self, delta: Run) -> Waiting:
        if not delta.rows:
            return self
        runs, tail = list(self.runs), [delta]
        while True:
            level = _level(sum(run.rows for run in tail))
            alike = 0
            while alike < len(runs) and _level(runs[-alike - 1].rows) <= level:
                alike += 1
            if alike < 7:
                return replace(self, runs=(*runs, self.joined(tail)))
            tail = [*runs[-alike:], *tail]
            del runs[-alike:]

    def joined(self, runs: list[Run], fully: bool = False) -> Run:
        return merged([part(run, _before(run.keys.numbers, self.gone), run.rows) for run in runs])

    def table(self) -> pa.Table | None:
        """All rows that wait, as they came."""
        runs = list(self.below(1 << 64))
        if not runs:
            return None
        table = pa.concat_tables([run.table for run in runs])
        return taken(table, arranged(table[ARRIVAL].to_numpy()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Waiting) or bool(self.runs) != bool(other.runs):
            return False
        return self.runs == other.runs or self._texts() == other._texts()

    def __hash__(self) -> int:
        return hash(type(self))

    def _texts(self) -> list[str]:
        table = self.table()
        return [] if table is None else [text_of(row) for row in table.to_pylist()]

    def lower(self, lower: Lowering) -> Term:
        return Call("waiting", (self.gone, tuple(lower(run) for run in self.runs)))


register("waiting", lambda gone=0, runs=(): Waiting((), tuple(runs), gone))


def waiting_run(table: pa.Table, places: Places, keys: Numbers, count: int) -> Run:
    """These rows by time, those of one time as they came; `count` rows came before."""
    order = arranged(keys)
    places = places[order]
    rows = taken(table, places).append_column(_ARRIVAL, pa.array(count + places))
    return Run((), Keys(keys[order], exact=True), rows)


def part(run: Run, low: int, high: int) -> Run:
    if high - low == run.rows:
        return run
    return Run((), Keys(run.keys.numbers[low:high], exact=True), run.table.slice(low, high - low))


def _before(keys: Numbers, bound: int) -> int:
    """How many of the sorted keys are below."""
    return len(keys) if bound >= 1 << 64 else int(np.searchsorted(keys, np.uint64(bound)))


def _level(rows: int) -> int:
    return rows.bit_length() // _DIGITS
