"""What a shard keeps beside the program: views of outputs, and how far inputs have come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flo.columns.indices import one_chunk
from flo.core.collection import Value
from flo.core.errors import ElementError
from flo.core.stream_type import StreamType
from flo.tables.checkpoint.folders import Local, folder
from flo.tables.checkpoint.store import damaged, missing
from flo.tables.io.outputs import table_of
from flo.tables.state.run import run_of
from flo.tables.state.trace import Trace, weighing
from flo.tables.values import WEIGHT, Columns, Rows, layout_of, ordered
from flo.values.element_value import ElementCollection

if TYPE_CHECKING:
    from flo.spark.plan.stages import Delivery
    from flo.spark.tasks.context import Turn

VIEW, PARTS, COUNT = "view", "parts", "count"
"""An output is kept as it stands, or its changes are written for a sink, or they are counted only."""
OUTPUTS = "outputs"
PLACE = "="
"""The column that numbers the rows of a sequence."""


@dataclass(frozen=True)
class Output:
    """An output of the program: its stream, and what becomes of it."""

    name: str
    stream: int
    type: StreamType
    how: str
    to: str | None = None
    """What the names of Parquet files begin with, if tasks write its changes to such."""


@dataclass
class Kept:
    """`views` has a trace, or a value, for each view; the rest is small."""

    views: dict[str, Any] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    """The deliveries whose end was passed on."""
    done: set[int] = field(default_factory=set)
    """The outputs of the stage that have ended."""
    reached: dict[int, Any] = field(default_factory=dict)
    """The position of the last row of each delivery in order: to compare, and to show."""
    counts: dict[str, int] = field(default_factory=dict)
    """How many rows a sequence has had."""

    @classmethod
    def read(cls, parts: tuple[tuple[str, Any], ...], more: Any) -> Kept:
        reached = {int(number): last for number, last in more["reached"].items()}
        return cls(dict(parts), set(more["ended"]), set(more["done"]), reached, dict(more["counts"]))

    def parts(self, outputs: Iterable[Output]) -> tuple[tuple[str, Any], ...]:
        """The views. What is no longer one is let go of."""
        wanted = {output.name for output in outputs if output.how == VIEW}
        return tuple((name, view) for name, view in sorted(self.views.items()) if name in wanted)

    def more(self, outputs: Iterable[Output]) -> Any:
        """What is noted beside the state, for whoever reads it without the program."""
        views = {
            output.name: described(output.type.collection.base, self.views.get(output.name))
            for output in outputs
            if output.how == VIEW and isinstance(output.type.collection, Columns)
        }
        return {
            "ended": sorted(self.ended),
            "done": sorted(self.done),
            "reached": {str(number): last for number, last in self.reached.items()},  # as JSON has them
            "counts": self.counts,
            "views": views,
        }

    def copy(self) -> Kept:
        """A task that fails half way leaves nothing behind."""
        return Kept(dict(self.views), set(self.ended), set(self.done), dict(self.reached), dict(self.counts))

    def has_ended(self, stream: int, value: Value) -> bool:
        """Whether an output of the stage has ended, now or in an earlier turn."""
        if value.fixed():
            self.done.add(stream)
        return stream in self.done

    def in_order(self, delivery: Delivery, table: pa.Table, position: str) -> pa.Table:
        """The rows by position: no two may be at one, in this turn or in others, nor one before an earlier turn's."""
        order = pc.sort_indices(table, sort_keys=[(position, "ascending")])
        table = table.take(order)
        column = one_chunk(table[position])
        twice = pc.index(pc.equal(column.slice(1), column.slice(0, len(column) - 1)), True).as_py()
        if twice >= 0:
            raise _misplaced(_comparable(column[twice]), _comparable(column[twice]))
        first, before = _comparable(column[0]), self.reached.get(delivery.number)
        if before is not None and first[0] <= before[0]:
            raise _misplaced(first, before)
        self.reached[delivery.number] = _comparable(column[-1])
        return table

    def take(self, output: Output, value: Value, turn: Turn, shard: int) -> tuple[int, bool]:
        """Takes in what an output gave in this turn; says how many rows, and whether there is a file of them."""
        written = False
        if output.how == VIEW:
            self._view(output, value)
        elif output.how == PARTS and output.to is None:
            written = write_part(turn.folder, output.name, turn.version, shard, value)
        elif output.how == PARTS:
            written = write_file(str(output.to), turn, shard, value)
        return (value.table.num_rows if isinstance(value, Rows) else value.size()), written

    def _view(self, output: Output, value: Value) -> None:
        if not isinstance(value, Rows):
            before = self.views.get(output.name)
            if value.size() or before is None:
                self.views[output.name] = value if before is None else before.concat(value)
            return
        if value.table.num_rows:
            self.views[output.name] = self._extended(output, value)

    def _extended(self, output: Output, rows: Rows) -> Trace:
        columns = layout_of(rows.of).names
        table = rows.table.combine_chunks()
        if ordered(rows.of):
            start = self.counts.get(output.name, 0)
            self.counts[output.name] = start + table.num_rows
            places = pa.array(np.arange(start, start + table.num_rows))
            table, columns = weighing(table.append_column(PLACE, places), np.ones(len(places), np.int64)), (PLACE,)
        before: Trace = self.views.get(output.name, Trace(columns))
        return before.extended(run_of(table, columns))


