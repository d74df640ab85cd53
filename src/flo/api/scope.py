"""Scopes: the streams and operators that the fluent API builds, and where they belong.

A scope is the program itself, or the body of a `nest` or `per_key`. `Scope.apply` adds an operator to it, typed and
checked at once. `StreamBase` is the part of a stream that the verbs build on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

from flo.api.unknown_verbs import no_items, no_length, no_operators, unknown_verb
from flo.core.collection import Collection
from flo.core.display import Displayed
from flo.core.errors import FloError, NameTakenError, Origin, ScopeError, TypeMismatch, brief
from flo.core.operator import Operator, expect_name
from flo.core.stream_type import StreamType, StreamTypes, Unbounded
from flo.core.tracebacks import PACKAGE
from flo.program.dag import WindowColumns
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.operators.fixpoint import fixpoint_in_fixpoint
from flo.verify.functions.determinism import expect_deterministic
from flo.verify.functions.rejections import expect, obligations

if TYPE_CHECKING:
    from pyarrow import Schema

    from flo.api.stream import Stream

AnyStream: TypeAlias = "Stream[Any, Any]"
"""A stream of any collection, bounded or not."""

# The type variables of the verbs: `Stream[C, B]` is a stream of collection C and boundedness B, D and E are other
# collections, and T and U are elements, of this stream and of another one or of the result.

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")
"""The result of a function."""
K = TypeVar("K")
"""A key."""
V = TypeVar("V")
W = TypeVar("W")
"""Values of lattice variables."""
C = TypeVar("C", bound=Collection)
C2 = TypeVar("C2", bound=Collection)
C3 = TypeVar("C3", bound=Collection)
D = TypeVar("D", bound=Collection)
E = TypeVar("E", bound=Collection)
B = TypeVar("B", bound=Unbounded)
B2 = TypeVar("B2", bound=Unbounded)
B3 = TypeVar("B3", bound=Unbounded)

LONG = 200
"""The most bytes of a name: file systems allow 255, and files that are being written have longer names."""

T_co = TypeVar("T_co", covariant=True)
C_co = TypeVar("C_co", bound=Collection, covariant=True)
C_contra = TypeVar("C_contra", bound=Collection, contravariant=True)
B_co = TypeVar("B_co", bound=Unbounded, covariant=True)


@dataclass(eq=False)
class Vertex:
    """An operator that was applied to streams."""

    operator: Operator
    inputs: tuple[AnyBase, ...]
    outputs: tuple[AnyStream, ...] = ()
    origin: Origin | None = None
    body: Scope | None = None
    """The body that a `nest` or a `per_key` runs."""
    late: AnyStream | None = None
    """The side output of late elements, which must not be lost."""
    key: tuple[str, ...] | None = None
    """The key of its output, where the verb knows it and the operator does not say."""
    windows: WindowColumns | None = None
    """The windows that its output has as columns, where a verb has added them."""
    id: str = ""
    """The id that the user has given it with `named`."""
    called_on: object = None
    """The object whose verb made it. With the line, it tells the calls of a loop apart."""
    known: StreamTypes | None = None
    """The types of its outputs as far as they can be derived, once they were asked for."""

    def is_of_call(self, other: Vertex) -> bool:
        """Return whether one call of a verb has made both."""
        return self.called_on is other.called_on and self.origin == other.origin


NOW = "now"
"""The name of the input with the time of the outside world."""


@dataclass(eq=False)
class Scope:
    """The program itself, or the body of a `nest` or `per_key`. Streams of different scopes cannot be combined."""

    description: str
    parent: Scope | None = None
    inputs: list[AnyStream] = field(default_factory=list)
    vertices: list[Vertex] = field(default_factory=list)
    outer: tuple[AnyStream, ...] = ()
    """Of a body of `per_key`: the keyed streams around it, one for each of its first inputs."""
    shared: dict[AnyBase, AnyStream] = field(default_factory=dict)
    """The streams around a body that it reads, and the inputs that they are in it: of `per_key`, clocks; of `fixpoint`,
    any z-sets."""
    captures: bool = False
    """Whether streams around it may be used in it as they are. So it is while the body of a `fixpoint` is built."""
    outputs: tuple[AnyStream, ...] = ()
    """The streams that a body returns. Those of the program have names: the flow keeps them."""
    not_needed: list[AnyStream] = field(default_factory=list)
    """The streams that a query names without needing their rows, as in `WHERE false`: they need no other reader."""
    now: AnyStream | None = None
    """Of the program: the input that has the time of the outside world, if it was asked for."""
    reasons: list[str] = field(default_factory=list)
    """Why it was."""

    def add_now(self, because: object, verb: str) -> AnyStream:
        """Return the input that has the time of the outside world. Raises unless there is a reason for it."""
        here = Origin.here()
        if not isinstance(because, str) or not because.strip():
            raise TypeMismatch(
                f"`{verb}` reads the time of the outside world, which the input does not determine: it needs a reason; "
                f"got {brief(because)}",
                instead=(('because="devices are switched off at night"', "the reason, which `explain` shows"),),
            ).at_users_line()
        if self.parent is not None:
            raise ScopeError(
                f"`{verb}` reads the time of the outside world, which a body does not have"
            ).at_users_line()
        if self.now is None:
            self.now = self.add_input(NOW, StreamType(LVar(Max(datetime)), bounded=False), here)
        self.reasons.append(because)
        return self.now

    def add_input(self, name: str, stream_type: StreamType, origin: Origin | None) -> AnyStream:
        from flo.api.stream import Stream

        expect_stream_name(name, "input", origin)
        for other in self.inputs:
            if other.name == name:
                raise NameTakenError(
                    f"the input `{name}` is declared twice",
                    facts=((str(other.origin), other.origin.text if other.origin else ""),),
                    where=origin,
                )
        stream: AnyStream = Stream(self, stream_type, name, origin)
        self.inputs.append(stream)
        return stream

    def apply(self, operator: Operator, *inputs: AnyBase, verb: str | None = None) -> tuple[AnyStream, ...]:
        """Apply an operator to these inputs; return its outputs. Types are checked now, at the user's line."""
        from flo.api.stream import Stream

        origin = Origin.here()
        expect_name(operator, origin)
        verb = verb or operator.name
        for stream in inputs:
            self.expect_here(stream, verb)
        inside = next((each.scope for each in inputs if each.scope is not self and each.scope.is_within(self)), None)
        if inside is not None:
            return inside.apply(operator, *inputs, verb=verb)
        inputs = tuple(self.enter(stream) for stream in inputs)  # type: ignore[arg-type]
        outputs = type_operator(operator, inputs, verb)
        operator = operator.typed(tuple(stream.type for stream in inputs))
        expect_lawful(operator, inputs, verb)
        vertex = Vertex(operator, inputs, origin=origin and replace(origin, verb=verb), called_on=_called_object())
        name = origin.assigned_name if origin else None
        vertex.outputs = tuple(Stream(self, output, name or verb, origin, vertex) for output in outputs)
        for stream in vertex.outputs:
            stream.assigned = name is not None
        self.vertices.append(vertex)
        return vertex.outputs

    def expect_here(self, stream: AnyBase, used_by: str) -> None:
        """Raise if the stream belongs to another flow or another body."""
        from flo.api.stream import Stream

        if not isinstance(stream, Stream):
            raise ScopeError(
                f"`{used_by}` must get streams; got {type(stream).__name__}",
                facts=(("given", " ".join(repr(stream).split())[:80]),),
                instead=(("flow.input(name, flo.ZSet[Row])", "an input for the data, which a run gets"),),
            ).at_users_line()
        if stream.scope is self or stream.scope.is_within(self) or self.is_within(stream.scope):
            return
        name = stream.described_name
        facts = (
            (name.strip("`"), f"belongs to {stream.scope.description}   ({stream.origin})"),
            (used_by, f"is in {self.description}"),
        )
        if stream.scope.root() is not self.root():
            raise ScopeError(f"{name} belongs to another flow", facts=facts).at_users_line()
        if self.captures and stream.scope.captures:  # both are bodies of `fixpoint` that are being built
            raise fixpoint_in_fixpoint(Origin.here())
        raise ScopeError(
            f"{name} is used outside the body that it belongs to",
            facts=facts,
            instead=(
                ("outer.zip(other).nest(lambda a, b: …)", "brings a second nested stream into the body"),
                ("return the stream from the body", "makes it available outside"),
            ),
        ).at_users_line()

    def unread_late(self, outputs: Iterable[AnyBase]) -> list[AnyStream]:
        """Return the side outputs of late elements that nothing reads."""
        read = {stream for vertex in self.vertices for stream in vertex.inputs} | set(outputs)
        return [vertex.late for vertex in self.vertices if vertex.late is not None and vertex.late not in read]

    def is_within(self, around: Scope) -> bool:
        """Return whether this is a body that is being built and may use the streams of the scope around it."""
        return self.captures and self.parent is not None and (self.parent is around or self.parent.is_within(around))

    def enter(self, stream: AnyStream) -> AnyStream:
        """Return a stream as this scope reads it: one from around the body of a `fixpoint` is an input of the body."""
        if stream.scope is self:
            return stream
        if stream not in self.shared:
            assert self.parent is not None
            outer = self.parent.enter(stream)
            from flo.api.stream import Stream

            inner: AnyStream = Stream(self, StreamType(outer.type.collection, bounded=True), stream.name, stream.origin)
            inner.assigned = stream.assigned
            self.inputs.append(inner)
            self.shared[stream] = inner
        return self.shared[stream]

    def root(self) -> Scope:
        return self if self.parent is None else self.parent.root()


