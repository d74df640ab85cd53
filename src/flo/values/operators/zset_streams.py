"""DBSP's integration and differentiation, on an ordered sequence of z-sets: of changes, or of states.

An inner z-set is passed on as it arrives. Waiting for its end would break streaming progress: the newest inner stream
of an unbounded sequence may never be complete, and what it has so far must be in the output.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from flo.core.collection import End
from flo.core.errors import CollectionError
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Bound, Operator, Step, Values, expect_bounded, expect_collection, run
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamTypes
from flo.core.untyped import Element
from flo.values.operators.zsets import expect_zset
from flo.values.weighted import Weights, ZSetValue


@dataclass(frozen=True)
class RunningZSets(Operator):
    """([(ZSet, B)], X) ↪ ([(ZSet, B)], X): each inner z-set plus what the operator remembers of those before it.

    The oldest inner stream of the input *continues* if its beginning was already passed on. A new one is *begun* by a
    step of its own, which also drops the one before it.
    """

    remembered: Weights = PersistentMap()  # noqa: RUF009

    rule: ClassVar[str]

    @abstractmethod
    def begun(self) -> tuple[Self, Weights]:
        """Return the operator when the next inner z-set begins, and the initial weights of its output."""

    def grown(self, weights: Mapping[Element, int]) -> Self:
        """Return the operator after these weights of the current inner z-set."""
        return type(self)(self.remembered.added(weights))

    def type(self, inputs: StreamTypes) -> StreamTypes:
        streams = expect_collection(self, inputs[0], Nested).inner
        if len(streams) != 1:
            raise CollectionError(
                f"`{self.name}` requires one inner z-set; {{input}} has {len(streams)} inner streams",
                facts=(("{input}", inputs[0].described()),),
                index=0,
            )
        expect_zset(self, streams[0])
        expect_bounded(self, streams[0])
        return inputs

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        assert isinstance(value, NestedValue)
        oldest = value.oldest()
        if oldest is not None and not value.continues:
            yield self._begin(value)
            return
        if oldest is None:
            over = True
        else:
            (inner,) = oldest
            assert isinstance(inner, ZSetValue)
            over = inner.end is End.PASSED
            if inner.weights:
                rest = value.with_oldest((inner.drained(),))
                delta = NestedValue.extending((ZSetValue(inner.weights),))
                yield Step(f"{self.rule}-run", (rest,), self.grown(inner.weights), (delta,))
            elif inner.ending():
                rest = value.with_oldest((inner.passed(),))
                yield Step(f"{self.rule}-step", (rest,), self, (NestedValue.extending((ZSetValue.terminator(),)),))
        if over and value.has_next():
            yield self._begin(value.without_oldest())
        elif over and value.end is End.ARRIVED:
            yield Step(f"{self.rule}-terminated", (value.passed(),), type(self)(), (NestedValue.pushing().fix(),))

    def advance(self, inputs: Values) -> Iterator[Step]:
        """Consume all complete inner z-sets at once, and then the newest."""
        (value,) = inputs
        assert isinstance(value, NestedValue)
        operator = self
        whole: list[Values] = []
        for (inner,) in value.older:
            assert isinstance(inner, ZSetValue)
            if inner.end is End.OPEN:
                break
            if value.continues and not whole:
                sent = ZSetValue(inner.weights, End.ARRIVED)
            else:
                operator, start = operator.begun()
                sent = ZSetValue(start.added(inner.weights), End.ARRIVED)
            operator = operator.grown(inner.weights)
            whole.append((sent,))
        if whole:
            outputs = replace(NestedValue.pushing(*whole), continues=value.continues)
            value = replace(value, older=value.older.dropped(len(whole)), continues=False)
            yield Step(f"{self.rule}-step", (value,), operator, (outputs,))
        yield from run(operator, (value,))

    def _begin(self, value: NestedValue) -> Step:
        operator, weights = self.begun()
        start = NestedValue.pushing((ZSetValue(weights),))
        return Step(f"{self.rule}-begin", (replace(value, continues=True),), operator, (start,))


@dataclass(frozen=True)
class Integrate(RunningZSets):
    """integrate(M): the sum of all inner z-sets up to this one. M is the sum so far."""

    name = "integrate"
    keeps = Bound.ROWS
    retracts = False
    rule = "integrate"

    def begun(self) -> tuple[Self, Weights]:
        return self, self.remembered


@dataclass(frozen=True)
class Differentiate(RunningZSets):
    """differentiate(M): each inner z-set minus the one before it. M is the part of the current one that has arrived."""

    name = "differentiate"
    keeps = Bound.VALUE
    rule = "differentiate"

    def begun(self) -> tuple[Self, Weights]:
        before = self.remembered.to_dict()
        return type(self)(), PersistentMap((element, -weight) for element, weight in before.items())
