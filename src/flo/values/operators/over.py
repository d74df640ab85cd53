"""Window functions over the partitions of a z-set: every row with what the rows around it say (rank, lag, sums).

The rows of a partition stand in a total order, and a row with weight n stands there n times. Rows that are equal in
the columns asked for are *peers*. A frame is the rows around a row that an aggregate reads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import total_ordering
from itertools import accumulate
from typing import Any, NamedTuple, Optional, TypeAlias

from flo.core.elements import returned_type
from flo.core.persistent import PersistentMap
from flo.core.term import Call, Lowerable, Lowering, Term, given_parts, register
from flo.core.type_relations import without_none
from flo.core.untyped import Element, ElementFunction, TimeValue, TypeForm
from flo.values.canonical import canonical_element
from flo.values.exact import Exact, expect_width, mean_places, mean_type, sum_type, width_of
from flo.values.operators.group_aggregates import Aggregator, InOrder
from flo.values.operators.shapes import evaluate_ahead
from flo.values.operators.zset_ranking import RankOrder, comparable
from flo.values.operators.zsets import GroupColumns
from flo.values.weighted import Weights

ReadValue: TypeAlias = ElementFunction | None
Frame: TypeAlias = tuple[str, Any, Any]
"""("rows" | "range", from, to): None is unbounded, 0 the current row (of a range: its peers), negative is before it.

