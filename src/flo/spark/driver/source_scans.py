"""One scan for the inputs that read the same rows: what each makes of a row is in columns beside those of the others.

    sales    filter n > 0, select n, 10 / n          read once:   n    10 / n    kept
    sales#2  select n                                             0    null      false     a row of sales#2
                                                                  5    2         true      a row of both

Each scan costs a micro-batch some dozens of milliseconds, and reads the files again. So a row is read and sent once,
with the columns that any of the inputs needs. Where inputs keep different rows, a column says which an input keeps.

Invariant: an expression is computed only for rows that an input keeps which has it, and a condition only for rows that
the conditions before it keep. Otherwise `10 / n` would fail for a row that `sales` drops. The optimiser would move a
condition, or compute first what several have in common; so each is computed by row, in a branch of its own. What may
move down to the source are comparisons that cannot fail: those that every row of one of the inputs passes. An input
that has such a comparison after a condition that may fail is read apart, as Spark may swap the two.

The other inputs of a scan are empty plans over the same relation. So Spark's offset log has the lines that it would
have without: one for each input, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from typing import NamedTuple, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import _parse_datatype_json_string

from flo.shards.plan.rewrites import rewrites
from flo.spark.session import is_narrow
from flo.sql.java import Java, items_of, java_package, scala_object
from flo.sql.native import Catalyst, fails

STEPS = ("Project", "Filter")
"""Nodes of a plan that are computed beside those of other inputs."""
UNSEEN = ("SubqueryAlias", "View")
"""Nodes that only name the rows of a plan."""
ROW_BY_ROW = (*STEPS, *UNSEEN, "Generate", "MapInArrow", "MapInPandas")
"""Nodes without state. Those of a stream that have state are numbered in Spark's logs, so none may go."""
NEVER_FAIL = (
    *("And", "Or", "Not", "IsNull", "IsNotNull", "In", "InSet", "StartsWith", "EndsWith", "Contains"),
    *("EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"),
)
"""Expressions that give a value, or null, for all values of their operands."""


MOST_CODE = 1_200
"""How long the expressions of a scan may be, as text. Spark makes one method of them, with about five bytes for each
letter, and Java does not compile methods of more than 8,000 bytes: then a row takes several times as long."""
_LINE = "\n"
_PLAIN = re.compile(r"\S*( AS \S+)?")
"""The text of a column as it is."""


class OwnColumns(NamedTuple):
    """Where the columns of an input are in the rows of a scan."""

    columns: tuple[int, ...]
    kept: int | None = None
    """The column that says which rows the input keeps; None if it keeps all."""


@dataclass(frozen=True)
class SourceScan:
    """Rows that are read once, for one input or several."""

    frame: DataFrame
    inputs: Mapping[str, OwnColumns]
    empty: DataFrame | None = None
    """If there are several, the same relation, of which Spark reads no row."""

    @classmethod
    def of_one(cls, name: str, frame: DataFrame) -> Self:
        return cls(frame, {name: OwnColumns(tuple(range(len(frame.columns))))})


def describe_shared(scans: list[SourceScan]) -> list[str]:
    """Return the inputs of each scan that has several."""
    several = [list(scan.inputs) for scan in scans if len(scan.inputs) > 1]
    return [f"{', '.join(names[:-1])} and {names[-1]}" for names in several]


def scan_once(spark: SparkSession, frames: Mapping[str, DataFrame]) -> list[SourceScan]:
    """Return the scans for the DataFrames of inputs, in the order of the first input of each."""
    if not rewrites.one_scan or len(frames) < 2:
        return [SourceScan.of_one(name, frame) for name, frame in frames.items()]
    catalyst = Catalyst(spark)
    steps = {name: _Steps.over(frame) for name, frame in frames.items()}
    scans, left = [], list(frames)
    while left:
        first, *others = left
        same = [first, *(name for name in others if steps[first].reads_like(steps[name]))]
        depth = min((steps[first].count_equal(steps[name]) for name in same[1:]), default=0)
        together = _make({name: steps[name] for name in same}, depth, catalyst) if len(same) > 1 else {}
        if len(together) > 1:
            scan = _share(catalyst, steps[first].relation, steps[first].below(depth), together)
        else:
            name = next(iter(together), first)
            scan = SourceScan.of_one(name, frames[name])
        scans.append(scan)
        left = [name for name in left if name not in scan.inputs]
    places = {name: place for place, name in enumerate(frames)}
    return sorted(scans, key=lambda scan: places[next(iter(scan.inputs))])


