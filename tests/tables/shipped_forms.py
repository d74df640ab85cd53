"""Every form on tables that Flo ships, with the cases of its namesake, and with more where these have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import narwhals as nw

from flo.columns.expression import WEIGHTS, Expression
from flo.columns.layout import Layout
from flo.core.graph import Graph, Node, inputs, nodes, sequence, setinput
from flo.core.nest import Nest
from flo.core.nested import Nested
from flo.core.operator import Operator, Values
from flo.core.semantics import finish
from flo.core.stream_type import StreamTypes
from flo.core.typing import initial
from flo.tables.operator import to_output_type, to_table_types
from flo.tables.operators.windowers import WINDOWERS
from flo.tables.translate import CHOICES, ToColumns, ToValues, translate_graph, values_of
from flo.tables.whole import WHOLE
from flo.values.keyed import Keyed
from flo.values.operators.bags import Count, FoldUnordered, Sort, Sum
from flo.values.operators.dedupe import Dedupe
from flo.values.operators.elementwise import Filter, Map
from flo.values.operators.keyed_streams import Entries, KeyBy
from flo.values.operators.lattices import FoldLattice
from flo.values.operators.nested_streams import Flatten
from flo.values.operators.pairs import UnionSequences
from flo.values.operators.per_key import PerKey
from flo.values.operators.retain import Retain
from flo.values.operators.sequences import Alert, Batch, Enumerate, Fold, Last, Scan, Take
from flo.values.operators.windows import Sliding, Tumbling
from flo.values.operators.zset_joins import Join
from flo.values.operators.zsets import MapWeights, ZSetToBag, ZSetToSet
from flo.verify import check
from flo.verify.data.given import Given
from flo.verify.programs.inputs import Input, small_inputs
from flo.verify.programs.operators import CheckedProgram
from flo.verify.report import Report
from tests.verify.shipped import BAG, INTS, MAX, PAIRS, ZSET, Case, both, each, operators_in
from tests.verify.shipped_operators import CASES, add, one, sign

NUMBER, PAIR = Layout.of(int), Layout.of(tuple[int, int])
NEXT, ABOVE = Expression(nw.col("value") + 1, (NUMBER,)), Expression(nw.col("value") > 0, (NUMBER,))
FIRST, SECOND, SAME = Expression("0", (PAIR,)), Expression("1", (PAIR,)), Expression("value", (NUMBER,))
MORE = [
    *each(Map(NEXT), INTS, BAG, ZSET),
    *each(Filter(ABOVE), INTS, ZSET),
    *each(Alert(ABOVE), INTS),
    *each(MapWeights(Expression(-nw.col("weight"), (NUMBER, WEIGHTS))), ZSET),
    *both(Join(NEXT, NEXT, add), ZSET),
    *each(Tumbling(1, SECOND), PAIRS),
    *each(Tumbling(2, SECOND, lateness=1), PAIRS),
    *each(Sliding(2, 1, SECOND), PAIRS),
    *each(Dedupe(FIRST, SECOND, 1), PAIRS),
    *both(UnionSequences(), INTS),
    Case(Retain(SAME, 1), (ZSET, MAX)),
]
"""Functions that are column expressions, where those of the others are Python's; and elements that have columns."""
BODIES = [
    Case(Nest(one(case.operator)), (Nested(*case.over),), case.examples)
    for case in (*CASES, *MORE)
    if type(case.operator) in WHOLE
]
BODIES += each(Nest(sequence(one(KeyBy(sign)), one(PerKey(one(Count()))), one(Entries()))), Nested(BAG))
"""What runs on all inner streams at once, as a body."""
KEEPING = (
    *WINDOWERS,
    *(FoldLattice, Nest, Flatten),
    *(Count, Sum, Fold, FoldUnordered, Last, Sort, ZSetToBag, ZSetToSet),
    *(Enumerate, Take, Scan, Dedupe, Alert),
)
"""What keeps something for every key, and may give it when the stream of the key ends."""
UNDER_KEYS = [
    Case(PerKey(one(case.operator)), tuple(Keyed(int, of) for of in case.over))
    for case in (*CASES, *MORE)
    if type(case.operator) in KEEPING
]
UNDER_KEYS += each(PerKey(sequence(one(Batch(2)), one(Nest(one(Count()))), one(Flatten()))), Keyed(int, INTS))
"""What runs under all keys at once."""


@dataclass(frozen=True)
class Tried:
    """A case with its form on some types, as it stands in a program on tables."""

    case: Case
    types: StreamTypes
    tables: StreamTypes
    form: Graph

    @property
    def over(self) -> tuple[Any, ...]:
        return str(self.case), *(stream.collection for stream in self.tables)

    @property
    def bodies(self) -> bool:
        """Whether operators stand in a body, and so have many more states."""
        return len(list(operators_in(self.case.operator))) > 1

    def kinds(self) -> set[type[Operator]]:
        """The operators that run, also those that run for every key."""
        every = [inner for node in nodes(self.form) for inner in operators_in(node.operator)]
        return {type(each) for each in (*every, *(inner.form for inner in every if hasattr(inner, "form")))}

    def check(self, **how: Any) -> Report:
        how = {"examples": self.case.examples or None, "tries": 0, "seconds": 600, **how}
        if isinstance(self.form, Node):
            return check(self.form.operator, *self.tables, **how)
        return check(self, **how)

    def _checkable(self) -> CheckedProgram:
        """Of an operator for which a graph stands."""
        return CheckedProgram(str(self.case), self.form, {f"i{n}": stream for n, stream in enumerate(self.tables)}, ())

    def agree(self, most: int) -> None:
        """Expects what the namesake gives, on every small input with every choice of ends."""
        for size in range(most + 1):
            for data in small_inputs(self.types, size, Given(self.case.examples)):
                expected = outcome(Node(None, self.case.operator), self.types, data)
                assert outcome(self.form, self.tables, data) == expected, (self.case, data)


def outcome(graph: Graph, types: StreamTypes, data: Input) -> Values:
    """What comes out when all of the data is there."""
    graph, output_types = initial(graph, types)
    values = list(inputs(graph))
    for channel in data.channels(types):
        for delta in channel.deltas:
            values[channel.input] = values[channel.input].concat(delta)
    outputs = finish(setinput(graph, tuple(values)), tuple(t.collection.bottom() for t in output_types))[1]
    return tuple(map(values_of, outputs))


def tried(case: Case) -> Iterator[Tried]:
    """On all types that the operator takes, and in all ways in which these can be tables."""
    for types in case.signatures():
        ways = (tuple(to_output_type(stream) or stream for stream in types), tuple(map(to_table_types, types)))
        for tables in dict.fromkeys(ways):
            form = translate_graph(Node(None, case.operator), tables)
            moved = type(case.operator) in CHOICES and (tables != types or not types)  # the same, and given tables
            converted = any(isinstance(node.operator, (ToColumns, ToValues)) for node in nodes(form))
            if (moved or form != Node(None, case.operator)) and not converted:
                yield Tried(case, types, tables, form)


ALL = (*CASES, *MORE, *BODIES, *UNDER_KEYS)


@cache
def forms_of(name: str) -> list[Tried]:
    """All that is tried of the operators of this name."""
    return [found for case in ALL if case.operator.name == name for found in tried(case)]


def _names() -> list[str]:
    """Of all operators that have a form: one is enough to know."""
    found: list[str] = []
    for case in ALL:
        if case.operator.name not in found and any(tried(case)):
            found.append(case.operator.name)
    return found


NAMES = _names()
