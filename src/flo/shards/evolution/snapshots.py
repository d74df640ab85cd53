"""The rows of a stream, as the state of a checkpoint holds them, one shard after the other.

    the join's part `left` in shard 0    runs r1, r2     ─>  a table: item, price, weight
    the join's part `left` in shard 1    run r3          ─>  a table: item, price, weight

A state is read as a term, in which runs are named. So the program that wrote it is not needed.

Invariant: what the tables of all shards add up to is the stream, with the columns that are wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from flo.core.errors import CheckpointError
from flo.core.program_outline import ANEW
from flo.core.term import Call
from flo.core.untyped import StateTerm
from flo.shards.checkpoint.inspect import Checkpoint, read_state, runs_in, without_merges
from flo.shards.checkpoint.stored_views import StoredView
from flo.shards.evolution.comparison import Holder
from flo.tables.checkpoint.folders import Local, folder
from flo.tables.checkpoint.states import VertexState
from flo.tables.checkpoint.store import Store, run_file
from flo.tables.io.changes import with_own_weights
from flo.tables.state.consolidation import consolidate_table
from flo.tables.state.run import read_ipc
from flo.tables.state.trace import Trace
from flo.tables.values import WEIGHT, WEIGHT_FIELD


def read_rows(
    checkpoint: Checkpoint, version: int, holder: Holder, schema: pa.Schema, parts: Collection[int] | None = None
) -> Iterator[pa.Table]:
    """The rows of a stream at a version, with their weights. `schema` has the columns that are wanted.

    `parts` are those to read, of as many as `count_parts` says; by default all."""
    read = _rows_of_view if holder.view else _rows_of_state
    for table in read(checkpoint, version, holder, parts):
        wanted = pa.schema([*schema, WEIGHT_FIELD])
        for field in schema:
            if field.name not in table.column_names:  # a column that the input has gained
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
            if not field.nullable and table[field.name].null_count:
                raise _missing_value_error(field.name, int(table[field.name].null_count))
        rows = table.select([*schema.names, WEIGHT]).cast(wanted).combine_chunks()
        if rows.num_rows:
            yield consolidate_table(rows)


def _missing_value_error(column: str, count: int) -> CheckpointError:
    return CheckpointError(
        f"the column `{column}` must have a value in the changed program, and rows so far have none",
        facts=(("rows without a value", str(count)),),
        instead=((f"{column}: … | None", "the type of the column as it was"), ANEW),
    )


def is_whole(checkpoint: Checkpoint, version: int, holder: Holder) -> bool:
    """Whether the state of an operator still has all rows of an input: neither of its inputs has ended."""
    if holder.view:
        return True
    return all("ended_side" not in state.parts for _, state in states_of(checkpoint, version, holder))


def count_parts(checkpoint: Checkpoint, version: int, holder: Holder) -> int:
    """In how many parts the rows of a stream can be read: shards, or parts of a view."""
    if holder.view:
        return sum(len(view.parts()) for view in _views(checkpoint, version, holder))
    return len(checkpoint.state_versions(version)[holder.level].shards)


def count_rows(checkpoint: Checkpoint, version: int, holder: Holder) -> int | None:
    """About how many rows `read_rows` gives: those that cancel out are counted, too. None if only reading would tell:
    files elsewhere cannot be asked without."""
    if not isinstance(folder(checkpoint.where), Local):
        return None
    if holder.view:
        views = _views(checkpoint, version, holder)
        runs = ((view.columns, run) for view in views for run in view.runs)
        return sum(_count(Store(folder(run.folder)), columns, run.name) for columns, run in runs)
    return sum(
        _count(store, columns, name)
        for store, state in states_of(checkpoint, version, holder)
        for part in holder.parts
        for columns, name in runs_in(without_merges(state.parts.get(part)))
    )


def _count(store: Store, columns: tuple[str, ...], name: str) -> int:
    return read_ipc(columns, pa.BufferReader(store.folder.map_file(run_file(name)))).rows


def _views(checkpoint: Checkpoint, version: int, holder: Holder) -> Iterator[StoredView]:
    """The view that has the rows; none if it has had none."""
    view = StoredView.read(checkpoint.where, holder.view, version, checkpoint.shards(version))
    if view is not None:
        yield view


def _rows_of_view(
    checkpoint: Checkpoint, version: int, holder: Holder, parts: Collection[int] | None
) -> Iterator[pa.Table]:
    for view in _views(checkpoint, version, holder):
        for number, part in enumerate(view.in_state().parts()):
            if parts is None or number in parts:
                yield with_own_weights(part.changes())


def _rows_of_state(
    checkpoint: Checkpoint, version: int, holder: Holder, parts: Collection[int] | None
) -> Iterator[pa.Table]:
    for store, state in states_of(checkpoint, version, holder, parts):
        for part in holder.parts:
            yield from _rows_of_trace(store, state.parts.get(part))


def states_of(
    checkpoint: Checkpoint, version: int, holder: Holder, parts: Collection[int] | None = None
) -> Iterator[tuple[Store, VertexState]]:
    """The state of an operator in every shard that has one; or in some of those that have one of their own, by their
    places."""
    versions = checkpoint.state_versions(version)[holder.level]
    own = [shard for place, shard in enumerate(sorted(versions.shards)) if parts is None or place in parts]
    for shard, changed in versions.states():
        if parts is not None and shard not in own:
            continue
        store = checkpoint.store(version, holder.level, shard)
        yield store, read_state(store, changed).states[holder.vertex]


def _rows_of_trace(store: Store, term: StateTerm) -> Iterator[pa.Table]:
    """The rows of the runs of a trace."""
    if not (isinstance(term, Call) and term.name in Trace.terms):
        return
    for run in term.args[1]:
        stored = run.args if run.name == "parts" else (run,)
        columns = tuple(stored[0].args[0])
        yield store.get_parts(columns, tuple(each.args[1] for each in stored)).table
