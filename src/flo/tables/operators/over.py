"""Window functions on tables: rows are kept by partition and in order, and only what changes is computed again.

A running sum of n in the order of `at`. The trace has three rows of the partition a, and a fourth arrives:

    partition  at  n    sum             delta: + a 2 10
    a          1   3    3               not read again
    a          2   10           13      + (a, 2, 10, 13)                       the anchor: the row that changes
    a          4   2    5       15      - (a, 4, 2, 5)     + (a, 4, 2, 15)     its frame has the new row
    a          6   1    6       16      - (a, 6, 1, 6)     + (a, 6, 1, 16)

Invariant: the output has every row that is present, as often as its weight says, with the results of the functions on
the rows that are present now. A row that was retracted more often than it came is not present: it is *owed*, and kept
apart. So the weights of a row in the runs of `rows` never add up to less than zero.

1. `_find_changed` reads the rows around the change. How many depends on the functions (`Reach` in state/neighbours.py):
   for `lag` some rows on both sides, for a running sum all that follow, for `ntile` the whole partition.
2. The rows read form *stretches*: rows of a partition without a gap among them. `Before` is what stands before a
   stretch and was not read: how many rows, their sums, and their least or greatest value.
3. `_find_differences` computes the functions on the stretches twice, with the weights before the change (`was`) and
   after it (`now`), and emits the rows whose results differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.cell import cell_of
from flo.columns.indices import Indices, one_chunk, take_rows
from flo.columns.layout import Layout
from flo.columns.projection import Widened
from flo.core.collection import Collection
from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import beside, result_layout, results, runs_on_columns, with_group, written
from flo.tables.operator import Cut, kept, register_in
from flo.tables.operators.ordering import InGroups, ordering_columns, widen, with_key_columns
from flo.tables.state import frames
from flo.tables.state.comparison import Comparison, comparison, comparisons, own_numbers
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.frames import Before, Read, Units
from flo.tables.state.keys import Keys, find_equal, keys_of
from flo.tables.state.limbs import has_digits
from flo.tables.state.matching import match_keys
from flo.tables.state.neighbours import DistinctRows, Near, Reach, find_stretches, reach_of, search
from flo.tables.state.order import Order, have_equal_texts
from flo.tables.state.ranked import Ranked, groups_in, owners_of, ranked_run
from flo.tables.state.run import Run
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import add_checked, with_weights
from flo.tables.translate import FORMS
from flo.tables.values import WEIGHT, layout_of
from flo.values.operators.over import NUMBERING, Over, WindowFunction
from flo.values.row_functions import passed_by

SUMMED = ("count", "sum", "avg")
MORE = 8
"""How many more rows of every run are read around a change than are needed if all of them exist."""
OLD, NEW, OWED = 0, 1, 2
"""Where a row comes from: it is present, it is in the delta, or it was retracted more often than it came."""


@dataclass(frozen=True)
class OverOrder(Order):
    """The order of rows in a partition. Key columns of the operator come last, so that equal rows of other streams are
    told apart."""

    apart: int = 0

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        own = comparisons(self.key) or ()
        return (*own, *(Comparison(own_numbers),) * self.apart)


class RunPart(NamedTuple):
    """Some rows of a run."""

    run: Run
    owners: Indices
    """The partition of each row."""
    rows: Indices
    """The index of each row in the run."""
    source: int
    """OLD, NEW or OWED."""


class Changed(NamedTuple):
    """The rows around a change, by partition and in order, each once."""

    table: pa.Table
    owners: Indices
    """The partition of each row."""
    was: Indices
    """How often each row was present before the delta."""
    now: Indices
    """How often it is present after it."""
    owed: Indices
    """How the weight of rows changes that were retracted more often than they came."""
    stretches: Indices
    """The stretch of each row."""
    before: Before
    """What stands before each stretch."""


class Distinguished(NamedTuple):
    """Rows of several parts, each once."""

    changed: Changed
    places: list[Indices]
    """For each part, which of these rows each of its rows is."""


class Extremes(NamedTuple):
    """The extremes so far at each of some rows in order, for `min` or `max`."""

    read: Read
    best: Indices
    """At each row, the row with the best value so far."""
    negative: Indices
    """Before each row, how many rows have a negative weight: then the best one may have been retracted."""


@final
@dataclass(frozen=True)
class OverTables(InGroups[Over]):
    """Rows with the results of window functions. Rows whose results change are retracted and inserted again."""

    rows: Ranked = kept(Ranked(()), Cut.BY_KEY, holds=0)
    """The present rows, with positive weights."""
    owed: Ranked = kept(Ranked(()), Cut.BY_KEY, holds=0)
    """Rows that were retracted more often than they came, with negative weights."""

    name = "over_tables"
    rule = "over"

    @property
    def by_row(self) -> bool:
        like = self.like
        called = (like.by, like.key, *(f for function in like.functions for f in function.functions))
        slides = any(function.aggregator is not None for function in like.functions)
        return slides or not all(map(runs_on_columns, called))

    def passed(self, columns: tuple[str, ...]) -> tuple[str, ...] | None:
        return passed_by(self.like.into, columns)

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        delta, order = self._sort(table.combine_chunks())
        if not delta.rows:
            return self, (None,)
        rows, owed = (replace(trace, columns=delta.columns, order=order) for trace in (self.rows, self.owed))
        groups = groups_in(delta)
        changed = self._find_changed(rows, owed, delta, groups, order)
        emitted = self._find_differences(changed, order)
        rows = rows.extend(_weigh(changed, changed.now - changed.was, delta, groups, order))
        if changed.owed.any():
            owed = owed.extend(_weigh(changed, changed.owed, delta, groups, order))
        return replace(self, rows=rows, owed=owed), (self.emitted(emitted),)

    def _sort(self, table: pa.Table) -> tuple[Run, OverOrder]:
        """Sorts rows by partition and in order. Adds columns for both where they have none."""
        of, like = self.inputs[0], self.like
        table, groups = with_group(table, like.by, of)
        table, columns = with_key_columns(table, of, like.key)
        groups = (*groups, *self.keys)
        layout, key = layout_of(of), result_layout(like.key, of)
        down = (*like.descending, *(False for _ in self.keys))
        order = OverOrder(
            (*columns, *self.keys), down, layout, True, key, set(layout.names) <= set(columns), len(self.keys)
        )
        return ranked_run(table, groups, keys_of([table[name] for name in groups]), order), order

    def _find_changed(self, rows: Ranked, owed: Ranked, delta: Run, groups: Run, order: OverOrder) -> Changed:
        """Returns the rows whose results the delta may change, and those that their functions read.

        Reads `width` rows around each anchor, and four times as many if these were too few; all rows of the partitions
        if that costs no more."""
        like = self.like
        reach = reach_of(like.functions, like.peers)
        others = [RunPart(run, *match_keys(groups, run), OWED) for run in owed]
        others.append(RunPart(delta, owners_of(groups, delta), np.arange(delta.rows), NEW))
        searched = None if reach.whole or not rows.runs else search(rows.runs, delta, groups, order, reach, like.peers)
        width = reach.rows + MORE if reach.rows else 0
        while searched is not None and (reach.onward or searched.cost(width) < searched.rows):
            near = searched.near(width, reach.onward)
            parts = [
                RunPart(run, owners, places, OLD)
                for run, owners, places in zip(near.search.runs, near.owners, near.rows, strict=True)
            ]
            changed = self._select_around(near, _consolidate([*parts, *others], groups, order), reach, order)
            if changed is not None:
                return changed
            if not width:
                break
            width *= 4
        parts = [RunPart(run, *match_keys(groups, run), OLD) for run in rows]
        return _consolidate([*parts, *others], groups, order).changed

    def _select_around(self, near: Near, read: Distinguished, reach: Reach, order: OverOrder) -> Changed | None:
        """Selects the rows around anchors whose surroundings were read; None if too few were."""
        changed, places = read
        count = len(near.search.runs)
        peers = order.find_changes(changed.table, self.like.peers)
        peers[1:] |= changed.owners[1:] != changed.owners[:-1]
        anchors = places[-1][near.search.anchors]
        rows = DistinctRows(
            changed.table, tuple(places[:count]), anchors, changed.owners, changed.was, changed.now, peers
        )
        stretch = find_stretches(near, rows, reach)
        if stretch is None:
            return None
        kept, numbers = stretch
        before: Before | None = Before(np.zeros(len(kept), np.int64))
        if reach.onward:
            before = self._before(near, changed, kept, numbers)
        if before is None:
            return None
        return Changed(
            take_rows(changed.table, kept),
            changed.owners[kept],
            changed.was[kept],
            changed.now[kept],
            changed.owed[kept],
            numbers,
            before,
        )

    def _before(self, near: Near, changed: Changed, kept: Indices, numbers: Indices) -> Before | None:
        """Returns what stands before the stretches, one for each partition: in the runs, and among the rows read.

        None if a function needs the least value, and a row before the stretch was retracted in another run than the one
        it came in: then the least is not known."""
        count = int(numbers[-1]) + 1
        firsts = np.searchsorted(numbers, np.arange(count))
        groups = changed.owners[kept[firsts]]  # anchors are by group, and so are stretches
        begin = np.searchsorted(changed.owners, groups)
        sums: dict[int, Any] = {}
        extremes = {}
        for number, function in [(-1, None), *enumerate(self.like.functions)]:
            if function is not None and function.kind in ("min", "max") and function.frame[1] is None:
                extremes[number] = self._extreme(near, changed, begin, kept[firsts], number)
                if extremes[number] is None:
                    return None
            if function is not None and not (function.kind in SUMMED and function.frame[1] is None):
                continue
            totals = self._totals(function, changed.table, changed.was)
            before = {name: total[kept[firsts]] - total[begin] for name, total in totals.items()}
            for place, run in enumerate(near.search.runs):
                for name, total in self._totals_of(run, function).items():
                    more = total[near.read.starts[place]] - total[near.search.partitions.starts[place]]
                    before[name] = before.get(name, 0) + more
            sums[number] = before
        return Before(sums.pop(-1)[WEIGHT], sums, extremes)

    def _extreme(self, near: Near, changed: Changed, begin: Indices, end: Indices, number: int) -> pa.Array | None:
        """The least or greatest value before each stretch; None if it is not known."""
        function = self.like.functions[number]
        greatest = function.kind == "max"
        read = self._read(function, changed.table)
        assert read is not None
        best = frames.running_extremes(read, read.counts & (changed.was > 0), changed.owners, greatest)
        sides = [(Extremes(read, best, np.concatenate([[0], np.cumsum(changed.was < 0)])), begin, end)]
        for place, run in enumerate(near.search.runs):
            sides.append(
                (self._extremes_of(run, function), near.search.partitions.starts[place], near.read.starts[place])
            )
        columns = []
        for (some, leaders, below), low, high in sides:
            if (below[high] > below[low]).any():
                return None
            there = high > low
            chosen = (
                np.where(there, leaders[np.where(there, high - 1, 0)], -1) if len(leaders) else np.full(len(low), -1)
            )
            columns.append(some.values.take(pa.array(np.maximum(chosen, 0), mask=chosen < 0)))
        return frames.best_of(columns, read.kind, greatest)

    def _extremes_of(self, run: Run, function: WindowFunction) -> Extremes:
        """The extremes of a run. They are computed once: other operators may hold the same run."""
        known = run.__dict__.setdefault("extremes", {})
        if function not in known:
            weights = numbers_in(run.table, WEIGHT)
            read = self._read(function, run.table)
            assert read is not None
            best = frames.running_extremes(read, read.counts, run.keys.numbers, function.kind == "max")
            known[function] = Extremes(read, best, np.concatenate([[0], np.cumsum(weights < 0)]))
        extremes: Extremes = known[function]
        return extremes

    def _totals_of(self, run: Run, function: WindowFunction | None) -> Any:
        """The running totals of a run, which are computed once: other operators may hold the same run."""
        known = run.__dict__.setdefault("totals", {})
        if function not in known:
            known[function] = self._totals(function, run.table, numbers_in(run.table, WEIGHT))
        return known[function]

    def _totals(self, function: WindowFunction | None, table: pa.Table, weights: Indices) -> Any:
        """The number of rows before each, or the number and the sum of the values of a function."""
        if function is None:
            return {WEIGHT: np.concatenate([[0], np.cumsum(weights)])}
        read = self._read(function, table)
        assert read is not None
        counted = np.where(read.counts, weights, 0)
        return frames.running_sums(read, np.arange(len(weights)), counted, only_count=function.kind == "count")

    def _find_differences(self, changed: Changed, order: OverOrder) -> pa.Table | None:
        """Returns the output rows that are no longer right, with negative weights, and the new ones."""
        like, of = self.like, self.inputs[0]
        peers = _peers(changed, order, like.peers)
        reads = [self._read(function, changed.table) for function in like.functions]
        values = tuple(one_chunk(changed.table[name]) for name in order.columns[: like.peers])
        down = order.directions[like.peers - 1] if like.peers else False
        apart = any(function.by_position for function in like.functions)
        sides = []
        for weights in (changed.was, changed.now):
            units = _units(changed, weights, peers, values, down, apart)
            results = [
                self._compute(function, read, units, number)
                for number, (function, read) in enumerate(zip(like.functions, reads, strict=True))
            ]
            sides.append((units, results))
        (old, before), (new, after) = sides
        gone, come = _compare(old, before, new, after, changed)
        chosen = np.concatenate([old.rows[gone], new.rows[come]])
        if not len(chosen):
            return None
        rows = take_rows(changed.table, chosen)
        columns = [
            pa.concat_arrays([one.take(pa.array(gone)), other.take(pa.array(come))])
            for one, other in zip(before, after, strict=True)
        ]
        weights = np.concatenate([-old.weights[gone], new.weights[come]])
        table = beside(widen(rows, columns, of, self.outputs[0], like.into), rows.select(list(self.keys)))
        return consolidate_table(with_weights(table, weights))

    def _compute(self, function: WindowFunction, read: Read | None, units: Units, number: int) -> pa.Array:
        """Returns the result of a function for every unit. Aggregates that have no columns for frames are computed as
        on values, for the rows that were read."""
        if function.aggregator is None or read is None:
            return frames.compute(function, read, units, number, self._arrow(number))
        assert read.arguments is not None
        chosen = zip(units.rows.tolist(), read.counts[units.rows].tolist(), units.weights.tolist(), strict=True)
        given = [(read.arguments[row], weight) if counted else None for row, counted, weight in chosen]
        begins, ends = units.frames(function.frame)
        kind = function.result_type(None)
        layout = Layout.of(kind)
        assert layout is not None
        results = function.slide(given, begins.tolist(), ends.tolist())
        return layout.as_array(written(results, kind))

    def _arguments(self, function: WindowFunction, rows: pa.Table) -> Read:
        """Returns the arguments of an aggregate that is computed as on values."""
        of = self.inputs[0]
        columns = []
        for f in (function.of, *function.others):
            layout = result_layout(f, of)
            assert layout is not None
            columns.append(layout.to_elements(results(f, of, rows)))
        counts = np.ones(rows.num_rows, bool)
        if function.where is not None:
            counts = np.asarray(pc.fill_null(one_chunk(results(function.where, of, rows).column(0)), False))
        arguments = list(zip(*columns, strict=True))
        return Read(pa.nulls(rows.num_rows), None, counts, arguments)

    def _read(self, function: WindowFunction, table: pa.Table) -> Read | None:
        """Returns the values that a function reads from the rows."""
        if function.kind in NUMBERING:
            return None
        of = self.inputs[0]
        rows = table.select(list(layout_of(of).names))
        if function.aggregator is not None:
            return self._arguments(function, rows)
        layout = result_layout(function.of, of)
        assert layout is not None
        if function.kind == "count" and function.of is None:
            values = pa.array(np.ones(table.num_rows, bool))
        else:
            values = layout.as_array(results(function.of, of, rows))
        counts = np.asarray(values.is_valid())
        if function.where is not None:
            said = one_chunk(results(function.where, of, rows).column(0))
            counts = counts & np.asarray(pc.fill_null(said, False))
        return Read(values, layout.element, counts)

    def _arrow(self, number: int) -> pa.DataType:
        """The type of the column of a function's results."""
        layout, into = layout_of(self.outputs[0]), self.like.into
        place = layout.names.index(into.more[number]) if isinstance(into, Widened) else 1 + number
        return layout.cells[place].arrow


