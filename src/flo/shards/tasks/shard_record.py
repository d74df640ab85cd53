"""The record of a shard, besides the state of its operators: views, ended deliveries and last positions.

    views      sums: a trace of the output's rows in this shard
    ended      {0}         delivery 0 has ended
    done       {3}         stream 3, an output of the stage, has ended
    reached    {1: 41}     the last row of delivery 1, which is ordered, was at position 41
    counts     {log: 42}   the view `log` is a sequence, and has 42 rows

Invariant: the rows of an ordered delivery come at ascending positions, within a micro-batch (`sort_by_position` sorts
them) and from one to the next. A row at position 41 or before is an error now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columns.indices import one_chunk, sort_rows
from flo.columns.narrowing import marked_schema
from flo.core.collection import Value
from flo.core.errors import ElementError
from flo.core.untyped import Json
from flo.shards.tasks.output_files import PARTS, UNSENT, VIEW, Output, write_parquet, write_part
from flo.shards.tasks.state import BLANK
from flo.tables.io.fitting import table_of
from flo.tables.state.run import run_of
from flo.tables.state.trace import Trace, with_weights
from flo.tables.values import WEIGHT_FIELD, Columns, Rows, is_ordered, layout_of
from flo.values.element_value import ElementCollection

if TYPE_CHECKING:
    from flo.shards.plan.stages import Delivery
    from flo.shards.tasks.context import MicroBatch
    from flo.tables.checkpoint.folders import Writes

PLACE = "="
"""The column that numbers the rows of a sequence in its view."""


@dataclass
class ShardRecord:
    """The record of one shard. `views` maps each view to a trace, or to a value if it has no columns; and each output
    that is pulled to the changes that were not."""

    views: dict[str, Any] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    """The deliveries whose end the shard's program has seen."""
    done: set[str] = field(default_factory=set)
    """The output streams of the stage that have ended."""
    reached: dict[str, Json] = field(default_factory=dict)
    """For each ordered delivery, the position of its last row: one form to compare, and one to print. Of a partitioned
    one, that of each partition."""
    counts: dict[str, int] = field(default_factory=dict)
    """For each sequence, the number of rows so far."""
    source: str = ""
    """Who has given the positions in `reached`."""

    @classmethod
    def read(cls, parts: tuple[tuple[str, Any], ...], more: Json) -> ShardRecord:
        ended, done, counts = set(more["ended"]), set(more["done"]), dict(more["counts"])
        return cls(dict(parts), ended, done, dict(more["reached"]), counts, more["source"])

    def parts(self, outputs: Iterable[Output]) -> tuple[tuple[str, Any], ...]:
        """The views to save. An output that is no longer a view is dropped."""
        wanted = {output.name for output in outputs if output.how == VIEW}
        return tuple((name, view) for name, view in sorted(self.views.items()) if name in wanted)

    def more(self, outputs: Iterable[Output]) -> Json:
        """The rest as JSON, with a description of each view for readers without the program."""
        views = {
            output.name: describe_view(output.type.collection.base, self.views.get(output.name))
            for output in outputs
            if output.how == VIEW and isinstance(output.type.collection, Columns)
        }
        return {
            "ended": sorted(self.ended),
            "done": sorted(self.done),
            "reached": self.reached,
            "counts": self.counts,
            "source": self.source,
            "views": views,
        }

    def copy(self) -> ShardRecord:
        """A copy to change, so that a task that fails leaves the original as it was."""
        return replace(
            self,
            views=dict(self.views),
            ended=set(self.ended),
            done=set(self.done),
            reached=dict(self.reached),
            counts=dict(self.counts),
        )

    def read_from(self, source: str) -> None:
        """Says who numbers the rows of ordered inputs from now on. Another source begins anew."""
        if self.source != source:
            self.source, self.reached = source, {}

    def note_end(self, stream: str, value: Value) -> bool:
        """Records the end of an output stream if `value` carries it; returns whether the stream has ended."""
        if value.fixed():
            self.done.add(stream)
        return stream in self.done

    def sort_by_position(self, delivery: Delivery, table: pa.Table, position: str) -> pa.Table:
        """Sorts rows by position. Raises if a position repeats or lies before a row of an earlier micro-batch."""
        table = sort_rows(table, [position])
        column = one_chunk(table[position])
        twice = pc.index(pc.equal(column.slice(1), column.slice(0, len(column) - 1)), True).as_py()
        if twice >= 0:
            raise _out_of_order(_comparable(column[twice]), _comparable(column[twice]))
        first, before = _comparable(column[0]), self.reached.get(delivery.name)
        if before is not None and first[0] <= before[0]:
            raise _out_of_order(first, before)
        self.reached[delivery.name] = _comparable(column[-1])
        return table

    def sort_partitions(self, delivery: Delivery, table: pa.Table, partition: str, position: str) -> pa.Table:
        """Sorts rows by partition, and by position within it. Positions are compared within a partition only."""
        table = sort_rows(table, [partition, position])
        numbers, column = table[partition].to_numpy(), one_chunk(table[position])
        firsts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
        same = pc.equal(column.slice(1), column.slice(0, len(column) - 1)).to_numpy(zero_copy_only=False)
        twice = np.flatnonzero(same & (numbers[1:] == numbers[:-1]))
        if len(twice):
            at = int(twice[0])
            raise _out_of_order(_comparable(column[at]), _comparable(column[at]), int(numbers[at]))
        reached = dict(self.reached.get(delivery.name, {}))
        for low, high in pairwise([*firsts.tolist(), len(numbers)]):
            number, first = str(numbers[low]), _comparable(column[low])
            before = reached.get(number)
            if before is not None and first[0] <= before[0]:
                raise _out_of_order(first, before, int(number))
            reached[number] = _comparable(column[high - 1])
        self.reached[delivery.name] = reached
        return table

    def add_changes(
        self, output: Output, value: Value, batch: MicroBatch, shard: int, writes: Writes
    ) -> tuple[int, str | None]:
        """Adds the changes of an output to its view or file; returns the number of rows, and the name of the file.

        The file is there when `writes` are finished."""
        written = None
        if output.how == VIEW:
            self._add_to_view(output, value)
        elif output.how == UNSENT and value.size() and shard != BLANK:
            before = self.views.get(output.name)
            self.views[output.name] = value if before is None else before.concat(value)
        elif output.how == PARTS and isinstance(value, Rows) and output.to is None:
            written = write_part(batch.folder, output.name, batch.version, shard, table_of(value), writes)
        elif output.how == PARTS and isinstance(value, Rows):
            written = write_parquet(str(output.to), batch, shard, table_of(value), writes)
        return (value.table.num_rows if isinstance(value, Rows) else value.size()), written

    def _add_to_view(self, output: Output, value: Value) -> None:
        """Adds the changes of an output to its view."""
        if not isinstance(value, Rows):
            before = self.views.get(output.name)
            if value.size() or before is None:
                self.views[output.name] = value if before is None else before.concat(value)
            return
        if value.table.num_rows:
            self.views[output.name] = self._extend_trace(output, value)

    def _extend_trace(self, output: Output, rows: Rows) -> Trace:
        """The trace of a view with more rows. Rows of a sequence get their number in it."""
        columns = layout_of(rows.of).names
        table = rows.table.combine_chunks()
        if is_ordered(rows.of):
            start = self.counts.get(output.name, 0)
            self.counts[output.name] = start + table.num_rows
            places = pa.array(np.arange(start, start + table.num_rows))
            table, columns = with_weights(table.append_column(PLACE, places), np.ones(len(places), np.int64)), (PLACE,)
        before: Trace = self.views.get(output.name, Trace(columns))
        return before.extend(run_of(table, columns))


