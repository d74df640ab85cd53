"""What a clock ignores: partitions that are silent, and rows whose event time jumps ahead of the rows before them.

A partition that has sent nothing for some time does not hold the clock of the others back. Whether it is silent is
decided by the time of the outside world, `now`, which arrives as an input of its own and is recorded as other input is.
So the operator is a function of its inputs, but of the order in which rows and `now` come, too: programs ask for it
with a reason. A row that jumps ahead would make all rows after it late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.errors import OrderError, TypeMismatch
from flo.core.facts import Timing
from flo.core.operator import Bound, Deltas, Operator, Step, Values, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.event_time import expect_times, is_positive_duration
from flo.values.keyed import KeyedValue
from flo.values.lattice import BOTTOM
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.clocks import (
    ORDERED,
    ClockOf,
    by_partition,
    expect_partitions,
    read_offset,
    rows_of,
    watermark,
)
from flo.values.operators.keyed_streams import key_note, key_portions
from flo.values.operators.lvars import as_lvar, expect_lvar
from flo.values.operators.shapes import ByPortions, ElementKind, Unary, consume_each
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, bag_of


@dataclass(frozen=True)
class ActiveClock(ByPortions):
    """active_clock(time, lateness, idle_after, because, …): (Partitioned<T>, X), (LVar<Max>, Y)
    ↪ (LVar<Max>, X), (Bag<T>, X), (Bag<T>, X), (Partitioned<T>, X): the clock, the elements on time, those behind it,
    and those on time by partition.

    Rows are taken first. When `now` is read, partitions that had rows since the last time were heard `now`, and those
    that were heard `idle_after` ago or before are idle. The clock is the minimum of the others, and moves only then. A
    partition that comes back, or that is new, begins at the clock: its rows before that are late.
    """

    time: ElementFunction
    lateness: TimeValue
    idle_after: timedelta
    because: str
    partitions: int = 0
    origin: TimeValue = None
    latest: tuple[tuple[int, TimeValue], ...] = ()
    """The largest time of each partition that has had a row."""
    whole: Any = None
    """The minimum over the partitions that are not idle, when `now` was last read."""
    heard: tuple[tuple[int, datetime | None], ...] = ()
    """When each partition was heard; None if it has had rows since `now` was read."""
    idle: tuple[int, ...] = ()

    name = "active_clock"
    keeps = Bound.VALUE
    timing = Timing.SEES
    rule = "clock"
    across_keys = True
    retracts = False
    arity = (2, 4)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(
            self,
            inputs[0],
            Partitioned,
            instead=(("{input}.clock(time, lateness)", "without `idle_after`: only partitions can be idle"),),
        )
        expect_lvar(self, inputs[1], index=1)
        expect_times("clock", returned_type(self.time), inputs[0], lateness=self.lateness)
        given: Any = inputs[0].collection
        rows = StreamType(Bag(expect_partitions(self, given).row), inputs[0].bounded)
        return StreamType(LVar(self.lattice), inputs[0].bounded), rows, rows, inputs[0]

    @property
    def lattice(self) -> Max[TimeValue]:
        return ClockOf(self.time, self.lateness).lattice

    def typed(self, inputs: StreamTypes) -> ActiveClock:
        given: Any = inputs[0].collection
        return replace(self, partitions=given.count)

    @property
    def described(self) -> str:
        lateness = "" if self.lateness is None else f", {self.lateness}"
        named = getattr(self.time, "__name__", "time")
        return f"{named}{lateness}, idle after {self.idle_after} because {self.because}"

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        rows, now = inputs[0], as_lvar(inputs, 1)
        assert isinstance(rows, KeyedValue)
        portions = list(key_portions(rows, every=every))
        for (_, rest), (after, outputs) in consume_each(
            portions, lambda it: self._take_rows(rows_of(it[0])), lambda it: key_note(it[0])
        ):
            yield Step("clock-partition", (rest, now), after, outputs)
        if portions:
            return
        if not now.is_bottom():
            over = rows.end is End.PASSED
            after, outputs = (self, (None,) * 4) if over else self._at(now.value)
            yield Step("clock-now", (rows, now.drained()), after, outputs, settled=True)
        elif rows.ending():
            end = BagValue.terminator()
            ended = LVarValue(self.lattice, BOTTOM, End.ARRIVED)
            yield Step("clock-terminated", (rows.passed(), now), self, (ended, end, end, KeyedValue.terminator()))

    def _take_rows(self, rows: Iterable[tuple[int, object]]) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs after these rows."""
        origin, latest, heard, idle = self.origin, dict(self.latest), dict(self.heard), set(self.idle)
        on_time: list[tuple[int, Element]] = []
        late: list[tuple[int, Element]] = []
        for partition, unit in rows:
            origin, offset = read_offset(self.time, unit, origin, lateness=self.lateness)
            own = latest.get(partition)
            comes = partition in idle or (partition >= self.partitions and own is None)
            if comes and self.whole is not None:
                own = self.whole if own is None else max(own, self.whole)
            latest[partition] = own = offset if own is None else max(own, offset)
            (on_time if offset >= watermark(own, self.lateness) else late).append((partition, unit))
            idle.discard(partition)
            heard[partition] = None
        after = replace(self, origin=origin, latest=_sorted(latest), heard=_sorted(heard), idle=tuple(sorted(idle)))
        bags = (bag_of(unit for _, unit in some) if some else None for some in (on_time, late))
        return after, (None, *bags, by_partition(on_time))

    def _at(self, now: datetime) -> tuple[Operator, Deltas]:
        """Return the operator and its outputs when it is `now`."""
        latest, before = dict(self.latest), dict(self.heard)
        known = {*range(self.partitions), *latest}
        heard = {each: before.get(each) or now for each in known}
        idle = {each for each, moment in heard.items() if now - moment >= self.idle_after}
        active = known - idle
        whole = self.whole
        if active and active <= latest.keys():
            least = min(latest[each] for each in active)
            whole = least if whole is None else max(whole, least)
        after = replace(self, heard=_sorted(heard), idle=tuple(sorted(idle)), whole=whole)
        if whole is None or whole == self.whole:
            return after, (None,) * 4
        return after, (LVarValue(self.lattice, self.origin + watermark(whole, self.lateness)), None, None, None)


