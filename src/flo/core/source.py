"""An operator without inputs: a bounded stream that holds a given value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from flo.core.collection import Collection, Value
from flo.core.derivation import StreamTypes
from flo.core.errors import TypeMismatch
from flo.core.operator import Measure, Operator, Step, Values
from flo.core.stream_type import StreamType


@final
@dataclass(frozen=True)
class Source(Operator):
    """source(C, v): () ↪ (C, B), emits v once. `value` is None when it was emitted."""

    collection: Collection
    value: Value | None = None

    name = "source"
    arity = (0, 1)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        reason = None if self.value is None else self.collection.mismatch(self.value)
        if reason is not None:
            raise TypeMismatch(f"the value of `source` does not belong to its type: {reason}")
        return (StreamType(self.collection, bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        if self.value is not None:
            yield Step("source-emit", (), replace(self, value=None), (self.value,))

    def measure(self, inputs: Values) -> Measure:
        return (0 if self.value is None else 1,)
