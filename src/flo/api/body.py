"""The body of a `nest` or a `per_key`: the graph that the user's function builds from inner streams."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import TYPE_CHECKING, Any, overload

from flo.api.arguments import call_located, expect_callable
from flo.api.scope import AnyStream, C, Scope, T
from flo.core.collection import Collection
from flo.core.errors import DeferError, FloError, Origin, ScopeError, TypeMismatch, brief
from flo.core.explained_calls import explain_methods
from flo.core.graph import Graph
from flo.core.nest import ReadDefer, WriteDefer
from flo.core.stream_type import Bounded, StreamTypes
from flo.core.structural import Source
from flo.core.untyped import AnyFunction
from flo.program.dag import Dag, sort_by_readers
from flo.program.tree import to_graph
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set

if TYPE_CHECKING:
    from flo.api.stream import Stream


@explain_methods
class Loop:
    """State carried from one inner stream to the next: read_defer and write_defer (§5.2)."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._written: dict[str, Origin | None] = {}
        self._read: dict[str, Origin | None] = {}

    @overload
    def read_defer(self, key: str, collection: type[C] | C, *, initial: object) -> Stream[C, Bounded]: ...
    @overload
    def read_defer(self, key: str, *, initial: set[T] | frozenset[T]) -> Stream[Set[T], Bounded]: ...
    @overload
    def read_defer(self, key: str, *, initial: list[T] | tuple[T, ...]) -> Stream[Sequence[T], Bounded]: ...
    @overload
    def read_defer(self, key: str, *, initial: Counter[T]) -> Stream[Bag[T], Bounded]: ...
    def read_defer(self, key: str, collection: object = None, *, initial: object) -> Any:
        """Return what `write_defer(key, …)` wrote for the previous inner stream; `initial` for the first one."""
        kind = call_located(Collection.of, collection) if collection is not None else infer_collection(key, initial)
        self._read.setdefault(key, Origin.here())
        (stream,) = self._scope.apply(
            ReadDefer(key, kind, call_located(kind.value, initial, about=f"`read_defer({key!r})`").fix())
        )
        return stream

    def write_defer(self, key: str, stream: Stream[Any, Bounded]) -> None:
        """Pass the stream to `read_defer(key)` of the next inner stream."""
        here = Origin.here()
        if key in self._written:
            first = self._written[key]
            raise DeferError(
                f"`write_defer` writes the key {key!r} twice",
                facts=((str(first), first.text if first else ""), ("write_defer", "must write each key exactly once")),
                instead=((f"loop.write_defer({key!r}, a.union(b))", "one write of both streams"),),
            ).at_users_line()
        self._scope.apply(WriteDefer(key), stream)
        self._written[key] = here

    def constant(self, collection: type[C] | C, data: object) -> Stream[C, Bounded]:
        """Return a bounded stream of the given data, the same for every inner stream."""
        return add_constant(self._scope, collection, data)

    def _locate(self, error: FloError) -> FloError:
        """Make an error about a defer key point to the line that reads or writes it."""
        if isinstance(error, DeferError) and error.key is not None:
            error.where = self._written.get(error.key) or self._read.get(error.key) or error.where
        return error


def add_constant(scope: Scope, collection: object, data: object) -> AnyStream:
    """Return a bounded stream of the given data."""
    kind = call_located(Collection.of, collection)
    value = call_located(kind.value, data, about="`constant`").fix()
    return scope.apply(Source(kind, value), verb="constant")[0]


def infer_collection(key: str, initial: object) -> Collection:
    """Return the collection of plain data. Its element type is left open, because later writes may have another."""
    match initial:
        case set() | frozenset():
            return Set()
        case Counter():
            return Bag()
        case list() | tuple():
            return Sequence()
    raise DeferError(
        f"cannot infer the collection of `read_defer({key!r})` from its initial value",
        facts=(("initial", brief(initial)),),
        instead=((f"loop.read_defer({key!r}, flo.ZSet[int], initial={{…}})", "specify the collection"),),
    ).at_users_line()


