"""dedupe: the first row of each key at once. A key is forgotten when the time of the stream has moved on.

Let m be the largest time of the rows up to and including a row. With `keep` = 10:

    row  key  time   m
    r    a    1      1     emitted: a is new, and remembered with 1
    s    a    9      9     dropped: 9 - 1 is not more than 10
    t    b    3      9     emitted: b is new, and remembered with 9
    u    a    12     12    emitted: 12 - 1 is more than 10, so a was forgotten; it is remembered with 12

What is emitted follows from the rows up to this one, in their order. So the result depends neither on how data is cut,
nor on when it comes, and no row is retracted. As m never goes back, keys are forgotten in the order in which they were
remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flo.core.collection import Collection
from flo.core.errors import OrderError, TypeMismatch
from flo.core.facts import Timing
from flo.core.operator import Bound, Deltas, Operator, expect_collection
from flo.core.persistent import Elements, PersistentMap
from flo.core.stream_type import StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.canonical import canonical_element
from flo.values.event_time import is_positive_duration
from flo.values.operators.clocks import read_offset
from flo.values.operators.shapes import ElementKind, Unary
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, ZSet


def first_by(given: Collection) -> tuple[tuple[str, str], ...]:
    """Return what to write where rows have no order, so that none is the first."""
    match given:
        case Partitioned():
            first = "the first in each partition; of all rows, if those with equal keys are in one partition"
            return (("{input}.per_key(lambda rows: rows.dedupe(…))", first),)
        case ZSet():
            return (("{input}.distinct(on=…, order_by=…)", "one row for each key, corrected when rows change"),)
        case Bag():
            return (("stream.dedupe(…).clock(…).rows", "before a clock: its rows of several partitions have no order"),)
    return (("flow.input(…, flo.Sequence[…])", "an input with an order"),)


@dataclass(frozen=True)
class Dedupe(Unary):
    """dedupe(on, time, keep): (S<T>, X) ↪ (S<T>, X), the first element of each key.

    `marks` has the keys that are remembered, each with the largest time when it was emitted; `order` has both in the
    order in which they were emitted. `latest` is the largest time.
    """

    on: ElementFunction
    time: ElementFunction
    keep: Any
    origin: TimeValue = None
    latest: TimeValue = None
    marks: PersistentMap[Element, TimeValue] = PersistentMap()  # noqa: RUF009
    order: Elements[tuple[Element, TimeValue]] = Elements()  # noqa: RUF009

    name = "dedupe"
    keeps = Bound.CLOCK
    timing = Timing.PASSES
    signature = "(Sequence[T], X) -> (Sequence[T], X)"
    lateness = None

    def type(self, inputs: StreamTypes) -> StreamTypes:
        given = inputs[0].collection
        expect_collection(self, inputs[0], Sequence, error=OrderError, instead=first_by(given))
        if not is_positive_duration(self.keep):
            raise TypeMismatch(f"`keep` of `dedupe` must be a duration above 0; got {self.keep!r}")
        return inputs

    def durations(self) -> dict[str, Any]:
        """Return the durations, as windows have them."""
        return {"keep": self.keep}

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        origin, latest = self.origin, self.latest
        first: list[Element] = []
        new: dict[Element, TimeValue] = {}
        added: list[tuple[Element, TimeValue]] = []
        for unit in units:
            origin, offset = read_offset(self.time, unit, origin, keep=self.keep)
            latest = offset if latest is None or offset > latest else latest
            key = canonical_element(self.on(unit))
            mark = new[key] if key in new else self.marks.get(key)
            if mark is None or latest - mark > self.keep:
                new[key] = latest
                added.append((key, latest))
                first.append(unit)
        order, gone = self.order.extended(added), 0
        marks = self.marks.updated(new)
        while gone < len(order) and latest - order[gone][1] > self.keep:
            gone += 1
        forgotten = dict.fromkeys((key for key, mark in order[:gone] if marks[key] == mark), None)
        after = replace(
            self, origin=origin, latest=latest, marks=marks.updated(forgotten, drop=None), order=order.dropped(gone)
        )
        return after, (SequenceValue.of(first) if first else None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return Dedupe(self.on, self.time, self.keep), (source.terminator(),)
