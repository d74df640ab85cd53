"""The program of a run as a graph: one box for each verb, with a place for its rows and its time.

The operators of a verb can run in several stages and shards. A verb has the rows that enter it and those that leave
it, and the seconds of all of its operators in all shards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flo.api.flow import Flow
from flo.api.verb_calls import verb_calls
from flo.pictures.program import draw_flow
from flo.program.dag import live_vertices

OperatorWork = tuple[tuple[int, ...], tuple[int, ...], float]
"""What an operator did: the rows of each of its inputs, those of each of its outputs, and its seconds."""


@dataclass(frozen=True)
class VerbPlaces:
    """Where the figures of a verb come from."""

    ids: frozenset[str]
    """Its operators."""
    taken: tuple[tuple[str, int], ...]
    """The inputs of its operators that come from other verbs, each as the id of the operator and the place."""
    emitted: tuple[tuple[str, int], ...]
    """The outputs of its operators that others read."""


class RunGraph:
    """The picture of a program, and the figures of its verbs."""

    def __init__(self, flow: Flow) -> None:
        self.svg = str(draw_flow(flow, marked=True)).replace(' xmlns="http://www.w3.org/2000/svg"', "")
        outputs = [*flow._outputs.values(), *flow._late().values()]
        vertices = live_vertices(flow._scope.vertices, outputs)
        ids = {vertex: given.id for vertex, given in zip(vertices, flow._identified().vertices, strict=True)}
        read = {stream for vertex in vertices for stream in vertex.inputs}.union(outputs)
        self.verbs: list[VerbPlaces] = []
        self.texts: list[str] = []
        """The verbs as they are written, each with its line."""
        for call in verb_calls(flow._scope.vertices):
            self.texts.append(f"{call.text}  {call.origin}" if call.origin else call.text)
            mine = [vertex for vertex in call.vertices if vertex in ids]
            entering, leaving = set(call.inputs), read.intersection(call.outputs)
            self.verbs.append(
                VerbPlaces(
                    frozenset(ids[vertex] for vertex in mine),
                    tuple((ids[v], place) for v in mine for place, each in enumerate(v.inputs) if each in entering),
                    tuple((ids[v], place) for v in mine for place, each in enumerate(v.outputs) if each in leaving),
                )
            )
        self._owners = {name: number for number, verb in enumerate(self.verbs) for name in verb.ids}

    def figures(self, work: Mapping[str, OperatorWork]) -> list[tuple[int | None, int | None, float | None]]:
        """For each verb its rows in, its rows out and its seconds; None if they are not known, as of operators that
        Catalyst runs."""
        seconds: dict[int, float] = {}
        for name, (_, _, spent) in work.items():
            owner = self.owner(name)
            if owner is not None:
                seconds[owner] = seconds.get(owner, 0.0) + spent
        taken = {name: rows for name, (rows, _, _) in work.items()}
        emitted = {name: rows for name, (_, rows, _) in work.items()}
        return [
            (_count(verb.taken, taken), _count(verb.emitted, emitted), seconds.get(number))
            for number, verb in enumerate(self.verbs)
        ]

    def owner(self, name: str) -> int | None:
        """The number of the verb of an operator. One that a rewrite has added has the id of the operator that it
        belongs to, and a suffix."""
        while name not in self._owners and "/" in name:
            name = name.rpartition("/")[0]
        return self._owners.get(name)


def _count(places: tuple[tuple[str, int], ...], rows: Mapping[str, tuple[int, ...]]) -> int | None:
    """The rows at these places; None if they are not known."""
    counted = [(rows[name], place) for name, place in places if name in rows]
    return sum(counts[place] for counts, place in counted if place < len(counts)) if counted else None
