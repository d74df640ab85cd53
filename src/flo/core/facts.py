"""Facts about an operator that its class declares. Verbs, rewrites and engines ask for them by name of the fact, not of
the operator.

`Operator` has a default for each: the answer that is safe. `program/` follows the facts through a whole program.
"""

from __future__ import annotations

from typing import TypeAlias

from flo.core.stream_type import StreamTypes

PrimaryKey: TypeAlias = tuple[str, ...] | None
"""Columns of which no two rows have the same values. No columns are the key of a stream with one row; None if no key is
known."""


def no_key(self: object, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
    """The `output_key` of an operator whose rows have no key."""
    return None


def first_key(self: object, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
    """The `output_key` of an operator that only drops rows of its first input."""
    return keys[0]
