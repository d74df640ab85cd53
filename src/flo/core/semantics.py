"""The small-step relation on graphs (figure "small-step semantics for graphs"), stuck states and measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from flo.core.errors import GIVEN, ElementError, EngineError, FloError, FunctionError
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, setinput
from flo.core.operator import Deltas, Measure, Values, concat_all, expect_step, expect_steps

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class GraphStep:
    """e →Δ (e', O'). `path` has the rules from the root of the graph to the operator's own; `place` says where."""

    path: tuple[str, ...]
    place: tuple[int, ...]
    graph: Graph
    outputs: Deltas
    settled: bool = False

    @property
    def rule(self) -> str:
        """The operator's rule."""
        return self.path[self.path.index("operator") + 1]


def small_steps(graph: Graph) -> Iterator[GraphStep]:
    """→Δ: yield every enabled step of the graph, each with its derivation.

    If a user's function raises, its rule does not apply, and the other operators can still step. The error is raised
    when no step is left.

    A step that is `settled` is enabled if nothing to the left of its operator can step. A clock is read by such steps:
    it must not overtake the rows that came before it (docs/deviations.md).
    """
    step, faults = None, list[FloError]()
    for step in _steps(graph, faults):
        yield step
    if step is None and faults:
        raise faults[0]


def _steps(graph: Graph, faults: list[FloError]) -> Iterator[GraphStep]:
    match graph:
        case Sequential(left, right):
            is_stuck, before = True, len(faults)
            for step in _steps(left, faults):
                is_stuck = False
                fed = setinput(right, concat_all(inputs(right), step.outputs))
                nothing = (None,) * right.arity[1]
                yield _inside(step, "sequence-left", 0, Sequential(step.graph, fed), nothing)
            is_stuck &= len(faults) == before
            for step in _steps(right, faults):
                if is_stuck or not step.settled:
                    yield _inside(step, "sequence-right", 1, Sequential(left, step.graph), step.outputs)
        case Parallel(left, right):
            for step in _steps(left, faults):
                outputs = step.outputs + (None,) * right.arity[1]
                yield _inside(step, "par-left", 0, Parallel(step.graph, right), outputs)
            for step in _steps(right, faults):
                outputs = (None,) * left.arity[1] + step.outputs
                yield _inside(step, "par-right", 1, Parallel(left, step.graph), outputs)
        case Node(_, operator, origin):
            values = inputs(graph)
            steps, none = guarded(expect_steps(operator, operator.steps(values)), graph), object()
            while True:
                try:
                    taken: Any = next(steps, none)
                except FloError as fault:
                    faults.append(fault)
                    return
                if taken is none:
                    return
                _expect_step(graph, len(values), taken)
                after = Node(taken.inputs, taken.operator, origin)
                yield GraphStep(("operator", taken.rule, *taken.inside), (), after, taken.outputs, taken.settled)


def _inside(step: GraphStep, rule: str, side: int, graph: Graph, outputs: Deltas) -> GraphStep:
    return GraphStep((rule, *step.path), (side, *step.place), graph, outputs, step.settled)


def stuck(graph: Graph) -> bool:
    """Return whether no step can be taken."""
    return next(small_steps(graph), None) is None


def measure(graph: Graph) -> Measure:
    """≺ on graphs: decreases at every small step. A step on the left may feed the right, so the left counts first.

    The printed rule `sequence` only uses ≺₁, which a step on the right does not change (docs/deviations.md, 12).
    """
    match graph:
        case Node(_, operator):
            return operator.measure(inputs(graph))
        case Sequential(left, right) | Parallel(left, right):
            return (measure(left), measure(right))


def advance(graph: Graph) -> tuple[Graph, list[Deltas]]:
    """→Δ*, fast: run every operator to its stuck state, once from left to right. Return the graph and its deltas.

    By eager execution it suffices to run the left side to its stuck state first. If a user's function raises, all
    independent work is done first; the next call raises the error.
    """
    after, outputs, fault = attempt(graph)
    if fault is not None and after is graph:
        raise fault
    return after, outputs


