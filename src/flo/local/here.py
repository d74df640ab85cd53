"""`flow.on(flo.here)`: a program on tables, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flo.api.explain import explain_partitions, explain_state
from flo.api.flow import Here
from flo.api.running import Negative, expect_known, expect_one_of
from flo.core.errors import FloError, Origin, TypeMismatch, UnknownNameError, brief
from flo.core.stream_type import StreamType
from flo.local.executors import MOST_WORKERS
from flo.local.sharded import ShardedLoop
from flo.local.table_loop import TableLoop, TableResult
from flo.tables.dataflow import Dataflow
from flo.tables.io.diverted import OnError
from flo.tables.keyed import KeyedColumns
from flo.tables.lowering import lower_flow
from flo.tables.operator import to_table_type, to_value_type
from flo.tables.plan import explain_plan
from flo.tables.streams import StreamColumns, has_columns
from flo.values.keyed import Keyed
from flo.values.partitioned import Partitioned

if TYPE_CHECKING:
    from flo.api.flow import Flow


class OnHere:
    """A flow on tables, in this process, or in worker processes of this machine."""

    def __init__(self, flow: Flow, place: Here, workers: int | None = None) -> None:
        self._flow = flow
        self._place = place
        self._workers = _expect_workers(workers)
        self._inputs = {stream.name: stream for stream in flow._scope.inputs}
        self._dag = lower_flow(flow, _input_type, _output_type)

    def loop(self, *, on_error: OnError = "raise", negative: Negative = "raise") -> TableLoop:
        """The event loop, to push and pull by hand. `negative` applies to `result`; what is pulled may retract rows."""
        return TableLoop(self, self._start(), expect_one_of("on_error", on_error, OnError), negative)

    def _start(self) -> Dataflow | ShardedLoop:
        """The program before any input: in this process, or in workers."""
        if self._workers == 1:
            return Dataflow(self._dag)
        return ShardedLoop(self._dag, self._workers)

    def run(self, /, *, on_error: OnError = "raise", negative: Negative = "raise", **inputs: Any) -> TableResult:
        """Runs on this data: tables, frames, files, folders, iterators of them, or plain Python.

        Bounded inputs end with their data; unbounded ones stay open. Returns the whole result, or raises. With
        `on_error="divert"` rows that do not fit, or on which a function raises, are diverted. `negative="allow"` allows
        negative weights in the result.
        """
        loop = self.loop(on_error=on_error, negative=negative)
        for name in inputs:
            expect_known(name, self._inputs, "input")
        for name, stream in self._inputs.items():
            if stream.bounded and name not in inputs:
                raise UnknownNameError(
                    f"`run` must get data for the bounded input `{name}`",
                    instead=((f"run({name}=[…])", "an empty list if there is none"),),
                    where=Origin.here(),
                )
        try:
            loop._take_all(inputs, self._place.progress)
            return loop.result()
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__

    def __repr__(self) -> str:
        where = "in this process" if self._workers == 1 else f"in {self._workers} processes"
        return f"<Flow {self._flow.name!r}, {where}: run(…), loop(…), explain()>"

    def _repr_html_(self) -> str:
        from flo.pictures.notebook import html_text  # nothing else here draws

        return html_text(self.explain())

    def explain(self) -> str:
        """The plan as text: which operators run on tables, which call Python for every row, and their state."""
        program = self._flow._scope, self._flow._outputs
        state = [*explain_partitions(*program), *explain_state(*program)]
        return explain_plan(self._flow.name, Dataflow(self._dag).nodes, state)


def _expect_workers(workers: Any) -> int:
    if workers is None:
        return 1
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise TypeMismatch(
            f"`workers` must be an integer from 1 to {MOST_WORKERS}; got {brief(workers)}",
            instead=(("workers=2", "shards in two processes"),),
            where=Origin.here(),
        )
    return workers


def _input_type(stream: StreamType) -> StreamType:
    """The type of an input on tables. A stream of streams is fed whole inner streams."""
    of = stream.collection
    if isinstance(of, Partitioned):
        return to_table_type(stream) or stream
    return StreamType(StreamColumns(of), stream.bounded) if has_columns(of) else _as_table(stream)


def _output_type(stream: StreamType) -> StreamType:
    return stream if isinstance(stream.collection, KeyedColumns) else _as_table(to_value_type(stream))


def _as_table(stream: StreamType) -> StreamType:
    """The type of an input or output on tables. Keyed streams are plain Python."""
    return (None if isinstance(stream.collection, Keyed) else to_table_type(stream)) or stream
