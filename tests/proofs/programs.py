"""The programs of proofs/Flo/Runs.agda, run by flo.core: every state that some order of arrivals and steps reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from flo.core.collection import Collection, End
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, setinput
from flo.core.operator import Operator, Values, concat_all
from flo.core.semantics import small_steps
from flo.core.stream_type import StreamType
from flo.core.structural import Wire
from flo.core.typing import initial
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.sequences import Fold, Scan
from flo.values.operators.sets import UnionSets
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Set, SetValue

INTS, SET = Sequence(int), Set(int)


def successor(x: int) -> int:
    return x + 1


def even(x: int) -> bool:
    return x % 2 == 0


def add(x: int, y: int) -> int:
    return x + y


class Program(NamedTuple):
    """A graph with the collections of its inputs and outputs."""

    graph: Graph
    takes: tuple[Collection, ...]
    gives: tuple[Collection, ...]


def _one(operator: Operator, takes: tuple[Collection, ...], gives: tuple[Collection, ...]) -> Program:
    return Program(Node(None, operator), takes, gives)


TEE = Wire(1, (0, 0))
OPERATIONS: dict[str, Program] = {
    "map": _one(Map(successor), (INTS,), (INTS,)),
    "filter": _one(Filter(even), (INTS,), (INTS,)),
    "scan": _one(Scan(0, add), (INTS,), (INTS,)),
    "fold": _one(Fold(0, add), (INTS,), (INTS,)),
    "tee": _one(TEE, (INTS,), (INTS, INTS)),
    "drop": _one(Wire(1, ()), (INTS,), ()),
    "map_set": _one(Map(successor), (SET,), (SET,)),
    "filter_set": _one(Filter(even), (SET,), (SET,)),
    "tee_set": _one(TEE, (SET,), (SET, SET)),
    "union_sets": _one(UnionSets(), (SET, SET), (SET,)),
}


def programs() -> Iterator[tuple[str, Program, list[list[int]]]]:
    """Yield all graphs with one or two of these operators: their name, the program, and what arrives, in parts."""
    for name, one in OPERATIONS.items():
        yield name, one, [[1, 2], [2]]
    for name, one in OPERATIONS.items():
        for second, other in OPERATIONS.items():
            if one.gives == other.takes:
                graph = Sequential(one.graph, other.graph)
                yield f"{name}; {second}", Program(graph, one.takes, other.gives), [[1], [2]]
    for name, one in OPERATIONS.items():
        for second, other in OPERATIONS.items():
            graph = Parallel(one.graph, other.graph)
            yield f"{name} | {second}", Program(graph, one.takes + other.takes, one.gives + other.gives), [[2]]


def _value(collection: Collection, elements: list[int], end: End) -> Any:
    if collection == INTS:
        return SequenceValue.of(elements, end)
    return SetValue.of([(element, 1) for element in elements], end)


def _show_value(value: Any) -> str:
    end = {End.OPEN: "", End.ARRIVED: "*", End.PASSED: "!"}[value.end]
    if isinstance(value, SequenceValue):
        return f"[{','.join(map(str, value.elements_list()))}]{end}"
    return f"<{','.join(map(str, sorted(value.elements_list())))}>{end}"


def _show_values(values: Values) -> str:
    return ",".join(map(_show_value, values))


def _show_graph(graph: Graph, names: Iterator[str]) -> str:
    match graph:
        case Sequential(left, right):
            return f"{_show_graph(left, names)}; {_show_graph(right, names)}"
        case Parallel(left, right):
            return f"{_show_graph(left, names)} | {_show_graph(right, names)}"
        case Node(_, operator):
            number = f"({operator.acc})" if isinstance(operator, (Scan, Fold)) else ""
            return f"{{{_show_values(inputs(graph))}}}{next(names)}{number}"


def reached(name: str, program: Program, arriving: list[list[int]]) -> set[str]:
    """Return a line for each step between two states, and for each stuck state."""
    graph, outputs = initial(program.graph, tuple(StreamType(taken, True) for taken in program.takes))
    last = len(arriving) - 1
    deltas = [
        tuple(_value(taken, part, End.ARRIVED if place == last else End.OPEN) for taken in program.takes)
        for place, part in enumerate(arriving)
    ]

    def show(state: tuple[Graph, Values, int]) -> str:
        names = iter(name.replace(" |", ";").split("; "))
        return f"{_show_graph(state[0], names)} > {_show_values(state[1])} + {len(deltas) - state[2]}"

    lines: set[str] = set()
    waiting, seen = [(graph, tuple(output.collection.bottom() for output in outputs), 0)], set[str]()
    while waiting:
        state = waiting.pop()
        if show(state) in seen:
            continue
        seen.add(show(state))
        graph, given, place = state
        moves: list[tuple[str, tuple[Graph, Values, int]]] = []
        if place < len(deltas):
            fed = setinput(graph, concat_all(inputs(graph), deltas[place]))
            moves.append(("arrive", (fed, given, place + 1)))
        for step in small_steps(graph):
            moves.append((".".join(step.path), (step.graph, concat_all(given, step.outputs), place)))
        lines |= {f"{show(state)} -- {rule} -> {show(after)}" for rule, after in moves}
        if not moves:
            lines.add(f"{show(state)} is stuck")
        waiting += [after for _, after in moves]
    return lines
