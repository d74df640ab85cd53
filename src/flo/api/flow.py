"""`Flow`: a program with named inputs and outputs. The verbs of streams build everything in between.

Also the registry of engines: `flow.on(place)` finds the engine that runs flows at a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin, overload

from flo.api.arguments import call_located, expect_callable
from flo.api.body import add_constant
from flo.api.explain import explain_flow
from flo.api.fixpoint_verbs import build_fixpoint, relation_of
from flo.api.running import FlowLoop, Negative, Result, expect_known, schedule_of
from flo.api.scope import AnyStream, C, Scope, T, expect_stream_name
from flo.api.stream import Stream
from flo.columns.dicts import as_rows
from flo.core.collection import Collection
from flo.core.display import Displayed, pictures
from flo.core.elements import unhashable_field
from flo.core.errors import (
    FloError,
    HasMethods,
    NameTakenError,
    Origin,
    TypeMismatch,
    UnknownNameError,
    UnusedInputError,
    brief,
)
from flo.core.event_loop import Schedule
from flo.core.explained_calls import explain_methods
from flo.core.graph import Graph
from flo.core.operator import Operator
from flo.core.program_outline import Outline
from flo.core.stream_type import Bounded, Derivation, StreamType, StreamTypes, Unbounded
from flo.core.type_names import type_name
from flo.core.typing import program
from flo.core.untyped import AnyFunction
from flo.program.dag import Dag, live_vertices
from flo.program.identity import assign_ids
from flo.program.outline import outline_program
from flo.program.tree import to_graph
from flo.values.lattice_orders import Max
from flo.values.lvar import LVar
from flo.values.operators.fixpoint import MOST_ROUNDS
from flo.values.operators.upserts import Upsert
from flo.values.partitioned import Partitioned
from flo.values.weighted import Bag, ZSet
from flo.verify.exploration.arrivals import Scenario, split_into_channels
from flo.verify.exploration.explore import MOST_STATES, Exploration, explore
from flo.verify.exploration.replay import Replay, flow_replay_line, replay_graph
from flo.verify.programs.operators import CheckedProgram

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flo.local.here import OnHere
    from flo.pictures.svg import Picture
    from flo.spark.on_spark import OnSpark

IsPlace: TypeAlias = Callable[[object], bool]
RunOn: TypeAlias = "Callable[[Flow, Any, int | None], Any]"
MakeStream: TypeAlias = Callable[[str, Mapping[str, AnyStream]], AnyStream]
KeyColumns: TypeAlias = str | list[str] | tuple[str, ...]
"""The columns of a primary key."""
_engines: list[tuple[IsPlace, RunOn]] = []
_sql: list[MakeStream] = []


def register_engine(is_place: IsPlace, run_on: RunOn) -> None:
    """Register an engine: `is_place` decides whether it can run on a place, and `run_on` runs a flow there."""
    _engines.append((is_place, run_on))


def register_sql(make_stream: MakeStream) -> None:
    """Register what makes a stream of a query."""
    _sql.append(make_stream)


class Here:
    """This process, as a place to run on. `progress` displays the progress of a run."""

    def __init__(self, progress: Callable[[str, int | None], object]) -> None:
        self.progress = progress

    def __repr__(self) -> str:
        return "flo.here"


@explain_methods
class Flow(Displayed, HasMethods):
    """A streaming program that cannot hang and cannot race."""

    _called = "a flow"

    def __init__(self, name: str = "flow") -> None:
        self.name = name
        self._scope = Scope(f"the flow {name!r}")
        self._outputs: dict[str, AnyStream] = {}

    @overload
    def input(
        self, name: str, collection: type[C] | C, *, bounded: Literal[False] = False, partitions: int | None = None
    ) -> Stream[C, Unbounded]: ...
    @overload
    def input(
        self, name: str, collection: type[C] | C, *, bounded: Literal[True], partitions: int | None = None
    ) -> Stream[C, Bounded]: ...
    @overload
    def input(
        self, name: str, collection: type[C] | C, *, bounded: bool, partitions: int | None = None
    ) -> Stream[C, Unbounded]: ...
    def input(self, name: str, collection: Any, *, bounded: bool = False, partitions: int | None = None) -> Any:
        """Declare an input that data is pushed to. It is unbounded, so it may never end, unless `bounded=True`.

        A `Partitioned` log has so many `partitions`, numbered from 0.
        """
        kind = call_located(lambda: _with_partitions(as_rows(Collection.of(collection)), partitions))
        stream_type = StreamType(call_located(_expect_hashable, kind), bounded)
        return self._scope.add_input(name, stream_type, Origin.here())

    @overload
    def table(
        self, name: str, row: type[T], *, key: KeyColumns, order_by: str | None = None, bounded: Literal[False] = False
    ) -> Stream[ZSet[T], Unbounded]: ...
    @overload
    def table(
        self, name: str, row: type[T], *, key: KeyColumns, order_by: str | None = None, bounded: Literal[True]
    ) -> Stream[ZSet[T], Bounded]: ...
    @overload
    def table(
        self, name: str, row: object, *, key: KeyColumns, order_by: str | None = None, bounded: bool = False
    ) -> Stream[ZSet[Any], Unbounded]: ...
    def table(self, name: str, row: object, *, key: object, order_by: Any = None, bounded: bool = False) -> Any:
        """Declare an input of upserts and deletes by primary key: the current rows, as a z-set.

        It takes rows, which replace the row of their key, and `flo.delete(key)`. Later ones win, and to delete what is
        not there does nothing. In tables a column `_deleted` names deletes. With `order_by` the change of a key with
        the largest value in that column counts, whenever it arrives.
        """
        from flo.columns.changes import changes_of

        changes = call_located(changes_of, name, row, key, order_by)
        given = self._scope.add_input(name, StreamType(changes, bounded), Origin.here())
        (stream,) = self._scope.apply(Upsert(), given, verb="table")
        stream.name, stream.assigned = name, True
        return stream

    def now(self, *, because: str) -> Stream[LVar[Max[datetime]], Unbounded]:
        """Return the time of the outside world, as a value that grows: when the latest data arrived.

        It is an input called `now`, in UTC. A loop reads the time with every `push` that does not give it, and Spark
        with every micro-batch, which records it: a micro-batch that runs again has the same time. What depends on it
        is not determined by the other inputs, so it needs a reason, which `explain` shows.
        """
        return self._scope.add_now(because, "now")

    def constant(self, collection: type[C] | C, data: object) -> Stream[C, Bounded]:
        """Return a bounded stream of the given data."""
        return add_constant(self._scope, collection, data)

    def fixpoint(
        self, *, body: AnyFunction, most_rounds: int = MOST_ROUNDS, **relations: type[ZSet[Any]] | ZSet[Any]
    ) -> Any:
        """Return relations that are defined by each other: `flow.fixpoint(paths=flo.ZSet[Path], …, body=…)`.

        The body gets the relations in this order, and returns what they have in the next round, as a tuple of streams.
        Other streams can be used in it as they are. See `Stream.fixpoint`.
        """
        if not relations:
            raise TypeMismatch(
                "`fixpoint` must get at least one relation", instead=(("paths=flo.ZSet[Path]", "its name and type"),)
            ).at_users_line()
        expect_callable("fixpoint", "body", body)
        kinds = {name: relation_of(name, given) for name, given in relations.items()}
        streams = build_fixpoint(self._scope, kinds, body, most_rounds)
        return streams[0] if len(streams) == 1 else streams

    def sql(self, text: str, /, **streams: AnyStream) -> Stream[ZSet[Any], Unbounded]:
        """Return the rows of a query of Spark SQL over z-sets of rows, which it calls by their names.

        Spark plans the query, so it must be installed; the result is maintained by Flo, and can be retracted."""
        return _sql[0](text, streams)

    def output(self, name: str, stream: AnyStream) -> None:
        """Make a stream an output of the program."""
        here = Origin.here()
        expect_stream_name(name, "output", here)
        self._scope.expect_here(stream, "output")
        if name in self._outputs:
            raise NameTakenError(
                f"the output `{name}` is declared twice", facts=(("first", repr(self._outputs[name])),)
            ).at_users_line()
        self._outputs[name] = stream

    def _late(self) -> dict[str, AnyStream]:
        """Return the side outputs of late elements that nothing reads. They become outputs, so that nothing is lost."""
        late: dict[str, AnyStream] = {}
        for stream in self._scope.unread_late(self._outputs.values()):
            taken, name, number = {*self._outputs, *late}, stream.name, 1
            while name in taken:
                number += 1
                name = f"{stream.name} {number}"
            late[name] = stream
        return late

    def graph(self) -> Graph:
        """Return the program as an L^G expression; `str` prints it in the paper's notation."""
        return to_graph(self._dag())

    def _dag(self) -> Dag:
        """Return the program as the verbs have built it, without what no output depends on."""
        outputs = [*self._outputs.values(), *self._late().values()]
        return Dag.of_vertices(self._scope.inputs, self._scope.vertices, outputs)

    def _identified(self) -> Dag:
        """Return the program with the ids of its vertices."""
        return assign_ids(self._dag(), [stream.name for stream in self._scope.inputs])

    def _outline(self, retracting: Mapping[str, str] | None = None) -> Outline:
        """Return what a checkpoint records of the program. `retracting` says why inputs can retract rows."""
        inputs = [stream.name for stream in self._scope.inputs]
        return outline_program(self._identified(), inputs, [*self._outputs, *self._late()], retracting)

    def type(self) -> Derivation:
        """Return the program's type with its derivation. Raises if the program is not well typed."""
        ends = [*self._outputs.values(), *self._late().values(), *self._scope.not_needed]
        live = live_vertices(self._scope.vertices, ends)
        used = {stream for vertex in live for stream in vertex.inputs}
        for stream in self._scope.inputs:
            if stream not in used and stream not in ends:
                raise UnusedInputError(
                    f"no output depends on the input `{stream.name}`",
                    facts=((stream.name, stream.type.described()),),
                    instead=((f'flow.output("{stream.name}", {stream.name})', "or remove the input"),),
                    where=stream.origin,
                )
        if not self._outputs and not any(not vertex.outputs for vertex in self._scope.vertices):
            raise UnknownNameError(f"the flow {self.name!r} has no outputs").at_users_line()
        return program(self.graph(), tuple(stream.type for stream in self._scope.inputs))

    def explain(self) -> str:
        """Return the typed dataflow as a readable table."""
        self.type()
        return explain_flow(self.name, self._scope, self._outputs)

    def draw(self) -> Picture:
        """Return the typed dataflow as a picture (SVG): notebooks display it, and `.save(path)` writes it."""
        picture: Picture = pictures().draw_flow(self)
        return picture

    def loop(
        self,
        *,
        seed: int | None = None,
        schedule: Schedule | None = None,
        record: bool = False,
        negative: Negative = "raise",
    ) -> FlowLoop:
        """Return an event loop. By default it runs as fast as possible; with a seed or a schedule, step by step.

        `negative` applies to `result`: weights below zero are an error, or allowed. What is pulled may have them.
        """
        self.type()
        inputs = {stream.name: stream for stream in self._scope.inputs}
        schedule, outline = schedule_of(seed, schedule), self._outline
        loop = FlowLoop(self.graph(), inputs, self._outputs, self._late(), schedule, record, negative, outline)
        loop.reads_time = self._scope.now is not None
        return loop

    def run(self, /, *, negative: Negative = "raise", **inputs: object) -> Result:
        """Run on this data, in this process. Bounded inputs end after it; unbounded ones stay open.

        Returns the complete result, or raises: there are no partial outputs. `negative="allow"` allows negative weights
        in the result.
        """
        loop = self.loop(negative=negative)
        bounded = {stream.name: stream.bounded for stream in self._scope.inputs}
        for name in inputs:
            expect_known(name, bounded, "input", ("negative",))
        for name, ends in bounded.items():
            if ends and name not in inputs:
                raise UnknownNameError(
                    f"`run` must get data for the bounded input `{name}`",
                    instead=((f"flow.run({name}=[…])", "an empty list if there is none"),),
                ).at_users_line()
        try:
            loop.push(**inputs)
            loop.end(*(name for name, ends in bounded.items() if ends))
            loop.run()
        except FloError as error:
            raise error.at_users_line() from error.__cause__
        return loop.result()

    @overload
    def on(self, place: Here, *, workers: int | None = None) -> OnHere: ...
    @overload
    def on(self, place: SparkSession) -> OnSpark: ...
    def on(self, place: Any, *, workers: int | None = None) -> Any:
        """Run the same program on tables: in this process with `flo.here`, or on Spark with a session.

        With `workers`, it runs as shards in so many processes of this machine.
        """
        run_on = next((run_on for is_place, run_on in _engines if is_place(place)), None)
        if run_on is None:
            raise TypeMismatch(
                f"`on` must get a place to run on; got {type(place).__name__}",
                facts=(("given", brief(place)),),
                instead=(("flow.on(flo.here)", "on tables, in this process"), ("flow.on(spark)", "on Spark")),
            ).at_users_line()
        return run_on(self, place, workers)

    def explore(
        self,
        data: Mapping[str, object] | None = None,
        /,
        *,
        most_states: int | None = None,
        seed: int | None = None,
        **inputs: object,
    ) -> Exploration:
        """Try every schedule, and every way to cut this data into deltas: one outcome, or two traces that differ.

        If there are more than `most_states` states (100,000), random schedules are tried instead. A list for a lattice
        variable has the values that arrive one after the other. Data may be given as a mapping, which is required for
        inputs that are named `seed` or `most_states`.
        """
        places = {stream.name: place for place, stream in enumerate(self._scope.inputs)}
        types = {stream.name: stream.type for stream in self._scope.inputs}
        given = self._given(places, data, inputs, {"most_states": most_states, "seed": seed})
        return explore(
            self._scenario(given),
            most_states=MOST_STATES if most_states is None else most_states,
            seed=0 if seed is None else seed,
            again=lambda *traces: flow_replay_line(types, given, *traces),
        )

    def _scenario(self, given: Mapping[str, object]) -> Scenario:
        """Return the program and this data, which arrives in the smallest deltas."""
        outputs, names = self.type().outputs, [stream.name for stream in self._scope.inputs]
        kinds = tuple(stream.type for stream in self._scope.inputs)
        data = {names.index(name): items for name, items in given.items()}
        channels = split_into_channels(data, kinds, None, tuple(names))
        output_names = (*self._outputs, *self._late())
        return Scenario(self.name, self.graph(), kinds, outputs, channels, tuple(names), output_names, self.draw)

    @staticmethod
    def _given(
        places: Mapping[str, int],
        data: Mapping[str, object] | None,
        inputs: dict[str, object],
        options: dict[str, object],
    ) -> dict[str, object]:
        """Return the data of all inputs. Raises if a keyword may be an option or an input."""
        if data is not None and not isinstance(data, Mapping):
            raise UnknownNameError(
                f"`explore` must get data by input name; got one {type(data).__name__}",
                facts=(("inputs", ", ".join(places) or "none"),),
                instead=(("flow.explore(name=[…])", "by name"), ('flow.explore({"name": […]})', "or in a mapping")),
            ).at_users_line()
        data = {} if data is None else data
        for name, option in options.items():
            if option is not None and name in places and name not in data:
                raise NameTakenError(
                    f"`{name}` is both an input of this flow and an option of `explore`",
                    instead=((f'flow.explore({{"{name}": […]}})', "data for the input"),),
                ).at_users_line()
        for name in (*data, *inputs):
            expect_known(name, places, "input")
            if name in data and name in inputs:
                raise NameTakenError(f"`explore` got the input `{name}` twice").at_users_line()
        each = {**data, **inputs}
        return {name: list(items) if isinstance(items, Iterator) else items for name, items in each.items()}

    def replay(self, trace: str, /, **inputs: object) -> Replay:
        """Run exactly along a trace that `explore` or `check` printed, on the same data.

        A trace is a line of names: `input←3` for an arriving element, `input⊗` for an end, and rules.
        """
        self.type()
        types = {stream.name: stream.type for stream in self._scope.inputs}
        for name in inputs:
            expect_known(name, types, "input")
        return replay_graph(self.graph(), types, inputs, trace, tuple(self._outputs))

    def _checkable(self) -> CheckedProgram:
        """Return the program for `flo.verify.check`."""
        self.type()
        streams = {stream.name: stream.type for stream in self._scope.inputs}
        operators = tuple(_operators(self._scope))
        return CheckedProgram(self.name, self.graph(), streams, operators)

    def __repr__(self) -> str:
        """Show the inputs and outputs with their types, and the number of operators."""
        operators = sum(1 for _ in _operators(self._scope))
        streams = [("input", stream.name, stream.type.in_full()) for stream in self._scope.inputs]
        streams += [("output", name, stream.known_type.in_full()) for name, stream in self._outputs.items()]
        width = max((len(name) for _, name, _ in streams), default=0)
        lines = [f"<Flow {self.name!r}: {operators} operator{'s' if operators != 1 else ''}"]
        lines += [f"  {kind:<6}  {name:<{width}}  {described}" for kind, name, described in streams]
        return "\n".join(lines) + ">"