def _consolidate(parts: list[RunPart], groups: Run, order: OverOrder) -> Distinguished:
    """Puts the rows of parts by partition and in order, and adds up the weights of equal ones, by their source."""
    table = pa.concat_tables([take_rows(part.run.table, part.rows) for part in parts]).combine_chunks()
    owners = np.concatenate([part.owners for part in parts])
    source = np.concatenate([np.full(len(part.owners), part.source) for part in parts])
    places, firsts = order.sort(table, owners, in_parts=True)
    weights, source = numbers_in(table, WEIGHT)[places], source[places]
    was, new, owing = (np.add.reduceat(np.where(source == kind, weights, 0), firsts) for kind in (OLD, NEW, OWED))
    sums, which = add_checked(add_checked(was, new), owing), np.zeros(len(places), np.int64)
    which[firsts[1:]] = 1
    distinct = np.empty(len(places), np.int64)
    distinct[places] = np.cumsum(which)
    rows = places[firsts]
    cuts = np.cumsum([len(part.owners) for part in parts])[:-1]
    changed = Changed(
        take_rows(table, rows),
        owners[rows],
        was,
        np.maximum(sums, 0),
        np.minimum(sums, 0) - owing,
        owners[rows],
        Before(np.zeros(groups.rows, np.int64)),
    )
    return Distinguished(changed, np.split(distinct, cuts))


