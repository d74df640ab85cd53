"""The difference between what an output is and what its sink holds, for a sink that cannot go on from there.

    the output now           the table                the difference
    shop  sum                shop  sum                shop  sum  _weight
    a     12                 a     7                  a     7    -1
    b     3                  b     3                  a     12   +1
                             c     1                  c     1    -1

A sink is compared if the output has changed with its program, or if the user asks for it (`sink.reconcile()`): it is
ahead of the checkpoint or behind it, it is of another one, or it was dropped.

Invariant: the rows of the sink and the difference add up to the output, and no row is in the difference that both have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from flo.core.errors import CheckpointError
from flo.shards.checkpoint.column_fit import type_of
from flo.shards.sinks.output_changes import ANEW, ColumnChanges, is_weighted, loose_schema, rows_of, schema_of
from flo.shards.sinks.sinks import Sink
from flo.shards.tasks.output_files import Output
from flo.tables.io.changes import add_weights, consolidate_changes, negate_weights
from flo.tables.io.files import WEIGHTS
from flo.tables.values import is_ordered


@dataclass(frozen=True)
class ChangedOutput:
    """An output whose content is computed anew, for its sink."""

    line: str = ""
    """The user's line, if it is known."""
    columns: ColumnChanges = field(default_factory=ColumnChanges)
    given: Callable[[], pa.Table] | None = None
    """The rows that its sink was given, with `_weight`, if the checkpoint has them."""


def columns_between(before: dict[str, str] | None, now: dict[str, str] | None) -> ColumnChanges:
    """What has become of the columns of an output; each is the text of a type, by name."""
    if before is None or now is None:
        return ColumnChanges()
    retyped = {name: type_of(text) for name, text in before.items() if now.get(name, text) != text}
    return ColumnChanges(frozenset(now.keys() - before.keys()), frozenset(before.keys() - now.keys()), retyped)


def difference_of(output: Output, now: pa.Table, held: pa.Table) -> pa.Table:
    """The changes that lead from the rows that a sink holds to those of the output."""
    schema = loose_schema(schema_of(output))
    now, held = now.cast(schema), held.select(schema.names).cast(schema)
    if is_weighted(output):
        return consolidate_changes(pa.concat_tables([now, negate_weights(held, WEIGHTS)]))
    if is_ordered(rows_of(output)):
        if now.slice(0, held.num_rows).equals(held):
            return now.slice(held.num_rows)
    else:
        more = consolidate_changes(pa.concat_tables([add_weights(now), add_weights(held, -1)]))
        if not more.num_rows or pc.min(more[WEIGHTS]).as_py() > 0:
            return more.drop_columns([WEIGHTS])
    raise CheckpointError(
        f"the sink of the output `{output.name}` holds rows that are not true any more, and that cannot be retracted:"
        f" the output is a {rows_of(output).name}",
        instead=((".to_zset()", "an output whose rows can be retracted"), ('"view"', "has the rows as they are"), ANEW),
    )


def incorrigible_error(output: str, sink: Sink, line: str, why: str) -> CheckpointError:
    """The error for an output that has changed, whose sink cannot get the difference."""
    return CheckpointError(
        f"the output `{output}` has changed, and its sink {sink.label} cannot be corrected: {why}",
        facts=((("output", line),) if line else ()),
        instead=(
            ('"view"', "instead of the sink: it has the rows of the changed program"),
            ("flo.Upsert(kind, target)", "a table or a topic, which gets the difference"),
            ("flo.Changes(path)", "a folder of changes, which gets the difference"),
            ("another name for the output", "is a new output: its sink gets all rows"),
            ("another checkpoint", "computes everything from the sources again"),
        ),
    )
