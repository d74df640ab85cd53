"""Structural operators, which work on streams of any collection: `wire` and `source`.

`wire(n, (i, j, …))` duplicates, reorders and drops streams: it sends input i to its first output, input j to its
second, and so on. `id`, `tee`, `swap` and `drop` are its common cases; `tee` is the paper's. `source` emits given data
once, and shares its base class `EmitOnce` with `read_defer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flo.core.collection import Collection, Value
from flo.core.errors import FloError, TypeMismatch
from flo.core.operator import Bound, Measure, Operator, Step, Values, replaced
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.term import Call, Lowering, Term, register

_NAMES = {(1, (0,)): "id", (1, (0, 0)): "tee", (2, (1, 0)): "swap", (1, ()): "drop"}


@dataclass(frozen=True)
class Wire(Operator):
    """Output j carries input `routes[j]`."""

    count: int
    routes: tuple[int, ...]

    name = "wire"
    keeps = Bound.NOTHING

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return self.count, len(self.routes)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return tuple(inputs[route] for route in self.routes)

    def steps(self, inputs: Values) -> Iterator[Step]:
        rule = _NAMES.get((self.count, self.routes), self.name)
        for index, value in enumerate(inputs):
            if value.size():
                rest, delta = value.take()
                outputs = tuple(delta if route == index else None for route in self.routes)
                yield Step(rule, replaced(inputs, index, rest), self, outputs)

    def lower(self, lower: Lowering) -> Term:
        short = _NAMES.get((self.count, self.routes))
        return Call(short) if short else Call(self.name, (self.count, self.routes))


for _shape, _name in _NAMES.items():
    register(_name, lambda shape=_shape: Wire(*shape))


def identity(count: int = 1) -> Wire:
    """Return the wire that passes `count` streams through unchanged."""
    return Wire(count, tuple(range(count)))


class EmitOnce(Operator):
    """() ↪ (C, B): emits a fixed value, once. Afterwards `value` is None."""

    collection: Collection
    value: Value | None
    rule: ClassVar[str]
    error: ClassVar[type[FloError]] = TypeMismatch
    arity = (0, 1)
    keeps = Bound.NOTHING
    retracts = True  # its value may: see `program/retractions.py`

    def type(self, inputs: StreamTypes) -> StreamTypes:
        if self.value is not None:
            reason = self.collection.mismatch(self.value)
            if reason is not None or not self.value.fixed():
                raise self.error(
                    f"the value of `{self.name}` must be a fixed {self.collection}: {reason or 'it has no end'}"
                )
        return (StreamType(self.collection, bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        if self.value is not None:
            emitted: Any = replace(self, value=None)
            yield Step(self.rule, (), emitted, (self.value,))

    def measure(self, inputs: Values) -> Measure:
        return (0 if self.value is None else 1,)


@dataclass(frozen=True)
class Source(EmitOnce):
    """source(C, v): a bounded stream of the given data."""

    collection: Collection
    value: Value | None = None

    name = "source"
    rule = "source-emit"