("bounds", from, to) is a range whose bounds are columns of the order behind the first, by their places."""
WHOLE: Frame = ("range", None, None)

NUMBERING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
"""Functions of the position alone."""
NEIGHBOURS = ("lag", "lead")
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")
"""Functions of a frame that skip nulls."""
POSITIONS = ("first_value", "last_value", "nth_value")
"""Functions of a frame that do not skip nulls."""

_EXACTLY = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


class FrameBound(NamedTuple):
    """A bound of a range that is not a fixed distance: the place of the column of the order that has it."""

    place: int


@dataclass(frozen=True)
class WindowFunction(Lowerable):
    """A window function: its kind, the value it reads of a row, which rows it reads, its options and its frame."""

    kind: str
    of: ReadValue = None
    where: ReadValue = None
    options: tuple[Any, ...] = ()
    """`ntile`: the number of buckets; `lag`, `lead`: the distance and the default; `nth_value`: n, from the end if it
    is negative, and whether nulls are skipped."""
    frame: Frame = WHOLE
    others: tuple[ElementFunction, ...] = ()
    """The arguments of an aggregate after the first."""
    aggregator: Aggregator | None = None
    """What aggregates the rows of a frame, if the kind is none of those above."""
    result: TypeForm = None
    """The type of its results."""

    @property
    def functions(self) -> tuple[ElementFunction, ...]:
        """The functions of rows that it calls."""
        return tuple(f for f in (self.of, *self.others, self.where) if f is not None)

    @property
    def has_frame(self) -> bool:
        return self.kind in AGGREGATES + POSITIONS or self.aggregator is not None

    @property
    def by_position(self) -> bool:
        """Whether it counts rows one by one, so that equal rows may have different results."""
        one_by_one = ("row_number", "ntile", "nth_value", *NEIGHBOURS)
        return self.kind in one_by_one or (self.has_frame and self.frame[0] == "rows")

    def result_type(self, element: object) -> TypeForm:
        """Return the type of results for rows of this type: nullable unless they cannot be null."""
        if self.kind in ("row_number", "rank", "dense_rank", "ntile", "count"):
            return int
        if self.kind in ("percent_rank", "cume_dist"):
            return float
        if self.aggregator is not None:
            always = self.kind in ("count_distinct", "collect") or (self.where is None and holds_itself(self.frame))
            return self.result if always else _or_none(self.result)
        nullable, kind = without_none(element if self.of is None else returned_type(self.of))
        if self.kind in NEIGHBOURS:
            return _or_none(kind) if nullable or self.options[1] is None else kind
        kind = sum_type(kind) if self.kind == "sum" else mean_type(kind) if self.kind == "avg" else kind
        never_empty = self.kind != "nth_value" and self.where is None and holds_itself(self.frame)
        return kind if never_empty and not nullable else _or_none(kind)

    def results(self, rows: Partition) -> list[Element]:
        """Return the result of every row of a partition, in its order."""
        return _NUMBERED[self.kind](self, rows) if self.kind in _NUMBERED else self._of_values(rows)

    def _of_values(self, rows: Partition) -> list[Element]:
        values = [row if self.of is None else self.of(row) for row in rows.rows]
        if self.kind in NEIGHBOURS:
            distance, default = self.options
            return _shifted(values, -distance if self.kind == "lag" else distance, default)
        starts, ends = rows.frames(self.frame)
        if self.aggregator is not None:
            there = [self.where is None or self.where(row) is True for row in rows.rows]
            others = [[f(row) for row in rows.rows] for f in self.others]
            given = zip(values, *others, strict=True)
            units = [(each, 1) if counted else None for each, counted in zip(given, there, strict=True)]
            return self.slide(units, starts, ends)
        if self.kind in POSITIONS:
            return _at(values, starts, ends, self.kind, *self.options)
        if self.kind == "count" and self.of is None:
            values = [True] * len(values)
        there = [
            value is not None and (self.where is None or self.where(row) is True)
            for value, row in zip(values, rows.rows, strict=True)
        ]
        if self.kind in ("count", "sum", "avg"):
            return _added(self.kind, values, there, starts, ends, without_none(returned_type(self.of))[1])
        return _chosen(self.kind, values, there, starts, ends)

    def slide(
        self, units: Sequence[tuple[tuple[Element, ...], int] | None], starts: Sequence[int], ends: Sequence[int]
    ) -> list[Element]:
        """Return the aggregate of each frame, given the arguments of rows with their weights; None for a row that does
        not count. A frame slides: what comes is added to the state of the one before, and what goes is retracted."""
        aggregator = self.aggregator
        assert aggregator is not None
        required = aggregator.required(1 + len(self.others))
        placed = [
            None
            if each is None or None in each[0][:required]
            else (each[0] if not self.places_rows else (*each[0], at))
            for at, each in enumerate(units)
        ]
        weights = [0 if each is None else each[1] for each in units]
        state, low, high = aggregator.empty, 0, 0
        results: list[Element] = []
        for start, end in zip(starts, ends, strict=True):
            if start >= end:
                results.append(aggregator.result(aggregator.empty))
                continue
            if start < low or end < high or start >= high:
                state, low, high = aggregator.empty, start, start
            if (start, end) != (low, high):
                come, gone = ((high, end, 1), (low, start, -1))
                changes = [
                    (arguments, sign * weights[at])
                    for begin, stop, sign in (come, gone)
                    for at in range(begin, stop)
                    if (arguments := placed[at]) is not None
                ]
                state, low, high = aggregator.added(state, changes), start, end
            results.append(aggregator.result(state))
        return results

    @property
    def places_rows(self) -> bool:
        """Whether the aggregate has one more argument: the place of the row, in whose order it collects values."""
        return isinstance(self.aggregator, InOrder) and bool(self.aggregator.descending)

    def lower(self, lower: Lowering) -> Term:
        return Call("window_function", tuple(map(lower, given_parts(self))))


register("window_function", WindowFunction)


def _or_none(kind: TypeForm) -> Any:
    return Any if kind is Any else Optional[kind]  # noqa: UP045


def holds_itself(frame: Frame) -> bool:
    """Return whether every row is in its own frame, as far as is known."""
    mode, start, end = frame
    if mode == "bounds":
        return not start and not end
    return not (_sign(start) > 0 or _sign(end) < 0)


def _sign(offset: TimeValue) -> int:
    if offset is None:
        return 0
    zero = timedelta() if isinstance(offset, timedelta) else 0
    return int(offset > zero) - int(offset < zero)


class Partition(NamedTuple):
    """The rows of a partition in order, a row with weight n n times; the columns asked for; and the last direction."""

    rows: list[Element]
    keys: list[tuple[Element, ...]]
    """For each row, the values that its peers share."""
    descending: bool

    def peers(self) -> tuple[list[int], list[int]]:
        """Return where the peers of each row begin, and where they end."""
        starts, ends, begin, compared = [], [0] * len(self.rows), 0, [comparable(key) for key in self.keys]
        for place, key in enumerate(compared):
            if place and key != compared[place - 1]:
                begin = place
            starts.append(begin)
        for place in reversed(range(len(self.rows))):
            last = place + 1 == len(self.rows) or starts[place + 1] == place + 1
            ends[place] = place + 1 if last else ends[place + 1]
        return starts, ends

    def frames(self, frame: Frame) -> tuple[list[int], list[int]]:
        """Return where the frame of each row begins, and where it ends: empty if it begins at its end or later."""
        mode, start, end = frame
        count = len(self.rows)
        places = range(count)
        if mode == "rows":
            return (
                [0 if start is None else max(0, place + start) for place in places],
                [count if end is None else min(count, place + end + 1) for place in places],
            )
        starts, ends = self.peers()
        if mode == "bounds":
            ranges = _Ranges(self, starts, ends, 0)
            return (
                [0] * count if start is None else ranges.searched(start, bisect_left, 0) if start else starts,
                [count] * count if end is None else ranges.searched(end, bisect_right, 1) if end else ends,
            )
        shifted = None if _sign(start) == _sign(end) == 0 else _Ranges(self, starts, ends)
        return (
            [0] * count if start is None else shifted.begins(start) if shifted and _sign(start) else starts,
            [count] * count if end is None else shifted.ends(end) if shifted and _sign(end) else ends,
        )


class _Ranges:
    """The values of one order column, to find how far an offset reaches."""

    def __init__(self, rows: Partition, starts: list[int], ends: list[int], place: int = -1) -> None:
        self.keys, self.values, self.down = rows.keys, [key[place] for key in rows.keys], rows.descending
        self.peers = starts, ends
        there = [place for place, value in enumerate(self.values) if value is not None]
        self.span = (there[0], there[-1] + 1) if there else (0, 0)
        self.ordered = [self._place(value) for value in self.values]

    def _place(self, value: object) -> Any:
        return _Down(comparable(value)) if self.down else comparable(value)

    def begins(self, offset: object) -> list[int]:
        """Return the first row that is at this offset from each row or later; nulls are at no offset."""
        return self._searched(offset, bisect_left, 0)

    def ends(self, offset: object) -> list[int]:
        """Return the row behind the last that is at this offset from each row or earlier."""
        return self._searched(offset, bisect_right, 1)

    def searched(self, place: int, search: Any, side: int) -> list[int]:
        """Return where a bound that is a column of the order is among the values: never before that of a row before,
        as a frame slides."""
        ends = (
            self.peers[side][row] if value is None else search(self.ordered, self._place(key[place]), *self.span)
            for row, (value, key) in enumerate(zip(self.values, self.keys, strict=True))
        )
        return list(accumulate(ends, max))

    def _searched(self, offset: TimeValue, search: Any, side: int) -> list[int]:
        low, high = self.span
        ends = []
        for place, value in enumerate(self.values):
            if value is None:
                ends.append(self.peers[side][place])
                continue
            moved = moved_value(value, -offset if self.down else offset)
            if moved is None:
                ends.append(high if _sign(offset) > 0 else low)
            else:
                ends.append(search(self.ordered, self._place(moved), low, high))
        return ends


def moved_value(value: object, offset: TimeValue) -> Any:
    """Return a value plus an offset; None if it is beyond all values of its type. Zoned times move as instants."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    try:
        return _EXACTLY.add(value, Decimal(offset)) if isinstance(value, Decimal) else value + offset
    except OverflowError:
        return None