class _ComputedInput(NamedTuple):
    """An input as expressions over a relation."""

    columns: list[Java]
    certain: list[Java]
    """Conditions that cannot fail."""
    others: list[Java]
    """Conditions that are computed after these, in this order: each for rows for which those before it hold."""
    length: int
    """How long all that is computed is, as text."""


class _Steps(NamedTuple):
    """A DataFrame as projections and filters over a relation."""

    relation: Java
    nodes: list[tuple[str, Java]]
    """From the relation upwards, with their names."""

    @classmethod
    def over(cls, frame: DataFrame) -> Self:
        execution, nodes = frame._jdf.queryExecution(), []
        node = execution.analyzed() if frame.isStreaming else execution.withCachedData()
        while (name := node.nodeName()) in STEPS or name in UNSEEN:
            nodes += [(name, node)] if name in STEPS else []
            node = node.child()
        return cls(node, nodes[::-1])

    def reads_like(self, other: _Steps) -> bool:
        """Whether both read the same rows, and Spark may read them once."""
        same = bool(self.relation.fastEquals(other.relation))
        return same and (not self.relation.isStreaming() or _is_row_by_row(self.relation))

    def count_equal(self, other: _Steps) -> int:
        """Return how many steps both have in common, from the relation upwards."""
        return sum(1 for _ in takewhile(_are_equal, zip(self.nodes, other.nodes, strict=False)))

    def below(self, depth: int) -> Java:
        """Return the plan of the first steps."""
        return self.nodes[depth - 1][1] if depth else self.relation

    def above(self, depth: int, catalyst: Catalyst) -> _ComputedInput | None:
        """Return what the other steps make of its rows. None if an expression would have to be computed several times,
        is not the same each time, or is computed outside of Spark's own code, for all rows; or if Spark may compute the
        conditions in another order, and then others fail."""
        logical = catalyst.logical
        plan = end = logical.Distinct(self.below(depth))  # a node that is not a step
        for name, node in self.nodes[depth:]:
            keeps = name == "Filter"
            plan = logical.Filter(node.condition(), plan) if keeps else logical.Project(node.projectList(), plan)
        operation = scala_object(java_package("org.apache.spark.sql.catalyst.planning"), "PhysicalOperation")
        parts = operation.unapply(plan).get()
        columns, conditions, below = parts._1(), parts._2(), parts._3()
        computed = catalyst.expressions.Coalesce(columns.appendedAll(conditions))
        patterns = scala_object(java_package("org.apache.spark.sql.catalyst.trees"), "TreePattern")
        outside = patterns.PYTHON_UDF(), patterns.PLAN_EXPRESSION()
        if not below.fastEquals(end) or not computed.deterministic() or any(map(computed.containsPattern, outside)):
            return None
        texts = f"{columns.mkString(_LINE)}{_LINE}{conditions.mkString(_LINE)}".split(_LINE)
        length = sum(len(each) for each in texts if not _PLAIN.fullmatch(each))
        every = items_of(conditions)
        certain = list(takewhile(_never_fails, every))
        others = every[len(certain) :]
        if any(map(_never_fails, others)):
            return None
        return _ComputedInput([_without_name(each) for each in items_of(columns)], certain, others, length)


def _make(steps: Mapping[str, _Steps], depth: int, catalyst: Catalyst) -> dict[str, _ComputedInput]:
    """Return the inputs that can be computed beside each other, as many as are not too long for one scan."""
    inputs: dict[str, _ComputedInput] = {}
    for name, each in steps.items():
        own = each.above(depth, catalyst)
        if own is None:
            continue
        if own.length + sum(other.length for other in inputs.values()) > MOST_CODE:
            break
        inputs[name] = own
    return inputs


def _are_equal(steps: tuple[tuple[str, Java], tuple[str, Java]]) -> bool:
    """Whether two steps are the same, over the same rows."""
    (name, one), (other_name, other) = steps
    return name == other_name and bool(one.expressions().equals(other.expressions()))


def _without_name(given: Java) -> Java:
    return given.child() if given.nodeName() == "Alias" else given


