"""Facts about an operator that its class declares. Verbs, rewrites and engines ask for them by name of the fact, not of
the operator.

`Operator` has a default for each: the answer that is safe. `program/` follows the facts through a whole program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from flo.core.stream_type import StreamTypes

PrimaryKey: TypeAlias = tuple[str, ...] | None
"""Columns of which no two rows have the same values. No columns are the key of a stream with one row; None if no key is
known."""


def first_key(self: object, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
    """The `output_key` of an operator that only drops rows of its first input."""
    return keys[0]


class Timing(Enum):
    """Whether rows that a clock has seen are on time in the output of an operator, too: once the clock is at t, no row
    with a time before t follows."""

    PASSES = "passes rows of its inputs on at once, as they are"
    MAKES = "makes rows of each row at once, with its function `f`"
    SEES = "is a clock of rows, which are its second output"
    LOSES = "emits rows later, or others"


@dataclass(frozen=True)
class Reads:
    """The columns that an operator on rows reads of its inputs, where only some columns of its output are wanted.

    Of an input that it neither passes on nor applies a function to, it reads all columns.
    """

    passes: tuple[int, ...] = ()
    """The inputs whose rows it passes on: of these it reads the columns that are wanted."""
    functions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Its fields with functions of rows, and the inputs whose rows they get: these read what they are made of."""
    makes: str = ""
    """The function that makes the rows of the output: it is left with the columns that are wanted."""


ALL_COLUMNS = Reads()


@dataclass(frozen=True)
class Demand:
    """A function or a lattice of an operator that must satisfy a law, beyond giving one result: see `verify/`."""

    subject: Any
    law: str = ""
    """The name of the law of a function: "commutative", "monotone" or "additive". A lattice has its own."""
    kinds: tuple[Any, ...] = ()
    """The types of its arguments; of a function that accumulates, without the accumulator."""
    start: tuple[Any, ...] = ()
    """The accumulator that it starts with, if it has one."""
    lattices: tuple[Any, Any] | None = None
    """Of a monotone function: those that it leads from and to."""
    claim: str | None = None
    """The user's reason why the law holds."""
