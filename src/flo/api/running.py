"""Running a flow in this process: named inputs and outputs around the event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from threading import RLock
from typing import Any, Generic, Literal, Never, TypeAlias, TypeVar

from flo.api.scope import NOW
from flo.columns.dicts import from_dicts
from flo.core.collection import FormedValue, Value
from flo.core.display import Displayed
from flo.core.errors import (
    ElementError,
    FloError,
    HasMethods,
    NameTakenError,
    ScopeError,
    TypeMismatch,
    UnknownNameError,
    UnknownVerbError,
    brief,
)
from flo.core.event_loop import EventLoop, ProgramLoop, RandomSchedule, Schedule, Snapshot
from flo.core.explained_calls import explain_methods
from flo.core.graph import Graph
from flo.core.program_outline import Outline
from flo.core.semantics import GraphStep
from flo.core.stream_type import StreamTypes
from flo.program.dag import StreamLike
from flo.values.keyed import KeyedValue
from flo.values.partitioned import Partitioned
from flo.values.weighted import ZSetValue

Negative: TypeAlias = Literal["raise", "allow"]
SHOWN = 5
"""The number of rows that an error shows."""


class Result(Displayed, HasMethods, dict[str, Any]):
    """The outputs of a run as plain Python data, by name."""

    _called = "a result"

    def __init__(self, outputs: Mapping[str, object], fixed: Mapping[str, bool], late: Mapping[str, Any]) -> None:
        super().__init__(outputs)
        self._fixed = dict(fixed)
        self.late = dict(late)
        """Late elements that no stream of the program reads, by window."""

    def __missing__(self, name: str) -> Never:
        raise unknown_name(name, self, "output").at_users_line()

    def _unknown(self, verb: str) -> UnknownVerbError:
        if verb in self:
            return UnknownVerbError(f"a result has no `{verb}`", instead=((f'["{verb}"]', "the output"),))
        return super()._unknown(verb)

    def fixed(self, name: str) -> bool:
        """Return whether that output has ended, so that nothing can be added to it."""
        return self._fixed[expect_known(name, self._fixed, "output")]


def expect_no_negative_weights(name: str, below: list[tuple[object, int]]) -> None:
    """Raise if an output has elements with weights below zero: these."""
    if below:
        more = ((f"… and {len(below) - SHOWN} more", ""),) if len(below) > SHOWN else ()
        raise ElementError(
            f"{len(below)} rows of the output `{name}` were retracted more often than inserted",
            facts=(*((brief(row), f"weight {weight}") for row, weight in below[:SHOWN]), *more),
            instead=(('negative="allow"', "allows negative weights in the result"),),
        ).at_users_line()


def expect_one_of(name: str, given: Any, options: Any) -> Any:
    """Return the value of an argument. Raises unless it is one of the options."""
    if given not in options.__args__:
        raise TypeMismatch(
            f"`{name}` must be one of {', '.join(map(repr, options.__args__))}; got {brief(given)}",
            instead=tuple((f'{name}="{option}"', "") for option in options.__args__),
        ).at_users_line()
    return given


def expect_known(name: str, names: Mapping[str, object], what: str, options: Iterable[str] = ()) -> str:
    """Return the name; raise if the flow has no input or output of that name. Where it was given, there are also these
    options."""
    if name not in names:
        raise unknown_name(name, names, what, options).at_users_line()
    return name


def unknown_name(name: object, names: Mapping[str, object], what: str, options: Iterable[str] = ()) -> UnknownNameError:
    """Return the error for an input or output that the flow does not have, with the closest."""
    close = get_close_matches(str(name), [*names, *options], n=1, cutoff=0.6)
    return UnknownNameError(
        f"the flow has no {what} called {f'`{name}`' if isinstance(name, str) else brief(name)}",
        facts=((f"{what}s", ", ".join(names) or "none"),),
        instead=tuple((f"{each}=…" if what == "input" else f'"{each}"', "the closest name") for each in close),
    )


L = TypeVar("L", bound=ProgramLoop[Any])


@dataclass(slots=True)
class Alone:
    """Keeps other threads out of a running flow, and calls from inside a step."""

    of: NamedInputs[Any]
    verb: str

    def __enter__(self) -> None:
        self.of._lock.acquire()
        if self.of._busy:
            self.of._lock.release()
            raise ScopeError(
                f"`{self.verb}` was called by a function that the loop is running",
                instead=(("return the data from the function", "for example in a flat_map"),),
            ).at_users_line()
        self.of._busy = True

    def __exit__(self, *raised: object) -> None:
        self.of._busy = False
        self.of._lock.release()


@explain_methods
class NamedInputs(HasMethods, Generic[L]):
    """A running flow whose inputs have names. Every method is all or nothing."""

    _called = "a loop"

    def __init__(self, loop: L, inputs: Mapping[str, StreamLike]) -> None:
        self._loop = loop
        self._inputs = {name: place for place, name in enumerate(inputs)}
        self._grown: dict[str, Partitioned[Any]] = {}
        """The inputs that got more partitions."""
        self.reads_time = False
        """Whether the flow has the input `now`, which gets the time of each push that does not give it."""
        self._lock = RLock()
        self._busy = False

    def push(self, name: str | None = None, data: object = None, /, **inputs: object) -> None:
        """Push new data to an input: `push("orders", [1, 2])` or `push(orders=[1, 2])`.

        All of it is checked first: if an element has the wrong type, nothing arrives.
        """
        given = [*([(name, data)] if name is not None else []), *inputs.items()]
        if name is not None and not isinstance(name, str):
            raise TypeMismatch(
                f"`push` must get the name of an input before its data; got {brief(name)}",
                facts=(("inputs", ", ".join(self._inputs)),),
                instead=((f"push({next(iter(self._inputs), 'name')}=…)", "the data of an input"),),
            ).at_users_line()
        for each, _ in given:
            expect_known(each, self._inputs, "input")
        if name in inputs:
            raise NameTakenError(f"`push` got the input `{name}` twice").at_users_line()
        if self.reads_time and NOW not in dict(given):
            given.append((NOW, datetime.now(UTC)))
        places = {each: (each == NOW, place) for each, place in self._inputs.items()}  # rows come before `now`
        with self._alone("push"):
            self._take(sorted(given, key=lambda each: places[each[0]]))

    def _take(self, given: list[tuple[str, object]]) -> None:
        raise NotImplementedError(type(self).__name__)

    def _hand_over(self, values: Mapping[int, Value]) -> None:
        raise NotImplementedError(type(self).__name__)

    def add_partitions(self, name: str, count: int = 1) -> None:
        """Let a partitioned input have so many more partitions.

        Each counts from the run that brings its first row: it begins at the clock of the others as it was before that
        run, and its rows before that clock are late. A loop that is restored is told again.
        """
        of = self._loop.input_types[self._inputs[expect_known(name, self._inputs, "input")]].collection
        declared: Any = getattr(of, "base", of)
        given = self._grown.get(name, declared)
        if not isinstance(given, Partitioned) or type(count) is not int or count < 1:
            raise ElementError(
                f"`add_partitions` must get the name of a partitioned input and a number above 0; "
                f"got `{name}`, {brief(count)}",
                facts=((name, str(given)),),
            ).at_users_line()
        self._grown[name] = given.grown(count)

    def end(self, *names: str) -> None:
        """End these inputs: nothing more will arrive on them."""
        places = [self._inputs[expect_known(name, self._inputs, "input")] for name in names]
        with self._alone("end"):
            self._hand_over({place: self._loop.input_types[place].collection.bottom().fix() for place in places})

    def _alone(self, verb: str) -> Alone:
        """Allow one thread at a time, and no calls from inside a step: their effects would be lost after the step."""
        return Alone(self, verb)


@explain_methods
class NamedLoop(NamedInputs[L]):
    """A running flow whose inputs and outputs have names: push and pull, in any order and any number of times."""

    def __init__(
        self,
        loop: L,
        inputs: Mapping[str, StreamLike],
        outputs: Mapping[str, StreamLike],
        late: Mapping[str, StreamLike],
        negative: Negative = "raise",
    ) -> None:
        super().__init__(loop, inputs)
        self._outputs = {name: place for place, name in enumerate(outputs)}
        self._late = {name: place for place, name in enumerate(late, len(outputs))}
        self.negative: Negative = expect_one_of("negative", negative, Negative)
        """Whether `result` raises if a z-set has negative weights."""
        self._pulled: set[str] = set()
        """The outputs that were pulled: what is left of them are changes."""

    def __repr__(self) -> str:
        ended = self._loop.ended
        inputs = (f"{name}{' (ended)' if place in ended else ''}" for name, place in self._inputs.items())
        return f"<{type(self).__name__} from {', '.join(inputs)} to {', '.join(self._outputs)}>"

    def pull(self, name: str, at_most: int | None = None) -> Any:
        """Return the new elements of an output since the last pull, as plain Python data: `at_most` of them, or all.

        For a lattice variable it is always the whole value; for a nested stream, the complete inner streams.
        """
        place = self._outputs[expect_known(name, self._outputs, "output")]
        with self._alone("pull"):
            self._pulled.add(name)
            return self._loop.output_types[place].collection.plain(self._sent(place, at_most))

    def _sent(self, place: int, at_most: int | None) -> Value:
        return self._loop.pull(place, at_most)

    def peek(self, name: str) -> Any:
        """Return what `pull` would return, and leave it there."""
        place = self._outputs[expect_known(name, self._outputs, "output")]
        return self._plain(place)

    def _plain(self, place: int) -> Any:
        return self._loop.output_types[place].collection.plain(self._loop.outputs[place])

    def result(self) -> Result:
        """Return all outputs that were not pulled. Raises if one has negative weights, unless they are allowed."""
        if self.negative == "raise":
            for name, place in self._outputs.items():
                if name not in self._pulled:
                    expect_no_negative_weights(name, self._below_zero(place))
        return Result(
            {name: self._plain(place) for name, place in self._outputs.items()},
            {name: self._loop.outputs[place].fixed() for name, place in self._outputs.items()},
            {name: self._plain(place) for name, place in self._late.items()},
        )

    def _below_zero(self, place: int) -> list[tuple[object, int]]:
        """Return the rows of an output that were retracted more often than inserted, with their weights."""
        return units_below_zero(self._loop.outputs[place])


def units_below_zero(value: Value) -> list[tuple[object, int]]:
    """Return the elements of a z-set that were retracted more often than inserted, with their weights; of a keyed
    stream those of all keys, each with its key."""
    if isinstance(value, FormedValue):
        value = value.value()
    if isinstance(value, KeyedValue):
        keyed = ((key, units_below_zero(inner)) for key, inner in value.entries.items())
        return [({key: element}, weight) for key, units in keyed for element, weight in units]
    units = value.all_units() if isinstance(value, ZSetValue) else ()
    return [unit for unit in units if unit[1] < 0]


def describe_ends(inputs: Mapping[str, StreamLike], outputs: Mapping[str, StreamLike]) -> tuple[str, ...]:
    """Return the names and types of the inputs and outputs, which identify the program of a state."""
    named = [(f"input {name}", stream) for name, stream in inputs.items()]
    named += [(f"output {name}", stream) for name, stream in outputs.items()]
    return tuple(f"{name}: {stream.type.described()}" for name, stream in named)


@explain_methods
class FlowLoop(NamedLoop[EventLoop]):
    """The event loop of a flow on values, driven by hand: push, step, run, pull, in any order and any number of times.

    `push` and `end` only hand over data, and `run` processes it. If `run` raises, it discards the data handed over
    since the last `run`, so that you can fix the data and push it again. A `step` or `take` makes what was pushed
    before it final.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, StreamLike],
        outputs: Mapping[str, StreamLike],
        late: Mapping[str, StreamLike],
        schedule: Schedule | None,
        record: bool,
        negative: Negative = "raise",
        outline: Callable[[], Outline] = tuple,
    ) -> None:
        types: StreamTypes = tuple(stream.type for stream in inputs.values())
        loop = EventLoop(graph, types, schedule, describe_ends(inputs, outputs), outline)
        super().__init__(loop, inputs, outputs, late, negative)
        loop.recording = record
        self._offered: Graph | None = None
        self._start: Snapshot | None = None
        """The state before the first push that no run has processed. A run that raises goes back to it."""

    def _take(self, given: list[tuple[str, object]]) -> None:
        self._hand_over({self._inputs[name]: self._checked(name, data) for name, data in given})

    def _checked(self, name: str, data: object) -> Value:
        collection = self._grown.get(name) or self._loop.input_types[self._inputs[name]].collection
        try:
            if isinstance(collection, Partitioned) and isinstance(data, Mapping):
                data = {partition: from_dicts(collection.row, rows) for partition, rows in data.items()}
            value: Value = collection.value(from_dicts(getattr(collection, "element", None), data))
            if self._inputs[name] in self._loop.ended and value.size():
                raise ElementError("{input} has ended and takes no more data", facts=(("given", brief(data)),))
        except FloError as error:
            error.input_name = f"`{name}`"
            raise error.at_users_line() from error.__cause__
        return value

    def _hand_over(self, values: Mapping[int, Value]) -> None:
        start = self._start or self._loop.snapshot()
        self._loop.push(tuple(values.get(place) for place in range(len(self._inputs))))
        self._start = start

    def _sent(self, place: int, at_most: int | None) -> Value:
        sent = super()._sent(place, at_most)
        if self._start is not None:  # a rollback does not take back what was sent
            self._start = replace(self._start, outputs=self._loop.outputs)
        return sent

    def step(self, count: int = 1) -> list[GraphStep]:
        """Take up to `count` small steps picked by the schedule; return them.

        If one raises, none is taken. A later `run` that raises does not undo them.
        """
        with self._alone("step"):
            with self._loop.atomic():
                taken = self._loop.step(count)
            if taken:
                self._start = None
            return taken

    def enabled(self) -> list[GraphStep]:
        """Return every small step that could be taken now."""
        with self._alone("enabled"):
            self._offered = self._loop.graph
            return self._loop.enabled()

    def take(self, step: GraphStep) -> None:
        """Take one of the enabled steps."""
        with self._alone("take"):
            if self._offered is not self._loop.graph:
                raise ScopeError(
                    "the step belongs to an earlier state of the loop",
                    instead=(("loop.take(loop.enabled()[0])", "a step of the current state"),),
                ).at_users_line()
            self._loop.take(step)
            self._start = None

    def run(self) -> None:
        """Run until nothing more can be done with what has arrived.

        If it raises, the loop goes back to the state before the first `push` or `end` since the last `run`. Their data
        is discarded, and can be pushed again.
        """
        with self._alone("run"):
            start, self._start = self._start, None
            with self._loop.atomic(start):
                self._loop.run()

    @property
    def graph(self) -> Graph:
        """The current program, including buffers and states."""
        return self._loop.graph

    @property
    def history(self) -> tuple[GraphStep, ...]:
        """The steps taken so far, if the loop was made with `record=True`."""
        return tuple(self._loop.history)

    def checkpoint(self) -> bytes:
        """Return the running program as bytes. They contain state, but no code."""
        try:
            with self._alone("checkpoint"):
                return self._loop.checkpoint()
        except FloError as error:
            raise error.at_users_line() from error.__cause__

    def restore(self, data: bytes) -> None:
        """Continue from a checkpoint of the same program, made by this process or another."""
        try:
            with self._alone("restore"):
                self._loop.restore(data)
                self._start = None
                self._pulled = set(self._outputs)  # the checkpoint does not say which were
        except FloError as error:
            raise error.at_users_line() from error.__cause__


def schedule_of(seed: int | None, schedule: Schedule | None) -> Schedule | None:
    return schedule if schedule is not None else None if seed is None else RandomSchedule(seed)
