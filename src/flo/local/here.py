"""`flow.on(flo.here)`: a program on tables, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flo.api.explain import explain_partitions, explain_state
from flo.api.flow import Here
from flo.api.running import Negative, expect_known, expect_one_of
from flo.core.errors import FloError, HasMethods, Origin, TypeMismatch, UnknownNameError, brief
from flo.core.explained_calls import explain_methods
from flo.core.stream_type import StreamType
from flo.local.durable import DurableLoop
from flo.local.evolution import find_evolution
from flo.local.fill_run import Change, OnChange
from flo.local.query import LocalQuery
from flo.local.sharded import WorkersLoop
from flo.local.table_loop import TableLoop, TableResult
from flo.local.workers import MOST_WORKERS
from flo.program.retractions import causes_of_pushes
from flo.shards.checkpoint.going_back import go_back
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.program_changes import (
    BACKS,
    COPIED,
    describe_program,
    read_description,
    resolve_shards,
    update_description,
)
from flo.shards.checkpoint.retention import Retention
from flo.shards.checkpoint.spark_offsets import spark_folder
from flo.shards.checkpoint.tags import find_start
from flo.shards.micro_batches import MicroBatches
from flo.shards.plan.explain import explain_plan as explain_stages
from flo.shards.plan.explain import plan_blocks
from flo.shards.program import (
    ShardedProgram,
    as_table,
    checkpoint_folder,
    choose_shards,
    expect_memory,
    expect_shards,
    finish_as_table,
    plan_flow,
)
from flo.shards.sinks.giving import Giving
from flo.shards.sinks.retrying import Retrying
from flo.shards.tasks.state import READABLE
from flo.shards.watching.watch import QueryWatch
from flo.shards.watching.watched import Watched
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


@explain_methods
class OnHere(HasMethods):
    """A flow on tables, in this process, or in worker processes of this machine."""

    _called = "a flow on tables"

    def __init__(self, flow: Flow, place: Here, workers: int | None = None) -> None:
        self._flow = flow
        self._place = place
        self._workers = _expect_workers(workers)
        self._inputs = {stream.name: stream for stream in flow._scope.inputs}
        self._dag = lower_flow(flow, _input_type, _output_type)

    def loop(self, *, on_error: OnError = "raise", negative: Negative = "raise") -> TableLoop:
        """The event loop, to push and pull by hand. `negative` applies to `result`; what is pulled may retract rows."""
        return TableLoop(self, self._start(), expect_one_of("on_error", on_error, OnError), negative)

    def _start(self) -> Dataflow | WorkersLoop:
        """The program before any input: in this process, or in workers."""
        if self._workers == 1:
            return Dataflow(self._dag)
        return WorkersLoop(self._dag, plan_flow(self._flow, self._dag), self._workers)

    def run(self, /, *, on_error: OnError = "raise", negative: Negative = "raise", **inputs: object) -> TableResult:
        """Runs on this data: tables, frames, files, folders, iterators of them, or plain Python.

        Bounded inputs end with their data; unbounded ones stay open. Returns the whole result, or raises. With
        `on_error="divert"` rows that do not fit, or on which a function raises, are diverted. `negative="allow"` allows
        negative weights in the result.
        """
        loop = self.loop(on_error=on_error, negative=negative)
        for name in inputs:
            expect_known(name, self._inputs, "input", ("on_error", "negative"))
        for name, stream in self._inputs.items():
            if stream.bounded and name not in inputs:
                raise UnknownNameError(
                    f"`run` must get data for the bounded input `{name}`",
                    instead=((f"run({name}=[…])", "an empty list if there is none"),),
                ).at_users_line()
        try:
            loop._take_all(inputs, self._place.progress)
            return loop.result()
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__

    def start(
        self,
        outputs: Mapping[str, object] | None = None,
        *,
        checkpoint: str | Path,
        shards: int | None = None,
        on_error: OnError = "raise",
        keep: int | str = READABLE,
        changed: OnChange = "reject",
        fill: Mapping[str, object] | None = None,
        refill: Sequence[str] = (),
        version: int | str | None = None,
        retry: float = 0,
        memory: str | None = None,
        ui: int | None = None,
    ) -> LocalQuery:
        """Starts a query on a checkpoint. Each push is a micro-batch: its changes go to the sinks, and it is committed.

        - `outputs`: a sink for each output: a folder of changes, a database, a function. An output without one is a
          view.
        - `checkpoint`: a path, or a URL that Arrow reaches. Only one query at a time may run on it. Spark can continue
          it, and this process one of Spark.
        - `shards`: how many; by default one for each worker. A checkpoint keeps its number, unless another one is
          given: then its state is cut.
        - `on_error="divert"`: diverts rows that do not fit, or on which a function raises.
        - `keep`: how many committed versions readers can read, such as 10, or for how long, such as `"1 day"`.
        - `changed`: what to do if the checkpoint is of another program. `"reject"` raises, with what would be kept and
          filled; `"fill"` keeps the state of operators that are the same, and fills the others from all input so far.
        - `fill`: rows of inputs, for a fill that finds them nowhere in the checkpoint.
        - `refill`: the names of functions whose code has changed: what depends on them is computed anew.
        - `version`: a version to go back to, by its number or by the name of its tag (`flo state tag`). Later ones are
          abandoned.
        - `retry`: for how many seconds a sink that raises is tried again, with growing delays. By default its error is
          raised at once.
        - `memory`: a limit for the state in memory, such as `"4 GB"`, for all workers. The rest is in files on the
          local disk, in the folder `FLO_CACHE`, and read by need. With a limit there are 16 shards by default: the
          runs of one shard at a time are merged in memory.
        - `ui`: a port: serves the page of `query.ui` there from now on, also during a fill. 0 is any free one.
        """
        here, lease, watch = Origin.here(), None, None
        try:
            divert = expect_one_of("on_error", on_error, OnError) == "divert"
            expect_shards(shards)
            limit = expect_memory(memory)
            folder = checkpoint_folder(checkpoint)
            program = ShardedProgram(self._flow, lower_flow(self._flow, as_table, finish_as_table))
            sinks = program.choose_sinks(outputs or {}, self._inputs, divert)
            planned = program.outputs_for(sinks, causes_of_pushes(self._inputs))
            ours = describe_program(
                self._flow.name,
                program.plan,
                list(self._inputs),
                planned,
                choose_shards(shards, self._workers, limit),
                self._flow._outline(),
            )
            sinks |= program.bind_sinks(None, sinks, planned)
            lease = Lease.take(folder, self._flow.name)
            start = find_start(folder, version)
            count = resolve_shards(folder, ours, shards, start)
            batches = MicroBatches(program.plan, planned, folder, count, self._workers, ours["id"], Retention.of(keep))
            batches.memory = limit and limit // batches.tasks
            giving = Giving(batches, sinks, divert, start, Retrying(retry, lease.expect_held))
            misfits = giving.find_misfits(ours["new_sinks"], changed == "fill")
            change = Change(changed, fill or {}, refill, on_error, misfits)
            evolution = find_evolution(program, batches, ours, change, version=start)
            compared = evolution.changed_outputs(giving) if evolution is not None else {}
            where = "in this process" if batches.tasks == 1 else f"in {batches.tasks} processes"
            settings: dict[str, object] = {"runs": where, "on_error": on_error, "keep": keep, "changed": changed}
            settings |= {"refill": refill, "retry": f"{retry:g} s", "memory": memory}
            names = list(self._inputs), list(program.output_types)
            blocks = plan_blocks(program.plan, *names, count, set())
            watch = QueryWatch(Watched.of(self._flow, blocks, names[0], batches, sinks, settings), batches)
            watch.fill = evolution.figures if evolution is not None else None
            if ui is not None:
                watch.serve(ui)
            if start < find_start(folder, None):
                giving.expect_can_go_back(ours["new_sinks"], compared)
                ours[BACKS] = go_back(folder, start, spark_folder(folder, read_description(folder, start)))
            copied = ours.get(COPIED, ())
            giving.resume(ours["new_sinks"], ours["replaced"], False, copied, compared)  # last: some sinks make tables
            if evolution is None:
                update_description(folder, ours)
            else:
                evolution.run(giving, lease)
            loop = DurableLoop(program.dag, batches, giving, lease)
            query = LocalQuery(watch, loop, self._inputs, sinks, on_error)
            query.reads_time = self._flow._scope.now is not None
            return query
        except BaseException as error:
            if watch is not None:
                watch.end()
                watch.close()
            if lease is not None:
                lease.release()
            if isinstance(error, FloError):
                raise error.located(here) from error.__cause__
            raise

    def __repr__(self) -> str:
        where = "in this process" if self._workers == 1 else f"in {self._workers} processes"
        return f"<Flow {self._flow.name!r}, {where}: run(…), loop(…), start(…), explain()>"

    def _repr_html_(self) -> str:
        from flo.pictures.notebook import html_text  # nothing else here draws

        return html_text(self.explain())

    def explain(self) -> str:
        """The plan as text: which operators run on tables, which call Python for every row, and their state. With
        workers also the stages, and how rows are shuffled between them."""
        program = self._flow._scope, self._flow._outputs
        state = [*explain_partitions(*program), *explain_state(*program)]
        if self._workers > 1:
            plan, outputs = plan_flow(self._flow, self._dag), [*self._flow._outputs, *self._flow._late()]
            blocks = plan_blocks(plan, list(self._inputs), outputs, self._workers, set())
            text = explain_stages(self._flow.name, plan, blocks, set(), f"in {self._workers} processes")
            return "\n".join([text, *(f"  {line}" for line in state)])
        return explain_plan(self._flow.name, Dataflow(self._dag).nodes, state)


def _expect_workers(workers: object) -> int:
    if workers is None:
        return 1
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise TypeMismatch(
            f"`workers` must be an integer from 1 to {MOST_WORKERS}; got {brief(workers)}",
            instead=(("workers=2", "shards in two processes"),),
        ).at_users_line()
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
