"""Typing derivations as data: the rule, what it concludes, and the derivations of its premises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from flo.core.collection import Collection
from flo.core.stream_type import StreamType, arrow

StreamTypes: TypeAlias = tuple[StreamType, ...]
Context: TypeAlias = tuple[tuple[str, Collection], ...]
"""R or W: keys and the collections read or written under them."""


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
        """Every rule used, premises first."""
        for premise in self.premises:
            yield from premise.rules()
        yield from self.subtypings
        yield self.rule

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> Iterator[str]:
        yield f"{'  ' * depth}{arrow(self.inputs, self.outputs)}   [{self.rule}] {self.subject}".rstrip()
        for premise in self.premises:
            yield from premise._lines(depth + 1)
