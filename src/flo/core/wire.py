"""Plumbing: one operator that duplicates, reorders and drops streams of any collection.

`wire(n, (i, j, …))` sends input i to its first output, input j to its second, and so on. `id`, `tee`, `swap` and
`drop` are its everyday forms; `tee` is the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from flo.core.derivation import StreamTypes
from flo.core.operator import Operator, Step, Values
from flo.core.term import Call, Lowering, Term, register

_NAMES = {(1, (0,)): "id", (1, (0, 0)): "tee", (2, (1, 0)): "swap", (1, ()): "drop"}


@final
@dataclass(frozen=True)
class Wire(Operator):
    """Output number j carries input number `routes[j]`."""

    count: int
    routes: tuple[int, ...]

    name = "wire"

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
                kept = (*inputs[:index], rest, *inputs[index + 1 :])
                yield Step(rule, kept, self, tuple(delta if route == index else None for route in self.routes))

    def lower(self, lower: Lowering) -> Term:
        short = _NAMES.get((self.count, self.routes))
        return Call(short) if short else Call(self.name, (self.count, self.routes))


for _shape, _name in _NAMES.items():
    register(_name, lambda shape=_shape: Wire(*shape))


def identity(count: int = 1) -> Wire:
    """Every stream as it is."""
    return Wire(count, tuple(range(count)))
