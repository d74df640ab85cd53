"""Stream types, their subtyping (§3.3, figure "grammar for stream types"), and typing derivations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from flo.core.collection import Collection
from flo.core.term import Call, Lowerable, Lowering, Term, register


class Unbounded:
    """U: the stream may never end."""


class Bounded(Unbounded):
    """B: the stream ends. A subtype of `Unbounded`, by the rule bound-subtype and for type checkers."""


@dataclass(frozen=True, slots=True)
class StreamType(Lowerable):
    """(T, B | U): a collection type and whether the stream is bounded."""

    collection: Collection
    bounded: bool

    @property
    def flag(self) -> str:
        return "B" if self.bounded else "U"

    @property
    def boundedness(self) -> str:
        return "bounded" if self.bounded else "unbounded"

    def __str__(self) -> str:
        return f"({self.collection}, {self.flag})"

    def lower(self, lower: Lowering) -> Term:
        return Call("StreamType", (lower(self.collection), self.bounded))

    def described(self) -> str:
        """Return the type in words, for error messages."""
        return f"{self.collection}, {self.boundedness}"

    def in_full(self) -> str:
        """Return the type in words, with all columns of its rows."""
        return f"{self.collection.in_full()}, {self.boundedness}"


register("StreamType", StreamType)


def subtype_rule(given: StreamType, expected: StreamType) -> str | None:
    """Return the rule by which `given ≤ expected` holds; None if it does not."""
    if not expected.collection.accepts(given.collection):
        return None
    if given.bounded == expected.bounded:
        return "reflexive-subtype"
    return "bound-subtype" if given.bounded else None


def is_subtype(given: StreamType, expected: StreamType) -> bool:
    return subtype_rule(given, expected) is not None


def arrow(inputs: tuple[StreamType, ...], outputs: tuple[StreamType, ...]) -> str:
    """Format `I ↪ O` as in the paper."""

    def side(types: tuple[StreamType, ...]) -> str:
        return str(types[0]) if len(types) == 1 else "(" + ", ".join(map(str, types)) + ")"

    return f"{side(inputs)} ↪ {side(outputs)}"


StreamTypes: TypeAlias = tuple[StreamType, ...]
Context: TypeAlias = tuple[tuple[str, Collection], ...]
"""R or W: keys, and the collections read or written under them."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """R; W ⊢ e : I ↪ O, by `rule` from `premises`."""

    rule: str
    inputs: StreamTypes
    outputs: StreamTypes
    premises: tuple[Derivation, ...] = ()
    reads: Context = ()
    writes: Context = ()
    subtypings: tuple[str, ...] = ()
    subject: str = ""

    def rules(self) -> Iterator[str]:
        """Yield every rule used, premises first."""
        for premise in self.premises:
            yield from premise.rules()
        yield from self.subtypings
        yield self.rule

    def __repr__(self) -> str:
        return f"<Derivation by {sum(1 for _ in self.rules())} rules: {arrow(self.inputs, self.outputs)}>"

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        yield f"{'  ' * depth}{arrow(self.inputs, self.outputs)}   [{self.rule}] {self.subject}".rstrip()
        for premise in self.premises:
            yield from premise._lines(depth + 1)
