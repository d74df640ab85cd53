"""A running program on tables: the operators of its DAG in topological order, each with its buffers and its state.

    orders ──> filter ──> group_by ──> "revenue"        vertices   0 filter   1 group_by   2 join
           └─> join <──── shops                         readers    orders -> (0, 0), (2, 0)

A push puts a delta into the buffers of the operators that read the input, and marks them. `run` takes the first marked
operator, lets it consume its buffers, and marks the operators that read what it emits. An operator whose inputs have
not changed is not visited.

Invariant: while an operator runs, no operator before it is marked. So each runs once in a push, after all that it
reads. That order is one of those that the small steps of the paper allow; by eager execution all of them give the same
result, and the tests compare this one with the steps of the tree (`tests/tables/test_dataflow.py`).
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

from flo.core.collection import Value
from flo.core.errors import FloError
from flo.core.event_loop import ProgramLoop
from flo.core.graph import Node
from flo.core.operator import Deltas, Values
from flo.core.semantics import attempt_node
from flo.program.dag import Dag
from flo.program.identity import expect_distinct
from flo.tables.checkpoint.states import ProgramStates
from flo.tables.plan import state_size

Work: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], float]
"""What an operator did: the rows of each of its inputs, those of each of its outputs, and its seconds."""


class DataflowMeter:
    """Counts what the operators of a dataflow do: rows by stream, and seconds by operator."""

    def __init__(self, wiring: Wiring) -> None:
        self.rows = [0] * len(wiring.readers)
        self.seconds = [0.0] * len(wiring.emits)


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a dataflow between two pushes."""

    nodes: tuple[Node, ...]
    marked: frozenset[int]
    outputs: Values
    ended: frozenset[int]


@dataclass(frozen=True)
class Wiring:
    """Which operators and outputs of a program read each of its streams. It never changes, so loops share it."""

    inputs: tuple[int, ...]
    """The number of the stream of each input."""
    reads: tuple[tuple[int, ...], ...]
    """The numbers of the streams that each operator reads."""
    emits: tuple[tuple[int, ...], ...]
    """The numbers of the streams that each operator emits."""
    readers: tuple[tuple[tuple[int, int], ...], ...]
    """By number of a stream: the operators that read it, and the places of their inputs."""
    sent: tuple[tuple[int, ...], ...]
    """By number of a stream: the outputs of the program that it is."""

    @classmethod
    def of(cls, dag: Dag) -> Wiring:
        streams = [*dag.inputs, *(stream for vertex in dag.vertices for stream in vertex.outputs)]
        numbers = {stream: number for number, stream in enumerate(streams)}
        readers: list[list[tuple[int, int]]] = [[] for _ in streams]
        sent: list[list[int]] = [[] for _ in streams]
        for index, vertex in enumerate(dag.vertices):
            for place, stream in enumerate(vertex.inputs):
                readers[numbers[stream]].append((index, place))
        for place, stream in enumerate(dag.outputs):
            sent[numbers[stream]].append(place)
        return cls(
            tuple(numbers[stream] for stream in dag.inputs),
            tuple(tuple(numbers[stream] for stream in vertex.inputs) for vertex in dag.vertices),
            tuple(tuple(numbers[stream] for stream in vertex.outputs) for vertex in dag.vertices),
            tuple(map(tuple, readers)),
            tuple(map(tuple, sent)),
        )


Snap = TypeVar("Snap")


class StatefulLoop(ProgramLoop[Snap]):
    """The event loop of a program on tables, in this process or in workers."""

    @abstractmethod
    def state_size(self) -> tuple[int, int]:
        """The number of rows and bytes that the operators keep."""

    def settle(self) -> None:
        """Say that nothing will go back to a state before the current one."""


class Dataflow(StatefulLoop[Moment]):
    """The event loop of a program on tables in this process."""

    def __init__(self, dag: Dag) -> None:
        super().__init__(dag.input_types, dag.output_types)
        expect_distinct([vertex.id for vertex in dag.vertices])
        self._dag, self._wiring = dag, Wiring.of(dag)
        self._initial = [
            Node(tuple(stream.type.collection.bottom() for stream in vertex.inputs), vertex.operator, vertex.origin)
            for vertex in dag.vertices
        ]
        self.nodes = list(self._initial)
        self._meter: DataflowMeter | None = None
        self._marked = set(range(len(self.nodes)))  # an operator may have work without any input, as a literal does

    @cached_property
    def states(self) -> ProgramStates:
        """Stores and reads the states of the operators."""
        return ProgramStates(self._dag, self._initial)

    def started(self, nodes: Sequence[Node] | None = None) -> Dataflow:
        """The same program at another state, or before any input. What is known of it is not computed again."""
        loop = copy(self)
        if nodes is None:
            loop.nodes, loop._marked = list(self._initial), set(range(len(self.nodes)))
        else:
            loop.nodes, loop._marked = list(nodes), set()
        return loop

    def metered(self, nodes: Sequence[Node] | None = None) -> Dataflow:
        """The same, counting what its operators do from now on."""
        loop = self.started(nodes)
        loop._meter = DataflowMeter(self._wiring)
        return loop

    def work(self) -> dict[str, Work]:
        """What each operator that ran did, by its id, if it was metered."""
        if self._meter is None:
            return {}
        rows, wiring = self._meter.rows, self._wiring
        every = zip(self._dag.vertices, wiring.reads, wiring.emits, self._meter.seconds, strict=True)
        return {
            vertex.id: (tuple(rows[each] for each in reads), tuple(rows[each] for each in emits), seconds)
            for vertex, reads, emits, seconds in every
            if seconds
        }

    def push(self, deltas: Deltas) -> None:
        """I ++ Δ."""
        for stream, delta in zip(self._wiring.inputs, deltas, strict=True):
            if delta is not None:
                self._send(stream, delta)
        self.ended |= {index for index, delta in enumerate(deltas) if delta is not None and delta.fixed()}

    def _send(self, stream: int, delta: Value) -> None:
        """Put a delta of a stream into the buffers of its readers, and into the outputs of the program."""
        if self._meter is not None:
            self._meter.rows[stream] += delta.size() - delta.fixed()
        for index, place in self._wiring.readers[stream]:
            node = self.nodes[index]
            assert node.state is not None
            buffers = (*node.state[:place], node.state[place].concat(delta), *node.state[place + 1 :])
            self.nodes[index] = Node(buffers, node.operator, node.origin)
            self._marked.add(index)
        for place in self._wiring.sent[stream]:
            outputs = self.outputs
            self.outputs = (*outputs[:place], outputs[place].concat(delta), *outputs[place + 1 :])

    def run(self) -> None:
        """Run until stuck. If a user's function raises, all independent work is done first."""
        fault: FloError | None = None
        while self._marked:
            index = min(self._marked)
            self._marked.remove(index)
            started = time.perf_counter() if self._meter is not None else 0.0
            self.nodes[index], emitted, error = attempt_node(self.nodes[index])
            if self._meter is not None:
                self._meter.seconds[index] += time.perf_counter() - started
            fault = fault or error
            for deltas in emitted:
                for stream, delta in zip(self._wiring.emits[index], deltas, strict=True):
                    if delta is not None:
                        self._send(stream, delta)
        if fault is not None:
            raise fault

    def state_size(self) -> tuple[int, int]:
        return state_size(self.nodes)

    def snapshot(self) -> Moment:
        return Moment(tuple(self.nodes), frozenset(self._marked), self.outputs, self.ended)

    def roll_back(self, to: Moment) -> None:
        self.nodes, self._marked = list(to.nodes), set(to.marked)
        self.outputs, self.ended = to.outputs, to.ended