def describe_view(of: ElementCollection[Any], trace: Trace | None) -> Json:
    """A view as JSON: its collection, its schema, and the runs that hold it."""
    columns = (PLACE,) if is_ordered(of) else layout_of(of).names
    schema = marked_schema(layout_of(of))
    if is_ordered(of):
        schema = schema.append(pa.field(PLACE, pa.int64()))
    schema = schema.append(WEIGHT_FIELD)
    runs = [part.name for run in trace.runs for part in run.files] if trace is not None else []
    return {"kind": of.name, "columns": columns, "schema": schema.serialize().to_pybytes().hex(), "runs": runs}


def _comparable(position: pa.Scalar) -> list[Any]:
    """A position as JSON: a number or string that compares as the position does, and a form to print."""
    place = position.as_py()
    if pa.types.is_temporal(position.type):
        return [position.value, str(place)]
    if pa.types.is_decimal(position.type):
        return [int(f"{place:f}".replace(".", "")), str(place)]  # all decimals of a column have the same scale
    return [place, str(place)]


def _out_of_order(position: list[Any], before: list[Any], partition: int | None = None) -> ElementError:
    """The error for a row that does not come after the one before it."""
    where = "" if partition is None else f" of partition {partition}"
    summary = f"a row at position {position[1]}{where} arrived after one at {before[1]}, but a Sequence is ordered"
    if position[0] == before[0]:
        summary = f"two rows{where} have the position {position[1]}, so their order in the Sequence is undefined"
    return ElementError(
        summary,
        instead=(("flo.Bag[…]", "a collection without order"), ("order=…", "a column that increases from row to row")),
    )
