"""`fixpoint`: relations that are defined by themselves. `Flow.fixpoint` is for several that need each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from flo.api.aligning import is_row_type, retype, row_fields
from flo.api.arguments import call_located, expect_callable, expect_kind, takes_arguments
from flo.api.body import compile_body, name_streams, returned_streams
from flo.api.columns import kind_of
from flo.api.scope import AnyBase, AnyStream, B, B_co, C_co, Scope, StreamBase, T, U
from flo.columns.dicts import as_rows
from flo.core.collection import Collection
from flo.core.errors import CollectionError, Origin, TypeMismatch, UnusedInputError, brief
from flo.core.stream_type import Bounded, StreamType
from flo.core.type_relations import accepts, signature_of
from flo.core.untyped import AnyFunction
from flo.program.dag import live_vertices
from flo.values.operators.fixpoint import MOST_ROUNDS, Fixpoint, RowLimit, expect_rounds
from flo.values.operators.joins import CONVERSIONS
from flo.values.operators.zsets import Distinct
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.api.stream import Stream


class FixpointVerbs(StreamBase[C_co, B_co]):
    @overload
    def fixpoint(
        self: FixpointVerbs[ZSet[T], B],
        body: Callable[[Stream[ZSet[T], Bounded]], Stream[ZSet[Any], Any]],
        *,
        most_rounds: int = MOST_ROUNDS,
    ) -> Stream[ZSet[T], B]: ...
    @overload
    def fixpoint(
        self: FixpointVerbs[ZSet[T], B],
        body: Callable[[Stream[ZSet[T], Bounded], Stream[ZSet[T], Bounded]], Stream[ZSet[Any], Any]],
        *,
        most_rounds: int = MOST_ROUNDS,
    ) -> Stream[ZSet[T], B]: ...
    @overload
    def fixpoint(
        self: FixpointVerbs[ZSet[T], B],
        body: Callable[[Stream[ZSet[U], Bounded], Stream[ZSet[T], Bounded]], Stream[ZSet[Any], Any]],
        *,
        of: type[ZSet[U]] | ZSet[U],
        most_rounds: int = MOST_ROUNDS,
    ) -> Stream[ZSet[U], B]: ...
    def fixpoint(self, body: Any, *, of: Any = None, most_rounds: int = MOST_ROUNDS) -> Any:
        """Return the relation that the body makes of itself and of this stream, round by round, until nothing changes.

        The body gets the relation, which is empty in the first round, and this stream, and returns the relation of the
        next round. It is a set: a row is there once. It has the rows of this stream's type, or of `of`. Other streams
        can be used in the body as they are. The result follows insertions and deletions. See docs/recursion.md.
        """
        expect_kind("fixpoint", self, ZSet, signature=Fixpoint.signature, instead=CONVERSIONS[ZSet])
        relation = self.collection if of is None else relation_of("of", of)
        expect_callable("fixpoint", "body", body)
        (result,) = build_fixpoint(self.scope, {"relation": relation}, body, most_rounds, self)
        return result


def _takes_stream(body: AnyFunction) -> bool:
    """Return whether a body takes the stream besides the relation. A parameter with a default keeps it."""
    signature = signature_of(body)
    second = [] if signature is None else [*signature.parameters.values()][1:2]
    return takes_arguments(body, 2) and all(each.default is each.empty for each in second)


def relation_of(name: str, given: object) -> Collection:
    """Return the collection of a relation. Raises unless it is a z-set."""
    kind = call_located(lambda: as_rows(Collection.of(given)))
    if not isinstance(kind, ZSet):
        raise CollectionError(
            f"a relation of `fixpoint` must be a ZSet; `{name}` is a {kind.name}",
            instead=((f"{name}=flo.ZSet[…]", "rows that can be retracted"),),
        ).at_users_line()
    return kind


def build_fixpoint(
    scope: Scope,
    relations: Mapping[str, Collection],
    body: AnyFunction,
    most_rounds: int,
    stream: AnyBase | None = None,
    *,
    as_sets: bool = True,
    row_limit: RowLimit | None = None,
) -> tuple[AnyStream, ...]:
    """Apply a fixpoint of these relations: the body gets them, and then the stream if it takes it. Without `as_sets`
    they keep the weights that the body gives their rows; `row_limit` bounds them. What has a key is a set already."""
    origin = Origin.here()
    if type(most_rounds) is not int or most_rounds < 1:
        raise TypeMismatch(
            f"`most_rounds` of `fixpoint` must be an integer ≥ 1; got {brief(most_rounds)}"
        ).at_users_line()
    inside = Scope(f"the body of `fixpoint` at {origin}", scope, captures=True)
    given: tuple[Any, ...] = (stream,) if stream is not None and _takes_stream(body) else ()
    optional = "" if stream is None else "the one that `fixpoint` is called on"
    names = name_streams(body, len(relations) + len(given), False, "fixpoint", origin, optional)
    of = [StreamType(relation, bounded=True) for relation in relations.values()]
    own = [inside.add_input(name, each, origin) for name, each in zip(names, of, strict=False)]
    returned = body(*own, *map(inside.enter, given))
    outputs = [inside.enter(each) for each in returned_streams(returned, inside, "fixpoint", origin, may_be_none=False)]
    if len(outputs) != len(own):
        expected = f"{len(own)} streams, one for each relation" if len(own) > 1 else "1 stream"
        raise TypeMismatch(
            f"the body of `fixpoint` must return {expected}; got {len(outputs)}",
            facts=(("relations", ", ".join(relations)),),
            where=origin,
        )
    for vertex in inside.vertices:
        expect_rounds(vertex.operator, tuple(each.type for each in (*vertex.inputs, *vertex.outputs)), vertex.origin)
    written = len(inside.vertices)
    fitted = map(_fit, outputs, [each.name for each in own], relations.values())
    results = [each._then_named("fixpoint", Distinct()) if as_sets and each.key is None else each for each in fitted]
    for vertex in inside.vertices[written:]:  # no call in the program, but its line
        vertex.origin = origin and replace(origin, last_line=None)
    inside.captures, inside.outputs = False, tuple(results)
    _expect_read(inside, own, origin)
    graph = compile_body(inside)
    streams = scope.apply(
        Fixpoint(tuple(relations.values()), graph, most_rounds, row_limit), *inside.shared, verb="fixpoint"
    )
    vertex = streams[0].vertex
    vertex.body = inside
    if len(streams) == 1:
        vertex.key = outputs[0].key
    return streams


def _fit(stream: AnyStream, name: str, relation: Collection) -> AnyStream:
    """Return what the body returns as rows of the relation's type, if they have its columns."""
    assert isinstance(relation, ZSet)
    kind, wanted = kind_of(stream), relation.element
    if kind == wanted or Any in (kind, wanted):
        return stream
    if is_row_type(kind) and is_row_type(wanted):
        fields, own = row_fields(wanted), row_fields(kind)
        if fields.keys() == own.keys() and all(accepts(of, own[each]) for each, of in fields.items()):
            return retype(stream, wanted, "fixpoint")  # type: ignore[return-value]
    raise TypeMismatch(
        f"the relation `{name}` of `fixpoint` has another type than the body returns",
        facts=((name, relation.in_full()), ("returned", f"{stream.collection.in_full()}   ({stream.origin})")),
        instead=(("select(…)", "in the body, the columns of the relation"), ("of=…", "another type of its rows")),
    ).at_users_line()


def _expect_read(inside: Scope, own: list[AnyStream], origin: Origin | None) -> None:
    """Raise if the body does not depend on one of its relations, or on nothing else."""
    live = live_vertices(inside.vertices, inside.outputs)
    read = {stream for vertex in live for stream in vertex.inputs}
    for stream in inside.inputs:
        if stream not in read:
            is_own = any(stream is each for each in own)
            raise UnusedInputError(
                f"the body of `fixpoint` ignores `{stream.name}`, "
                + ("so it has no recursion" if is_own else "so it need not be an argument"),
                instead=(
                    ("return edges.union(reach.join(edges, …))", "what the relation has in the next round"),
                    ("without `fixpoint`", "the result of the body, if it does not depend on itself"),
                ),
                where=origin,
            )
