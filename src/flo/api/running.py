"""A flow that runs in this process: named inputs and outputs around the event loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flo.core.collection import Value
from flo.core.derivation import StreamTypes
from flo.core.errors import ElementError, FloError, Origin, UnknownNameError
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
        self._loop = EventLoop(graph, types, schedule)
        self._loop.recording = record
        self._inputs = {name: place for place, name in enumerate(inputs)}
        self._outputs = {name: place for place, name in enumerate(outputs)}
        self._late = {name: place for place, name in enumerate(late, len(outputs))}

    def push(self, name: str | None = None, data: Any = None, /, **inputs: Any) -> None:
        """New data on an input: `push("orders", [1, 2])` or `push(orders=[1, 2])`."""
        given = {**({name: data} if name is not None else {}), **inputs}
        for each in given:
            known(each, self._inputs, "input")
        for each, items in given.items():
            self._push(each, items)

    def _push(self, name: str, data: Any) -> None:
        collection = self._loop.input_types[self._inputs[name]].collection
        try:
            value = collection.value(data)
        except ElementError as error:
            if error.before:
                self._feed(name, collection.value(error.before))
            error.input_name = f"`{name}`"
            raise error.located(Origin.here()) from None
        self._feed(name, value)

    def end(self, *names: str) -> None:
        """Nothing more will come on these inputs."""
        for name in names:
            place = self._inputs[known(name, self._inputs, "input")]
            self._feed(name, self._loop.input_types[place].collection.bottom().fix())

    def _feed(self, name: str, delta: Value) -> None:
        place = self._inputs[name]
        deltas: list[Delta] = [None] * len(self._inputs)
        deltas[place] = delta
        self._loop.push(tuple(deltas))

    def step(self, count: int = 1) -> list[GraphStep]:
        """Takes up to `count` small steps, as the schedule picks them, and gives those it took."""
        return self._loop.step(count)

    def enabled(self) -> list[GraphStep]:
        """Every small step that could be taken now."""
        return self._loop.enabled()

    def take(self, step: GraphStep) -> None:
        """Takes one of the enabled steps."""
        self._loop.take(step)

    def run(self) -> None:
        """Runs until nothing more can be done with what has arrived."""
        self._loop.run()

    def pull(self, name: str, at_most: int | None = None) -> Any:
        """What came out of an output since the last pull, as plain Python: so many elements, or all.

        Of a lattice variable it is the whole value each time; of a nested stream, inner streams that are complete.
        """
        place = self._outputs[known(name, self._outputs, "output")]
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
        return self._loop.checkpoint()

    def restore(self, data: bytes) -> None:
        """Goes on from a checkpoint of the same program, of this process or another."""
        try:
            self._loop.restore(data)
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__


def schedule_of(seed: int | None, schedule: Schedule | None) -> Schedule | None:
    return schedule if schedule is not None else None if seed is None else RandomSchedule(seed)
