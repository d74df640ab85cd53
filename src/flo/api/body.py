"""The body of a `nest` or a `per_key`: a graph built by calling the user's function on inner streams."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from flo.api.compile import compile_scope
from flo.api.scope import Scope
from flo.core.collection import Collection
from flo.core.defer import ReadDefer, WriteDefer
from flo.core.derivation import StreamTypes
from flo.core.errors import DeferError, FloError, Origin, ScopeError
from flo.core.graph import Graph
from flo.core.stream_type import Bounded
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set

if TYPE_CHECKING:
    from flo.api.stream import Stream

T = TypeVar("T")
C = TypeVar("C", bound=Collection)


class Loop:
    """State that is carried from one inner stream to the next: read_defer and write_defer (§5.2)."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._written: dict[str, Origin | None] = {}
        self._read: dict[str, Origin | None] = {}

    @overload
    def read_defer(self, key: str, collection: type[C] | C, *, initial: Any) -> Stream[C, Bounded]: ...
    @overload
    def read_defer(self, key: str, *, initial: set[T] | frozenset[T]) -> Stream[Set[T], Bounded]: ...
    @overload
    def read_defer(self, key: str, *, initial: list[T] | tuple[T, ...]) -> Stream[Sequence[T], Bounded]: ...
    @overload
    def read_defer(self, key: str, *, initial: Counter[T]) -> Stream[Bag[T], Bounded]: ...
    def read_defer(self, key: str, collection: Any = None, *, initial: Any) -> Any:
        """What `write_defer(key, …)` was given for the previous inner stream; `initial` for the first."""
        kind = Collection.of(collection) if collection is not None else inferred(key, initial)
        self._read.setdefault(key, Origin.here())
        (stream,) = self._scope.apply(ReadDefer(key, kind, kind.value(initial).fix()))
        return stream

    def write_defer(self, key: str, stream: Stream[Any, Bounded]) -> None:
        """Hands the stream to `read_defer(key)` of the next inner stream."""
        here = Origin.here()
        if key in self._written:
            first = self._written[key]
            raise DeferError(
                f"`write_defer` writes the key {key!r} twice",
                facts=((str(first), first.text if first else ""), ("write_defer", "writes each key exactly once")),
                instead=((f"loop.write_defer({key!r}, a.union(b))", "one write of both streams"),),
                where=here,
            )
        self._scope.apply(WriteDefer(key), stream)
        self._written[key] = here

    def _locate(self, error: FloError) -> FloError:
        """A refused defer points to the line that reads or writes the key."""
        if isinstance(error, DeferError) and error.key is not None:
            error.where = self._written.get(error.key) or self._read.get(error.key) or error.where
        return error


def inferred(key: str, initial: Any) -> Collection:
    """The collection that plain data stands for; what is written later may have other elements."""
    match initial:
        case set() | frozenset():
            return Set()
        case Counter():
            return Bag()
        case list() | tuple():
            return Sequence()
    raise DeferError(
        f"the collection of `read_defer({key!r})` cannot be told from its initial value",
        facts=(("initial", repr(initial)[:80]),),
        instead=((f"loop.read_defer({key!r}, flo.ZSet[int], initial={{…}})", "say which collection it is"),),
        where=Origin.here(),
    )


def build(
    function: Callable[..., Any], parent: Scope, inner: StreamTypes, verb: str, *, loops: bool
) -> tuple[Graph, Scope, Loop]:
    """Calls the user's function on inner streams of these types, and compiles what it built."""
    origin = Origin.here()
    scope = Scope(f"the body of `{verb}` at {origin}", parent)
    loop = Loop(scope)
    names = _parameters(function, len(inner), loops, verb, origin)
    streams = [scope.add_input(name, kind, origin) for name, kind in zip(names, inner, strict=False)]
    returned = function(*streams, loop) if len(names) > len(inner) else function(*streams)
    outputs = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
    for output in outputs:
        scope.expect_here(output, verb, origin)
    for late in scope.unread_late(outputs):
        raise ScopeError(
            f"the late elements of `{late.name}` would be lost: nothing reads them",
            facts=((late.name, f"stands in {scope.description}"),),
            instead=((f"return …, {late.name}.late", "hands them out of the body"),),
            where=late.origin,
        )
    return compile_scope(scope, outputs), scope, loop


def _parameters(function: Callable[..., Any], count: int, loops: bool, verb: str, origin: Origin | None) -> list[str]:
    """The names that the body gives to its streams, and to its loop if it has one."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [f"inner{number}" for number in range(count)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"inner{number}" for number in range(count)]
    names = [p.name for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    if len(names) == count or (loops and len(names) == count + 1):
        return names
    expected = f"{count} stream{'s' if count != 1 else ''}" + (", and the loop if it wants one" if loops else "")
    raise ScopeError(
        f"the body of `{verb}` takes {len(names)} arguments, and is given {expected}",
        facts=(("body", f"({', '.join(names)})"),),
        where=origin,
    )
