"""Replays traces: a run that was explored or checked can be saved as text, and repeated exactly.

A trace is a line of names: `input←3` for an element that arrives, `input⊗` for an end, the rule of a small step, with
the elements that it takes where they have no order, as `map-bag(3)`, or `advance()`. Where several enabled moves have
one name, `#2` is the second of them. The inputs of an operator are numbered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flo.core.collection import Collection
from flo.core.display import Displayed
from flo.core.errors import FloError, Origin, UnknownNameError, brief
from flo.core.graph import Graph, Node
from flo.core.operator import Operator
from flo.core.semantics import GraphStep
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.typing import initial, program
from flo.verify.exploration.arrivals import split_into_channels
from flo.verify.exploration.moves import ADVANCE, GraphRun, Move
from flo.verify.exploration.source import SourceWriter, format_keywords, quote_trace


@dataclass(frozen=True, slots=True, repr=False)
class Replay(Displayed):
    """A run along a trace."""

    outputs: dict[str, Any]
    """Plain data by name, or by number of an operator's output."""
    fixed: dict[str, bool]
    """Which outputs have ended."""
    steps: tuple[GraphStep, ...]
    """The small steps that were taken."""
    events: tuple[str, ...]
    """The moves as text."""
    graph: Graph
    """The program after the run."""

    def __str__(self) -> str:
        lines = [f"{number:>3}  {event}" for number, event in enumerate(self.events, start=1)]
        lines += [f"  =  {name}: {brief(data)}{' ⊗' * self.fixed[name]}" for name, data in self.outputs.items()]
        return "\n".join(lines)

    __repr__ = __str__


def replay(operator: Operator, *types: object, data: Sequence[object], trace: str) -> Replay:
    """Runs an operator along a trace, on plain data for each of its inputs. A collection stands for its open stream."""
    meant = (as_stream_or_collection(given) for given in types)
    signature = tuple(given if isinstance(given, StreamType) else StreamType(given, bounded=False) for given in meant)
    graph, outputs = initial(Node(None, operator), signature)
    names, output_names = (tuple(str(place + 1) for place in range(len(each))) for each in (signature, outputs))
    return replay_graph(
        graph, dict(zip(names, signature, strict=True)), dict(zip(names, data, strict=True)), trace, output_names
    )


def as_stream_or_collection(given: object) -> StreamType | Collection:
    """Return a stream type as it is, and the collection of an annotation."""
    try:
        return given if isinstance(given, StreamType) else Collection.of(given)
    except FloError as error:
        raise error.located(Origin.here()) from None


def replay_graph(
    graph: Graph, types: Mapping[str, StreamType], data: Mapping[str, object], trace: str, outputs: Sequence[str]
) -> Replay:
    """Run a graph along a trace; `outputs` are the names of its outputs."""
    if not isinstance(trace, str):
        raise UnknownNameError(
            f"`trace` must be a str; got {type(trace).__name__}",
            facts=(("given", brief(trace)),),
            instead=(("replay(found.traces[0], …)", "a trace that `explore` or `check` has shown"),),
        ).at_users_line()
    signature, names = tuple(types.values()), tuple(types)
    output_types = program(graph, signature).outputs
    places = {names.index(name): items for name, items in data.items()}
    channels = split_into_channels(places, signature, (True,) * len(signature), names)
    run = GraphRun(graph, output_types, channels, names)
    for place, name in enumerate(trace.split(), start=1):
        take_move(run, name, place)
    named = list(zip(outputs, output_types, run.outputs, strict=False))
    return Replay(
        {name: kind.collection.plain(value) for name, kind, value in named},
        {name: value.fixed() for name, _, value in named},
        tuple(run.steps),
        tuple(run.events),
        run.graph,
    )


def take_move(run: GraphRun, name: str, place: int) -> None:
    """Take the move of this name; its elements may be left out where only one move has the stem."""
    arriving = run.arriving()
    for move, channel in arriving:
        if name == move.name:
            return run.arrive(move, channel)
    if name == ADVANCE:  # before the steps are looked at, which may list elements in another order then
        return run.advance()
    stepping = run.stepping()
    meant = [move for move in stepping if name == move.name]
    short: list[tuple[Move, int | None]] = [*arriving, *((move, None) for move in stepping)]
    short = [(move, channel) for move, channel in short if name == move.stem]
    if meant or len(short) == 1:
        move, arrives = (meant[0], None) if meant else short[0]
        return run.take(move) if arrives is None else run.arrive(move, arrives)
    known = [move.name for move in (*stepping, *(move for move, _ in arriving))]
    raise UnknownNameError(
        f"the trace does not fit the program: move {place}, `{name}`, is not enabled there",
        facts=(("enabled", " ".join(known) or "nothing"), ("before it", ", ".join(run.events) or "nothing")),
    ).at_users_line()


def replay_line(operator: Operator, types: StreamTypes, data: Sequence[object], trace: str) -> str:
    """Write the line of Python that replays a trace of an operator."""
    writer = SourceWriter()
    kinds = "".join(f", {writer.stream(kind)}" for kind in types)
    given = ", ".join(writer.data(kind.collection, items) for kind, items in zip(types, data, strict=True))
    source = writer.operator(operator)
    return writer.line(f"flo.verify.replay({source}{kinds}, data=[{given}], trace={quote_trace(trace)})")


def flow_replay_line(types: Mapping[str, StreamType], data: Mapping[str, object], *traces: str) -> str:
    """Write the line of Python that replays traces of a flow."""
    writer = SourceWriter()
    given = format_keywords((name, writer.data(types[name].collection, items)) for name, items in data.items())
    return writer.line(", ".join(f"flow.replay({quote_trace(trace)}{given})" for trace in traces))
