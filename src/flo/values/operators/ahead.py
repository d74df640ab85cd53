"""Rows whose event time jumps ahead of the rows before them: one such row would make all rows after it late."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

from flo.core.errors import OrderError, TypeMismatch
from flo.core.facts import no_demands
from flo.core.operator import Bound, Deltas, Operator, expect_collection
from flo.core.stream_type import StreamTypes
from flo.core.untyped import Element, ElementFunction, TimeValue, Unit
from flo.values.event_time import is_positive_duration
from flo.values.operators.clocks import ORDERED, read_offset
from flo.values.operators.shapes import ElementKind, Unary
from flo.values.sequence import Sequence, SequenceValue


@final
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
    demands = no_demands
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
