"""final: the groups of a z-set of rows, each once, when a clock has passed the end of its window.

Every row has an end, which is the same for all rows of its group: that of its window. The clock must be of the rows:
once it is at t, the rows with an end up to t do not change. Then all rows of a group are there when the clock reaches
its end, and the results are those of all rows on time, whatever came first. A clock is read by a step that is
`settled`, so that it cannot overtake rows. Until such a step changes may be on their way that cancel out: a session
that stays the same may be retracted and inserted again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flo.core.collection import Value
from flo.core.errors import ElementError, brief
from flo.core.facts import PrimaryKey
from flo.core.operator import Bound, Delta, Deltas, Operator, Step, Values
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.operators.clocks import clocked_steps
from flo.values.operators.group_by import GroupBy
from flo.values.operators.lvars import expect_clock
from flo.values.operators.retain import Waiting, keep_rows, release_rows, to_number
from flo.values.operators.shapes import ByPortions, evaluate_ahead, expect_declared
from flo.values.operators.zsets import expect_zset
from flo.values.ordered import SortedKeys
from flo.values.weighted import Bag, BagValue, ZSetValue


@dataclass(frozen=True)
class FinalGroups(ByPortions):
    """final(groups, end, flush, …): (ZSet<R>, X), (LVar<Max>, Y) ↪ (Bag<row>, Z); Z is B if both are.

    `groups` has the columns of a group and its aggregates, and `end` is a function of these columns. `waiting` has the
    rows by their ends, until the clock, which has come to `mark`, is there. `flush` is true if both inputs are bounded,
    set by `typed`: then the groups that are left are emitted at the end.
    """

    groups: GroupBy
    end: ElementFunction
    flush: bool = False
    mark: TimeValue = None
    waiting: Waiting = PersistentMap()  # noqa: RUF009
    order: SortedKeys[TimeValue] = SortedKeys()  # noqa: RUF009

    name = "final"
    keeps = Bound.WINDOWS
    retracts = False
    arity = (2, 1)

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return columns[: self.groups.keys]

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_zset(self, inputs[0])
        expect_clock(self, inputs[1], index=1)
        return (StreamType(Bag(self.groups.row), all(given.bounded for given in inputs)),)

    def typed(self, inputs: StreamTypes) -> FinalGroups:
        return replace(self, flush=all(given.bounded for given in inputs))

    @property
    def described(self) -> str:
        """The groups and the aggregates, by name, for `explain`."""
        return self.groups.described

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        return clocked_steps(self, inputs, every=every)

    def take_units(self, units: list[Unit], source: Value) -> tuple[Operator, Deltas]:
        """Return the operator after these rows."""
        evaluate_ahead(self.end, [row for row, _ in units])
        added: dict[Element, dict[Element, int]] = {}
        for row, weight in units:
            end = self.end(row)
            expect_declared(self.end, [end])
            some = added.setdefault(to_number(end), {})
            some[row] = some.get(row, 0) + weight
        waiting, order = keep_rows(self.waiting, self.order, added)
        return replace(self, waiting=waiting, order=order), (None,)

    def take_clock(self, moment: TimeValue) -> tuple[Operator, Deltas]:
        """Return the operator and the groups that are final when the clock is at this moment."""
        mark = to_number(moment)
        if self.mark is not None and mark <= self.mark:
            return self, (None,)
        self._expect_none_behind()
        units, waiting, order = release_rows(self.waiting, self.order, lambda end: end <= mark)
        return replace(self, mark=mark, waiting=waiting, order=order), (self._grouped(units),)

    def finish(self, source: Any) -> tuple[Operator, Deltas]:
        self._expect_none_behind()
        units, _, _ = release_rows(self.waiting, self.order, lambda end: self.flush)
        last = self._grouped(units)
        after = replace(self, waiting=PersistentMap(), order=SortedKeys())
        return after, (BagValue.terminator() if last is None else last.fix(),)

    def _expect_none_behind(self) -> None:
        """Raise if a row has come whose window the clock had passed."""
        if self.mark is not None and (first := self.order.first()) is not None and first <= self.mark:
            raise came_behind(brief(next(iter(self.waiting[first]))))

    def _grouped(self, units: list[tuple[Unit, int]]) -> Delta:
        """Return the groups of these rows, which are all rows that they have."""
        (delta,) = self.groups.consume(units, ZSetValue)[1]
        assert delta is None or isinstance(delta, ZSetValue)
        return None if delta is None else BagValue.of(delta.all_units())


def came_behind(row: str) -> ElementError:
    """Return the error for a row whose window the clock had passed. The windows of rows on time end behind them."""
    return ElementError(
        "a row of `final` came after its window had ended, though it was not late",
        facts=(("row", row), ("expected", "a window that ends behind the time of the row")),
        instead=(("smaller times, or larger windows", "which floats can tell apart"),),
    )