def described(of: ElementCollection[Any], trace: Trace | None) -> Any:
    """A view as JSON: what it is, and the runs that hold it."""
    columns = (PLACE,) if ordered(of) else layout_of(of).names
    schema = layout_of(of).schema
    if ordered(of):
        schema = schema.append(pa.field(PLACE, pa.int64()))
    schema = schema.append(pa.field(WEIGHT, pa.int64(), nullable=False))
    runs = [run.name for run in trace.runs] if trace is not None else []
    return {"kind": of.name, "columns": columns, "schema": schema.serialize().to_pybytes().hex(), "runs": runs}


def _comparable(position: pa.Scalar) -> list[Any]:
    """A position as JSON keeps it: a number or a text that compares as the position does, and what people read."""
    place = position.as_py()
    if pa.types.is_temporal(position.type):
        return [position.value, str(place)]
    if pa.types.is_decimal(position.type):
        return [int(f"{place:f}".replace(".", "")), str(place)]  # all decimals of a column have the same scale
    return [place, str(place)]


def _misplaced(position: list[Any], before: list[Any]) -> ElementError:
    said = f"a row at the position {position[1]} has come after one at {before[1]}, and a sequence has an order"
    if position[0] == before[0]:
        said = f"two rows are at the position {position[1]}, and nothing says which of them is first"
    return ElementError(
        said, instead=(("flo.Bag[…]", "a collection without order"), ("order=…", "a column that only rises"))
    )


def write_part(where: str, name: str, version: int, shard: int, value: Any) -> bool:
    """The changes of an output in one turn and one shard, if it has any: a file that is there as a whole or not."""
    table = table_of(value)
    if table.num_rows:
        folder(where).write(part(name, version, shard), file_of(table))
    return bool(table.num_rows)


def file_of(table: pa.Table) -> pa.Buffer:
    """The content of a file that can be mapped."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def write_file(to: str, turn: Turn, shard: int, value: Any) -> bool:
    """The same as Parquet. There is one file at least, so that a turn without changes can be seen."""
    table, files, name = table_of(value), folder(f"{to}{turn.version:08}"), f"{shard:05}-of-{turn.shards:05}.parquet"
    if not table.num_rows and shard != 0:
        return False
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    files.write(name, sink.getvalue())
    return True


def remove_stale(output: Output, turn: Turn, task: int, written: Iterable[int]) -> None:
    """Removes what an attempt that was broken off has written of the shards of a task, but those that have written
    now."""
    kept = set(written)
    into = f"{turn.folder}/{OUTPUTS}/{output.name}/" if output.to is None else output.to
    files = folder(f"{into}{turn.version:08}")
    for name in files.names(""):
        shard = int(name[:5])
        if shard % turn.tasks == task and shard not in kept:
            files.remove(name)


def part(name: str, version: int, shard: int) -> str:
    """The file with the changes of an output in one turn and one shard."""
    return f"{OUTPUTS}/{name}/{version:08}/{shard:05}.arrow"


def read_part(where: str, name: str, is_sound: Callable[[Any], bool] = lambda data: True) -> pa.Table:
    """The rows of a file; refused with its name if it is missing or damaged."""
    parts = folder(where)
    try:
        data = parts.kept(name) if isinstance(parts, Local) else parts.read(name)
        if is_sound(data):
            return pa.ipc.open_file(data).read_all()
    except FileNotFoundError:
        raise missing(parts, name) from None
    except (OSError, pa.ArrowException):
        pass
    raise damaged(parts, name)


def remove_parts(where: str, name: str, before: int) -> None:
    """Removes what sinks have taken of turns that cannot come again."""
    for version in folder(where).folders(f"{OUTPUTS}/{name}"):
        if int(version) < before:
            folder(where).remove(f"{OUTPUTS}/{name}/{version}")