@total_ordering
class _Down:
    """A key in descending order."""

    __slots__ = ("key",)

    def __init__(self, key: Element) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: _Down) -> bool:
        return bool(other.key < self.key)


def _shifted(values: list[Element], distance: int, default: object) -> list[Element]:
    count = len(values)
    return [values[at] if 0 <= (at := place + distance) < count else default for place in range(count)]


def _at(
    values: list[Element], starts: Sequence[int], ends: Sequence[int], kind: str, nth: int = 1, skips: bool = False
) -> list[Element]:
    """Return the value of the first, the last or the n-th row of each frame; None if there is none."""
    if skips:
        present = [place for place, value in enumerate(values) if value is not None]
        bounds = list(zip(starts, ends, strict=True))
        nths = [
            bisect_left(present, start) + nth - 1 if nth > 0 else bisect_left(present, end) + nth
            for start, end in bounds
        ]
        places = [present[each] if 0 <= each < len(present) else -1 for each in nths]
        pairs = zip(places, bounds, strict=True)
        return [values[place] if start <= place < end else None for place, (start, end) in pairs]
    chosen = []
    for start, end in zip(starts, ends, strict=True):
        at = end - 1 if kind == "last_value" else start + nth - 1
        chosen.append(values[at] if start <= at < end else None)
    return chosen


def _added(
    kind: str, values: list[Element], there: list[bool], starts: Sequence[int], ends: Sequence[int], of: object
) -> list[Element]:
    """Return the count, the exact sum or the mean of each frame, as the difference of two running totals."""
    counts, totals = [0], [Exact()]
    for value, counted in zip(values, there, strict=True):
        counts.append(counts[-1] + counted)
        if kind != "count":
            totals.append(totals[-1].added([(value, 1)]) if counted else totals[-1])
    sums: list[Element] = []
    for start, end in zip(starts, ends, strict=True):
        count = counts[end] - counts[start] if start < end else 0
        if kind == "count":
            sums.append(count)
        elif not count:
            sums.append(None)
        else:
            total = difference(totals[end], totals[start])
            sums.append(total.value() if kind == "sum" else total.mean(count, mean_places(of)))
    if kind != "count" and (width := width_of(sum_type(of) if kind == "sum" else mean_type(of))) is not None:
        for number in sums:
            expect_width(number, width, "a frame")
    return sums


