"""The event loop of a flow on tables: push and pull by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flo.api.running import NamedLoop, Negative, Result, describe_ends, expect_known, units_below_zero
from flo.api.scope import NOW
from flo.core.checkpoint import Program, decode, encode, expect_same_program
from flo.core.collection import Value
from flo.core.errors import FloError, Origin
from flo.core.explained_calls import explain_methods
from flo.core.operator import Values
from flo.core.program_outline import from_plain, to_plain
from flo.core.stream_type import StreamType
from flo.tables.checkpoint.store import Loading, Saved, Store, Storing
from flo.tables.dataflow import Dataflow, StatefulLoop
from flo.tables.io.diverted import DivertedRows, OnError
from flo.tables.io.feeding import Feeder
from flo.tables.io.fitting import rows_below_zero, table_of
from flo.tables.io.unsent import consolidate_value, merge_outputs
from flo.tables.plan import explain_plan
from flo.tables.values import Rows
from flo.values.operators.fixpoint import Fixpoint

if TYPE_CHECKING:
    import pyarrow as pa

    from flo.local.here import OnHere


@dataclass(frozen=True)
class Port:
    """An input or an output of the program on tables."""

    type: StreamType


class TableResult(Result):
    """The outputs of a run: tables for sequences, bags, sets and z-sets; plain Python for others."""

    def __init__(self, result: Result, diverted: DivertedRows, inputs: list[str]) -> None:
        super().__init__(result, result._fixed, result.late)
        self.diverted = {name: diverted.table(name) for name in inputs}
        """The rows that each input has diverted: a table of rows, reasons, files and row numbers."""
        self.taken = {name: diverted.taken.get(name, 0) for name in inputs}
        """The number of rows that each input has taken."""


@explain_methods
class TableLoop(NamedLoop[StatefulLoop[Any]]):
    """The event loop of a flow on tables. A push runs the program at once, slice by slice.

    A push of several inputs is one change: no operator sees a state between them, unless rows are diverted.
    A `push` or an `end` that raises changes nothing: the state, the outputs and the diverted rows are as before it.
    """

    def __init__(self, program: OnHere, loop: StatefulLoop[Any], on_error: OnError, negative: Negative) -> None:
        names = list(program._inputs)
        outputs = list(program._flow._outputs)
        late = list(program._flow._late())
        ports = [Port(stream) for stream in program._dag.output_types]
        inputs = {name: Port(stream) for name, stream in zip(names, program._dag.input_types, strict=True)}
        named, unread = dict(zip(outputs, ports, strict=False)), dict(zip(late, ports[len(outputs) :], strict=True))
        super().__init__(loop, inputs, named, unread, negative)
        self._ends, self._outline = describe_ends(inputs, named), program._flow._outline
        self.reads_time = program._flow._scope.now is not None
        self.name = program._flow.name
        operators = (getattr(vertex.operator, "like", vertex.operator) for vertex in program._dag.vertices)
        self._has_rounds = any(isinstance(operator, Fixpoint) for operator in operators)
        """Whether states between the parts of a push would cost rounds of their own, and need not have a fixpoint."""
        self._feeder = Feeder(self._loop, self._inputs, on_error)
        self._feeder.grown = self._grown

    def _take(self, given: list[tuple[str, object]]) -> None:
        before = self._loop.outputs
        try:
            with self._feeder.atomic():
                if self._feeder.on_error == "raise" and (len(given) > 1 or self._has_rounds):
                    self._feeder.feed_together(given)
                else:
                    self._feeder.feed_in_turn(given)
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__
        self._settle(before)

    def run(self) -> None:
        """Runs what needs no data, such as a literal. A push has run the rest already."""
        self._hand_over({})

    def _hand_over(self, values: Mapping[int, Value]) -> None:
        before = self._loop.outputs
        with self._loop.atomic():
            self._loop.push(tuple(values.get(index) for index in range(len(self._inputs))))
            self._loop.run()
        self._settle(before)

    def _settle(self, before: Values) -> None:
        """Ends a push that has succeeded. `before` are the outputs before it."""
        self._loop.outputs = merge_outputs(self._loop.outputs, before)
        self._loop.settle()

    def _take_all(self, inputs: Mapping[str, object], progress: Callable[[str, int | None], Any]) -> None:
        """Feeds all inputs, one part of each in turn, or with recursion at once. A bounded input ends with its data.

        If rows are diverted, feeds one input after the other: which rows are diverted must not depend on the parts.
        """
        with self._alone("run"):
            bounded = {n: self._loop.input_types[index].bounded for n, index in self._inputs.items()}
            sources = {name: self._feeder.open(name, data) for name, data in inputs.items()}
            rows = [source.rows for source in sources.values()]
            names = sorted(self._inputs, key=NOW.__eq__)  # rows come before `now`
            waiting = {n: self._feeder.feed(n, sources[n]) for n in names if n in sources}
            if self._has_rounds and self._feeder.on_error == "raise":
                self._feeder.feed_together([(name, sources[name]) for name in waiting])
            at_once = 1 if self._feeder.on_error == "divert" else len(waiting)
            with progress(self.name, None if None in rows else sum(filter(None, rows))) as bar:
                while waiting:
                    for name, parts in list(waiting.items())[:at_once]:
                        taken = next(parts, None)
                        if taken is not None:
                            self._loop.settle()
                            bar.moved(taken, self.state)
                            continue
                        del waiting[name]
                        if bounded[name]:
                            index = self._inputs[name]
                            self._hand_over({index: self._loop.input_types[index].collection.bottom().fix()})
                if self.reads_time and NOW not in inputs:
                    index = self._inputs[NOW]
                    self._hand_over({index: self._loop.input_types[index].collection.value(datetime.now(UTC))})
                self._loop.run()
                for line in self._feeder.diverted.summary(self._inputs):
                    bar.said(line)

    def _plain(self, index: int) -> Any:
        return self._to_user(index, self._loop.peek(index))

    def _to_user(self, index: int, value: Any) -> Any:
        if not isinstance(value, Rows):
            return self._loop.output_types[index].collection.plain(value)
        try:
            return table_of(value)
        except FloError as error:
            raise error.at_users_line() from None

    def pull(self, name: str, at_most: int | None = None) -> Any:
        """The changes of an output since the last pull: a table, or plain Python if it has no columns.

        One that raises, because a sum does not fit into 64 bits, leaves the changes there.
        """
        index = self._outputs[expect_known(name, self._outputs, "output")]
        with self._alone("pull"):
            self._loop.peek(index)  # what workers have is here then
            before = self._loop.outputs
            try:
                if at_most is not None:
                    part = consolidate_value(before[index])
                    self._loop.outputs = (*before[:index], part, *before[index + 1 :])
                changes = self._to_user(index, self._sent(index, at_most))
            except FloError as error:
                self._loop.outputs = before
                error.input_name = error.input_name or f"the output `{name}`"
                raise error.at_users_line() from None
            self._pulled.add(name)
            return changes

    def result(self) -> TableResult:
        """All outputs that were not pulled. Raises if one has negative weights, unless they are allowed."""
        return TableResult(super().result(), self._feeder.diverted, list(self._inputs))

    def _below_zero(self, index: int) -> list[tuple[object, int]]:
        value = self._loop.peek(index)
        return rows_below_zero(value) if isinstance(value, Rows) else units_below_zero(value)

    @property
    def diverted(self) -> dict[str, pa.Table]:
        """The rows that each input has diverted so far."""
        return {name: self._feeder.diverted.table(name) for name in self._inputs}

    @property
    def state(self) -> tuple[int, int]:
        """The number of rows and bytes of state."""
        return self._loop.state_size()

    def explain(self) -> str:
        """How each operator runs, and what state it keeps now."""
        return explain_plan(self.name, self._dataflow("explain").nodes)

    def _dataflow(self, verb: str) -> Dataflow:
        """The program in this process. Raises if it runs in workers, which keep its state."""
        if not isinstance(self._loop, Dataflow):
            raise FloError(
                f"`{verb}` of a loop needs its state in this process, and workers have it",
                instead=(("flow.on(flo.here)", "runs in this process"),),
            ).at_users_line()
        return self._loop

    def checkpoint(self, folder: str | Path, *, keep: int = 2) -> Saved:
        """Writes a checkpoint into a folder. Only new data is written. The newest `keep` checkpoints are kept."""
        loop = self._dataflow("checkpoint")
        try:
            with self._alone("checkpoint"):
                rows, store = self._feeder.diverted, Store(folder)
                diverted = {name: [run.name for run in runs] for name, runs in rows.to_runs().items()}
                storing = Storing(store)
                for run in chain.from_iterable(rows.runs.values()):
                    storing.put(run)
                loop.states.check(loop.nodes, loop.outputs)
                state = encode(loop.states.save(loop.nodes, loop.outputs, storing))
                more = {
                    "ends": list(self._ends),
                    "outline": to_plain(self._outline()),
                    "ended": sorted(loop.ended),
                    "taken": rows.taken,
                    "pulled": sorted(self._pulled),
                    "diverted": diverted,
                }
                return store.add(state, storing, more, max(1, keep))
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__

    def restore(self, folder: str | Path) -> None:
        """Resumes from the newest checkpoint in the folder, which must be of the same program."""
        loop = self._dataflow("restore")
        try:
            with self._alone("restore"):
                store = Store(folder)
                state, more = store.read(store.newest())
                before = Program(tuple(more["ends"]), from_plain(more["outline"]))
                expect_same_program(before, Program(self._ends, self._outline()), "the state")
                nodes, outputs = loop.states.load(decode(state), lambda scope: Loading(scope, store))
                loop.states.check(nodes, outputs)
                diverted = {name: [store.get((), run) for run in runs] for name, runs in more["diverted"].items()}
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__
        self._loop = loop.started(nodes)
        self._loop.outputs, self._loop.ended = outputs, frozenset(more["ended"])
        self._feeder.loop = self._loop
        self._feeder.diverted = DivertedRows(runs=diverted, taken=dict(more["taken"]))
        self._pulled = set(more["pulled"])
