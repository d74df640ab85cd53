"""fixpoint: relations that are defined by themselves, as the result of rounds.

    edges  a→b b→c c→d        round   reach = edges ∪ reach ⋈ edges
                              1       a→b b→c c→d
                              2       a→b b→c c→d  a→c b→d
                              3       a→b b→c c→d  a→c b→d  a→d
                              4       the same: a fixpoint

X₀ is empty, and Xₙ₊₁ = g(Xₙ, E), where E is what the inputs have now. All relations take a round at the same time. The
result is the first Xₙ that equals Xₙ₊₁, so it is a function of E, whichever way E came about: rows that were inserted
and deleted again leave no trace.

It is a `nest` (§5) whose inner streams are the rounds. A round is complete when it begins, so the streams of the body
are bounded, as those of a `nest`. A body consists of operators from z-sets to z-sets. By eager execution each is a
function of what its inputs add up to, so a round does not depend on the schedule, and its difference from the round
before is found by passing on differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flo.core.collection import Collection, End
from flo.core.errors import CollectionError, FixpointError, Origin, TypeMismatch, brief
from flo.core.facts import PrimaryKey
from flo.core.graph import Graph, Node, Parallel, Sequential, inputs, nodes, setinput, with_origins
from flo.core.operator import Bound, Deltas, Measure, Operator, Step, Values, concat_all, expect_arity
from flo.core.semantics import finish, stuck
from flo.core.stream_type import Derivation, StreamType, StreamTypes
from flo.core.structural import Wire
from flo.core.typing import derive, initial
from flo.values.operators.shapes import all_ending
from flo.values.operators.zsets import expect_zset, negate_weights
from flo.values.weighted import ZSet, ZSetValue

MOST_ROUNDS = 10_000
"""How many rounds a fixpoint may take unless the program says otherwise."""
SHOWN = 3
"""How many rows an error shows."""
COMPLETE_FIRST = ("two fixpoints", "where a relation is complete before rows are excluded by it")
"""What to do if rows come and go."""


@dataclass(frozen=True)
class RowLimit:
    """A limit for relations that are no sets, whose rows may double in every round: a push must not add as many."""

    rows: int

    def expect(self, rows: int) -> None:
        """Raise if a push has added this many rows."""
        if rows >= self.rows:
            raise FixpointError(
                f"[RECURSION_ROW_LIMIT_EXCEEDED] the recursion has {self.rows:,} rows or more",
                instead=(
                    ("spark.sql.cteRecursionRowLimit", "the setting of Spark, for more"),
                    ("LIMIT …", "for fewer"),
                ),
            )


@dataclass(frozen=True)
class Fixpoint(Operator):
    """fixpoint(relations, g, n): if g : (ZSet<R₁>, B), …, (ZSet<S₁>, B), … ↪ (ZSet<R₁>, B), …

    then (ZSet<S₁>, X₁), … ↪ (ZSet<R₁>, Y), …, where Y is B if all of X₁, … are.

    The first inputs of g are the relations, whose rows the body makes. `contents` has what the inputs add up to,
    `results` what was emitted; `started` says that constants in the body have been taken. A step takes all that has
    arrived, and it is `settled`: the rows of one push are one change, and contents in between may have no fixpoint.
    """

    relations: tuple[Collection, ...]
    graph: Graph
    most_rounds: int = MOST_ROUNDS
    row_limit: RowLimit | None = None
    contents: Values = ()
    results: Values = ()
    started: bool = False

    name = "fixpoint"
    keeps = Bound.ROWS
    signature = "(ZSet[S], X) -> (ZSet[R], X)"

    @property
    def described(self) -> str:
        """The number of rounds that it may take, and what they do, for `explain`."""
        return f"at most {_rounds(self.most_rounds)}, {'each adds rows' if self.adds else 'rows come and go'}"

    @property
    def adds(self) -> bool:
        """Whether the body returns no fewer rows if the relations have more."""
        return not any(each.operator.retracts for each in nodes(self.graph) if not isinstance(each.operator, Wire))

    @property
    def arity(self) -> tuple[int, int]:  # type: ignore[override]
        return self.graph.arity[0] - len(self.relations), len(self.relations)

    def inner_types(self, inputs: StreamTypes) -> StreamTypes:
        """Return the types of the inputs of the body: the relations, and what comes from outside."""
        every = (*self.relations, *(given.collection for given in inputs))
        return tuple(StreamType(each, bounded=True) for each in every)

    def type(self, inputs: StreamTypes) -> StreamTypes:
        return self.judge(inputs).outputs

    def judge(self, inputs: StreamTypes) -> Derivation:
        expect_arity(self, inputs)
        for place, given in enumerate(inputs):
            expect_zset(self, given, place)
        inner = self.inner_types(inputs)
        expect_zsets(self.graph, inner)
        body = derive(self.graph, inner)
        for relation, output in zip(self.relations, body.outputs, strict=True):
            if not (relation.accepts(output.collection) and output.collection.accepts(relation)):
                raise TypeMismatch(
                    "the body of `fixpoint` returns another type than the relation has",
                    facts=(("relation", str(relation)), ("returned", str(output.collection))),
                    instead=((".select(…)", "in the body, the columns of the relation, in its order"),),
                )
        bounded = all(given.bounded for given in inputs)
        outputs = tuple(StreamType(relation, bounded) for relation in self.relations)
        return Derivation("fixpoint-type", inputs, outputs, (body,), subject=self.name)

    def typed(self, inputs: StreamTypes) -> Fixpoint:
        graph, _ = initial(self.graph, self.inner_types(inputs))
        contents = self.contents or tuple(given.collection.bottom() for given in inputs)
        return replace(self, graph=graph, contents=contents, results=self.results or self._bottoms())

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return columns or None

    def steps(self, values: Values) -> Iterator[Step]:
        given: tuple[Any, ...] = values
        starts = self._starts()
        if starts or any(value.weights for value in given):
            contents = tuple(
                before.concat(value.ended(End.OPEN)) for before, value in zip(self.contents, given, strict=True)
            )
            results = self.solve(contents)
            deltas: Deltas = tuple(map(subtract, results, self.results))
            if not values:  # nothing else will come
                deltas = tuple((delta or ZSetValue.of(())).fix() for delta in deltas)
            after = replace(self, contents=contents, results=results, started=self.started or starts)
            yield Step("fixpoint", tuple(value.drained() for value in given), after, deltas, settled=True)
        elif all_ending(given):
            ends = tuple(ZSetValue.terminator() for _ in self.relations)
            after = replace(self, contents=tuple(value.drained() for value in given), results=self._bottoms())
            yield Step("fixpoint-terminated", tuple(value.passed() for value in given), after, ends)

    def solve(self, contents: Values) -> Values:
        """Return the fixpoint for these inputs.

        Rounds that go in a circle are found when they come back to one whose number is a power of two.
        """
        start = results = self._bottoms()
        graph = setinput(self.graph, (*start, *contents))
        digest = noted_digest = noted_round = 0
        noted = start
        for number in range(1, self.most_rounds + 2):
            graph, given = finish(graph, start)
            changes = tuple(ZSetValue.of(each.all_units()) for each in given)  # type: ignore[attr-defined]
            if not any(change.weights for change in changes):
                return results
            results = concat_all(results, changes)
            if self.row_limit is not None:
                self.row_limit.expect(sum(map(_rows_in, results)))
            rows = [(place, *row) for place, change in enumerate(changes) for row in change.all_units()]
            digest += sum(weight * hash((place, row)) for place, row, weight in rows)
            if digest == noted_digest and results == noted:
                raise goes_in_circles(noted_round, number, [row[1:] for row in rows])
            if number & (number - 1) == 0:
                noted, noted_digest, noted_round = tuple(map(copy_rows, results)), digest, number
            graph = setinput(graph, concat_all(inputs(graph), (*changes, *(None for _ in contents))))
        raise self.no_fixpoint([row[1:] for row in rows[:SHOWN]], len(rows) - SHOWN)

    def no_fixpoint(self, changes: list[Any], rest: int) -> FixpointError:
        """Return the error for rows that still change after the last round: some, and how many more there are."""
        most = self.most_rounds
        some = ((f"{weight:+}", brief(row)) for row, weight in changes)
        return FixpointError(
            f"`fixpoint` has not ended after {_rounds(most)}: rows still change in round {most + 1:,}",
            facts=(*some, *([("…", f"{rest:,} more")] if rest > 0 else [])),
            instead=(
                (".filter(…)", "in the body, a bound for what grows in every round"),
                *([] if self.adds else [COMPLETE_FIRST]),
                (f"most_rounds={10 * most:_}", "more rounds, if it does end"),
            ),
        )

    def _starts(self) -> bool:
        """Return whether the body has rows without any input, which were not emitted."""
        return not self.started and not stuck(self.graph)

    def _bottoms(self) -> Values:
        return tuple(relation.bottom() for relation in self.relations)

    def measure(self, values: Values) -> Measure:
        return (sum(value.size() for value in values) + self._starts(),)

    def with_origins(self, like: Fixpoint) -> Fixpoint:
        return replace(self, graph=with_origins(self.graph, like.graph))


def _rounds(number: int) -> str:
    return f"{number:,} round{'s' if number != 1 else ''}"


def _rows_in(value: Any) -> int:
    """Return how many rows a z-set has, each as often as it is there."""
    return sum(weight for _, weight in value.all_units())


def subtract(new: Any, old: Any) -> ZSetValue | None:
    """Return the difference of two z-sets; ∅ if they are equal."""
    delta = ZSetValue.of([*new.all_units(), *negate_weights(old.all_units())])
    return delta if delta.weights else None


def copy_rows(value: Any) -> ZSetValue:
    """Return a copy of a z-set that later versions of it do not change."""
    return ZSetValue.of(value.all_units())


def goes_in_circles(first: int, again: int, changes: list[Any]) -> FixpointError:
    """Return the error for rounds that repeat."""
    return FixpointError(
        f"`fixpoint` does not end: round {again:,} has the same rows as round {first:,}, and others came in between",
        facts=tuple((f"{weight:+}", brief(row)) for row, weight in changes[:SHOWN]),
        instead=(COMPLETE_FIRST,),
    )


def fixpoint_in_fixpoint(origin: Origin | None) -> CollectionError:
    """Return the error for a fixpoint that depends on the relation of another one, in whose body it is."""
    return CollectionError(
        "the body of `fixpoint` has another `fixpoint`, so the rounds of both would depend on each other",
        instead=(("flow.fixpoint(a=…, b=…, body=…)", "one fixpoint of both relations, round by round"),),
        where=origin,
    )


def expect_zsets(graph: Graph, given: StreamTypes) -> StreamTypes:
    """Raise unless every operator of a body leads from z-sets to z-sets; return the types of the outputs."""
    match graph:
        case Sequential(left, right):
            return expect_zsets(right, expect_zsets(left, given))
        case Parallel(left, right):
            count = left.arity[0]
            return expect_zsets(left, given[:count]) + expect_zsets(right, given[count:])
        case Node(_, operator, origin):
            outputs = operator.judge(given).outputs
            if not isinstance(operator, Wire):
                expect_rounds(operator, (*given, *outputs), origin)
            return outputs


def expect_rounds(operator: Operator, streams: StreamTypes, origin: Origin | None) -> None:
    """Raise unless an operator with these inputs and outputs can be part of a round."""
    verb = (origin and origin.verb) or operator.called
    if isinstance(operator, Fixpoint):
        raise fixpoint_in_fixpoint(origin)
    other = next((each for each in streams if not isinstance(each.collection, ZSet)), None)
    if other is not None:
        raise CollectionError(
            f"the body of `fixpoint` has `{verb}`, whose result depends on more than the rows of a round",
            facts=((verb, f"reads or gives a {other.collection.name}"), ("a body", "leads from z-sets to z-sets")),
            instead=(("outside of the body", "what does not depend on the recursion"),),
            where=origin,
        )
