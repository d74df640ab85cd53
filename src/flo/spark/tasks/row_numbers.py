"""The numbers of rows within the splits of files, counted by the tasks that read them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def number_rows(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
    """Yield the number of each row in its split, from 0, given the name of its file and the first byte of its split.

    A task reads its splits one after the other, so that the rows of a split come without others between them.
    """
    current: tuple[object, object] | None = None
    count = 0
    for names, starts in batches:
        rows = len(names)
        if not rows:
            yield pa.array([], pa.int64())
            continue
        differs = pc.or_(pc.not_equal(names[1:], names[:-1]), pc.not_equal(starts[1:], starts[:-1]))
        begins = np.flatnonzero(np.append(True, np.asarray(differs)))
        first = (names[0].as_py(), starts[0].as_py())
        before = np.zeros(len(begins), np.int64)
        before[0] = count if first == current else 0
        numbers = np.arange(rows) - np.repeat(begins - before, np.diff(begins, append=rows))
        current, count = (names[-1].as_py(), starts[-1].as_py()), int(numbers[-1]) + 1
        yield pa.array(numbers)
