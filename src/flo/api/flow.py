"""`Flow`: a program. Inputs and outputs by name; everything between them is built with the verbs of streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from flo.api.engines import Here, find_engine
from flo.api.explain import explained
from flo.api.running import FlowLoop, Result, known, schedule_of
from flo.api.scope import Scope
from flo.api.stream import Stream
from flo.columns.dicts import as_rows
from flo.core.collection import Collection
from flo.core.dag import compile_graph, live_vertices
from flo.core.errors import FloError, NameTakenError, Origin, TypeMismatch, UnknownNameError, UnusedInputError, brief
from flo.core.event_loop import Schedule
from flo.core.graph import Graph
from flo.core.operator import Operator
from flo.core.stream_type import Bounded, Derivation, StreamType, StreamTypes, Unbounded
from flo.core.structural import Source
from flo.core.typing import program
from flo.verify.exploration.arrivals import channels_of
from flo.verify.exploration.explore import MOST_STATES, Exploration, explore
from flo.verify.exploration.replay import Replay, flow_again, replayed
from flo.verify.programs.operators import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flo.spark.on_spark import OnSpark
    from flo.tables.here import OnHere

C = TypeVar("C", bound=Collection)


class Flow:
    """A streaming program that cannot hang and cannot race."""

    def __init__(self, name: str = "flow") -> None:
        self.name = name
        self._scope = Scope(f"the flow {name!r}")
        self._outputs: dict[str, Stream[Any, Any]] = {}

    @overload
    def input(self, name: str, collection: type[C] | C, *, bounded: Literal[False] = False) -> Stream[C, Unbounded]: ...
    @overload
    def input(self, name: str, collection: type[C] | C, *, bounded: Literal[True]) -> Stream[C, Bounded]: ...
    @overload
    def input(self, name: str, collection: type[C] | C, *, bounded: bool) -> Stream[C, Unbounded]: ...
    def input(self, name: str, collection: Any, *, bounded: bool = False) -> Any:
        """A stream that data is pushed to. Unbounded, that is, it may never end, unless said otherwise."""
        here = Origin.here()
        try:
            stream_type = StreamType(as_rows(Collection.of(collection)), bounded)
        except FloError as error:
            raise error.located(here) from None
        return self._scope.add_input(name, stream_type, here)

    def constant(self, collection: type[C] | C, data: Any) -> Stream[C, Bounded]:
        """A bounded stream of given data."""
        try:
            kind = Collection.of(collection)
            (stream,) = self._scope.apply(Source(kind, kind.value(data).fix()), verb="constant")
        except FloError as error:
            error.input_name = error.input_name or "`constant`"
            raise error.located(Origin.here()) from None
        return stream

    def output(self, name: str, stream: Stream[Any, Any]) -> None:
        """Names a stream as a result of the program."""
        here = Origin.here()
        self._scope.expect_here(stream, "output", here)
        if name in self._outputs:
            raise NameTakenError(
                f"the output `{name}` is named twice",
                facts=(("first", repr(self._outputs[name])),),
                where=here,
            )
        self._outputs[name] = stream

    def _late(self) -> dict[str, Stream[Any, Any]]:
        """Late elements that no stream reads: kept as outputs of their own, so that they are not lost."""
        late: dict[str, Stream[Any, Any]] = {}
        for stream in self._scope.unread_late(self._outputs.values()):
            number = sum(other.split(" ")[0] == stream.name for other in late)
            late[f"{stream.name} {number + 1}" if number else stream.name] = stream
        return late

    def graph(self) -> Graph:
        """The program as an L^G expression; prints in the paper's notation."""
        scope = self._scope
        return compile_graph(scope.inputs, scope.vertices, [*self._outputs.values(), *self._late().values()])

    def type(self) -> Derivation:
        """The program's type, with its derivation; raises what is wrong with the program."""
        live = live_vertices(self._scope.vertices, [*self._outputs.values(), *self._late().values()])
        used = {stream for vertex in live for stream in vertex.inputs}
        for stream in self._scope.inputs:
            if stream not in used and stream not in self._outputs.values():
                raise UnusedInputError(
                    f"no output depends on the input `{stream.name}`",
                    facts=((stream.name, stream.type.described()),),
                    instead=((f'flow.output("{stream.name}", {stream.name})', "or leave the input out"),),
                    where=stream.origin,
                )
        if not self._outputs and not any(not vertex.outputs for vertex in self._scope.vertices):
            raise UnknownNameError(f"the flow {self.name!r} has no outputs", where=Origin.here())
        return program(self.graph(), tuple(stream.type for stream in self._scope.inputs))

    def explain(self) -> str:
        """The typed dataflow, for people."""
        self.type()
        return explained(self.name, self._scope, self._outputs)

    def loop(self, *, seed: int | None = None, schedule: Schedule | None = None, record: bool = False) -> FlowLoop:
        """The event loop. By default it runs as fast as it can; with a seed or a schedule, small step by small step."""
        self.type()
        inputs = {stream.name: stream for stream in self._scope.inputs}
        return FlowLoop(self.graph(), inputs, self._outputs, self._late(), schedule_of(seed, schedule), record)

    def run(self, /, **inputs: Any) -> Result:
        """Runs on this data, in this process. Bounded inputs end with it; unbounded ones stay open.

        It gives all of the result, or raises: there are no outputs of a part of the data.
        """
        loop = self.loop()
        bounded = {stream.name: stream.bounded for stream in self._scope.inputs}
        for name in inputs:
            known(name, bounded, "input")
        for name, ends in bounded.items():
            if ends and name not in inputs:
                raise UnknownNameError(
                    f"`run` was not given the bounded input `{name}`",
                    instead=((f"flow.run({name}=[…])", "an empty list if there is nothing"),),
                    where=Origin.here(),
                )
        try:
            loop.push(**inputs)
            loop.end(*(name for name, ends in bounded.items() if ends))
            loop.run()
        except FloError as error:
            raise error.located(Origin.here()) from error.__cause__
        return loop.result()

    @overload
    def on(self, place: Here) -> OnHere: ...
    @overload
    def on(self, place: SparkSession) -> OnSpark: ...
    def on(self, place: Any) -> Any:
        """The same program on tables, at another place: `flo.here` is this process; or a Spark session."""
        run_on = find_engine(place)
        if run_on is None:
            raise TypeMismatch(
                f"`on` takes a place to run on; got {type(place).__name__}",
                facts=(("given", brief(place)),),
                instead=(("flow.on(flo.here)", "on tables, in this process"), ("flow.on(spark)", "on Spark")),
                where=Origin.here(),
            )
        return run_on(self, place)

    def explore(
        self,
        data: Mapping[str, Any] | None = None,
        /,
        *,
        most_states: int | None = None,
        seed: int | None = None,
        **inputs: Any,
    ) -> Exploration:
        """Every schedule, and every way to cut this data into deltas: one outcome, or two traces that differ.

        Where the space has more than `most_states` states (100,000), random ways through it are tried instead. A list
        for a lattice variable holds values that arrive one after the other. Data may be given in a mapping: of inputs
        that are called `seed` or `most_states` it must be.
        """
        self.type()
        places = {stream.name: place for place, stream in enumerate(self._scope.inputs)}
        types = {stream.name: stream.type for stream in self._scope.inputs}
        given = self._given(places, data, inputs, {"most_states": most_states, "seed": seed})
        kinds, names = tuple(types.values()), tuple(types)
        channels = channels_of({places[name]: items for name, items in given.items()}, kinds, None, names)
        return explore(
            self.graph(),
            kinds,
            channels,
            most_states=MOST_STATES if most_states is None else most_states,
            seed=0 if seed is None else seed,
            names=names,
            again=lambda *traces: flow_again(types, given, *traces),
        )

    @staticmethod
    def _given(
        places: Mapping[str, int], data: Mapping[str, Any] | None, inputs: dict[str, Any], options: dict[str, Any]
    ) -> dict[str, Any]:
        """The data of all inputs; refuses an option that may as well be meant as an input."""
        if data is not None and not isinstance(data, Mapping):
            raise UnknownNameError(
                f"`explore` takes data by the names of the inputs, and was given one {type(data).__name__}",
                facts=(("inputs", ", ".join(places) or "none"),),
                instead=(("flow.explore(name=[…])", "by name"), ('flow.explore({"name": […]})', "or in a mapping")),
                where=Origin.here(),
            )
        data = {} if data is None else data
        for name, option in options.items():
            if option is not None and name in places and name not in data:
                raise NameTakenError(
                    f"`{name}` is an input of this flow, and an option of `explore`",
                    instead=((f'flow.explore({{"{name}": […]}})', "data of the input"),),
                    where=Origin.here(),
                )
        for name in (*data, *inputs):
            known(name, places, "input")
            if name in data and name in inputs:
                raise NameTakenError(f"`explore` was given the input `{name}` twice", where=Origin.here())
        each = {**data, **inputs}
        return {name: list(items) if isinstance(items, Iterator) else items for name, items in each.items()}

    def replay(self, trace: str, /, **inputs: Any) -> Replay:
        """Runs along a trace that `explore` or `check` has shown, exactly, on the same data.

        A trace is a line of names: `input←3` for what arrives, `input⊗` for an end, and rules.
        """
        self.type()
        types = {stream.name: stream.type for stream in self._scope.inputs}
        for name in inputs:
            known(name, types, "input")
        return replayed(self.graph(), types, inputs, trace, tuple(self._outputs))

    def _checkable(self) -> Program:
        """For `flo.verify.check`."""
        self.type()
        streams = {stream.name: stream.type for stream in self._scope.inputs}
        operators = tuple(_operators(self._scope))
        return Program(self.name, self.graph(), streams, operators)


def _operators(scope: Scope) -> Iterator[tuple[Operator, StreamTypes]]:
    """Every operator with the types of its inputs, those in bodies included."""
    for vertex in scope.vertices:
        yield vertex.operator, tuple(stream.type for stream in vertex.inputs)
        if vertex.body is not None:
            yield from _operators(vertex.body)
