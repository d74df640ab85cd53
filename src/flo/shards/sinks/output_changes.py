"""The changes of an output in one micro-batch, as sinks get them.

    files       outputs/large/00000007/00000-5e1f….arrow      key  n  _weight
                                                              a    5  +1
                outputs/large/00000007/00003-9c2a….arrow      b    2  -1
    retracted   the file of an earlier attempt at this version, which the sink has taken: its rows count with the
                opposite weights

Invariant: equal changes of one version have equal digests, because files are named by their content. So a sink that
stores the digest with its rows knows whether it has taken these changes, or others (`since` is the difference).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from flo.columns.narrowing import marked_schema, users_schema
from flo.core.errors import CheckpointError
from flo.shards.checkpoint.given_changes import Attempt
from flo.shards.micro_batches import Outcome
from flo.shards.tasks.output_files import Output, read_part
from flo.tables.io.changes import WEIGHTS_FIELD, negate_weights
from flo.tables.io.diverted import SCHEMA, Diverted
from flo.tables.io.files import WEIGHTS
from flo.tables.values import Columns, is_ordered, layout_of
from flo.values.element_value import ElementCollection
from flo.values.weighted import Set

DIVERTED = " diverted"
"""The suffix of an output that has the diverted rows of an input or of an output; before it is the name of that."""
ANEW = ("another checkpoint, and an empty table, topic or folder", "computes everything from the sources again")
"""The way forward that every sink has."""
RECONCILE = (".reconcile()", "after the sink: compares it with the output, writes the difference, and goes on")
"""The way forward of sinks that can be read."""


@dataclass(frozen=True)
class Held:
    """The part of an output that a sink holds: the rows up to a version."""

    version: int | None
    """None if the sink does not know."""
    digest: str | None = None
    """The `digest` of the last changes that it took."""
    key: tuple[str, ...] | None = None
    rows: int | None = field(default=None, compare=False)
    """How many rows it was given, if it knows."""


@dataclass(frozen=True)
class ColumnChanges:
    """What has become of the columns of an output since its sink took the last changes."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    retyped: Mapping[str, pa.DataType | None] = field(default_factory=dict)
    """By name, the types that columns had; None if one is not known."""

    def has_other_type(self, name: str) -> bool:
        """Whether a column of this name that a sink has may have another type. It may have had it long ago."""
        return name in self.added or name in self.retyped


class ChangeFile(NamedTuple):
    """A file of changes."""

    file: str
    retracted: bool
    """Whether its rows have the opposite weights."""


