"""`nest` and `flatten` in the body of `per_key`: the whole streams of all keys are taken at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import Places, taken
from flo.core.nest import Nest
from flo.core.operator import Deltas, Operator, Step
from flo.core.stream_type import StreamTypes
from flo.tables.faults import expect_of_a_row
from flo.tables.functions import beside
from flo.tables.keyed import ENDED
from flo.tables.operators.keyed import keyed_delta
from flo.tables.operators.nest import NestTables
from flo.tables.operators.per_key import OfEveryKey, WithForm, every_key
from flo.tables.state.trace import alike
from flo.tables.streams import NUMBER, KeyedStreams, StreamColumns, Streams, has_columns, numbers
from flo.tables.whole import whole_types
from flo.values.operators.nested_streams import Flatten


@final
@dataclass(frozen=True)
class NestOfEveryKey(WithForm[Nest]):
    """nest(g) on inner streams that are complete: whose they are does not matter to g."""

    form: NestTables

    name = "nest_of_every_key"

    @property
    def by_row(self) -> bool:
        return self.form.by_row

    def take_in(self, *values: KeyedStreams) -> tuple[Operator, Deltas]:
        (value,) = values
        of: Any = self.outputs[0]
        found: Any = self.form.all_of(value.streams) if value.streams.count else StreamColumns(of.inner).bottom()
        return self, (KeyedStreams(of, found, value.owners, value.keys),)

    def taken_in(self, values: tuple[KeyedStreams, ...], *, onwards: bool) -> Iterator[Step]:
        """All streams; if g raises, those of each key before the first at fault, and then what the namesake raises."""
        (value,) = values
        try:
            operator, outputs = self.take_in(value)
        except Exception as error:
            expect_of_a_row(self, error)
            faulty = self._at_fault(value)
            good, held = _parts(value, faulty)
            if good.has_content():
                yield Step(self.rule, (held,), self, self.take_in(good)[1])
                if not onwards:
                    return
            for _ in self.like.advance((chosen(value, faulty[:1]).streams.value(),)):
                pass
            raise
        else:
            yield Step(self.rule, (value.drained(),), operator, outputs)

    def _at_fault(self, value: KeyedStreams) -> Places:
        """The streams that g raises on."""
        found, waiting = [], [(0, value.streams.count)]
        while waiting:
            start, stop = waiting.pop()
            try:
                self.form.all_of(chosen(value, np.arange(start, stop)).streams)
            except Exception:
                middle = (start + stop) // 2
                if stop - start > 1:
                    waiting += [(middle, stop), (start, middle)]
                else:
                    found.append(start)
        return np.array(found, np.int64)


def _parts(value: KeyedStreams, faulty: Places) -> tuple[KeyedStreams, KeyedStreams]:
    """What does not come behind a stream at fault of the same key, and what does. That a key is there, all may know."""
    whose = pa.concat_tables([value.owners, value.keys.select(value.owners.column_names)])
    order, firsts = alike(whose)  # of a key, ends come behind streams
    marked = np.zeros(len(order), np.int64)
    marked[faulty] = 1
    running = np.cumsum(marked[order])
    before = np.repeat((running - marked[order])[firsts], np.diff(firsts, append=len(order)))
    held = np.zeros(len(order), bool)
    held[order] = running > before
    streams, said = held[: value.streams.count], held[value.streams.count :] & value.keys[ENDED].to_numpy()
    good, rest = (chosen(value, np.flatnonzero(which)) for which in (~streams, streams))
    return replace(good, keys=value.keys.filter(pa.array(~said))), replace(rest, keys=value.keys.filter(pa.array(said)))


def chosen(value: KeyedStreams, places: Places) -> KeyedStreams:
    """Some of the inner streams, in their order."""
    number = np.full(value.streams.count, -1)
    number[places] = np.arange(len(places))
    tables = []
    for table in value.streams.tables:
        renumbered = number[numbers(table)]
        rows = np.flatnonzero(renumbered >= 0)
        tables.append(taken(table, rows).set_column(0, NUMBER, pa.array(renumbered[rows])))
    streams = Streams(value.streams.of, len(places), tuple(tables))
    return replace(value, streams=streams, owners=taken(value.owners, places))


@final
@dataclass(frozen=True)
class FlattenOfEveryKey(OfEveryKey[Flatten]):
    """flatten() on inner streams that are complete: rows under the key of their stream."""

    name = "flatten_of_every_key"

    def take_in(self, *values: KeyedStreams) -> tuple[Operator, Deltas]:
        (value,), of = values, self.outputs[0]
        table = value.streams.tables[0]
        if not table.num_rows:
            return self, (keyed_delta(of, None, value.keys),)
        return self, (keyed_delta(of, beside(table, taken(value.owners, numbers(table))), value.keys),)


@every_key(Nest)
def nest(like: Nest, inputs: StreamTypes) -> Operator | None:
    of: Any = inputs[0].collection
    whole = whole_types(like.graph, of.inner) is not None and has_columns(like.judge(inputs).outputs[0].collection)
    return NestOfEveryKey(like, NestTables(like)) if whole else None


@every_key(Flatten)
def flatten(like: Flatten, inputs: StreamTypes) -> Operator | None:
    return FlattenOfEveryKey(like)
