"""Operators without inputs: a bounded stream that holds a given value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from flo.core.collection import Collection, Value
from flo.core.derivation import StreamTypes
from flo.core.errors import FloError, TypeMismatch
from flo.core.operator import Measure, Operator, Step, Values
from flo.core.stream_type import StreamType


class EmitOnce(Operator):
    """() ↪ (C, B): emits a fixed value, once. `value` is None when it was emitted."""

    collection: Collection
    value: Value | None
    rule: ClassVar[str]
    error: ClassVar[type[FloError]] = TypeMismatch
    arity = (0, 1)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        if self.value is not None:
            reason = self.collection.mismatch(self.value)
            if reason is not None or not self.value.fixed():
                raise self.error(
                    f"the value of `{self.name}` is not a fixed {self.collection}: {reason or 'it has no end'}"
                )
        return (StreamType(self.collection, bounded=True),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        if self.value is not None:
            emitted: Any = replace(self, value=None)  # type: ignore[type-var]
            yield Step(self.rule, (), emitted, (self.value,))

    def measure(self, inputs: Values) -> Measure:
        return (0 if self.value is None else 1,)


@final
@dataclass(frozen=True)
class Source(EmitOnce):
    """source(C, v): a stream of given data."""

    collection: Collection
    value: Value | None = None

    name = "source"
    rule = "source-emit"
