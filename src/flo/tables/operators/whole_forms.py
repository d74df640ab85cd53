"""Operators on whole streams that run as their forms do, with the number of the stream among the columns of the key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from flo.core.collection import End
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.operator import Grouping, OnTables, columnar
from flo.tables.streams import NUMBER, STREAM
from flo.tables.translate import FORMS
from flo.tables.values import Rows, schema_of
from flo.tables.whole import Outputs, Whole, Wholes, whole_of
from flo.values.operators.bags import BagJoin, BagUnion
from flo.values.operators.bags import Distinct as SequenceDistinct
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.sets import Difference, Intersection, SetJoin, SetUnion, ToBag, ToSet
from flo.values.operators.zset_aggregates import Aggregate
from flo.values.operators.zset_joins import AntiJoin, FullJoin, Join, LeftJoin, SemiJoin
from flo.values.operators.zset_ranking import TopK
from flo.values.operators.zsets import Distinct, MapWeights, Minus, Negate, Plus, ToZSet, ZSetToBag, ZSetToSet


def _form(operator: Operator, inputs: StreamTypes) -> OnTables[Operator] | None:
    form = FORMS[type(operator)](operator, inputs)
    return form if isinstance(form, OnTables) and form.grouping is not Grouping.NONE else None


@whole_of(
    *(Map, Filter, FlatMap, ToBag, ToSet, ToZSet, ZSetToBag, ZSetToSet, Distinct, SequenceDistinct),
    *(BagUnion, SetUnion, Plus, Minus, Negate, MapWeights, Intersection, Difference),
    *(Join, BagJoin, SetJoin, LeftJoin, FullJoin, SemiJoin, AntiJoin, Aggregate, TopK),
    when=lambda operator, inputs: _form(operator, inputs) is not None,
)
def by_form(operator: Operator, given: Wholes, outputs: Outputs) -> Wholes:
    types: StreamTypes = tuple(StreamType(each.of, bounded=True) for each in given)
    form, tables = _form(operator, types), tuple(map(columnar, types))
    assert form is not None
    found: list[list[pa.Table]] = [[] for _ in outputs]
    inputs: Any = tuple(Rows(each.of, each.table, End.ARRIVED) for each in given)  # type: ignore[arg-type]
    for step in replace(form.typed(tables), keys=(STREAM,)).advance(inputs):  # type: ignore[arg-type]
        for parts, delta in zip(found, step.outputs, strict=True):
            if isinstance(delta, Rows) and delta.table.num_rows:
                parts.append(delta.table)
    return tuple(_whole(of, given[0].count, parts) for of, parts in zip(outputs, found, strict=True))


def _whole(of: Any, count: int, parts: list[pa.Table]) -> Whole:
    schema = pa.schema([NUMBER, *schema_of(of)])
    tables = [pa.Table.from_arrays(part.select(schema.names).columns, schema=schema) for part in parts]
    return Whole(of, count, pa.concat_tables([schema.empty_table(), *tables]))
