"""The laws of operators, tried on every small input, in every schedule, with every cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any

from flo.core.collection import Collection
from flo.core.derivation import StreamTypes
from flo.core.errors import FloError, FunctionError, LawError
from flo.core.graph import Graph, Node, inputs, setinput
from flo.core.nested import Nested
from flo.core.notation import text
from flo.core.operator import Operator, Values
from flo.core.semantics import measure
from flo.core.stream_type import StreamType
from flo.core.term import Lowering
from flo.core.typing import derive, initial
from flo.values.keyed import Keyed
from flo.values.lattice import Max
from flo.values.lvar import LVar
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify import laws
from flo.verify.explore import Channel, Channels, Exploration, State, explore, moves
from flo.verify.inputs import Deltas, deltas_of
from flo.verify.laws import Law
from flo.verify.report import Counterexample, Report

COLLECTIONS: tuple[Collection, ...] = (
    Sequence(int),
    Bag(int),
    Set(int),
    ZSet(int),
    LVar(Max(int)),
    Nested(Sequence(int)),
    Keyed(int, Sequence(int)),
    Sequence(tuple[int, int]),
)
MOST_SIGNATURES = 8
MOST_INPUTS = 80
MOST_STATES = 4_000


def accepted_types(operator: Operator) -> Iterator[StreamTypes]:
    """The input types among a few that the operator takes, unbounded before bounded."""
    flags = product((False, True), repeat=operator.arity[0])
    for bounded in flags:
        for kinds in product(COLLECTIONS, repeat=operator.arity[0]):
            types = tuple(StreamType(kind, flag) for kind, flag in zip(kinds, bounded, strict=True))
            try:
                derive(Node(None, operator), types)
            except FloError:
                continue
            yield types


def check_operator(operator: Operator, types: StreamTypes | None = None, *, most: int = 3) -> Report:
    """Tries every law on all inputs of at most `most` elements: on these input types, or on those that it accepts."""
    name = f"`{operator.name}`"
    tried, fired, faults = 0, set[str](), list[FunctionError]()
    for signature in [types] if types is not None else islice(accepted_types(operator), MOST_SIGNATURES):
        try:
            for broken in tries(operator, signature, most, fired):
                tried += 1
                if broken is not None:
                    return Report(name, laws.OPERATOR_LAWS, f"{tried} inputs", broken, frozenset(fired))
        except FunctionError as fault:  # the types were a guess, and the user's function takes others
            faults.append(fault)
    if faults and (types is not None or not tried):
        raise faults[0]
    if not tried:
        raise LawError(
            f"{name} takes none of the types that are tried", instead=(("check(operator, types)", "name one"),)
        )
    strength = f"every schedule and cut of {tried} inputs of up to {most} elements; {len(fired)} rules fired"
    return Report(name, laws.OPERATOR_LAWS, strength, None, frozenset(fired))


def tries(operator: Operator, types: StreamTypes, most: int, fired: set[str]) -> Iterator[Counterexample | None]:
    """What each small input of these types breaks."""
    start, output_types = initial(Node(None, operator), types)
    for channels in islice(every_input(types, most), MOST_INPUTS):
        yield broken_law(start, types, output_types, channels, fired)


def every_input(types: StreamTypes, most: int) -> Iterator[Channels]:
    """Inputs by their number of elements. Bounded ones end; unbounded ones stay open, and then end as well."""
    for size in range(most + 1):
        each = [list(deltas_of(kind.collection, size)) for kind in types]
        for chosen in product(*each):
            if sum(len(part) for deltas in chosen for part in deltas) == size:
                yield arriving(chosen, types, [kind.bounded for kind in types])
                if not all(kind.bounded for kind in types):
                    yield arriving(chosen, types, [True] * len(types))


def arriving(chosen: Iterable[Deltas], types: StreamTypes, ends: list[bool]) -> Channels:
    data = [Channel(i, tuple(part)) for i, deltas in enumerate(chosen) for part in deltas]
    over = [Channel(i, (t.collection.bottom().fix(),), is_end=True) for i, t in enumerate(types) if ends[i]]
    return tuple(data + over)


def broken_law(
    start: Graph, types: StreamTypes, output_types: StreamTypes, channels: Channels, fired: set[str]
) -> Counterexample | None:
    """The first law that this input breaks."""
    outputs = tuple(output.collection.bottom() for output in output_types)
    whole = feed(start, channels)
    broken = _breaks_at_a_step(State(whole, outputs, ()), types, output_types, fired)
    if broken is not None:
        return broken
    at_once = explore(whole, types, (), most_states=MOST_STATES)
    if not at_once.ok:
        return differing(laws.CONFLUENCE, at_once, channels)
    in_parts = explore(start, types, channels, most_states=MOST_STATES)
    if not in_parts.ok or in_parts.outcomes != at_once.outcomes:
        return differing(laws.EAGER_EXECUTION, in_parts, channels)
    return _without_progress(whole, types, output_types, channels, at_once.outcomes[0])


def _breaks_at_a_step(
    state: State, types: StreamTypes, output_types: StreamTypes, fired: set[str]
) -> Counterexample | None:
    """Preservation, the measure and a stuck state, along one run."""
    taken: list[str] = []
    while (found := next(moves(state, ()), None)) is not None:
        move, after = found
        fired.update(move.rules)
        taken.append(move.rules[-1])
        if not measure(after.graph) < measure(state.graph):
            law = laws.STUCK_STATE if after == state else laws.MEASURE
            return Counterexample(law, f"at {move.rules[-1]}", (tuple(taken),), (shown(after),))
        try:
            if derive(after.graph, types).outputs != output_types:
                return Counterexample(laws.PRESERVATION, "another type", (tuple(taken),), (shown(after),))
        except FloError as error:
            return Counterexample(laws.PRESERVATION, error.summary, (tuple(taken),), (shown(after),))
        for output_type, output in zip(output_types, after.outputs, strict=True):
            reason = output_type.collection.mismatch(output)
            if reason is not None:
                return Counterexample(laws.PRESERVATION, reason, (tuple(taken),), (shown(after),))
        state = after
    return None


def _without_progress(
    whole: Graph, types: StreamTypes, output_types: StreamTypes, channels: Channels, outputs: Values
) -> Counterexample | None:
    if any(kind.bounded and not value.fixed() for kind, value in zip(types, inputs(whole), strict=True)):
        return None
    for output_type, output in zip(output_types, outputs, strict=True):
        if output_type.bounded and not output.fixed():
            return one(laws.BOUNDED_OUTPUTS, channels, outputs)
    ended = setinput(whole, tuple(value.fix() for value in inputs(whole)))
    at_the_end = explore(ended, types, (), most_states=MOST_STATES).outcomes[0]
    if at_the_end != tuple(output.fix() for output in outputs):
        expected = values_text(output.fix() for output in outputs)
        columns = ((f"the input stays open: {values_text(outputs)}", "so at its end"), ("the input ends",))
        return Counterexample(laws.OUTPUT_MAXIMALITY, data_of(channels), columns, (expected, values_text(at_the_end)))
    return None


def feed(graph: Graph, channels: Channels) -> Graph:
    values = list(inputs(graph))
    for channel in sorted(channels, key=lambda channel: channel.is_end):
        for delta in channel.deltas:
            values[channel.input] = values[channel.input].concat(delta)
    return setinput(graph, tuple(values))


def differing(law: Law, found: Exploration, channels: Channels) -> Counterexample:
    columns = tuple(tuple(str(move) for move in trace) for trace in found.traces)
    return Counterexample(law, data_of(channels), columns, tuple(map(values_text, found.outcomes[:2])))


def one(law: Law, channels: Channels, outputs: Values) -> Counterexample:
    return Counterexample(law, data_of(channels), (("run until stuck",),), (values_text(outputs),))


def data_of(channels: Channels) -> str:
    arriving = [f"input {c.input + 1} ← {text(Lowering()(delta))}" for c in channels for delta in c.deltas]
    return "on " + (", ".join(arriving) or "no data")


def shown(state: State) -> str:
    return values_text(state.outputs)


def values_text(values: Any) -> str:
    return ", ".join(text(Lowering()(value)) for value in values)