def _operators(scope: Scope) -> Iterator[tuple[Operator, StreamTypes]]:
    """Yield every operator with its input types, including those in bodies."""
    for vertex in scope.vertices:
        yield vertex.operator, tuple(stream.type for stream in vertex.inputs)
        if vertex.body is not None:
            yield from _operators(vertex.body)


def _with_partitions(collection: Collection, partitions: object) -> Collection:
    """Return the collection with this number of partitions, if it is a partitioned log."""
    if not isinstance(collection, Partitioned):
        if partitions is not None:
            raise TypeMismatch(
                f"only a Partitioned input has partitions; got a {collection.name}",
                instead=(("flo.Partitioned[…]", "a log that has an order within each partition"),),
            )
        return collection
    if partitions is None and collection.count:
        return collection
    if type(partitions) is not int or partitions < 1:
        raise TypeMismatch(
            f"`partitions` of a Partitioned input must be an integer ≥ 1; got {brief(partitions)}",
            instead=(("flow.input(…, flo.Partitioned[…], partitions=3)", "they are numbered 0, 1 and 2"),),
        )
    _expect_hashable(Bag(collection.row))  # the rows of a window have no order
    return Partitioned(collection.row, partitions)


def _expect_hashable(collection: Collection) -> Collection:
    """Return the collection. Raises if it compares its rows by hash, and a column is of lists, dicts or sets."""
    element = getattr(collection, "element", None)
    if not getattr(collection, "unordered", False):
        return collection
    if is_dataclass(element) and getattr(element, "__hash__", None) is None:
        raise TypeMismatch(
            f"rows of a {collection.name} must be hashable; {type_name(element)} is a dataclass that can be changed",
            instead=(("@dataclass(frozen=True)", f"before the class {type_name(element)}"),),
        )
    field = unhashable_field(element)
    if field is None:
        return collection
    name, kind = field
    parts = ", ".join(type_name(part) for part in get_args(kind) if part is not type(None)) or "T"
    listed = get_origin(kind) is list
    raise TypeMismatch(
        f"rows of a {collection.name} must be hashable; `{name}` of {type_name(element)} is {type_name(kind)}",
        instead=(
            (
                f"{name}: tuple[{parts if listed else 'T'}, ...]",
                f"in {type_name(element)}: tuples are columns of lists",
            ),
        ),
    )
