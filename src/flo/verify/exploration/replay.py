"""Traces as text, and back: what was explored or checked can be saved, and run again exactly as it was.

A trace is a line of names: an input whose next element arrives, `input⊗` for its end, the rule of a small step, or
`advance`. Where several enabled moves have one name, `#2` is the second of them. Inputs of an operator are numbered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flo.core.collection import Collection
from flo.core.derivation import StreamTypes
from flo.core.errors import FloError, Origin, UnknownNameError
from flo.core.graph import Graph, Node, inputs, setinput
from flo.core.operator import Operator, Values, concat_all
from flo.core.semantics import GraphStep, finish, small_steps
from flo.core.stream_type import StreamType
from flo.core.typing import initial, program
from flo.values.lvar import LVar
from flo.verify.exploration.arrivals import channels_of
from flo.verify.exploration.moves import Move, arrival, step_move
from flo.verify.exploration.shown import operator_source, type_source
from flo.verify.exploration.ways import ADVANCE, numbered
from flo.verify.programs.inputs import Input


@dataclass(frozen=True, slots=True)
class Replay:
    """A run along a trace."""

    outputs: dict[str, Any]
    """Plain data by name, or by number of an operator's output."""
    fixed: dict[str, bool]
    """Which outputs have ended."""
    steps: tuple[GraphStep, ...]
    """The small steps that were taken."""
    events: tuple[str, ...]
    """All that happened, for people."""
    graph: Graph
    """The program after it."""

    def __str__(self) -> str:
        return "\n".join(f"{number:>3}  {event}" for number, event in enumerate(self.events, start=1))


def replay(operator: Operator, *types: Any, data: Sequence[Any], trace: str) -> Replay:
    """Runs an operator along a trace, on plain data for each of its inputs. A collection stands for its open stream."""
    meant = (stream_or_collection(given) for given in types)
    signature = tuple(given if isinstance(given, StreamType) else StreamType(given, bounded=False) for given in meant)
    graph, outputs = initial(Node(None, operator), signature)
    names, output_names = (tuple(str(place + 1) for place in range(len(each))) for each in (signature, outputs))
    return replayed(
        graph, dict(zip(names, signature, strict=True)), dict(zip(names, data, strict=True)), trace, output_names
    )


def stream_or_collection(given: Any) -> StreamType | Collection:
    """A stream type, or the collection that an annotation means."""
    try:
        return given if isinstance(given, StreamType) else Collection.of(given)
    except FloError as error:
        raise error.located(Origin.here()) from None


def replayed(
    graph: Graph, types: Mapping[str, StreamType], data: Mapping[str, Any], trace: str, outputs: Sequence[str]
) -> Replay:
    """Runs a graph along a trace; `outputs` are the names of its outputs."""
    run = _Run(graph, types, data)
    for place, name in enumerate(trace.split(), start=1):
        run.take(name, place)
    named = list(zip(outputs, program(graph, tuple(types.values())).outputs, run.outputs, strict=False))
    return Replay(
        {name: kind.collection.plain(value) for name, kind, value in named},
        {name: value.fixed() for name, _, value in named},
        tuple(run.steps),
        tuple(run.events),
        run.graph,
    )


class _Run:
    """A run that is told what to do next."""

    def __init__(self, graph: Graph, types: Mapping[str, StreamType], data: Mapping[str, Any]) -> None:
        self.graph = graph
        signature = tuple(types.values())
        self.names = tuple(types)
        self.outputs: Values = tuple(output.collection.bottom() for output in program(graph, signature).outputs)
        places = {self.names.index(name): items for name, items in data.items()}
        self.channels = channels_of(places, signature, (True,) * len(signature))
        self.arrived = [0] * len(self.channels)
        self.steps: list[GraphStep] = []
        self.events: list[str] = []

    def enabled(self) -> list[tuple[Move, GraphStep | int]]:
        """The moves, in the order of `Space.following`: steps, then channels that something can arrive on."""
        found: list[tuple[Move, GraphStep | int]] = [(step_move(step), step) for step in small_steps(self.graph)]
        waiting = [count < len(channel.deltas) for count, channel in zip(self.arrived, self.channels, strict=True)]
        held = {c.input for c, waits in zip(self.channels, waiting, strict=True) if waits and not c.is_end}
        for place, channel in enumerate(self.channels):
            if waiting[place] and not (channel.is_end and channel.input in held):
                delta = channel.deltas[self.arrived[place]]
                found.append((arrival(self.names[channel.input], delta, channel.is_end), place))
        return found

    def take(self, name: str, place: int) -> None:
        enabled = self.enabled()
        stem, _, number = name.partition("#")
        alike = [(move, what) for move, what in enabled if move.name == stem]
        chosen = int(number) if number.isdigit() else 1
        if 0 < chosen <= max(1, len(alike)) and bool(number) == (len(alike) > 1):
            if alike:
                move, what = alike[chosen - 1]
                self.events.append(move.text)
                return self._step(what) if isinstance(what, GraphStep) else self._arrive(what)
            if stem == ADVANCE:
                self.events.append(ADVANCE)
                self.graph, self.outputs = finish(self.graph, self.outputs)
                return None
        counts = Counter(move.name for move, _ in enabled)
        known = [numbered(name, each, count) for name, count in counts.items() for each in range(count)]
        raise UnknownNameError(
            f"the trace does not fit the program: move {place}, `{name}`, is not enabled there",
            facts=(("enabled", " ".join(known) or "nothing"), ("before it", " ".join(self.events) or "nothing")),
            where=Origin.here(),
        )

    def _step(self, step: GraphStep) -> None:
        self.graph, self.outputs = step.graph, concat_all(self.outputs, step.outputs)
        self.steps.append(step)

    def _arrive(self, place: int) -> None:
        channel, values = self.channels[place], list(inputs(self.graph))
        values[channel.input] = values[channel.input].concat(channel.deltas[self.arrived[place]])
        self.graph = setinput(self.graph, tuple(values))
        self.arrived[place] += 1


def again(operator: Operator, types: StreamTypes, given: Input, trace: str) -> str:
    """The line to paste that replays a trace of an operator."""
    kinds = "".join(f", {type_source(kind)}" for kind in types)
    data = ", ".join(data_source(kind.collection, items) for kind, items in zip(types, given.data, strict=True))
    return f'flo.verify.replay({operator_source(operator)}{kinds}, data=[{data}], trace="{trace}")'


def data_source(collection: Collection, data: Any) -> str:
    if isinstance(collection, LVar) and isinstance(data, list):
        return repr([collection.lattice.plain(value) for value in data])
    return repr(data)
