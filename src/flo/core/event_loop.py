"""The event loop (figure "the event loop"): push deltas to any input at any time, take any number of steps, send any
part of the outputs. Schedules pick the next step."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from flo.core.checkpoint import Running, load, save
from flo.core.collection import Value
from flo.core.graph import Graph, Node, inputs, nodes, setinput
from flo.core.operator import Deltas, Values, concat_all
from flo.core.program_outline import Outline
from flo.core.semantics import GraphStep, advance, small_steps
from flo.core.stream_type import StreamTypes
from flo.core.typing import program
from flo.core.untyped import TypeForm


class Schedule(Protocol):
    """Picks the next step among the enabled ones."""

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep: ...


class FirstEnabled:
    """Picks the leftmost operator that can step."""

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        return steps[0]


class RoundRobin:
    """Picks every operator in turn."""

    def __init__(self) -> None:
        self.last: tuple[int, ...] = (-1,)

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        step = next((step for step in steps if step.place > self.last), steps[0])
        self.last = step.place
        return step


class RandomSchedule:
    """Picks a random step; reproducible by its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        return self.random.choice(steps)


class ByHand:
    """Lets a function pick the step."""

    def __init__(self, pick: Callable[[Sequence[GraphStep]], GraphStep]) -> None:
        self.pick = pick

    def choose(self, steps: Sequence[GraphStep]) -> GraphStep:
        return self.pick(steps)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a loop at one moment. It holds references, not copies, because graphs and values are immutable."""

    graph: Graph
    outputs: Values
    ended: frozenset[int]
    steps: int
    """The length of the history."""


Snap = TypeVar("Snap")


class ProgramLoop(ABC, Generic[Snap]):
    """A running program: the unsent outputs O, and whatever holds the buffers and states of its operators."""

    workers = 1
    """How many processes share the work of a run."""

    def __init__(self, input_types: StreamTypes, output_types: StreamTypes) -> None:
        self.input_types, self.output_types = input_types, output_types
        self.outputs: Values = tuple(output.collection.bottom() for output in self.output_types)
        self.ended: frozenset[int] = frozenset()
        """The inputs whose end has arrived."""

    @abstractmethod
    def push(self, deltas: Deltas) -> None:
        """I ++ Δ."""

    @abstractmethod
    def run(self) -> None:
        """Run until stuck."""

    @abstractmethod
    def snapshot(self) -> Snap:
        """Return the current state."""

    @abstractmethod
    def roll_back(self, to: Snap) -> None:
        """Go back to a state."""

    def atomic(self, start: Snap | None = None) -> Atomic[Snap]:
        """Roll back to `start` if the block raises; by default to the state before the block."""
        return Atomic(self, start or self.snapshot())

    def peek(self, index: int) -> Value:
        """Return what `pull` would send, and leave it there."""
        return self.outputs[index]

    def pull(self, index: int, at_most: int | None = None) -> Value:
        """Send a part of one output: `at_most` of the elements since the last call, or all of them."""
        stays, sent = self.outputs[index].send(at_most)
        self.outputs = (*self.outputs[:index], stays, *self.outputs[index + 1 :])
        return sent


@dataclass(slots=True)
class Atomic(Generic[Snap]):
    """Rolls a loop back if a block raises."""

    loop: ProgramLoop[Snap]
    start: Snap

    def __enter__(self) -> None: ...

    def __exit__(self, kind: TypeForm, error: object, trace: object) -> None:
        if kind is not None:
            self.loop.roll_back(self.start)


class EventLoop(ProgramLoop[Snapshot]):
    """A running program as the paper has it: the graph G with its buffers and states, which takes small steps."""

    def __init__(
        self,
        graph: Graph,
        input_types: StreamTypes,
        schedule: Schedule | None = None,
        ends: tuple[str, ...] | None = None,
        outline: Callable[[], Outline] = tuple,
    ) -> None:
        derivation = program(graph, input_types)
        super().__init__(derivation.inputs, derivation.outputs)
        numbered = {"input": self.input_types, "output": self.output_types}
        self.ends = ends or tuple(
            f"{kind} {number}: {stream.described()}"
            for kind, streams in numbered.items()
            for number, stream in enumerate(streams, 1)
        )
        """Names and types of the inputs and outputs. A state is only restored if they are the same."""
        self.outline = outline
        """Makes the outline of the program, by which a state recognizes its program."""
        self.program = graph
        """The program before any input."""
        self.graph = graph
        """The program with its current buffers and states."""
        self.schedule = schedule
        self.history: list[GraphStep] = []
        self.recording = False

    @property
    def nodes(self) -> list[Node]:
        """The operators with their current buffers and states."""
        return list(nodes(self.graph))

    def push(self, deltas: Deltas) -> None:
        """I ++ Δ."""
        self.graph = setinput(self.graph, concat_all(inputs(self.graph), deltas))
        self.ended |= {index for index, delta in enumerate(deltas) if delta is not None and delta.fixed()}

    def snapshot(self) -> Snapshot:
        return Snapshot(self.graph, self.outputs, self.ended, len(self.history))

    def roll_back(self, to: Snapshot) -> None:
        self.graph, self.outputs, self.ended = to.graph, to.outputs, to.ended
        del self.history[to.steps :]

    def enabled(self) -> list[GraphStep]:
        """Return every step that could be taken now."""
        return list(small_steps(self.graph))

    def take(self, step: GraphStep) -> None:
        """Take one of the enabled steps."""
        self.graph = step.graph
        self.outputs = concat_all(self.outputs, step.outputs)
        if self.recording:
            self.history.append(step)

    def step(self, count: int = 1) -> list[GraphStep]:
        """Take up to `count` small steps picked by the schedule; fewer if the program gets stuck."""
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
        """Run until stuck: with `advance`, or step by step if there is a schedule or the steps are recorded."""
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

    def checkpoint(self) -> bytes:
        """Return the running program as bytes: buffers, operator states and unsent outputs, but no code."""
        running = Running(self.graph, self.outputs, self.ended)
        return save(self.program, self.input_types, self.ends, running, outline=self.outline())

    def restore(self, data: bytes) -> None:
        """Continue from a checkpoint of the same program."""
        running = load(self.program, self.input_types, self.ends, data, outline=self.outline())
        self.graph, self.outputs, self.ended = running.graph, running.outputs, running.ended
