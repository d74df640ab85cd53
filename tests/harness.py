"""What every operator must satisfy, tried on one input at a time: used by the tests of each operator family."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import narwhals as nw
import pytest

from flo.columns.layout import Layout
from flo.core.errors import FloError
from flo.core.graph import Node, inputs, names, parse, setinput, show
from flo.core.operator import Operator, Values, concat_all
from flo.core.semantics import finish, measure, small_steps
from flo.core.stream_type import StreamTypes
from flo.core.term import Lifting, Lowering
from flo.core.typing import derive, initial
from tests.quick import is_thorough

fired: Counter[str] = Counter()
"""How often each small-step rule was taken in this test session (tests/conftest.py reports it)."""

derived: Counter[str] = Counter()
"""How often each typing rule was used in a derivation."""


def derivation(graph, types: StreamTypes):
    """⊢ e : I ↪ O, its rules counted."""
    found = derive(graph, types)
    derived.update(found.rules())
    return found


def take_steps(graph, outputs, pick, limit=10_000):
    """Small steps until stuck; every step must lower the measure."""
    for _ in range(limit):
        steps = list(small_steps(graph))
        if not steps:
            return graph, outputs
        step = pick(steps)
        fired.update(step.path)
        assert measure(step.graph) < measure(graph), f"{step.rule} does not lower the measure"
        graph, outputs = step.graph, concat_all(outputs, step.outputs)
    raise AssertionError("no stuck state")


def bottoms(types: StreamTypes) -> Values:
    return tuple(t.collection.bottom() for t in types)


def run_steps(graph, output_types, pick=lambda steps: steps[0]):
    return take_steps(graph, bottoms(output_types), pick)


def run_advance(graph, output_types):
    return finish(graph, bottoms(output_types))


def check_operator(operator: Operator, types: StreamTypes, chunks: list[Values], seeds: int = 5) -> Values:
    """`check_graph` of {_}[operator]."""
    return check_graph(Node(None, operator), types, chunks, seeds)


def check_graph(graph, types: StreamTypes, chunks: list[Values], seeds: int = 5) -> Values:
    """Runs the graph on `chunks` (each a tuple of deltas, one per input) in many ways; gives its outputs.

    Preservation, the measure, confluence, eager execution (chunks at once, one by one, at random moments), agreement of
    `advance` with steps, round trips through text and terms, streaming progress and bounded outputs fixed.
    """
    output_types = derivation(graph, types).outputs
    start, _ = initial(graph, types)

    def fed(graph, deltas):
        return setinput(graph, concat_all(inputs(graph), deltas))

    whole = start
    for deltas in chunks:
        whole = fed(whole, deltas)
    final, expected = run_steps(whole, output_types)

    for seed in range(3 * seeds if is_thorough() else seeds):  # confluence, and deltas that come between steps
        rng = random.Random(seed)
        graph, outputs, waiting = start, bottoms(output_types), list(chunks)
        while True:
            steps = list(small_steps(graph))
            if waiting and (not steps or rng.random() < 0.5):
                graph = fed(graph, waiting.pop(0))
            elif steps:
                step = rng.choice(steps)
                fired.update(step.path)
                assert measure(step.graph) < measure(graph), f"{step.rule} does not lower the measure"
                graph, outputs = step.graph, concat_all(outputs, step.outputs)
                for output_type, output in zip(output_types, outputs, strict=True):
                    assert output_type.collection.mismatch(output) is None  # preservation
                assert derivation(graph, types).outputs == output_types
            else:
                break
        assert (graph, outputs) == (final, expected), "not eager: the result depends on when data arrives"

    assert run_advance(whole, output_types) == (final, expected), "advance and steps disagree"
    graph, outputs = start, bottoms(output_types)
    for deltas in chunks:
        graph, more = run_advance(fed(graph, deltas), output_types)
        outputs = concat_all(outputs, more)
    assert (graph, outputs) == (final, expected), "advance on each delta and on all of them disagree"

    for graph in (whole, final):
        assert parse(show(graph), names(graph)) == graph, "text does not round-trip"
        lowering = Lowering()
        assert Lifting(lowering.names)(lowering(graph)) == graph, "terms do not round-trip"

    if all(value.fixed() for value, t in zip(inputs(whole), types, strict=True) if t.bounded):
        check_progress(whole, output_types, expected)
    return expected


def check_progress(graph, output_types, outputs):
    """Streaming progress: outputs are maximal, and bounded ones are fixed."""
    for output, output_type in zip(outputs, output_types, strict=True):
        assert output.fixed() or not output_type.bounded, "a bounded output is not fixed"
    ended = setinput(graph, tuple(value.fix() for value in inputs(graph)))
    _, at_the_end = run_steps(ended, output_types)
    assert at_the_end == tuple(output.fix() for output in outputs), "outputs are not maximal"


def fires(rule: str, graph, output_types=None):
    """Takes the one enabled step that bears this rule's name, and gives (graph, outputs) after it."""
    for step in small_steps(graph):
        if step.rule == rule or rule in step.path:
            fired.update(step.path)
            return step.graph, step.outputs
    raise AssertionError(f"{rule} is not enabled: {[step.rule for step in small_steps(graph)]}")


def refusal(function, *args, **kwargs) -> FloError:
    """The error that the call must raise."""
    try:
        function(*args, **kwargs)
    except FloError as error:
        return error
    raise AssertionError("nothing was refused")


def all_digits(stream):
    """The stream with its sums as decimals, which leave the program as they are."""
    if not hasattr(stream.collection, "element"):  # a lattice variable
        return stream
    layout = Layout.of(stream.collection.element)
    casts = {name: nw.col(name).cast(nw.Decimal(38, 0)) for name in layout.sums} if layout is not None else {}
    if not casts:
        return stream
    columns = {name: casts.get(name, name) for name in layout.names}
    if layout.names == ("value",):
        return stream.map(columns["value"])
    return stream.map(tuple(columns.values()) if layout.names[0] == "0" else columns)


@contextmanager
def keeping_all_digits() -> Iterator[None]:
    """Results on tables have the columns of the state: sums keep all digits, to be compared with those on values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Layout, "sums", property(lambda layout: frozenset()))
        yield
