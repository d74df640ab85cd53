"""`nest` without defer on tables: the body runs on all inner streams that have come, at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from flo.columns.indices import take_rows
from flo.core.collection import End
from flo.core.nest import Nest
from flo.core.operator import Delta, Step, Values
from flo.core.stream_type import StreamTypes
from flo.tables.faults import expect_of_a_row
from flo.tables.functions import beside, by_columns
from flo.tables.operator import Grouping, OnTables, Op, Placement, functions_in, plain, register_in
from flo.tables.operators.nested import Choice, flatten_inner, moved, nest_one_by_one
from flo.tables.streams import STREAM, StreamColumns, Streams, has_columns, numbers, of_streams
from flo.tables.translate import CHOICES
from flo.tables.whole import Whole, in_order, operators_in, run_whole, whole_types
from flo.values.operators.nested_streams import Flatten, NestedZip


@dataclass(frozen=True)
class OnStreams(OnTables[Op]):
    """Reads one nested stream whose inner streams are complete."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.ANY
    keeps_positions = False
    stream_by_stream = True

    def steps(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        assert isinstance(value, Streams)
        if value.count:
            yield self.take_in(value)
        elif value.end is End.ARRIVED:
            yield Step(f"{self.rule}-terminated", (value.passed(),), self, (self.ended(),))

    def take_in(self, value: Streams) -> Step:
        return Step(self.rule, (value.drained(),), self, (self.all_of(value),))

    def all_of(self, value: Streams) -> Delta:
        raise NotImplementedError


@final
@dataclass(frozen=True)
class NestTables(OnStreams[Nest]):
    """nest(g) on inner streams that are complete."""

    name = "nest_tables"

    @property
    def by_row(self) -> bool:
        return not all(by_columns(f) for operator in operators_in(self.like.graph) for f in functions_in(operator))

    def take_in(self, value: Streams) -> Step:
        """All streams, or those before the first at fault; for that one the namesake says what is wrong."""
        try:
            return super().take_in(value)
        except Exception as error:
            expect_of_a_row(self, error)
            count = self._without_fault(value)
            rest, sent = value.send(count)
            if not count:
                for _ in self.like.advance((value.send(1)[1].value(),)):
                    pass
                raise
            return Step(self.rule, (rest,), self, (self.all_of(sent),))

    def _without_fault(self, value: Streams) -> int:
        """How many streams the body runs on before it raises; not all of them."""
        good, bad = 0, value.count
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                self.all_of(value.send(middle)[1])
            except Exception:
                bad = middle
            else:
                good = middle
        return good

    def all_of(self, value: Streams) -> Delta:
        like = self.like
        inner = tuple(
            in_order(Whole(stream.collection, value.count, table))
            for stream, table in zip(value.of.inner, value.tables, strict=True)
        )
        tables = tuple(each.table for each in run_whole(like.graph, inner))
        return replace(value, of=of_streams(self.outputs[0]), tables=tables, end=End.OPEN)


@register_in(CHOICES, Nest)
def nest(like: Nest, inputs: StreamTypes) -> Choice | None:
    """All at once where the inner streams are complete and the body can, else one after the other."""
    (stream,) = inputs
    of = stream.collection
    if isinstance(of, StreamColumns) and whole_types(like.graph, of.base.inner) is not None:
        if has_columns(like.judge((plain(stream),)).outputs[0].collection):
            return inputs, NestTables(like)
    return nest_one_by_one(like, stream)


@final
@dataclass(frozen=True)
class FlattenTables(OnStreams[Flatten]):
    """flatten() on inner streams that are complete."""

    name = "flatten_tables"

    def all_of(self, value: Streams) -> Delta:
        rows = value.tables[0]
        if self.keys:
            rows = beside(rows, take_rows(value.owners, numbers(rows)))
        return self.emitted(rows.drop_columns([STREAM]))


@register_in(CHOICES, Flatten)
def flatten(like: Flatten, inputs: StreamTypes) -> Choice | None:
    (stream,) = inputs
    whole = isinstance(stream.collection, StreamColumns)
    return (inputs, FlattenTables(like)) if whole else flatten_inner(like, stream)


@final
@dataclass(frozen=True)
class ZipStreams(OnTables[NestedZip]):
    """zip_nested(n) of inner streams that are complete. `done` is true when one of the inputs has ended."""

    placement = Placement.ONE_PLACE
    grouping = Grouping.NONE
    keeps_positions = False

    done: bool = False

    name = "zip_streams"
    rule = "zip-nested"

    def steps(self, inputs: Values) -> Iterator[Step]:
        values: Any = inputs
        count = min(value.count for value in values)
        if self.done:
            if any(value.size() for value in values):
                yield Step(f"{self.rule}-drain", tuple(value.take()[0] for value in values), self, (None,))
        elif count:
            cut = [value.send(count) if count < value.count else (value.drained(), value) for value in values]
            tables = tuple(table for _, sent in cut for table in sent.tables)
            zipped = Streams(of_streams(self.outputs[0]), count, tables)
            yield Step(self.rule, tuple(rest for rest, _ in cut), self, (zipped,))
        elif any(value.end is End.ARRIVED and not value.count for value in values):
            rests = tuple(value.passed() if value.fixed() else value.drained() for value in values)
            yield Step(f"{self.rule}-terminated", rests, replace(self, done=True), (self.ended(),))


@register_in(CHOICES, NestedZip)
def zip_nested(like: NestedZip, inputs: StreamTypes) -> Choice | None:
    """As one where all are complete."""
    whole = all(isinstance(stream.collection, StreamColumns) for stream in inputs)
    return (inputs, ZipStreams(like)) if whole else moved(like, inputs)
