"""A flow that runs in this process: named inputs and outputs around the event loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

from flo.columnar.dicts import from_dicts
from flo.core.collection import Value
from flo.core.derivation import StreamTypes
from flo.core.errors import ElementError, FloError, NameTakenError, Origin, ScopeError, UnknownNameError, brief
from flo.core.event_loop import EventLoop, RandomSchedule, Schedule
from flo.core.graph import Graph
from flo.core.operator import Delta
from flo.core.semantics import GraphStep


class Result(dict[str, Any]):
    """The outputs of a run as plain Python, by name."""

    def __init__(self, outputs: Mapping[str, Any], fixed: Mapping[str, bool], late: Mapping[str, list[Any]]) -> None:
        super().__init__(outputs)
        self._fixed = dict(fixed)
        self.late = dict(late)
        """Elements that came too late for their window and that no stream of the program reads, by window."""

    def fixed(self, name: str) -> bool:
        """Whether that output has ended: nothing can be added to it any more."""
        return self._fixed[known(name, self._fixed, "output")]


def known(name: str, names: Mapping[str, Any], what: str) -> str:
    if name not in names:
        raise UnknownNameError(
            f"the flow has no {what} called `{name}`",
            facts=((f"{what}s", ", ".join(names) or "none"),),
            where=Origin.here(),
        )
    return name


class FlowLoop:
    """The event loop of a flow, by hand: push, step, run, pull, in any order and any number of times."""

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        late: Mapping[str, Any],
        schedule: Schedule | None,
        record: bool,
    ) -> None:
        types: StreamTypes = tuple(stream.type for stream in inputs.values())
        named = [(f"input {name}", stream) for name, stream in inputs.items()]
        named += [(f"output {name}", stream) for name, stream in outputs.items()]
        ends = tuple(f"{name}: {stream.type.described()}" for name, stream in named)
        self._loop = EventLoop(graph, types, schedule, ends)
        self._loop.recording = record
        self._inputs = {name: place for place, name in enumerate(inputs)}
        self._outputs = {name: place for place, name in enumerate(outputs)}
        self._late = {name: place for place, name in enumerate(late, len(outputs))}
        self._lock = RLock()
        self._busy = False
        self._offered: Graph | None = None

    def push(self, name: str | None = None, data: Any = None, /, **inputs: Any) -> None:
        """New data on an input: `push("orders", [1, 2])` or `push(orders=[1, 2])`.

        An element that does not belong is an error; what comes before it has arrived then.
        """
        given = [*([(name, data)] if name is not None else []), *inputs.items()]
        for each, _ in given:
            known(each, self._inputs, "input")
        if name in inputs:
            raise NameTakenError(f"`push` was given the input `{name}` twice", where=Origin.here())
        with self._alone("push"):
            for each, items in given:
                self._push(each, items)

    def _push(self, name: str, data: Any) -> None:
        collection = self._loop.input_types[self._inputs[name]].collection
        try:
            value = collection.value(from_dicts(getattr(collection, "element", None), data))
            if self._inputs[name] in self._loop.ended and value.size():
                raise ElementError("{input} has ended, and takes no more data", facts=(("given", brief(data)),))
        except FloError as error:
            if isinstance(error, ElementError) and error.accepted is not None:
                self._feed(name, error.accepted)
            error.input_name = f"`{name}`"
            raise error.located(Origin.here()) from error.__cause__
        self._feed(name, value)

    def end(self, *names: str) -> None:
        """Nothing more will come on these inputs."""
        with self._alone("end"):
            for name in names:
                place = self._inputs[known(name, self._inputs, "input")]
                self._feed(name, self._loop.input_types[place].collection.bottom().fix())

    @contextmanager
    def _alone(self, verb: str) -> Iterator[None]:
        """One thread at a time, and none from inside a step: its work would be lost when the step is done."""
        with self._lock:
            if self._busy:
                raise ScopeError(
                    f"`{verb}` was called by a function that the loop is running",
                    instead=(("return the data from the function", "as the result of a flat_map, say"),),
                    where=Origin.here(),
                )
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _feed(self, name: str, delta: Value) -> None:
        place = self._inputs[name]
        deltas: list[Delta] = [None] * len(self._inputs)
        deltas[place] = delta
        self._loop.push(tuple(deltas))

    def step(self, count: int = 1) -> list[GraphStep]:
        """Takes up to `count` small steps, as the schedule picks them, and gives those it took."""
        with self._alone("step"):
            return self._loop.step(count)

    def enabled(self) -> list[GraphStep]:
        """Every small step that could be taken now."""
        with self._alone("enabled"):
            self._offered = self._loop.graph
            return self._loop.enabled()

    def take(self, step: GraphStep) -> None:
        """Takes one of the enabled steps."""
        with self._alone("take"):
            if self._offered is not self._loop.graph:
                raise ScopeError(
                    "the step is one of an earlier state: something has happened since",
                    instead=(("loop.take(loop.enabled()[0])", "a step of the present state"),),
                    where=Origin.here(),
                )
            self._loop.take(step)

    def run(self) -> None:
        """Runs until nothing more can be done with what has arrived."""
        with self._alone("run"):
            self._loop.run()

    def pull(self, name: str, at_most: int | None = None) -> Any:
        """What came out of an output since the last pull, as plain Python: so many elements, or all.

        Of a lattice variable it is the whole value each time; of a nested stream, inner streams that are complete.
        """
        place = self._outputs[known(name, self._outputs, "output")]
        with self._alone("pull"):
            return self._loop.output_types[place].collection.plain(self._loop.pull(place, at_most))

    def peek(self, name: str) -> Any:
        """The same, leaving it there."""
        place = self._outputs[known(name, self._outputs, "output")]
        return self._plain(place)

    def _plain(self, place: int) -> Any:
        return self._loop.output_types[place].collection.plain(self._loop.outputs[place])

    def result(self) -> Result:
        """All outputs that were not pulled."""
        return Result(
            {name: self._plain(place) for name, place in self._outputs.items()},
            {name: self._loop.outputs[place].fixed() for name, place in self._outputs.items()},
            {name: self._plain(place) for name, place in self._late.items()},
        )

    @property
    def graph(self) -> Graph:
        """The program as it stands now, buffers and states included."""
        return self._loop.graph

    @property
    def history(self) -> tuple[GraphStep, ...]:
        """The steps taken so far, if the loop was made with `record=True`."""
        return tuple(self._loop.history)

    def checkpoint(self) -> bytes:
        """The running program as bytes; they hold state and no code."""
        try:
            with self._alone("checkpoint"):
                return self._loop.checkpoint()
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__

    def restore(self, data: bytes) -> None:
        """Goes on from a checkpoint of the same program, of this process or another."""
        try:
            with self._alone("restore"):
                self._loop.restore(data)
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__


def schedule_of(seed: int | None, schedule: Schedule | None) -> Schedule | None:
    return schedule if schedule is not None else None if seed is None else RandomSchedule(seed)