def _sorted(by_number: dict[int, TimeValue]) -> tuple[tuple[int, TimeValue], ...]:
    return tuple(sorted(by_number.items(), key=lambda each: each[0]))


@dataclass(frozen=True)
class LimitAhead(Unary):
    """limit_ahead(time, most, believe): (S<T>, X) ↪ (S<T>, X), (S<T>, X): the elements whose time is at most `most`
    after the largest time of those kept before, and the elements that are ahead.

    `believe` elements ahead, one after the other, each at most `most` from the one before, are a gap in the data: the
    last of them is kept, and is the largest time. `run` has how many there are, and the time of the last one.
    """

    time: ElementFunction
    most: Any
    believe: int = 10
    origin: TimeValue = None
    latest: TimeValue = None
    run: tuple[int, Element] = (0, None)

    name = "limit_ahead"
    keeps = Bound.VALUE
    signature = "(Sequence[T], X) -> (Sequence[T], X), (Sequence[T], X)"
    arity = (1, 2)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, error=OrderError, instead=ORDERED)
        if not is_positive_duration(self.most):
            raise TypeMismatch(f"`most` of `limit_ahead` must be a duration above 0; got {self.most!r}")
        if not isinstance(self.believe, int) or isinstance(self.believe, bool) or self.believe < 2:
            raise TypeMismatch(f"`believe` of `limit_ahead` must be an integer ≥ 2; got {self.believe!r}")
        return inputs[0], inputs[0]

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        origin, latest, (count, last) = self.origin, self.latest, self.run
        kept: list[Element] = []
        ahead: list[Element] = []
        for unit in units:
            origin, offset = read_offset(self.time, unit, origin, most=self.most)
            if latest is not None and offset - latest > self.most:
                is_near = last is not None and abs(offset - last) <= self.most
                count, last = count + 1 if is_near else 1, offset
                if count < self.believe:
                    ahead.append(unit)
                    continue
            latest = offset if latest is None else max(latest, offset)
            count, last = 0, None
            kept.append(unit)
        after = replace(self, origin=origin, latest=latest, run=(count, last))
        return after, (SequenceValue.of(kept) if kept else None, SequenceValue.of(ahead) if ahead else None)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (source.terminator(), source.terminator())
