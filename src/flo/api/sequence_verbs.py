"""Verbs of ordered sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from flo.api.arguments import accumulating, expect_parameters, optional
from flo.api.base import B_co, C_co, StreamBase, Wider
from flo.api.columns import Asked
from flo.core.nested import Nested
from flo.core.stream_type import Bounded, Unbounded
from flo.values.operators.pairs import MergeSorted
from flo.values.operators.sequences import Batch, Enumerate, Scan, Take, Window
from flo.values.sequence import Sequence

if TYPE_CHECKING:
    from flo.api.stream import Stream

T = TypeVar("T")
U = TypeVar("U")
B = TypeVar("B", bound=Unbounded)


class SequenceVerbs(StreamBase[C_co, B_co]):
    def scan(self: SequenceVerbs[Sequence[T], B], initial: U, f: Callable[[U, T], U]) -> Stream[Sequence[U], B]:
        """The running result, one for each element."""
        return self._then(Scan(initial, accumulating("scan", initial, f, self)))

    def enumerate(self: SequenceVerbs[Sequence[T], B]) -> Stream[Sequence[tuple[int, T]], B]:
        """Every element with its position, from 0."""
        return self._then(Enumerate())

    def take(self: SequenceVerbs[Sequence[T], B], count: int) -> Stream[Sequence[T], B]:
        """The first `count` elements, and then the end."""
        return self._then(Take(count))

    def first(self: SequenceVerbs[Sequence[T], B]) -> Stream[Sequence[T], B]:
        """The first element, and then the end."""
        return self._then(Take(1))

    def batch(self: SequenceVerbs[Sequence[T], B], count: int) -> Stream[Nested[Sequence[T]], B]:
        """An inner stream for every `count` elements. A bounded stream also gives its last, shorter batch."""
        return self._then(Batch(count))

    def window(self: SequenceVerbs[Sequence[tuple[T, Any]], B], interval: Any) -> Stream[Nested[Sequence[T]], B]:
        """The paper's window over (value, timestamp) pairs: it spans at most `interval` from its first one."""
        return self._then(Window(interval))

    @overload
    def merge(
        self: SequenceVerbs[Sequence[T], Bounded], other: Stream[C_co, Bounded], key: Asked[T] | None = None
    ) -> Stream[Sequence[T], Bounded]: ...
    @overload
    def merge(
        self: SequenceVerbs[Sequence[Any], Bounded],
        other: Wider[C_co, Sequence[U], Bounded],
        key: Asked[U] | None = None,
    ) -> Stream[Sequence[U], Bounded]: ...
    def merge(self, other: Any, key: Any = None) -> Any:
        """Two bounded sequences that are sorted by `key`, or by their elements, as one that is."""
        key = optional("merge", "key", key, self)
        if key is not None:
            expect_parameters("merge", key, other)
        return self._then(MergeSorted(key), other)