def finish(graph: Graph, outputs: Values, most_rounds: int | None = None) -> tuple[Graph, Values]:
    """Call `advance` until the graph is stuck, or `most_rounds` times; return the graph and its outputs."""
    for _ in count() if most_rounds is None else range(most_rounds):
        after, deltas = advance(graph)
        for delta in deltas:
            outputs = concat_all(outputs, delta)
        if after is graph:
            break
        graph = after
    return graph, outputs


def attempt(graph: Graph) -> tuple[Graph, list[Deltas], FloError | None]:
    """Like `advance`, but return the error of a user's function instead of raising it."""
    match graph:
        case Sequential(left, right):
            after_left, between, fault = attempt(left)
            fed = right
            if between:
                values = inputs(right)
                for deltas in between:
                    values = concat_all(values, deltas)
                fed = setinput(right, values)
            after_right, outputs, later = attempt(fed)
            same = after_left is left and after_right is right
            return (graph if same else Sequential(after_left, after_right)), outputs, fault or later
        case Parallel(left, right):
            after_left, some, fault = attempt(left)
            after_right, others, later = attempt(right)
            before, behind = (None,) * left.arity[1], (None,) * right.arity[1]
            outputs = [deltas + behind for deltas in some] + [before + deltas for deltas in others]
            same = after_left is left and after_right is right
            return (graph if same else Parallel(after_left, after_right)), outputs, fault or later
        case Node():
            return attempt_node(graph)


def attempt_node(node: Node) -> tuple[Node, list[Deltas], FloError | None]:
    """Run one operator to its stuck state; return it with its deltas, and the error of a user's function if one raised.

    The steps that were taken before the error count.
    """
    values, operator = node.state or inputs(node), node.operator
    outputs: list[Deltas] = []
    fault = None
    try:
        for step in operator.advance(values):
            if not (outputs or operator.makes_sound_steps):  # checking every step would be too expensive
                _expect_step(node, len(values), step)
            values, operator = step.inputs, step.operator
            outputs.append(step.outputs)
    except Exception as error:
        fault = explain_fault(error, node)
    return (Node(values, operator, node.origin) if outputs else node), outputs, fault


def _expect_step(node: Node, count: int, step: object) -> None:
    """Raise unless this is a well-formed step of the operator, which has `count` inputs."""
    try:
        expect_step(node.operator, count, step)
    except FloError as error:
        raise error.located(node.origin) from None


def _given(error: Exception) -> tuple[tuple[str, str], ...]:
    """Return the elements that were attached to an error as notes, and the notes of the user."""
    notes = getattr(error, "__notes__", ())
    return tuple(("given", note.removeprefix(GIVEN)) if note.startswith(GIVEN) else ("note", note) for note in notes)


def guarded(steps: Iterator[S], node: Node) -> Iterator[S]:
    """Yield the steps. An error of a user's function is reported with the operator and the user's line."""
    try:
        yield from steps
    except Exception as error:
        fault = explain_fault(error, node)
        raise fault from fault.__cause__


def explain_fault(error: Exception, node: Node) -> FloError:
    """Return the error of a user's function with the operator and the user's line. Raise one of the engine."""
    if isinstance(error, EngineError):
        raise error
    if isinstance(error, FloError):
        if node.origin is not None and node.origin.verb:
            error.rename_operator(node.operator.called, node.origin.verb)
        if isinstance(error, ElementError):
            error.facts = tuple(dict.fromkeys((*error.facts, *_given(error))))
        return error.located(node.origin)
    name = (node.origin and node.origin.verb) or node.operator.called
    fault = FunctionError(
        f"the function of `{name}` raised {type(error).__name__}: {error}", facts=_given(error), where=node.origin
    )
    fault.__cause__ = error
    return fault