@dataclass(frozen=True)
class OutputChanges:
    """The changes of an output in one micro-batch: rows in files, which tasks have written."""

    folder: str
    output: str
    version: int
    shards: int
    schema: pa.Schema
    files: tuple[str, ...]
    staged: bool = False
    """Whether tasks have written them to the path that the sink gave."""
    weighted: bool = False
    """Whether there is a column `_weight`: how often each row was added, or removed if it is negative."""
    checkpoint: str = ""
    """The id of the checkpoint. Versions of different checkpoints may have equal numbers."""
    rows: int = 0
    """How many changes there are."""
    retracted: tuple[str, ...] = ()
    """Files whose rows have the opposite weights: changes that a sink has taken and that are not true any more."""
    earlier: tuple[Attempt, ...] = ()
    """Other changes that the sink may have taken for this version, before the micro-batch ran again."""
    reconciles: bool = False
    """Whether they are the difference to the rows that the sink has, whichever version it says that it holds."""
    alone: bool = False
    """Whether these were all rows of the sink, so that it has none of others."""
    mends: bool = False
    """Whether the sink did not hold what it was given: its rows before this version were not those of the output."""
    unfit: list[Diverted] | None = None
    """Where a sink puts rows that it cannot hold; None if such a row is an error."""

    @classmethod
    def of(cls, folder: str, output: Output, outcome: Outcome, shards: int, checkpoint: str = "") -> OutputChanges:
        """The changes of an output in a micro-batch. A failed attempt may have left other files."""
        version, staged = outcome.version, output.to is not None
        files = () if staged else tuple(outcome.changed_files.get(output.name, ()))
        has_rows = isinstance(output.type.collection, Columns)
        schema, weighted = (schema_of(output), is_weighted(output)) if has_rows else (pa.schema([]), False)
        rows = outcome.rows.get(output.name, 0)
        return cls(folder, output.name, version, shards, schema, files, staged, weighted, checkpoint, rows)

    @classmethod
    def of_diverted(cls, folder: str, name: str, outcome: Outcome, shards: int, checkpoint: str = "") -> OutputChanges:
        """The rows that an input has diverted in a micro-batch."""
        diverted = outcome.diverted_files.get(name, ())
        files, rows = tuple(file for file, _ in diverted), sum(count for _, count in diverted)
        output = f"{name}{DIVERTED}"
        return cls(folder, output, outcome.version, shards, SCHEMA, files, checkpoint=checkpoint, rows=rows)

    def table(self) -> pa.Table:
        """All changes, in this process."""
        return pa.concat_tables([self.schema.empty_table(), *map(self.reader(), self.pieces)])

    @property
    def pieces(self) -> list[ChangeFile]:
        """The files, and whether the rows of each are retracted."""
        return [*(ChangeFile(name, False) for name in self.files), *(ChangeFile(name, True) for name in self.retracted)]

    def reader(self) -> Callable[[ChangeFile], pa.Table]:
        """A function that reads a piece. It can be sent to a task."""
        where, output, names = self.folder, self.output, self.schema.names

        def read(piece: ChangeFile) -> pa.Table:
            table = read_part(where, piece.file)
            if table.column_names != names:  # before the first commit, the program may be another one
                raise other_rows_error(output, f"its columns were {', '.join(table.column_names)}")
            return negate_weights(table, WEIGHTS) if piece.retracted else table

        return read

    @property
    def attempt(self) -> Attempt:
        """The files of these changes."""
        return Attempt(self.files, self.retracted, self.rows)

    @property
    def digest(self) -> str:
        """Identifies the changes: equal for equal changes of one version, empty if there are none."""
        return self.attempt.digest

    def with_attempt(self, attempt: Attempt) -> OutputChanges:
        """The same version with other changes."""
        if attempt.retracted and not self.weighted:
            raise other_rows_error(self.output, "neither the output nor its sink can retract rows")
        return replace(self, files=attempt.files, retracted=attempt.retracted, rows=attempt.rows)

    def since(self, digest: str) -> OutputChanges:
        """The difference to other changes of this version, which the sink has taken."""
        before = next((each for each in self.earlier if each.digest == digest), None)
        if before is None:
            raise CheckpointError(
                f"the sink of the output `{self.output}` holds version {self.version} with rows that the checkpoint"
                " did not give it",
                facts=(("why", "the checkpoint was probably restored from a copy, or another one has its id"),),
                instead=(RECONCILE, ("restore the sink, too", "to the version that the checkpoint has"), ANEW),
            )
        return self.with_attempt(self.attempt.minus(before))

    def reverting(self, before: Attempt) -> OutputChanges:
        """The changes that undo others of this version, which the sink may have taken."""
        return self.with_attempt(Attempt().minus(before))


def other_rows_error(output: str, why: str) -> CheckpointError:
    """The error for a sink that has taken other rows, and cannot be corrected."""
    return CheckpointError(
        f"the sink of the output `{output}` has taken other rows of this version, which cannot be corrected: {why}",
        facts=(("cause", "the micro-batch runs again, with a corrected function or with another `on_error`"),),
        instead=(("the program as it was", "until the version is committed"), ANEW),
    )


def rows_of(output: Output) -> ElementCollection[Any]:
    """The collection of an output whose changes are rows: see `expect_columns`."""
    assert isinstance(output.type.collection, Columns)
    return output.type.collection.base


def is_weighted(output: Output) -> bool:
    """Whether changes have a column `_weight`: not if rows have an order, or are elements of a set."""
    of = rows_of(output)
    return not is_ordered(of) and not isinstance(of, Set)


def schema_of(output: Output) -> pa.Schema:
    """The columns of the changes of an output."""
    schema = users_schema(marked_schema(layout_of(rows_of(output))))
    return schema.append(WEIGHTS_FIELD) if is_weighted(output) else schema


def loose_schema(schema: pa.Schema) -> pa.Schema:
    """The columns, which may be null: a row that a sink holds has null in a column that is new."""
    return pa.schema([each.with_nullable(each.name != WEIGHTS) for each in schema])