def _is_row_by_row(node: Java) -> bool:
    """Whether a plan makes rows of one leaf, without state."""
    below = items_of(node.children())
    return not below or (len(below) == 1 and node.nodeName() in ROW_BY_ROW and _is_row_by_row(below[0]))


class _Distinct:
    """Expressions, each once. For Spark `a + b + c` means the same as `c + b + a`, which may give another number."""

    def __init__(self) -> None:
        self.items: list[Java] = []
        self._places: dict[int, list[int]] = {}

    def place(self, given: Java) -> int:
        """Return the place of an expression, which is added if it is new."""
        alike = self._places.setdefault(given.hashCode(), [])
        for place in alike:
            if given.equals(self.items[place]):
                return place
        alike.append(len(self.items))
        self.items.append(given)
        return alike[-1]


def _share(catalyst: Catalyst, relation: Java, plan: Java, inputs: Mapping[str, _ComputedInput]) -> SourceScan:
    """Return one scan for these inputs, which are made of the rows of a plan over a relation."""
    spark, logical, of = catalyst.spark, catalyst.logical, catalyst.expressions
    conditions, columns = _Distinct(), _Distinct()
    every_condition = {name: [*each.certain, *each.others] for name, each in inputs.items()}
    own = {name: conditions.place(_all_of(catalyst, each)) for name, each in every_condition.items() if each}
    kept: list[Java] = []
    """For each condition, the column that says whether it holds."""
    if own:
        certain = [each.certain for each in inputs.values()]
        if all(certain):
            plan = logical.Filter(reduce(of.Or, (reduce(of.And, each) for each in certain)), plan)
        named = [catalyst.named(catalyst.of_each_row(each), "kept") for each in conditions.items]
        plan = logical.Project(plan.output().appendedAll(catalyst.list(named)), plan)
        kept = [each.toAttribute() for each in named]
    if len(own) == len(inputs):
        plan = logical.Filter(reduce(of.Or, kept), plan)

    places = {name: [columns.place(column) for column in each.columns] for name, each in inputs.items()}
    every = {own.get(name) for name in inputs}
    readers = [{own.get(name) for name in inputs if place in places[name]} for place in range(len(columns.items))]

    def computed(column: Java, by: set[int | None]) -> Java:
        """A column for the rows that those keep which read it; they are all rows if everybody does."""
        if _is_narrow(column):
            return column
        if None in by or by == every:
            return column if _is_plain(column) else catalyst.of_each_row(column)
        wanted = reduce(of.Or, (kept[each] for each in sorted(each for each in by if each is not None)))
        return of.If(wanted, column, of.Literal(None, column.dataType()))

    given = [computed(*each) for each in zip(columns.items, readers, strict=True)]
    given += kept if len(every) > 1 else []
    output = [catalyst.named(each, str(place)) for place, each in enumerate(given)]
    # the optimiser takes a relation without rows out of the plan; a filter of all rows would stay in that of a stream
    plans = logical.Project(catalyst.list(output), plan), logical.LocalLimit(_literal(catalyst, 0), relation)
    rows, empty = (DataFrame(catalyst.frame(spark, each), spark) for each in plans)
    which = {name: len(columns.items) + place for name, place in own.items()} if len(every) > 1 else {}
    return SourceScan(rows, {name: OwnColumns(tuple(places[name]), which.get(name)) for name in inputs}, empty)


def _all_of(catalyst: Catalyst, conditions: list[Java]) -> Java:
    """Return whether all conditions hold: null does not, and ends it."""
    holds = _literal(catalyst, True)
    for each in reversed(conditions):
        holds = catalyst.expressions.If(each, holds, _literal(catalyst, False))
    return holds


def _literal(catalyst: Catalyst, value: object) -> Java:
    return scala_object(catalyst.expressions, "Literal").apply(value)


def _never_fails(given: Java) -> bool:
    if given.foldable():
        return not fails(given)
    named = given.nodeName() == "AttributeReference"
    return named or (given.nodeName() in NEVER_FAIL and all(map(_never_fails, items_of(given.children()))))


def _is_plain(given: Java) -> bool:
    """Whether it is a column of the relation or a constant."""
    return given.nodeName() in ("AttributeReference", "Literal")


def _is_narrow(given: Java) -> bool:
    """Whether it is one whose values are small: null would not be smaller."""
    return _is_plain(given) and is_narrow(_parse_datatype_json_string(given.dataType().json()))
