"""Every operator on tables keeps the laws of its namesake, on all small inputs, and gives what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import flo
from flo.core.collection import End
from flo.core.graph import Graph, Node, nodes
from flo.core.nest import Nest
from flo.core.operator import Deltas, Operator, Step, Values
from flo.core.stream_type import StreamType
from flo.tables.operator import OnTables, to_output_type
from flo.tables.operators.sets import NewTables
from flo.tables.state.trace import with_weights
from flo.tables.streams import StreamColumns, Streams, add_stream_numbers
from flo.tables.translate import CHOICES, FORMS
from flo.tables.values import Columns, Rows
from flo.tables.whole import WHOLE
from flo.values.keyed import Keyed
from flo.values.operators.bags import SequenceDistinct
from flo.values.operators.elementwise import Map
from flo.values.operators.windows import Tumbling
from flo.verify import check, laws
from tests.quick import is_quick, is_thorough, times
from tests.tables.shipped_forms import NAMES, SECOND, Tried, forms_of
from tests.verify.shipped import BAG, INTS, PAIRS, Case, operators_in
from tests.verify.shipped_operators import ELSEWHERE, successor

pytestmark = pytest.mark.every(check=5)

MOST = 6
"""So many forms of an operator are tried in the inner loop."""
NEARBY = {int: st.integers(-3, 3)}
"""Numbers that meet often, and whose sums fit their columns."""
MANY = {"nest", "per_key"}
"""Operators with so many bodies that `make test` checks a part of them."""


def named(name: str) -> list[Tried]:
    """On all collections of its cases: as bounded streams, and as unbounded ones where it has no body."""
    found = forms_of(name)
    last = {each.over: each for each in found}
    first = {each.over: each for each in reversed(found) if not each.bodies}
    return [*last.values(), *(each for each in first.values() if each is not last[each.over])]


def few(name: str) -> list[Tried]:
    """One for each form."""
    return list({frozenset(found.kinds()): found for found in named(name)}.values())[:MOST]


def sampled(name: str) -> list[Tried]:
    """All, but of bodies one for each shape, and of these every second; of bodies that are run one by one, one for each
    form."""
    found = list({_alike(found): found for found in named(name)}.values())
    return found[::2] if name in MANY else found


def _alike(found: Tried) -> Any:
    if not found.bodies:
        return found.tables, found.over
    kinds = frozenset(found.kinds())
    return kinds if Nest in kinds else (kinds, shape(found.case.operator))


def shape(part: Any) -> Any:
    """An operator without its functions and numbers."""
    if isinstance(part, Graph):
        return tuple(shape(node.operator) for node in nodes(part))
    if is_dataclass(part) and not isinstance(part, type):
        return type(part), *(shape(getattr(part, each.name)) for each in fields(part))
    return type(part)


def depth(subject: Tried) -> int:
    """How many elements an input has: two inputs, or a body, have as many inputs again for each."""
    return 1 if subject.bodies or subject.case.operator.arity[0] > 1 else 2


def depth_of_laws(subject: Tried) -> int:
    """As many, but one where keys multiply the inputs, or a bounded stream has the same states.

    On that, too, every choice of ends is tried. What only an unbounded one has to keep is that outputs are maximal.
    """
    keyed = any(isinstance(stream.collection, Keyed) for stream in subject.types)
    unbounded = not any(stream.bounded for stream in subject.types)
    return 1 if keyed or (unbounded and subject.types) else depth(subject)


WITHOUT_LAWS = {
    "FinalSums": "tests/api/test_final.py",
    "FinalTables": "tests/api/test_final.py",
    "IntervalTables": "tests/api/test_join_interval.py",
    "ClockedWindows": "tests/spark/test_partitions.py",
    "ClockedOfEveryKey": "tests/spark/test_partitions.py",
}
"""The forms whose clock must be that of their rows, and where they are compared with values instead."""


def test_every_form_is_tried() -> None:
    tried = [found for name in NAMES for found in forms_of(name)]
    operators = {type(inner) for found in tried for inner in operators_in(found.case.operator)}
    assert [kind.__name__ for kind in (*FORMS, *CHOICES, *WHOLE) if kind not in operators | set(ELSEWHERE)] == []
    waiting, classes = [OnTables], list[type[OnTables[Operator]]]()
    while waiting:
        waiting += (kinds := waiting.pop().__subclasses__())
        classes += [kind for kind in kinds if "name" in vars(kind) and kind.__module__.startswith("flo.tables.")]
    used = set().union(*(found.kinds() for found in tried))
    assert sorted(kind.__name__ for kind in classes if kind not in used) == sorted(WITHOUT_LAWS)


@pytest.mark.every(test=12)
@pytest.mark.parametrize("name", NAMES)
def test_the_laws(name: str) -> None:
    for subject in sampled(name)[:: 1 if is_thorough() else 3] if not is_quick() else few(name)[:1]:
        report = subject.check(most=1 if is_quick() else depth_of_laws(subject))
        assert report.ok, report
        assert not report.strength.limits


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_the_laws_on_all_types(name: str) -> None:
    for subject in named(name):
        report = subject.check(most=depth(subject))
        assert report.ok, report
        assert not report.strength.limits


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (place % 6 > 0)) for place, name in enumerate(NAMES)]
)
@pytest.mark.every(test=3)
def test_the_laws_at_random(name: str) -> None:
    for subject in few(name):
        report = subject.check(most=0, tries=times(6), examples={**NEARBY, **subject.case.examples})
        assert report.ok, report


@pytest.mark.every(test=2)
@pytest.mark.parametrize("name", NAMES)
def test_the_namesake_gives_the_same(name: str) -> None:
    for subject in named(name) if is_thorough() else few(name):
        subject.agree(most=1 if is_quick() else depth(subject))


@dataclass(frozen=True)
class Faulty(OnTables[Operator]):
    """Passes rows on, as they come."""

    rule = "faulty"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        return self, (self.emitted(table),)


@dataclass(frozen=True)
class Forgetful(Faulty):
    """A distinct that knows the rows of one delta only."""

    name = "forgetful_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        fresh = NewTables(self.like, inputs=self.inputs, outputs=self.outputs)
        return self, fresh.consume(table)[1]


@dataclass(frozen=True)
class ByCut(Faulty):
    """A window of whatever came together."""

    name = "by_cut_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        whole = add_stream_numbers(table, np.zeros(table.num_rows, np.int64))
        return self, (Streams(self.outputs[0], 1, (whole,)), None)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        return self, (StreamColumns(self.outputs[0]).bottom().fix(), self.ended(1))


@dataclass(frozen=True)
class Unending(Faulty):
    """Keeps the end to itself."""

    name = "unending_tables"

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        return self, (None,)


@dataclass(frozen=True)
class Hasty(Faulty):
    """Gives another result when it advances: rows twice."""

    name = "hasty_tables"

    def advance(self, inputs: Values) -> Iterator[Step]:
        (value,) = inputs
        if value.table.num_rows:
            twice = pa.concat_tables([value.table, value.table])
            yield Step(self.rule, (value.drained(),), self, (Rows(self.outputs[0], twice),))
            inputs = (value.drained(),)
        yield from super().advance(inputs)


@dataclass(frozen=True)
class Counting(Faulty):
    """Its state depends on how often it was called."""

    calls: int = 0

    name = "counting_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        return replace(self, calls=self.calls + 1), (self.emitted(table),)


@dataclass(frozen=True)
class Strange(Faulty):
    """Gives a bag where its type has a sequence."""

    name = "strange_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        return self, (Rows(BAG, with_weights(table, np.ones(table.num_rows, np.int64))),)


@dataclass(frozen=True)
class Waiting(Faulty):
    """Gives nothing before the end, which may never come."""

    kept: Rows = field(default=Columns(INTS).bottom())

    name = "waiting_tables"

    def consume(self, table: pa.Table) -> tuple[Operator, Deltas]:
        return replace(self, kept=self.kept.concat(Rows(self.inputs[0], table))), (None,)

    def finish(self, *ends: End) -> tuple[Operator, Deltas] | None:
        return self, (self.kept.fix(),)


@pytest.mark.parametrize(
    ("kind", "like", "over", "law"),
    [
        (Forgetful, SequenceDistinct(), INTS, laws.EAGER_EXECUTION),
        (ByCut, Tumbling(10, SECOND), PAIRS, laws.EAGER_EXECUTION),
        (Unending, Map(successor), INTS, laws.BOUNDED_OUTPUTS),
        (Hasty, Map(successor), INTS, laws.ADVANCE),
        (Counting, Map(successor), BAG, laws.EAGER_EXECUTION),
        (Strange, Map(successor), INTS, laws.PRESERVATION),
        (Waiting, Map(successor), INTS, laws.OUTPUT_MAXIMALITY),
    ],
)
def test_a_form_that_breaks_a_law_is_seen(kind: Any, like: Operator, over: Any, law: laws.Law) -> None:
    stream = to_output_type(StreamType(over, bounded=kind is Unending))
    report = check(kind(like), stream, most=2, tries=0)
    assert report.counterexample is not None
    assert report.counterexample.law == law


def test_a_counterexample_can_be_pasted() -> None:
    """With the form, its types and plain data."""
    report = check(Forgetful(SequenceDistinct()), to_output_type(StreamType(INTS, bounded=False)), most=2, tries=0)
    line = report.counterexample.reproduce  # type: ignore[union-attr]
    found: dict[str, Any] = {"Forgetful": Forgetful, "flo": flo}
    *imports, expression = line.split("; ")
    for statement in imports:
        exec(statement, found)
    assert eval(expression, found).outputs == {"1": [1, 1]}


def test_a_namesake_that_differs_is_seen() -> None:
    types = (StreamType(INTS, bounded=False),)
    tables = (to_output_type(types[0]),)
    Tried(Case(SequenceDistinct(), (INTS,)), types, tables, Node(None, NewTables(SequenceDistinct()))).agree(most=2)
    wrong = Tried(Case(Map(successor), (INTS,)), types, tables, Node(None, NewTables(SequenceDistinct())))
    with pytest.raises(AssertionError):
        wrong.agree(most=2)
