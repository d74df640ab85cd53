"""Verbs of keyed streams: a collection, and a graph, per key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from flo.api.arguments import expect_accumulator, expect_function, expect_kind, expect_no_argument
from flo.api.body import build_body
from flo.api.clock_verbs import read_clock
from flo.api.columns import Asked, Columns, KeyOf
from flo.api.event_times import expect_durations_of, times_of
from flo.api.ordering import one_or_tuple
from flo.api.scope import B2, B3, C2, B, B_co, C, C_co, D, K, StreamBase, T, U
from flo.core.errors import TypeMismatch, brief
from flo.core.explained_calls import explain_call
from flo.core.stream_type import StreamType
from flo.core.untyped import AnyFunction
from flo.values.element_value import ElementKind
from flo.values.event_time import Duration
from flo.values.keyed import Keyed
from flo.values.operators.current import LatestResults
from flo.values.operators.keyed_streams import TO_KEYED, Entries, FilterKeys, KeyBy, KeyPartitions, MapValues
from flo.values.operators.per_key import PerKey
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet

if TYPE_CHECKING:
    from flo.api.stream import Clock, CurrentStates, Stream


class KeyedVerbs(StreamBase[C_co, B_co]):
    @overload
    def key_by(self: KeyedVerbs[ElementKind[T, C, D], B], key: Callable[[T], K]) -> Stream[Keyed[K, C], B]: ...
    @overload
    def key_by(self: KeyedVerbs[ElementKind[T, C, D], B], key: Columns | list[Columns]) -> Stream[Keyed[Any, C], B]: ...
    @overload
    def key_by(self: KeyedVerbs[Partitioned[T], B], key: Callable[[T], K]) -> Stream[Keyed[K, Sequence[T]], B]: ...
    @overload
    def key_by(
        self: KeyedVerbs[Partitioned[T], B], key: Columns | list[Columns]
    ) -> Stream[Keyed[Any, Sequence[T]], B]: ...
    def key_by(self, key: object) -> Any:
        """Split into one stream per key; the order within each key is kept. In a partitioned log all rows of a key must
        be in one partition."""
        operator = KeyPartitions if isinstance(self.collection, Partitioned) else KeyBy
        return self._then(operator(expect_function("key_by", "key", one_or_tuple(key), self)))

    @overload
    def per_key(
        self: KeyedVerbs[Keyed[K, C], B], body: Callable[[Stream[C, B]], Stream[D, B2]]
    ) -> Stream[Keyed[K, D], B2]: ...
    @overload
    def per_key(
        self: KeyedVerbs[Keyed[K, C], B],
        body: Callable[[Stream[C, B], Stream[C2, B3]], Stream[D, B2]],
        other: Stream[Keyed[K, C2], B3],
    ) -> Stream[Keyed[K, D], B2]: ...
    def per_key(self, body: Any, other: Any = None) -> Any:
        """Run a separate graph for every key, on this stream and optionally on another one with the same keys."""
        others = () if other is None else (other,)
        streams: tuple[Any, ...] = (self, *others)
        for stream in others:
            self.scope.expect_here(stream, "per_key")
        for stream in streams:
            expect_kind("per_key", stream, Keyed, signature=PerKey.signature, instead=TO_KEYED)
        inner = tuple(StreamType(stream.collection.inner, stream.bounded) for stream in streams)
        graph, scope, _ = build_body(body, self.scope, inner, "per_key", loops=False, outer=streams)
        outputs = self.apply(PerKey(graph), *others, *scope.shared)
        outputs[0].vertex.body = scope
        return outputs[0] if len(outputs) == 1 else outputs

    @overload
    def current(
        self: KeyedVerbs[Keyed[K, Sequence[T]], B], initial: U, f: Callable[[U, T], U]
    ) -> Stream[ZSet[tuple[K, U]], B]: ...
    @overload
    def current(
        self: KeyedVerbs[Keyed[K, Sequence[T]], B],
        initial: U,
        f: Callable[[U, T], U],
        *,
        clock: Clock[Any, B2],
        keep: Duration,
    ) -> CurrentStates[tuple[K, U], B | B2]: ...
    @explain_call(initial="current(0, f)", f="current(0, f)")
    def current(self, initial: object, f: AnyFunction, *, clock: Any = None, keep: Any = None) -> Any:
        """Return the latest result of a running function for each key, as a z-set of (key, result). `f` gets the result
        so far, at first `initial`, and the next row of the key.

        With a clock, a key expires when nothing has come for `keep`: when the clock, or the next row of the key, is
        more than `keep` past its largest time. Then it is retracted, goes to the side output `.expired`, and is
        forgotten.
        """
        from flo.api.stream import CurrentStates

        expect_kind("current", self, Keyed, signature=LatestResults.signature, instead=TO_KEYED)
        function = expect_accumulator("current", initial, f, self)
        if type(initial).__hash__ is None:
            raise TypeMismatch(
                f"a state of `current` must be hashable; `initial` is {brief(initial)}",
                instead=(("a tuple, a NamedTuple or a frozen dataclass", "states that can be rows of a table"),),
            ).at_users_line()
        if clock is None:
            expect_no_argument("current", "keep", keep, "a key expires by a `clock`")
            return self._then(LatestResults(initial, function))
        operator, shared = read_clock("current", self, clock)
        for time, rows in times_of(clock):
            expect_durations_of("current", time, rows, keep=keep)
        results = LatestResults(initial, function, operator.time, keep)
        states, expired = self.scope.apply(results, self, shared, verb="current")
        result = states._as(CurrentStates)
        result.expired = expired
        return result

    @overload
    def map_values(
        self: KeyedVerbs[Keyed[K, Sequence[T]], B], f: Callable[[T], U]
    ) -> Stream[Keyed[K, Sequence[U]], B]: ...
    @overload
    def map_values(self: KeyedVerbs[Keyed[K, Bag[T]], B], f: Callable[[T], U]) -> Stream[Keyed[K, Bag[U]], B]: ...
    @overload
    def map_values(self: KeyedVerbs[Keyed[K, Set[T]], B], f: Callable[[T], U]) -> Stream[Keyed[K, Set[U]], B]: ...
    @overload
    def map_values(self: KeyedVerbs[Keyed[K, ZSet[T]], B], f: Callable[[T], U]) -> Stream[Keyed[K, ZSet[U]], B]: ...
    @overload
    def map_values(self: KeyedVerbs[Keyed[K, ElementKind[T, C, D]], B], f: Columns) -> Stream[Keyed[K, D], B]: ...
    def map_values(self, f: Any) -> Any:
        """Apply `f` to every element of every key."""
        return self._then(MapValues(expect_function("map_values", "f", f, self)))

    def filter_keys(self: KeyedVerbs[Keyed[K, C], B], keep: Asked[K]) -> Stream[Keyed[K, C], B]:
        """Keep the streams of the keys for which `keep` is true."""
        return self._then(FilterKeys(expect_function("filter_keys", "keep", keep, KeyOf(self), gives=bool)))

    @overload
    def entries(self: KeyedVerbs[Keyed[K, Sequence[T] | Bag[T]], B]) -> Stream[Bag[tuple[K, T]], B]: ...
    @overload
    def entries(self: KeyedVerbs[Keyed[K, Set[T]], B]) -> Stream[Set[tuple[K, T]], B]: ...
    @overload
    def entries(self: KeyedVerbs[Keyed[K, ZSet[T]], B]) -> Stream[ZSet[tuple[K, T]], B]: ...
    @overload
    def entries(self: KeyedVerbs[Keyed[K, C], B]) -> Stream[Any, B]: ...
    def entries(self) -> Any:
        """Return to a plain stream of (key, element). Keys have no order, so sequences become a bag."""
        return self._then(Entries())
