"""Verbs that make and consume streams of streams (§5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from flo.api.arguments import expect_kind
from flo.api.base import B_co, C_co, StreamBase
from flo.api.body import Loop, build
from flo.core.collection import Collection
from flo.core.errors import DeferError, Origin
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.stream_type import Bounded, Unbounded
from flo.values.operators.nested import Flatten, NestOnce, RepeatNested, RepeatNestedBy
from flo.values.operators.zset_streams import Differentiate, Integrate
from flo.values.sequence import Sequence
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream

T = TypeVar("T")
C = TypeVar("C", bound=Collection)
C2 = TypeVar("C2", bound=Collection)
C3 = TypeVar("C3", bound=Collection)
D = TypeVar("D", bound=Collection)
E = TypeVar("E", bound=Collection)
B = TypeVar("B", bound=Unbounded)

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
        self: NestedVerbs[Nested[C, C2], B],
        body: Callable[[Stream[C, Bounded], Stream[C2, Bounded]], Stream[D, Bounded]],
    ) -> Stream[Nested[D], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C, C2], B],
        body: Callable[[Stream[C, Bounded], Stream[C2, Bounded], Loop], Stream[D, Bounded]],
    ) -> Stream[Nested[D], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C, C2, C3], B],
        body: Callable[[Stream[C, Bounded], Stream[C2, Bounded], Stream[C3, Bounded]], Stream[D, Bounded]],
    ) -> Stream[Nested[D], B]: ...
    @overload
    def nest(
        self: NestedVerbs[Nested[C, C2, C3], B],
        body: Callable[[Stream[C, Bounded], Stream[C2, Bounded], Stream[C3, Bounded], Loop], Stream[D, Bounded]],
    ) -> Stream[Nested[D], B]: ...
    def nest(self, body: Any) -> Any:
        """Runs a graph on every inner stream, one after the other.

        The body gets the inner streams, and a `Loop` if it takes one more argument: to hand state to the next round.
        """
        here = Origin.here()
        expect_kind("nest", self, Nested, signature=Nest.signature, instead=TO_NESTED)
        nested = self.collection
        assert isinstance(nested, Nested)
        graph, scope, loop = build(body, self.scope, nested.inner, "nest", loops=True)
        try:
            output = self._then(Nest(graph))
        except DeferError as error:
            raise loop._locate(error).located(here) from None
        output.source.body = scope
        return output

    @overload
    def flatten(self: NestedVerbs[Nested[C], B]) -> Stream[C, B]: ...
    @overload
    def flatten(self: NestedVerbs[Nested[Any], B]) -> Stream[Any, B]: ...
    def flatten(self) -> Any:
        """The contents of all inner streams as one stream, in their order where there is one."""
        return self._then(Flatten())

    def repeat_nested(
        self: NestedVerbs[C, Bounded], times: int | Stream[Sequence[int], Bounded]
    ) -> Stream[Nested[C], Bounded]:
        """The whole stream again and again, as so many inner streams; the number may come from a stream."""
        return self._then(RepeatNested(times)) if isinstance(times, int) else self._then(RepeatNestedBy(), times)

    def nest_once(
        self: NestedVerbs[C, Bounded], driver: Stream[Nested[Any], B] | Stream[Nested[Any, Any], B]
    ) -> Stream[Nested[C], B]:
        """The whole stream as the first inner stream, and empty ones for every further inner stream of the driver."""
        return self._then(NestOnce(), driver)

    def integrate(self: NestedVerbs[Nested[ZSet[T]], B]) -> Stream[Nested[ZSet[T]], B]:
        """After every inner z-set, the sum of all so far."""
        return self._then(Integrate())

    def differentiate(self: NestedVerbs[Nested[ZSet[T]], B]) -> Stream[Nested[ZSet[T]], B]:
        """For every inner z-set, the change from the one before."""
        return self._then(Differentiate())
