"""The rows that wait for their windows, on another number of shards.

A window's rows are in one shard, so which of them came first is known there; rows of different windows need no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from flo.columnar.keys import Keys
from flo.columnar.operators.window_times import microseconds, times_of_keys
from flo.columnar.operators.windows import Grid
from flo.columnar.run import Run
from flo.core.term import Call, Lifting, Term
from flo.spark.plan.spread import numbers_of
from flo.spark.plan.stages import shard_of

Read = Callable[[int, Any], Run]
"""A run of an old shard."""
DEFAULTS: tuple[Any, ...] = (None, None, None, 0, Call("waiting"))
"""Of the arguments of the operator: the program's own, its origin and latest time, its count, and what waits."""


def cut_windows(old: tuple[Any, ...], shards: int, read: Read, write: Callable[[int, Run], Term]) -> list[Call]:
    """The operator of every new shard, from those of the old ones."""
    states = [_State(operator) for operator in old]
    latest = [state.latest for state in states if state.latest is not None]
    if not latest:
        return [old[0]] * shards
    runs = [(read(shard, term), state) for shard, state in enumerate(states) for term in state.runs]
    gone = max(state.gone for state in states)
    count = max(state.count for state in states)
    some = next(state for state in states if state.latest is not None)
    cut = []
    for shard in range(shards):
        parts = tuple(write(shard, part) for part in _parts(runs, gone, shards, shard))
        cut.append(Call(old[0].name, (some.like, some.origin, max(latest), count, Call("waiting", (gone, parts)))))
    return cut


class _State:
    """What an operator of one shard holds: arguments that have their default are not written."""

    def __init__(self, operator: Any) -> None:
        given = (*operator.args, *DEFAULTS[len(operator.args) :])
        self.like, self.origin, self.latest, self.count, waiting = given
        found: tuple[int, tuple[Any, ...]] = waiting.args or (0, ())
        self.gone, self.runs = found
        size = microseconds(Lifting()(self.like.args[0]))
        self.grid = Grid(size, size)
        self.kind = float if isinstance(self.latest, float) else int

    def windows(self, run: Run) -> Any:
        return self.grid.holding(times_of_keys(run.keys.numbers, self.kind))[1]


def _parts(runs: list[tuple[Run, _State]], gone: int, shards: int, shard: int) -> Iterator[Run]:
    for run, state in runs:
        there = run.keys.numbers >= np.uint64(min(gone, (1 << 64) - 1))
        mine = there & (shard_of(numbers_of(state.windows(run)), shards) == shard)
        if mine.any():
            yield Run((), Keys(run.keys.numbers[mine], exact=True), run.table.filter(pa.array(mine)))
