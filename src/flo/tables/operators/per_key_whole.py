"""Operators of the body of `per_key` that wait for all of a stream: then the rows of each key are a whole stream."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import pyarrow as pa

from flo.columns.indices import taken
from flo.core.graph import Node
from flo.core.operator import Operator
from flo.core.stream_type import StreamTypes
from flo.tables.functions import beside
from flo.tables.operators.per_key import every_key
from flo.tables.operators.per_key_results import Final
from flo.tables.operators.per_key_states import ByKey
from flo.tables.operators.waiting import ARRIVAL
from flo.tables.operators.weights import NOTHING
from flo.tables.state.run import Run, pairs, run_of
from flo.tables.state.totals import numbers_in
from flo.tables.state.trace import Trace, weighing
from flo.tables.streams import numbered
from flo.tables.values import ordered, schema_of
from flo.tables.whole import Whole, has_run, in_order, one_by_one, run_whole
from flo.values.operators.bags import Sort
from flo.values.operators.zsets import ZSetToBag, ZSetToSet


@final
@dataclass(frozen=True)
class WholeOfEveryKey(Final[Operator]):
    """`rows` has what has come, by key; of sequences with its place in the order of arrival."""

    rows: Trace = field(default=NOTHING)
    count: int = 0

    name = "whole_of_every_key"

    def added(self, rows: ByKey, of: Any) -> Self:
        table = rows.rows
        if ordered(of):
            places = self.count + np.arange(table.num_rows)
            table = weighing(table.append_column(ARRIVAL, pa.array(places)), np.ones(table.num_rows, np.int64))
        kept = replace(self.rows, columns=self.keys).extended(run_of(table, self.keys))
        return replace(self, rows=kept, count=self.count + table.num_rows)

    def results(self, keys: Run) -> pa.Table:
        of: Any = self.inputs[0]
        met = [(run.table, *pairs(keys, run)) for run in self.rows]
        table, streams = schema_of(of.inner).empty_table(), np.zeros(0, np.int64)
        if met:
            streams = np.concatenate([ours for _, ours, _ in met])
            table = pa.concat_tables([taken(rows, theirs) for rows, _, theirs in met])
            order = np.lexsort((numbers_in(table, ARRIVAL), streams)) if ordered(of.inner) else np.argsort(streams)
            table, streams = taken(table.select(schema_of(of.inner).names), order), streams[order]
        whole = in_order(Whole(of.inner, keys.rows, numbered(table, streams)))
        try:
            (found,) = run_whole(Node(None, self.like), (whole,))
        except Exception:
            result: Any = self.outputs[0]
            one_by_one(self.like, (whole,), (result.inner,))  # says what is wrong, as on values
            raise
        return beside(found.rows(), taken(keys.table.select(list(self.keys)), found.streams))


@every_key(Sort, ZSetToBag, ZSetToSet)
def whole(like: Operator, inputs: StreamTypes) -> Operator | None:
    return WholeOfEveryKey(like) if has_run(like, inputs) else None