def build_body(
    function: AnyFunction,
    parent: Scope,
    inner: StreamTypes,
    verb: str,
    *,
    loops: bool,
    outer: tuple[AnyStream, ...] = (),
) -> tuple[Graph, Scope, Loop]:
    """Call the user's function on inner streams of these types, and compile the graph that it built."""
    origin = Origin.here()
    expect_callable(verb, "body", function)
    scope = Scope(f"the body of `{verb}` at {origin}", parent, outer=outer)
    loop = Loop(scope)
    names = name_streams(function, len(inner), loops, verb, origin, "the loop" if loops else "")
    streams = [scope.add_input(name, kind, origin) for name, kind in zip(names, inner, strict=False)]
    returned = function(*streams, loop) if len(names) > len(inner) else function(*streams)
    outputs = scope.outputs = returned_streams(returned, scope, verb, origin, may_be_none=loops)
    for late in scope.unread_late(outputs):
        raise ScopeError(
            f"the late elements of `{late.name}` would be lost: nothing reads them",
            facts=((late.name, f"is in {scope.description}"),),
            instead=((f"return …, {late.name}.late", "returns them from the body"),),
            where=late.origin,
        )
    return compile_body(scope), scope, loop


def compile_body(scope: Scope) -> Graph:
    """Compile the graph of a body. It is the same for any order of the statements, and so are the inputs from around
    the body: they are in the order in which they are read."""
    vertices = sort_by_readers(scope.vertices, scope.outputs)
    read = [stream for vertex in vertices for stream in vertex.inputs] + [*scope.outputs]
    own = scope.inputs[: len(scope.inputs) - len(scope.shared)]
    place = {stream: number for number, stream in reversed(list(enumerate(read)))}
    scope.shared = dict(sorted(scope.shared.items(), key=lambda each: place.get(each[1], len(read))))
    scope.inputs = [*own, *scope.shared.values()]
    return to_graph(Dag.of_vertices(scope.inputs, vertices, scope.outputs))


def returned_streams(
    returned: object, scope: Scope, verb: str, origin: Origin | None, *, may_be_none: bool
) -> tuple[AnyStream, ...]:
    """Return the streams that the body returned. There may be none if the body has a `write_defer`."""
    from flo.api.stream import Stream

    outputs = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
    taken = may_be_none and any(not vertex.outputs for vertex in scope.vertices)
    if not outputs and not taken:
        raise TypeMismatch(
            f"the body of `{verb}` must return a stream; got {brief(returned)}",
            facts=((verb, "returns what the body returns"),),
            instead=(("return the stream from the body", "or several, as a tuple"),),
            where=origin,
        )
    for output in outputs:
        if not isinstance(output, Stream):
            raise TypeMismatch(
                f"the body of `{verb}` must return streams; got {type(output).__name__}",
                facts=(("returned", brief(output)),),
                instead=(("return a, b", "returns several streams"),) if isinstance(output, list) else (),
                where=origin,
            )
        scope.expect_here(output, verb)
    return outputs


def name_streams(
    function: AnyFunction, count: int, loops: bool, verb: str, origin: Origin | None, optional: str = ""
) -> list[str]:
    """Return the body's names for its streams, and for its loop if it takes one. Errors say what else it may take.

    A parameter with a default gets a stream if there is one for it, but gets the loop only if its default is None:
    `lambda batch, n=n: …` keeps its n.
    """
    unnamed = [f"inner{number}" for number in range(count)]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return unnamed
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    never_given = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    names = [p.name for p in positional]
    takes_all = len(names) >= count or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not never_given and takes_all and len(required) <= count + loops:
        extra = positional[count] if loops and len(names) > count else None
        wants_loop = extra is not None and (extra.default is extra.empty or extra.default is None)
        return names[: count + 1] if wants_loop else names[:count] + unnamed[len(names) :]
    expected = f"{count} stream{'s' if count != 1 else ''}" + (f", and optionally {optional}" if optional else "")
    takes = f"{len(required)} argument{'s' if len(required) != 1 else ''}"
    if never_given:
        takes = f"the keyword-only argument{'s' if len(never_given) > 1 else ''} {', '.join(never_given)}"
    raise ScopeError(
        f"the body of `{verb}` must take {expected}; it takes {takes}",
        facts=(("body", f"({', '.join(p.name for p in parameters)})"),),
        where=origin,
    )
