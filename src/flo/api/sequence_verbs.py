"""Verbs of ordered sequences and of nested streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from flo.api.aligning import align_rows
from flo.api.arguments import (
    expect_accumulator,
    expect_function,
    expect_kind,
    expect_optional,
    expect_parameters,
)
from flo.api.body import Loop, build_body
from flo.api.columns import Asked, Columns
from flo.api.event_times import expect_time, expect_timed_pairs
from flo.api.ordering import one_or_tuple
from flo.api.scope import C2, C3, B, B_co, C, C_co, D, E, StreamBase, T, U, Wider
from flo.core.errors import DeferError
from flo.core.explained_calls import explain_call
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.stream_type import Bounded
from flo.values.event_time import Duration
from flo.values.operators.dedupe import Dedupe, first_by
from flo.values.operators.nested_streams import Flatten, NestOnce, RepeatNested, RepeatNestedBy
from flo.values.operators.pairs import MergeSorted
from flo.values.operators.sequences import Alert, Batch, Enumerate, Scan, Take, Window, order_for
from flo.values.operators.zset_streams import Differentiate, Integrate
from flo.values.sequence import Sequence
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream


class SequenceVerbs(StreamBase[C_co, B_co]):
    def scan(self: SequenceVerbs[Sequence[T], B], initial: U, f: Callable[[U, T], U]) -> Stream[Sequence[U], B]:
        """Return the running result after each element."""
        return self._then(Scan(initial, expect_accumulator("scan", initial, f, self)))

    def enumerate(self: SequenceVerbs[Sequence[T], B]) -> Stream[Sequence[tuple[int, T]], B]:
        """Pair every element with its position, from 0."""
        return self._then(Enumerate())

    def take(self: SequenceVerbs[Sequence[T], B], count: int) -> Stream[Sequence[T], B]:
        """Return the first `count` elements, and then the end."""
        return self._then(Take(count))

    def first(self: SequenceVerbs[Sequence[T], B]) -> Stream[Sequence[T], B]:
        """Return the first element, and then the end."""
        return self._then(Take(1))

    @explain_call(
        on='dedupe("id", "at", keep=60)', time='dedupe("id", "at", keep=60)', keep='dedupe("id", "at", keep=60)'
    )
    def dedupe(
        self: SequenceVerbs[Sequence[T], B], on: Asked[T] | list[Columns], time: Asked[T], keep: Duration
    ) -> Stream[Sequence[T], B]:
        """Return the first row of each key `on`, at once.

        The key is forgotten when the largest time of the stream is more than `keep` past the largest time when the row
        came. A row with that key that comes after that is again a first one.
        """
        expect_kind("dedupe", self, Sequence, signature=Dedupe.signature, instead=first_by(self.collection))
        key = expect_function("dedupe", "on", one_or_tuple(on), self)
        return self._then(Dedupe(key, expect_time("dedupe", time, self, keep=keep), keep))

    def alert(
        self: SequenceVerbs[Sequence[T], B], when: Asked[T], *, recovered: Asked[T] | None = None
    ) -> Stream[Sequence[T], B]:
        """Return the elements at which the condition `when` becomes true: the first one, and again the first one after
        an element that has `recovered`. Without that condition, one for which `when` is not true has recovered."""
        expect_kind("alert", self, Sequence, signature=Alert.signature, instead=order_for(Alert.name, self.type))
        condition = expect_function("alert", "when", when, self, gives=bool)
        end = None if recovered is None else expect_function("alert", "recovered", recovered, self, gives=bool)
        return self._then(Alert(condition, end))

    def batch(self: SequenceVerbs[Sequence[T], B], count: int) -> Stream[Nested[Sequence[T]], B]:
        """Make an inner stream of every `count` elements. A bounded stream also emits its last, shorter batch."""
        return self._then(Batch(count))

    @explain_call(interval="window(60)")
    def window(self: SequenceVerbs[Sequence[tuple[T, Any]], B], interval: Duration) -> Stream[Nested[Sequence[T]], B]:
        """The paper's window over (value, timestamp) pairs: it spans at most `interval` from its first pair."""
        if isinstance(self.collection, Sequence):
            expect_timed_pairs(self, interval)
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
        """Merge two bounded sequences that are sorted by `key`, or by their elements."""
        key = expect_optional("merge", "key", key, self)
        if key is not None:
            expect_parameters("merge", key, other)
        this, other = align_rows("merge", self, other)
        return this._then(MergeSorted(key), other)


TO_NESTED = (("{input}.batch(n).nest(…)", "one inner stream per n elements"),)


class NestedVerbs(StreamBase[C_co, B_co]):
    @overload
    def nest(
        self: NestedVerbs[Nested[C], B], body: Callable[[Stream[C, Bounded]], Stream[D, Bounded]]
    ) -> Stream[Nested[D], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C], B], body: Callable[[Stream[C, Bounded], Loop], Stream[D, Bounded]]
    ) -> Stream[Nested[D], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C, C2], B],
        body: Callable[[Stream[C, Bounded], Stream[C2, Bounded]], Stream[D, Bounded]],
    ) -> Stream[Nested[D], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C], B],
        body: Callable[[Stream[C, Bounded]], tuple[Stream[D, Bounded], Stream[E, Bounded]]],
    ) -> Stream[Nested[D, E], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C], B],
        body: Callable[[Stream[C, Bounded], Loop], tuple[Stream[D, Bounded], Stream[E, Bounded]]],
    ) -> Stream[Nested[D, E], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C, C2] | Nested[C, C2, C3], B], body: Callable[..., Stream[D, Bounded]]
    ) -> Stream[Nested[D], B]: ...
    def nest(self, body: Any) -> Any:
        """Run a graph on every inner stream, one after the other.

        The body gets the inner streams, and a `Loop` if it takes one more argument, to pass state to the next round.
        """
        expect_kind("nest", self, Nested, signature=Nest.signature, instead=TO_NESTED)
        nested = self.collection
        assert isinstance(nested, Nested)
        graph, scope, loop = build_body(body, self.scope, nested.inner, "nest", loops=True)
        try:
            output = self._then(Nest(graph))
        except DeferError as error:
            raise loop._locate(error).at_users_line() from None
        output.vertex.body = scope
        return output

    def flatten(self: NestedVerbs[Nested[C], B]) -> Stream[C, B]:
        """Combine all inner streams into one stream; sequences are concatenated in order."""
        return self._then(Flatten())

    def repeat_nested(
        self: NestedVerbs[C, Bounded], times: int | Stream[Sequence[int], Bounded]
    ) -> Stream[Nested[C], Bounded]:
        """Repeat the whole stream as `times` inner streams; the number may come from a stream."""
        return self._then(RepeatNested(times)) if isinstance(times, int) else self._then(RepeatNestedBy(), times)

    def nest_once(
        self: NestedVerbs[C, Bounded], driver: Stream[Nested[Any], B] | Stream[Nested[Any, Any], B]
    ) -> Stream[Nested[C], B]:
        """Make the whole stream the first inner stream; every further inner stream of the driver adds an empty one."""
        return self._then(NestOnce(), driver)

    def integrate(self: NestedVerbs[Nested[ZSet[T]], B]) -> Stream[Nested[ZSet[T]], B]:
        """Return the sum of all inner z-sets so far, after each of them."""
        return self._then(Integrate())

    def differentiate(self: NestedVerbs[Nested[ZSet[T]], B]) -> Stream[Nested[ZSet[T]], B]:
        """Return the change of every inner z-set from the one before."""
        return self._then(Differentiate())
