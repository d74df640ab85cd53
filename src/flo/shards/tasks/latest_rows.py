"""The changes of an output by its key: for each key the row that it has after a micro-batch, or its deletion.

    changes                   latest rows
    key  n  _weight           key  n  _change
    a    1  -1                a    2  update       a row left and a row came
    a    2  +1
    b    5  +1                b    5  insert
    c    7  -1                c    7  delete       with the row that was there

Invariant: a key has at most one row before the changes and one after them. Two are an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from flo.core.errors import ElementError, brief
from flo.tables.io.changes import add_weights, consolidate_changes
from flo.tables.io.files import WEIGHTS

CHANGE = "_change"
"""The column that says what happened to a key."""
INSERT, UPDATE, DELETE = "insert", "update", "delete"
_PLACE, _ADDED, _REMOVED = "+place", "+added", "+removed"
AGGREGATED = ((_PLACE, "max"), (_ADDED, "sum"), (_REMOVED, "sum"))
"""Computed for each key: the index of the row that it has last, and how many rows came and went."""


@dataclass(frozen=True)
class LatestRows:
    """Finds the latest row of each key among the changes of an output."""

    output: str
    key: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs as a task, which gets all changes of its keys."""
        given = list(batches)
        if given:
            yield from self.of(pa.Table.from_batches(given)).to_batches()

    def of(self, changes: pa.Table) -> pa.Table:
        """A row for each key that has changed, with the column `_change`. A deleted one is the row that was there."""
        changes = consolidate_changes(changes) if WEIGHTS in changes.column_names else add_weights(changes)
        weights, changes = changes[WEIGHTS].to_numpy(), changes.drop_columns([WEIGHTS])
        if not changes.num_rows:
            return changes.append_column(CHANGE, pa.array([], pa.string()))
        places = np.arange(changes.num_rows)
        keys = changes.select(self.key)
        keys = keys.append_column(_PLACE, pa.array(np.where(weights > 0, places, places - changes.num_rows)))
        keys = keys.append_column(_ADDED, pa.array(np.maximum(weights, 0)))
        keys = keys.append_column(_REMOVED, pa.array(np.minimum(weights, 0)))
        by_key = keys.group_by(list(self.key), use_threads=False).aggregate(list(AGGREGATED))
        place, added, removed = (by_key[f"{name}_{how}"].to_numpy() for name, how in AGGREGATED)
        if (added > 1).any() or (removed < -1).any():
            self._fail(by_key.slice(int(np.flatnonzero((added > 1) | (removed < -1))[0]), 1))
        change = np.where(place < 0, DELETE, np.where(removed < 0, UPDATE, INSERT))
        rows = changes.take(pa.array(np.where(place < 0, place + changes.num_rows, place)))
        return rows.append_column(CHANGE, pa.array(change.tolist(), pa.string()))

    def _fail(self, key: pa.Table) -> None:
        raise two_rows_error(self.output, ", ".join(f"{name}={brief(key[name][0].as_py())}" for name in self.key))


def two_rows_error(output: str, key: str) -> ElementError:
    """The error for a key with two rows."""
    return ElementError(
        f"the output `{output}` has two rows with the key {key}",
        instead=((".distinct(on=…)", "keeps one row of each key"), ("key=…", "of more columns, for the sink")),
    )
