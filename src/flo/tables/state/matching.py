"""Pairs of rows of two runs with equal keys.

    left                right                   pairs: 0 1, 1 1
    row  user           row  user
    0    ann            0    bob
    1    ann            1    ann

Invariant: pairs are compared by key number first, and by the key columns if another key may share the number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flo.columns.indices import Indices, increases, ranges, take_rows
from flo.tables.state.keys import Keys, find_equal
from flo.tables.state.run import Run, starts_of


class Pairs(NamedTuple):
    """Pairs of a row of one run and a row of another, as row indices."""

    ours: Indices
    theirs: Indices


def match_keys(left: Run, right: Run) -> Pairs:
    """Return all pairs of rows of two runs with equal keys."""
    if left.rows == right.rows and have_same_keys(left, right):
        every = np.arange(left.rows)
        return Pairs(every, every)
    if right.rows < left.rows:
        others, rows = match_keys(right, left)
        return Pairs(rows, others)
    numbers = left.keys.numbers
    starts = None if increases(numbers) else starts_of(numbers)
    ours, theirs, others = right.find(numbers if starts is None else numbers.take(starts[:-1]))
    if not len(ours):
        return Pairs(ours, ours)
    if starts is not None:
        which, ours = ranges(starts[ours], starts[ours + 1] - starts[ours])
        theirs, others = theirs.take(which), others.take(which)
    if int(others.max()) > 1:
        which, theirs = ranges(theirs, others)
        ours = ours.take(which)
    return drop_collisions(left, right, ours, theirs)


def drop_collisions(left: Run, right: Run, ours: Indices, theirs: Indices) -> Pairs:
    """Return those of these pairs of rows with equal key numbers that have equal keys."""
    if not len(ours) or (left.keys.exact and right.keys.exact):
        return Pairs(ours, theirs)
    one, other = (take_rows(run.own, rows) for run, rows in ((left, ours), (right, theirs)))
    equal = find_equal(one.columns, other.columns)
    return Pairs(ours[equal], theirs[equal])


def have_same_keys(left: Run, right: Run) -> bool:
    """Return whether both have the same keys, each once."""
    if left.rows != right.rows or not (type(left.keys) is type(right.keys) is Keys and left.keys.exact):
        return False
    one, other = left.keys.numbers, right.keys.numbers
    return right.keys.exact and np.array_equal(one, other) and increases(one)
