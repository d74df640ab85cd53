"""The last row of each key: a trace whose rows of one key are replaced by the newest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from flo.columnar.keys import Keys, Places
from flo.columnar.places import taken
from flo.columnar.run import Run, merged, pairs
from flo.columnar.trace import Trace, alike, text_of
from flo.core.term import Call, Lowering, Term, register


@dataclass(frozen=True, eq=False)
class Latest(Trace):
    """One row for each key."""

    def joined(self, runs: list[Run], fully: bool = False) -> Run:
        whole = merged(runs)
        order, firsts = alike(whole.table.select(list(self.columns)), whole.keys)
        if len(firsts) == whole.rows:
            return whole
        newest = order[np.append(firsts[1:], len(order)) - 1]
        return Run(whole.columns, Keys(whole.keys.numbers[newest], whole.keys.exact), taken(whole.table, newest))

    def known(self, keys: Run) -> tuple[Places, pa.Table | None]:
        """Which of these keys are there, each of which is given once; and their rows."""
        unknown, places, parts = np.ones(keys.rows, bool), [], []
        for run in reversed(self.runs):
            ours, theirs = pairs(keys, run)
            new = unknown[ours]
            unknown[ours] = False
            places.append(ours[new])
            parts.append(taken(run.table, theirs[new]))
        return (np.concatenate(places), pa.concat_tables(parts)) if parts else (np.zeros(0, np.int64), None)

    def _content(self) -> dict[str, Any]:
        table = self.table()
        rows = [] if table is None else table.to_pylist()
        return {text_of({name: row[name] for name in self.columns}): text_of(row) for row in rows}

    def lower(self, lower: Lowering) -> Term:
        return Call("latest", (self.columns, tuple(lower(run) for run in self.runs)))


register("latest", lambda columns, runs=(): Latest(tuple(columns), tuple(runs)))
