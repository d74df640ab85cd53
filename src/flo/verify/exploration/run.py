"""One run of a program, told what to do next: what ways are told along, and what replays them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from flo.core.derivation import StreamTypes
from flo.core.graph import Graph, inputs, setinput
from flo.core.operator import Values, concat_all
from flo.core.semantics import GraphStep, finish, small_steps
from flo.verify.effort import Meter
from flo.verify.exploration.arrivals import Channels, waiting
from flo.verify.exploration.moves import Move, arrival, told_step

MOST_ROUNDS = 100
"""So often `advance` may go on before it is said to go on for ever."""
ADVANCE = "advance()"
"""As a trace calls it: no rule has such a name."""


class Run:
    """A graph, its outputs, what has arrived, and what has happened.

    States are never merged here. Of two that are equal, an unordered collection may list its elements in another order,
    so that the same trace means something else: a way that was told along a run is replayed exactly.
    """

    def __init__(
        self,
        graph: Graph,
        output_types: StreamTypes,
        channels: Channels,
        names: tuple[str, ...],
        meter: Meter | None = None,
    ) -> None:
        self.meter = meter or Meter()
        self.graph, self.channels, self.names = graph, channels, names
        self.outputs: Values = tuple(output.collection.bottom() for output in output_types)
        self.arrived = (0,) * len(channels)
        self.steps: list[GraphStep] = []
        self.events: list[str] = []
        self.trace: list[str] = []

    def waiting(self) -> list[int]:
        """The channels that something can arrive on."""
        return waiting(self.channels, self.arrived)

    def arriving(self) -> list[tuple[Move, int]]:
        """What can arrive on each of them."""
        places = self.waiting()
        next_ones = [(self.channels[place], self.arrived[place]) for place in places]
        moves = (arrival(self.names[each.input], each.deltas[count], each.is_end) for each, count in next_ones)
        return list(zip(numbered(moves), places, strict=True))

    def stepping(self) -> list[Move]:
        """The steps that can be taken."""
        self.meter.done += 1
        return numbered(told_step(self.graph, step) for step in small_steps(self.graph))

    def arrive(self, move: Move | None, place: int) -> None:
        """Something arrives on this channel; without a move, nothing is told of it."""
        self.graph, self.arrived = self.after_arrival(place)
        if move is not None:
            self._told(move.name, move.text)

    def after_arrival(self, place: int) -> tuple[Graph, tuple[int, ...]]:
        channel, values, count = self.channels[place], list(inputs(self.graph)), self.arrived[place]
        values[channel.input] = values[channel.input].concat(channel.deltas[count])
        return setinput(self.graph, tuple(values)), (*self.arrived[:place], count + 1, *self.arrived[place + 1 :])

    def take(self, move: Move) -> None:
        assert move.step is not None
        self.graph, self.outputs = move.step.graph, concat_all(self.outputs, move.step.outputs)
        self.steps.append(move.step)
        self._told(move.name, move.text)

    def advance(self) -> None:
        """Where `advance` leads, until it changes nothing, or for ever."""
        self.meter.done += 1
        self.graph, self.outputs = finish(self.graph, self.outputs, MOST_ROUNDS)
        self._told(ADVANCE, "advance")

    def _told(self, name: str, text: str) -> None:
        self.trace.append(name)
        self.events.append(text)


def numbered(moves: Iterable[Move]) -> list[Move]:
    """The moves; those that have one name, or one text, with their numbers, from 1."""
    found = list(moves)
    names, texts = Counter(move.name for move in found), Counter(move.text for move in found)
    seen: Counter[str] = Counter()
    for place, move in enumerate(found):
        seen.update({f"name {move.name}", f"text {move.text}"})
        name = f"{move.name}#{seen[f'name {move.name}']}" if names[move.name] > 1 else move.name
        text = f"{move.text}#{seen[f'text {move.text}']}" if texts[move.text] > 1 else move.text
        found[place] = replace(move, name=name, text=text)
    return found
