"""What every stream is, whatever its collection: a place in a scope, a type, a name, and the line that made it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flo.core.collection import Collection
from flo.core.errors import Origin, TypeMismatch, brief
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, Unbounded

if TYPE_CHECKING:
    from flo.api.scope import Scope, Vertex

C_co = TypeVar("C_co", bound=Collection, covariant=True)
C_contra = TypeVar("C_contra", bound=Collection, contravariant=True)
B_co = TypeVar("B_co", bound=Unbounded, covariant=True)


class Wider(Generic[C_contra, C_co, B_co]):
    """A stream whose type holds all that another's does: a stream of floats is wider than one of ints.

    For type checkers: `Stream[ZSet[float], B]` is a `Wider[ZSet[int], ZSet[float], B]`. It is what a verb takes that
    puts two streams of one type together, if the other stream is not the narrower one.
    """


class StreamBase(Wider[C_co, C_co, B_co], Generic[C_co, B_co]):  # type: ignore[type-var]
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
        """Whether the name is the user's, or only that of the verb that made the stream."""

    @property
    def described_name(self) -> str:
        return f"`{self.name}`" if self.assigned else f"the result of `{self.name}`"

    @property
    def bounded(self) -> bool:
        return self.type.bounded

    @property
    def collection(self) -> Collection:
        return self.type.collection

    def apply(self, operator: Operator, *others: StreamBase[Any, Any]) -> tuple[Any, ...]:
        """Any operator, yours too, on this stream and others: one stream for each of its outputs."""
        if not isinstance(operator, Operator):
            raise TypeMismatch(
                f"`apply` takes an operator, and was given {type(operator).__name__}",
                facts=(("given", brief(operator)),),
                where=Origin.here(),
            )
        return self.scope.apply(operator, self, *others)  # type: ignore[arg-type]

    def _then(self, operator: Operator, *others: Any) -> Any:
        """The one output of an operator."""
        verb = sys._getframe(1).f_code.co_name  # errors speak of what the user wrote, not of the operator behind it
        (output,) = self.scope.apply(operator, self, *others, verb=verb)  # type: ignore[arg-type]
        return output

    def __repr__(self) -> str:
        return f"<{self.name}: {self.type.described()}>"
