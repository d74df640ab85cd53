"""Operators on whole streams that run as their forms do, with the number of the stream among the columns of the key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from flo.core.operator import Deltas, Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.tables.groups import stream_groups
from flo.tables.operator import OnTables, columnar
from flo.tables.operators.per_key import BY_KEY
from flo.tables.operators.sets import DifferenceTables, FromZSetTables
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

BY_STREAM = (*BY_KEY, FromZSetTables, DifferenceTables)
"""The forms that heed the columns of a key, and need not know when the stream of a key ends."""


def _form(operator: Operator, inputs: StreamTypes) -> OnTables | None:
    form = FORMS[type(operator)](operator, inputs)
    return form if isinstance(form, BY_STREAM) else None


@whole_of(
    *(Map, Filter, FlatMap, ToBag, ToSet, ToZSet, ZSetToBag, ZSetToSet, Distinct, SequenceDistinct),
    *(BagUnion, SetUnion, Plus, Minus, Negate, MapWeights, Intersection, Difference),
    *(Join, BagJoin, SetJoin, LeftJoin, FullJoin, SemiJoin, AntiJoin, Aggregate, TopK),
    when=lambda operator, inputs: _form(operator, inputs) is not None,
)
def run_form(operator: Operator, given: Wholes, outputs: Outputs) -> Wholes:
    """Runs the operator on tables with the number of the stream as its group, and closes all streams."""
    types: StreamTypes = tuple(StreamType(each.of, bounded=True) for each in given)
    form: Any = _form(operator, types)
    form = replace(form.typed(tuple(map(columnar, types))), keys=(STREAM,))
    deltas: list[Deltas] = []
    if any(each.table.num_rows for each in given):
        form, found = form.consume_all(*(each.table for each in given))
        deltas.append(found)
    if type(form).close is not OnTables.close:
        deltas.append(form.close(stream_groups(np.arange(given[0].count)))[1])
    parts: list[list[Any]] = [[delta for delta in each if delta is not None] for each in zip(*deltas, strict=True)]
    return tuple(
        _whole(of, given[0].count, each) for of, each in zip(outputs, parts or [[]] * len(outputs), strict=True)
    )


def _whole(of: Any, count: int, parts: list[Rows]) -> Whole:
    schema = pa.schema([NUMBER, *schema_of(of)])
    tables = [pa.Table.from_arrays(part.table.select(schema.names).columns, schema=schema) for part in parts]
    return Whole(of, count, pa.concat_tables([schema.empty_table(), *tables]))