def difference(one: Exact, other: Exact) -> Exact:
    """Return the terms of one sum without those of another."""
    totals = {kind: (total, weight) for kind, total, weight in one.parts}
    for kind, total, weight in other.parts:
        before, already = totals.get(kind, (0, 0))
        totals[kind] = (before - total, already - weight)
    order = [kind for kind, _, _ in one.parts] + [kind for kind, _, _ in other.parts]
    kept = {kind: totals[kind] for kind in dict.fromkeys(order) if any(totals[kind])}
    return Exact(tuple((kind, *parts) for kind, parts in kept.items()))


def _chosen(
    kind: str, values: list[Element], there: list[bool], starts: Sequence[int], ends: Sequence[int]
) -> list[Element]:
    """Return the least, the greatest, the first or the last value of each frame. Nulls are skipped."""
    keys: list[Element] = (
        [comparable(value) for value in values] if kind in ("min", "max") else list(range(len(values)))
    )

    def better(one: int, other: int) -> bool:
        return bool(keys[one] < keys[other] if kind in ("min", "first") else keys[other] < keys[one])

    chosen: list[Element] = []
    best, seen = None, (0, 0)
    for start, end in zip(starts, ends, strict=True):
        if start != seen[0] or end < seen[1]:  # a frame that only grows is not searched again
            best, seen = None, (start, start)
        for place in range(seen[1], end):
            if there[place] and (best is None or better(place, best)):
                best = place
        seen = (start, max(end, start))
        chosen.append(None if best is None else values[best])
    return chosen


def _rank(_: WindowFunction, rows: Partition) -> list[Element]:
    return [start + 1 for start in rows.peers()[0]]


def _dense_rank(_: WindowFunction, rows: Partition) -> list[Element]:
    starts = rows.peers()[0]
    number = {start: place + 1 for place, start in enumerate(sorted(set(starts)))}
    return [number[start] for start in starts]


def _percent_rank(_: WindowFunction, rows: Partition) -> list[Element]:
    others = len(rows.rows) - 1
    return [start / others if others else 0.0 for start in rows.peers()[0]]


def _cume_dist(_: WindowFunction, rows: Partition) -> list[Element]:
    return [end / len(rows.rows) for end in rows.peers()[1]]


def _ntile(function: WindowFunction, rows: Partition) -> list[Element]:
    """The first buckets have one row more, if the rows cannot be divided evenly."""
    (buckets,) = function.options
    size, more = divmod(len(rows.rows), buckets)
    large = more * (size + 1)
    return [
        place // (size + 1) + 1 if place < large else more + (place - large) // size + 1
        for place in range(len(rows.rows))
    ]


_NUMBERED: dict[str, Callable[[WindowFunction, Partition], list[Element]]] = {
    "row_number": lambda _, rows: list(range(1, len(rows.rows) + 1)),
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
}


@dataclass(frozen=True)
class Over(GroupColumns):
    """over(functions, by, key, descending, peers, into, groups): (ZSet<T>, X) ↪ (ZSet<R>, X).

    The rows of a group are ordered by `key`, a tuple with a direction for each part, and then by their text. Rows that
    are equal in the first `peers` parts are peers. A row with weight n stands there n times; rows without a positive
    weight do not. The output has each of them with the results of the functions.
    """

    functions: tuple[WindowFunction, ...]
    by: ElementFunction | None = None
    key: ElementFunction | None = None
    descending: tuple[bool, ...] = (False,)
    peers: int = 1
    into: Callable[[Element, tuple[Element, ...]], Any] | None = None
    groups: PersistentMap[Element, Weights] = PersistentMap()  # noqa: RUF009

    name = "over"
    recomputes = ("functions", "key", "into")

    def column_types(self, element: TypeForm) -> tuple[TypeForm, ...]:
        return tuple(function.result_type(element) for function in self.functions)

    def evaluate(self, rows: list[Element]) -> None:
        for f in dict.fromkeys([self.key, *(f for function in self.functions for f in function.functions)]):
            evaluate_ahead(f, rows)

    def rows_of(self, weights: dict[Element, int]) -> list[tuple[Element, int]]:
        order = RankOrder(self.key, self.descending, self.name)
        ranks = sorted(order.rank(row) for row, weight in weights.items() if weight > 0)
        rows = [rank.row for rank in ranks for _ in range(weights[rank.row])]
        down = self.descending[self.peers - 1] if self.peers else False
        partition = Partition(rows, [self._peers(row) for row in rows], down)
        results = zip(*(function.results(partition) for function in self.functions), strict=True)
        columns = (tuple(map(canonical_element, cells)) for cells in results)
        return [(self.row(row, cells), 1) for row, cells in zip(rows, columns, strict=True)]

    def _peers(self, row: object) -> tuple[Element, ...]:
        """Return the parts of the key that peers share."""
        key = row if self.key is None else self.key(row)
        parts = tuple(key) if isinstance(key, tuple) else (key,)
        return parts[: self.peers]
