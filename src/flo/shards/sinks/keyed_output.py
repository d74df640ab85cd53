"""Outputs whose rows have a key, and what writes them to a place where rows are replaced and deleted by their keys.

    output sums, key (shop)     changes of version 7          the table, before and after
    shop  sum                   -(a, 7)  +(a, 12)  -(b, 3)    a 7, b 3   ─>   a 12

Invariant: the place holds the rows of the output at one version, and knows which (`Held`). It is given the changes of a
version once: those that it has taken are skipped, and the difference is written if they were others
(`missing_changes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from flo.columns.narrowing import marked_schema, users_schema
from flo.core.errors import CheckpointError, CollectionError, TypeMismatch, UnknownNameError, brief
from flo.shards.sinks.output_changes import ANEW, RECONCILE, ColumnChanges, Held, OutputChanges, rows_of
from flo.shards.tasks.latest_rows import LatestRows
from flo.shards.tasks.output_files import Output
from flo.tables.values import is_ordered, layout_of


@dataclass(frozen=True)
class KeyedOutput:
    """An output with the key of its rows."""

    name: str
    schema: pa.Schema
    """The columns of a row."""
    key: tuple[str, ...]
    declared: bool
    """Whether the user says so, and the program does not: then it is checked."""
    changed: ColumnChanges | None = None
    """What has become of its columns, if the place is to get those that it has now."""

    @classmethod
    def of(cls, output: Output, derived: tuple[str, ...] | None, given: str | Sequence[str] | None) -> KeyedOutput:
        """The output, with the key that the program gives it, or that the user has declared."""
        rows = rows_of(output)
        schema = users_schema(marked_schema(layout_of(rows)))
        if is_ordered(rows):
            raise CollectionError(
                f"the output `{output.name}` is a {rows.name}, whose rows are never replaced",
                instead=((".to_zset().distinct(on=…, order_by=…)", "one row for each key"),),
            )
        key = derived if given is None else (given,) if isinstance(given, str) else tuple(given)
        if key is None:
            raise TypeMismatch(
                f"the rows of the output `{output.name}` have no key that follows from the program",
                facts=(("columns", ", ".join(schema.names)),),
                instead=(
                    (f'Upsert(…, key="{schema.names[0]}")', "declares a key, which is checked while it runs"),
                    (".distinct(on=…)", "one row for each key"),
                    (".group_by(…).agg(…)", "one row for each group"),
                ),
            )
        for column in key:
            if column not in schema.names:
                raise UnknownNameError(
                    f"`key` names the column {brief(column)}, which the output `{output.name}` does not have",
                    facts=(("columns", ", ".join(schema.names)),),
                )
            if pa.types.is_nested(schema.field(column).type):
                raise TypeMismatch(
                    f"the key column `{column}` of the output `{output.name}` is {schema.field(column).type}",
                    instead=(("select(…)", "with plain columns for the key"),),
                )
        return cls(output.name, schema, key, declared=derived is None or not set(derived) <= set(key))

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that are not of the key."""
        return tuple(name for name in self.schema.names if name not in self.key)

    @property
    def latest(self) -> LatestRows:
        return LatestRows(self.name, self.key)

    def table(self, changes: OutputChanges) -> pa.Table:
        """The latest row of each key, or its deletion, in this process."""
        return self.latest.of(changes.table())


class Upserting(ABC):
    """Writes the rows of an output by their keys to one kind of place."""

    kind: ClassVar[str]
    """The word that users write."""
    checks_declared: ClassVar[bool] = True
    """Whether it finds a key that has a row already, so that a key may be declared."""

    def __init__(self, target: str, options: dict[str, Any]) -> None:
        self.target, self.options = target, options

    spark: Any = None
    """The user's session of Spark; None in process. Micro-batches run in a copy of it."""

    @abstractmethod
    def expect_fit(self, session: Any, rows: KeyedOutput) -> None:
        """Raises if the rows can never go there. Makes nothing."""

    @abstractmethod
    def held(self, identity: str, rows: KeyedOutput) -> Held | None:
        """What it holds of an output of a checkpoint; None if nothing, or if the place does not exist."""

    @abstractmethod
    def find_other_output(self, identity: str, rows: KeyedOutput) -> str | None:
        """The identity of another output of the checkpoint whose rows it holds, if it holds none of this one."""

    @abstractmethod
    def prepare(self, session: Any, rows: KeyedOutput, identity: str = "") -> None:
        """Makes the place where rows go, if it does not exist. Raises if it does not fit."""

    @abstractmethod
    def read(self, rows: KeyedOutput) -> pa.Table | None:
        """All rows that it has, whoever wrote them, with null in columns that it does not have yet; None if there is no
        such place."""

    @abstractmethod
    def write(self, changes: OutputChanges, rows: KeyedOutput) -> None:
        """Writes the changes of a micro-batch, or the difference to those that it has; nothing if it has them."""


def identity_of(checkpoint: str, output: str) -> str:
    """The id of the checkpoint, which is random, and the output: versions are those of this pair."""
    return f"{checkpoint} {output}"


def is_of_other_output(identity: str, other: str) -> bool:
    """Whether two identities are of two outputs of one checkpoint."""
    return identity != other and identity.partition(" ")[0] == other.partition(" ")[0]


def missing_changes(changes: OutputChanges, held: Held | None) -> OutputChanges | None:
    """The changes of a micro-batch that a place lacks; None if it has them all."""
    if changes.reconciles:
        return changes
    if held is None or held.version is None or held.version < changes.version:
        return changes if changes.digest else None
    if held.version > changes.version:
        raise CheckpointError(
            f"the sink of the output `{changes.output}` holds version {held.version}, and is given {changes.version}",
            facts=(("why", "the checkpoint was restored from a copy, or another query writes there for it"),),
            instead=(RECONCILE, ANEW),
        )
    return None if held.digest in (None, changes.digest) else changes.since(held.digest)