def _weigh(changed: Changed, weights: Indices, delta: Run, groups: Run, order: OverOrder) -> Run:
    """Returns the rows that have a weight among these, with it, as a run of a trace."""
    places = np.flatnonzero(weights)
    table = with_weights(take_rows(changed.table, places), weights[places])
    numbers = groups.keys.numbers[changed.owners[places]]
    if groups.keys.exact or len(np.unique(groups.keys.numbers)) == groups.rows:
        return Run(delta.columns, Keys(numbers, delta.keys.exact), table)
    return ranked_run(table, delta.columns, Keys(numbers, delta.keys.exact), order)


def _peers(changed: Changed, order: OverOrder, count: int) -> Indices:
    """The number of the group of peers of each row."""
    new = order.find_changes(changed.table, count)
    new[1:] |= changed.stretches[1:] != changed.stretches[:-1]
    return np.cumsum(new)


def _units(
    changed: Changed, weights: Indices, peers: Indices, values: tuple[pa.Array, ...], down: bool, apart: bool
) -> Units:
    """The rows that stand there with these weights, each for itself if `apart`."""
    rows = np.flatnonzero(weights)
    weights = weights[rows]
    if apart and len(weights) and weights.max() > 1:
        rows = np.repeat(rows, weights)
    if apart:
        weights = np.ones(len(rows), np.int64)
    groups = peers[rows]
    dense = np.zeros(len(rows), np.int64)
    dense[1:] = np.cumsum(groups[1:] != groups[:-1])
    return Units(rows, weights, changed.stretches[rows], dense, changed.before, values, down)


