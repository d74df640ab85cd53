"""`nest` without defer on tables: the body runs on all inner streams that have come, at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flo.columnar.operator import OnTables
from flo.columnar.rows import Rows
from flo.columnar.streams import STREAM, StreamColumns, Streams, has_columns, numbers
from flo.columnar.translate import form_of
from flo.columnar.whole import Whole, run_whole, runs_whole
from flo.core.collection import End
from flo.core.derivation import StreamTypes
from flo.core.nest import Nest
from flo.core.operator import Delta, Deltas, Operator, Step, Values
from flo.values.operators.nested import Flatten


@dataclass(frozen=True)
class OnStreams(OnTables):
    """Reads one nested stream."""

    def steps(self, inputs: Values) -> Any:
        (value,) = inputs
        assert isinstance(value, Streams)
        if value.count:
            yield Step(self.rule, (value.drained(),), self, (self.all_of(value),))
        elif value.end is End.ARRIVED:
            yield Step(f"{self.rule}-terminated", (value.passed(),), self, (self.last(),))

    def consume(self, *tables: pa.Table) -> tuple[Operator, Deltas]:
        raise NotImplementedError

    def all_of(self, value: Streams) -> Delta:
        raise NotImplementedError

    def last(self) -> Any:
        return self.ended()


@final
@dataclass(frozen=True)
class NestTables(OnStreams):
    """nest(g) on inner streams that are complete."""

    name = "nest_tables"
    rule = "nest"

    def all_of(self, value: Streams) -> Delta:
        like: Any = self.like
        inner = tuple(
            Whole(stream.collection, value.count, table)
            for stream, table in zip(value.of.inner, value.tables, strict=True)
        )
        found = run_whole(like.graph, inner)
        tables = tuple(_by_stream(each.table) for each in found)
        return Streams(self.outputs[0], value.count, tables)  # type: ignore[arg-type]

    def last(self) -> Any:
        return StreamColumns(self.outputs[0]).bottom().fix()  # type: ignore[arg-type]


def _by_stream(table: pa.Table) -> pa.Table:
    streams = numbers(table)
    if np.all(streams[1:] >= streams[:-1]):
        return table
    return table.take(pc.sort_indices(table[STREAM]))


@form_of(Nest)
def nest(like: Nest, inputs: StreamTypes) -> Operator | None:
    outputs = like.judge(inputs).outputs
    fits = has_columns(outputs[0].collection) and like.original is None
    return NestTables(like) if fits and runs_whole(like.graph) else None


@final
@dataclass(frozen=True)
class FlattenTables(OnStreams):
    """flatten() on inner streams that are complete."""

    name = "flatten_tables"
    rule = "flatten"

    def all_of(self, value: Streams) -> Delta:
        rows = value.tables[0].drop_columns([STREAM])
        return Rows(self.outputs[0], rows) if rows.num_rows else None


@form_of(Flatten)
def flatten(like: Flatten, inputs: StreamTypes) -> Operator | None:
    return FlattenTables(like)
