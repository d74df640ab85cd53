"""The event loop (figure "the event loop"): new deltas on any input at any time, any number of steps, any part of the
outputs sent."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from flo.core.checkpoint import Running, load, save
from flo.core.collection import Value
from flo.core.graph import Graph, inputs, setinput
from flo.core.operator import Deltas, Values, concat_all
from flo.core.semantics import GraphStep, advance, small_steps
from flo.core.stream_type import StreamTypes
from flo.core.typing import program


class Schedule(Protocol):
    """Picks the next step among those that are enabled."""

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep: ...


class FirstEnabled:
    """Always the leftmost operator that can step."""

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        return steps[0]


class RoundRobin:
    """Every operator in turn."""

    def __init__(self) -> None:
        self.last: tuple[int, ...] = (-1,)

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        step = next((step for step in steps if step.place > self.last), steps[0])
        self.last = step.place
        return step


class RandomSchedule:
    """Any step, by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        return self.random.choice(steps)


class ByHand:
    """Whatever the given function picks."""

    def __init__(self, pick: Callable[[Sequence[GraphStep]], GraphStep]) -> None:
        self.pick = pick

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        return self.pick(steps)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a loop at one moment. Graphs and values never change, so it holds references and no copies."""

    graph: Graph
    outputs: Values
    ended: frozenset[int]
    steps: int
    """How long the history was."""


class EventLoop:
    """A running program: the graph G with its buffers and states, and the outputs O not yet sent."""

    def __init__(
        self,
        graph: Graph,
        input_types: StreamTypes,
        schedule: Schedule | None = None,
        ends: tuple[str, ...] | None = None,
    ) -> None:
        derivation = program(graph, input_types)
        self.program = graph
        self.input_types, self.output_types = derivation.inputs, derivation.outputs
        streams = (*derivation.inputs, *derivation.outputs)
        self.ends = ends or tuple(stream.described() for stream in streams)
        """What the inputs and outputs are called and hold: a state is restored only into the same."""
        self.graph = graph
        self.outputs: Values = tuple(output.collection.bottom() for output in self.output_types)
        self.ended: frozenset[int] = frozenset()
        """The inputs whose end has arrived."""
        self.schedule = schedule
        self.history: list[GraphStep] = []
        self.recording = False

    def push(self, deltas: Deltas) -> None:
        """I ++ Δ."""
        self.graph = setinput(self.graph, concat_all(inputs(self.graph), deltas))
        self.ended |= {index for index, delta in enumerate(deltas) if delta is not None and delta.fixed()}

    def snapshot(self) -> Snapshot:
        return Snapshot(self.graph, self.outputs, self.ended, len(self.history))

    def roll_back(self, to: Snapshot) -> None:
        self.graph, self.outputs, self.ended = to.graph, to.outputs, to.ended
        del self.history[to.steps :]

    @contextmanager
    def atomic(self, start: Snapshot | None = None) -> Iterator[None]:
        """If the block raises, the loop goes back to `start`; by default to the state before the block."""
        start = start or self.snapshot()
        try:
            yield
        except BaseException:
            self.roll_back(start)
            raise

    def enabled(self) -> list[GraphStep]:
        """Every step that could be taken now."""
        return list(small_steps(self.graph))

    def take(self, step: GraphStep) -> None:
        """Takes one of the enabled steps."""
        self.graph = step.graph
        self.outputs = concat_all(self.outputs, step.outputs)
        if self.recording:
            self.history.append(step)

    def step(self, count: int = 1) -> list[GraphStep]:
        """Takes up to `count` small steps, as the schedule picks them; fewer if the program gets stuck."""
        schedule = self.schedule or FirstEnabled()
        taken: list[GraphStep] = []
        while len(taken) < count:
            steps = self.enabled() if self.schedule else [s for s in [next(small_steps(self.graph), None)] if s]
            if not steps:
                break
            step = schedule.choose(steps)
            self.take(step)
            taken.append(step)
        return taken

    def run(self) -> None:
        """Runs until stuck: with `advance`, or step by step if there is a schedule or the steps are recorded."""
        if self.schedule is not None or self.recording:
            while self.step():
                pass
            return
        while True:
            graph, deltas = advance(self.graph)
            for delta in deltas:
                self.outputs = concat_all(self.outputs, delta)
            if graph is self.graph:
                return
            self.graph = graph

    def pull(self, index: int, at_most: int | None = None) -> Value:
        """Sends a part of one output: so many elements of what came since the last time, or all."""
        stays, sent = self.outputs[index].send(at_most)
        self.outputs = (*self.outputs[:index], stays, *self.outputs[index + 1 :])
        return sent

    def checkpoint(self) -> bytes:
        """The running program as bytes: buffers, operator states and unsent outputs, and no code."""
        running = Running(self.graph, self.outputs, self.ended)
        return save(self.program, self.input_types, self.ends, running)

    def restore(self, data: bytes) -> None:
        """Goes on from a checkpoint of the same program."""
        running = load(self.program, self.input_types, self.ends, data)
        self.graph, self.outputs, self.ended = running.graph, running.outputs, running.ended