def _called_object() -> object:
    """Return the object whose method the user's program is calling."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_back.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    first = next(iter(frame.f_locals.values()), None)  # `self`, or all arguments of a call that is explained
    return first[0] if type(first) is tuple and first else first


def expect_stream_name(name: object, what: str, where: Origin | None) -> None:
    """Raise unless this is a name that an input, an output or an operator can have."""
    instead = (('stream.named("revenue")' if what == "operator" else f'flow.{what}("orders", …)', "a name"),)
    if not isinstance(name, str) or not name.strip():
        raise TypeMismatch(
            f"the name of an {what} must be a text that is not blank; got {brief(name)}", instead=instead, where=where
        )
    if not _can_be_folder(name):
        raise TypeMismatch(
            f"the name of an {what} must be one that a folder can have; got {brief(name)}",
            facts=(("expected", f"at most {LONG} bytes in UTF-8, without null characters, and no part `.` or `..`"),),
            instead=instead,
            where=where,
        )


def _can_be_folder(name: str) -> bool:
    """Return whether diverted rows of an input can be in a folder of its name: `a/b` is one in another."""
    try:
        parts = [each.encode() for each in name.split("/")]
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return "\0" not in name and all(len(each) <= LONG and each not in (b"", b".", b"..") for each in parts)


def type_operator(operator: Operator, inputs: tuple[AnyBase, ...], verb: str) -> StreamTypes:
    """Return the types of the operator's outputs; an error names the stream at fault and the user's line."""
    try:
        return operator.judge(tuple(stream.type for stream in inputs)).outputs
    except FloError as error:
        at_fault = inputs[error.index or 0] if inputs else None
        error.rename_operator(operator.name, verb)
        raise error.at_users_line(at_fault) from None


def _functions_of(operator: Operator) -> Iterator[object]:
    """Yield the functions that an operator holds; those of columns one by one."""
    for each in fields(operator):
        held = getattr(operator, each.name)
        for function in getattr(held, "functions", {"": held}).values():
            if callable(function):
                yield getattr(function, "traced_from", function)


def expect_lawful(operator: Operator, inputs: tuple[AnyBase, ...], verb: str) -> None:
    """Raise if a function or lattice breaks a law that the operator requires."""
    try:
        for function in _functions_of(operator):
            expect_deterministic(function)
        for obligation in obligations(operator, tuple(stream.type for stream in inputs)):
            expect(obligation)
    except FloError as error:
        error.rename_operator(operator.name, verb)
        error.instead = tuple((code.replace(f"{operator.name}(", f"{verb}("), why) for code, why in error.instead)
        raise error.at_users_line(inputs[0] if inputs else None) from None


S = TypeVar("S", bound="AnyStream")


class Wider(Generic[C_contra, C_co, B_co]):
    """A stream whose type contains another's: a stream of floats is wider than one of ints.

    For type checkers: `Stream[ZSet[float], B]` is a `Wider[ZSet[int], ZSet[float], B]`. It is the parameter type of
    verbs that combine two streams of one type, when the other stream is the wider one.
    """


class StreamBase(Displayed, Wider[C_co, C_co, B_co], Generic[C_co, B_co]):  # type: ignore[type-var]
    """The part of a stream that the verbs build on."""

    def __init__(
        self,
        scope: Scope,
        stream_type: StreamType,
        name: str,
        origin: Origin | None,
        source: Vertex | None = None,
    ) -> None:
        self.scope = scope
        self.type = stream_type
        self.name = name
        self.origin = origin
        self.source = source
        self.assigned = True
        """Whether the name is the user's; otherwise it is the verb that made the stream."""

    @property
    def key(self) -> tuple[str, ...] | None:
        """The columns of which no two rows have the same values, if the program says so: the primary key."""
        from flo.program.keys import key_of

        return key_of(self)

    @property
    def schema(self) -> Schema:
        """The columns and their types, as an Arrow schema. Elements that are not rows are one column, `value`."""
        from flo.columns.layout import Layout
        from flo.columns.narrowing import marked_schema, users_schema

        of = self.known_type.collection
        kind = getattr(of, "row", None) or getattr(of, "element", None)
        layout = None if kind is None else Layout.of(kind)
        if layout is None:
            raise TypeMismatch(
                "{input} has no columns",
                facts=(("{input}", self.type.described()),),
                instead=(
                    ("def f(row: Sale) -> Total", "annotate what the function returns")
                    if kind is Any
                    else ("flo.Bag[Sale], flo.ZSet[Sale], …", "where Sale is a NamedTuple or a dataclass"),
                ),
            ).at_users_line(self)
        return users_schema(marked_schema(layout))

    @property
    def known_type(self) -> StreamType:
        """The type, with what unannotated functions return as far as it can be derived. Tables have these columns."""
        from flo.program.derive import known_type

        return known_type(self)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def vertex(self) -> Vertex:
        """The vertex whose output this is. An input has none."""
        assert self.source is not None, f"{self.name} is an input"
        return self.source

    @property
    def described_name(self) -> str:
        """The name in error messages."""
        return f"`{self.name}`" if self.assigned else f"the result of `{self.name}`"

    @property
    def bounded(self) -> bool:
        return self.type.bounded

    @property
    def collection(self) -> C_co:
        return self.type.collection  # type: ignore[return-value]

    def named(self, name: str) -> Self:
        """Store the state of the verb that makes this stream under a name of your own, and return the stream.

        Without a name it is stored under an id that follows from the verb, its arguments and what it reads. With one,
        the state stays this verb's when something before it changes.
        """
        here = Origin.here()
        expect_stream_name(name, "operator", here)
        if "/" in name:
            raise TypeMismatch(f"the name of an operator must not contain `/`; got {brief(name)}").at_users_line()
        facts = ((self.name, str(self.origin)),)
        if self.source is None:
            raise ScopeError(f"{self.described_name} is an input, which has a name", facts=facts).at_users_line()
        if self.scope.parent is not None:
            raise ScopeError(
                f"{self.described_name} is in a body, whose state belongs to the verb around it",
                facts=facts,
                instead=((f'per_key(…).named("{name}")', "a name for the verb with the body"),),
            ).at_users_line()
        for vertex in self.scope.vertices:
            if vertex.id == name and vertex is not self.source:
                first = ((name, f"{vertex.origin}"),)
                raise NameTakenError(f"two operators are named `{name}`", facts=first).at_users_line()
        waiting, number, old = [self.source], 0, self.source.id
        while waiting:
            vertex = waiting.pop(0)
            vertex.id = f"{name}/{number}" if number else name
            number += 1
            before = [stream.source for stream in vertex.inputs if stream.source is not None]
            waiting += [each for each in before if each.id.partition("/")[0] in ("", old) and each.is_of_call(vertex)]
        return self

    def apply(self, operator: Operator, *others: AnyBase) -> tuple[AnyStream, ...]:
        """Apply any operator, built-in or your own, to this stream and others; return one stream per output."""
        if not isinstance(operator, Operator):
            raise TypeMismatch(
                f"`apply` must get an operator; got {type(operator).__name__}", facts=(("given", brief(operator)),)
            ).at_users_line()
        return self.scope.apply(operator, self, *others)

    def _as(self, kind: type[S]) -> S:
        """Return the stream as one of a class with side outputs. It takes its place in the outputs of the vertex."""
        stream = kind(self.scope, self.type, self.name, self.origin, self.source)
        stream.assigned = self.assigned
        self.vertex.outputs = (stream, *self.vertex.outputs[1:])
        return stream

    def _then(self, operator: Operator, *others: Wider[Any, Any, Any]) -> AnyStream:
        """Apply an operator with one output, under the name of the calling verb."""
        verb = sys._getframe(1).f_code.co_name  # errors use the name that the user wrote, not the operator's
        return self._then_named(verb, operator, *others)

    def _then_named(self, verb: str, operator: Operator, *others: Wider[Any, Any, Any]) -> AnyStream:
        """Apply an operator with one output, as a part of this verb."""
        (output,) = self.scope.apply(operator, self, *others, verb=verb)  # type: ignore[arg-type]
        return output

    if not TYPE_CHECKING:  # type checkers know which verbs there are

        def __getattr__(self, name: str) -> Any:
            """Raise, with the verb that the user may mean."""
            raise unknown_verb(self, name)

        def __getitem__(self, item: object) -> Any:
            """Raise, with the expression or verb that the user may mean. Loops over a stream ask for items too."""
            raise no_items(self, item)

        def __len__(self) -> int:
            """Raise: a stream may never end."""
            raise no_length(self)

        def __bool__(self) -> bool:
            """A stream is true, as other objects: without this Python would ask for its length."""
            return True

        def _refuse_operator(self, *operand: object) -> Any:
            """Raise: columns are compared and computed with, not streams."""
            raise no_operators(self)

        __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __mul__ = __truediv__ = _refuse_operator
        __and__ = __or__ = __invert__ = _refuse_operator

    def __repr__(self) -> str:
        """Show the user's name, or the verb and line that made the stream, and its type."""
        label = self.name if self.assigned or self.origin is None else f"`{self.name}` at {self.origin}"
        return f"<{type(self).__name__} {label}: {self.known_type.in_full()}>"


AnyBase: TypeAlias = StreamBase[Any, Any]
"""A stream of any collection, bounded or not, as its own verbs see it."""