def _compare(
    old: Units, before: list[pa.Array], new: Units, after: list[pa.Array], changed: Changed
) -> tuple[Indices, Indices]:
    """Returns the old and the new units that are not in the output both before and after. A row that is present as
    often as before is compared unit by unit; of any other row, all old units go and all new ones come."""
    as_before = changed.was == changed.now
    one, other = np.flatnonzero(as_before[old.rows]), np.flatnonzero(as_before[new.rows])
    gone, come = np.ones(old.count, bool), np.ones(new.count, bool)
    if len(one):
        equal = find_equal([a.take(pa.array(one)) for a in before], [a.take(pa.array(other)) for a in after])
        gone[one[equal]], come[other[equal]] = False, False
    return np.flatnonzero(gone), np.flatnonzero(come)


@register_in(FORMS, Over)
def over(like: Over, inputs: StreamTypes) -> Operator | None:
    """Returns the form of `over`, if columns are ordered as in Python, and the functions run on columns."""
    of = inputs[0].collection
    layout, key = layout_of(of), result_layout(like.key, of)
    if not comparisons(key) or not all(_runs_on_columns(function, of) for function in like.functions):
        return None
    decided = set(layout.names) <= set(ordering_columns(of, like.key))
    return OverTables(like) if decided or have_equal_texts(layout) else None


def _runs_on_columns(function: WindowFunction, of: Collection) -> bool:
    """Whether a function can be computed from columns as it is on values."""
    layout = result_layout(function.of, of)
    if layout is None or not runs_on_columns(function.where):
        return False
    if function.aggregator is not None:
        into = Layout.of(function.result_type(None))
        return into is not None and all(result_layout(each, of) is not None for each in function.others)
    if function.kind in ("sum", "avg"):
        kind = layout.cells[0].arrow
        summable = has_digits(kind) and not (pa.types.is_decimal(kind) and kind.scale < 0)
        return len(layout.names) == 1 and summable
    if function.kind in ("min", "max"):
        return comparison(layout.element) is not None
    default = function.options[1] if function.kind in ("lag", "lead") else None
    cell = cell_of(layout.element)
    return default is None or (cell is not None and cell.write is None)
