"""Stream types and their subtyping (§3.3, the figure "grammar for stream types")."""

from __future__ import annotations

from dataclasses import dataclass

from flo.core.collection import Collection
from flo.core.term import Call, Lowerable, Lowering, Term, register


class Unbounded:
    """U: the stream may never end."""


class Bounded(Unbounded):
    """B: the stream ends. A subtype of `Unbounded`, for type checkers as in the rule bound-subtype."""


@dataclass(frozen=True, slots=True)
class StreamType(Lowerable):
    """(T, B | U)."""

    collection: Collection
    bounded: bool

    @property
    def flag(self) -> str:
        return "B" if self.bounded else "U"

    def __str__(self) -> str:
        return f"({self.collection}, {self.flag})"

    def lower(self, lower: Lowering) -> Term:
        return Call("StreamType", (lower(self.collection), self.bounded))

    def described(self) -> str:
        """For people."""
        return f"{self.collection}, {'bounded' if self.bounded else 'unbounded'}"


register("StreamType", StreamType)


def subtype_rule(given: StreamType, expected: StreamType) -> str | None:
    """The rule by which `given ≤ expected` holds; None if it does not."""
    if not expected.collection.accepts(given.collection):
        return None
    if given.bounded == expected.bounded:
        return "reflexive-subtype"
    return "bound-subtype" if given.bounded else None


def is_subtype(given: StreamType, expected: StreamType) -> bool:
    return subtype_rule(given, expected) is not None


def arrow(inputs: tuple[StreamType, ...], outputs: tuple[StreamType, ...]) -> str:
    """`I ↪ O` as the paper prints it."""

    def side(types: tuple[StreamType, ...]) -> str:
        return str(types[0]) if len(types) == 1 else "(" + ", ".join(map(str, types)) + ")"

    return f"{side(inputs)} ↪ {side(outputs)}"
