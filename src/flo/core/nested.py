"""Nested streams (§5.1), the ordered sequence of streams: its values, its `++`, its type.

A value is a sequence of tuples of inner values, oldest first (the paper writes the newest on the left). A delta may
*continue*: its oldest tuple then extends the newest tuple on the left of `++`, instead of following it. This is the
paper's flag: `true` for a tuple that is pushed, `false` for one that extends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVarTuple

from flo.core.collection import Collection, End, Value, call
from flo.core.errors import ElementError, brief
from flo.core.operator import Values, concat_all
from flo.core.persistent import Elements
from flo.core.stream_type import StreamType, is_subtype
from flo.core.term import Lowering, Term


@dataclass(frozen=True, slots=True)
class NestedValue(Value):
    """[(c₁₁, …), (c₂₁, …), …]: only the newest tuple can still grow."""

    older: Elements[Values]
    newest: Values | None = None
    continues: bool = False
    end: End = End.OPEN

    kind = "nested"

    @classmethod
    def pushing(cls, *tuples: Values) -> NestedValue:
        """The delta that appends these tuples."""
        return cls(Elements(tuples[:-1]), tuples[-1] if tuples else None)

    @classmethod
    def extending(cls, deltas: Values) -> NestedValue:
        """The delta that extends the newest tuple."""
        return cls(Elements(), deltas, continues=True)

    def __len__(self) -> int:
        return len(self.older) + (self.newest is not None)

    def __iter__(self) -> Iterator[Values]:
        yield from self.older
        if self.newest is not None:
            yield self.newest

    def oldest(self) -> Values | None:
        return self.older[0] if self.older else self.newest

    def has_next(self) -> bool:
        """Return whether a tuple follows the oldest one."""
        return len(self.older) > 0

    def with_oldest(self, values: Values) -> NestedValue:
        if not self.older:
            return replace(self, newest=values)
        return replace(self, older=Elements([values]).extended(list(self.older.dropped(1))))

    def without_oldest(self) -> NestedValue:
        if not self.older:
            return replace(self, newest=None, continues=False)
        return replace(self, older=self.older.dropped(1), continues=False)

    def passed(self) -> NestedValue:
        """⊗: the end was passed on."""
        return NestedValue(Elements(), end=End.PASSED)

    def concat(self, delta: NestedValue) -> NestedValue:
        if self.end is not End.OPEN:
            return self
        if self.newest is None:
            return delta
        if delta.newest is None:
            return replace(self, end=delta.end)
        if not delta.continues:
            older = self.older.extended([self.newest]).extended(delta.older)
            return replace(self, older=older, newest=delta.newest, end=delta.end)
        head, *rest = delta
        extended = concat_all(self.newest, head)
        if not rest:
            return replace(self, newest=extended, end=delta.end)
        older = self.older.extended([extended, *rest[:-1]])
        return replace(self, older=older, newest=rest[-1], end=delta.end)

    def empty(self) -> NestedValue:
        return NestedValue(Elements())

    def fix(self) -> NestedValue:
        """Fix the inner streams too: a value does not know which of them are bounded (docs/deviations.md, 13)."""
        tuples = (tuple(value.fix() for value in values) for values in self)
        end = self.end if self.fixed() else End.ARRIVED
        return replace(NestedValue.pushing(*tuples), continues=self.continues, end=end)

    def take(self) -> tuple[NestedValue, NestedValue]:
        if self.end is End.ARRIVED:
            return self.passed(), self
        if self.newest is None:
            return self, self
        taken = [value.take() for value in self.newest]
        stays = NestedValue(Elements(), tuple(rest for rest, _ in taken), continues=True)
        return stays, replace(self, newest=tuple(delta for _, delta in taken))

    def send(self, at_most: int | None = None) -> tuple[NestedValue, NestedValue]:
        """Send only complete tuples: the newest one waits until its streams have ended. A tuple that `continues` was
        already sent."""
        waiting = list(self)[self.continues :]
        complete = len(waiting) - (self.end is End.OPEN and not all(v.fixed() for v in self.newest or ()))
        count = complete if at_most is None else min(at_most, complete)
        sent = NestedValue.pushing(*waiting[:count])
        if count < len(waiting):
            return replace(NestedValue.pushing(*waiting[count:]), end=self.end), sent
        stays, _ = self.take()
        return stays, replace(sent, end=self.end)

    def size(self) -> int:
        new = len(self) - self.continues if self.newest is not None else 0
        inner = sum(value.size() for values in self for value in values)
        return new + inner + (self.end is End.ARRIVED)

    def lower(self, lower: Lowering) -> Term:
        return call(self.kind, tuple(self), self.continues, self.end, lower=lower)

    @classmethod
    def lift(cls, *parts: Any) -> NestedValue:
        tuples, continues, end = (*parts, False, False)[:3]
        return replace(cls.pushing(*tuples), continues=continues, end=End.lift(end))


Cs = TypeVarTuple("Cs")


class Nested(Collection, Generic[*Cs]):
    """[(S₁, …, Sₙ)]: the type of ordered sequences of tuples of streams."""

    name = "Nested"

    def __init__(self, *inner: StreamType | Collection) -> None:
        self.inner = tuple(s if isinstance(s, StreamType) else StreamType(s, bounded=True) for s in inner)

    @classmethod
    def parameterised(cls, *parameters: object) -> Nested[*tuple[Any, ...]]:
        return cls(*map(Collection.of, parameters))

    def bottom(self) -> NestedValue:
        return NestedValue(Elements())

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, NestedValue):
            return f"{self} has no value {value!r}"
        for number, values in enumerate(value):
            continued = number == 0 and value.continues  # may extend a tuple that is already fixed
            if len(values) != len(self.inner):
                return f"inner tuple {number} must have {len(self.inner)} streams, as in {self}; got {len(values)}"
            newest = number == len(value) - 1
            for stream, inner in zip(values, self.inner, strict=True):
                reason = inner.collection.mismatch(stream)
                if reason is not None:
                    return f"inner stream {number}: {reason}"
                closed = not newest or value.end is End.ARRIVED
                if inner.bounded and not stream.fixed() and closed and not continued:
                    return f"inner stream {number} is bounded, but has no end"
        return None

    def accepts(self, other: Collection) -> bool:
        return (
            isinstance(other, Nested)
            and len(other.inner) == len(self.inner)
            and all(map(is_subtype, other.inner, self.inner))
        )

    def value(self, data: Any) -> NestedValue:
        if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
            raise ElementError(
                f"{{input}} must be an iterable of inner streams; got one {type(data).__name__}",
                facts=(("given", brief(data)), ("{input}", str(self))),
            )
        tuples: list[Values] = []
        for position, item in enumerate(data):
            try:
                tuples.append(self._tuple(item))
            except ElementError as error:
                raise error.inside(f"inner stream {position}") from None
        return NestedValue.pushing(*tuples)

    def _tuple(self, item: object) -> Values:
        parts = (item,) if len(self.inner) == 1 else item
        if not isinstance(parts, tuple) or len(parts) != len(self.inner):
            raise ElementError(
                f"it must be a tuple of {len(self.inner)} collections",
                facts=(("given", brief(item)), ("expected", str(self))),
            )
        values = (stream.collection.value(part) for stream, part in zip(self.inner, parts, strict=True))
        return tuple(v.fix() if s.bounded else v for s, v in zip(self.inner, values, strict=True))

    def pieces(self, data: object) -> list[list[Value]]:
        return [[NestedValue.pushing(values) for values in self.value(data)]]

    def plain(self, value: NestedValue) -> list[Any]:
        tuples = list(value)[value.continues :]
        inner = [tuple(s.collection.plain(v) for s, v in zip(self.inner, values, strict=True)) for values in tuples]
        return [values[0] for values in inner] if len(self.inner) == 1 else inner

    def parts(self) -> tuple[Any, ...]:
        return self.inner

    def __str__(self) -> str:
        return f"Nested[{', '.join(str(s.collection) if s.bounded else str(s) for s in self.inner)}]"

    def in_full(self) -> str:
        return f"Nested[{', '.join(s.collection.in_full() if s.bounded else f'({s.in_full()})' for s in self.inner)}]"
