"""Reads Catalyst's optimised plan of a query: its nodes as relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from flo.sql import plan
from flo.sql.catalyst import ExpressionReader, UnsupportedQueryError, plain_value, unicode_of
from flo.sql.java import Java, items_of
from flo.sql.nodes import Expr, column
from flo.sql.plan import Relation, ResultColumn
from flo.sql.rejections import REWRITES, SESSIONS, expect_maintainable, reject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOINS = {
    "INNER": "inner",
    "CROSS": "inner",
    "LEFT OUTER": "left",
    "RIGHT OUTER": "right",
    "FULL OUTER": "full",
    "LEFT SEMI": "semi",
    "LEFT ANTI": "anti",
    "LEFT SINGLE": "single",
}
PASSED = ("Repartition", "RepartitionByExpression", "RebalancePartitions", "WindowGroupLimit")
"""Nodes that pass rows on: the last one has a filter above it that has the same effect."""
MOST_CONSTANTS = 10_000
SETS = 2**30
"""Levels of recursion from which on the number says that the recursion is of a set; Spark itself has no such thing."""


def read_frame(frame: DataFrame, inputs: Mapping[int, str]) -> Relation:
    """Return the optimised plan of a DataFrame. `inputs` has the names of stand-ins by their numbers."""
    execution = frame._jdf.queryExecution()
    expect_maintainable(execution.analyzed())
    zone = str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
    reader = _Reader(dict(inputs), unicode=unicode_of(frame.sparkSession), zone=zone, spark=frame.sparkSession)
    return reader.relation(execution.optimizedPlan())


@dataclass
class _Reader(ExpressionReader):
    spark: SparkSession | None = None
    """The session that planned the query, with its settings."""
    loops: dict[int, int] = field(default_factory=dict)
    """The recursions around what is read, by their numbers in Catalyst: how many are around them."""

    def relation(self, node: Java) -> Relation:
        return self._reader_of(node)(node)

    def _reader_of(self, node: Java) -> Callable[[Java], Relation]:
        name = node.nodeName()
        if name in PASSED:
            return self._below
        read: Callable[[Java], Relation] | None = getattr(self, f"_{name.lower()}", None)
        if read is not None:
            return read
        if name in REWRITES:
            raise reject(name)
        if not node.children().size():
            raise _no_input(node)
        raise UnsupportedQueryError(name, "Flo does not maintain this node", node.simpleString(80))

    def _below(self, node: Java) -> Relation:
        return self.relation(node.children().apply(0))

    # Relations

    def _logicalrdd(self, node: Java) -> Relation:
        name = self.inputs.get(node.rdd().id())
        if name is None:
            raise _no_input(node)
        output = items_of(node.output())
        columns = tuple(self._new(each) for each in output)
        return plan.TableScan(columns, name, tuple(each.name() for each in output))

    def _onerowrelation(self, node: Java) -> Relation:
        return plan.Constant((), ((),))

    def _localrelation(self, node: Java) -> Relation:
        output = items_of(node.output())
        kinds = list(enumerate(each.dataType() for each in output))
        rows = tuple(
            tuple(plain_value(row.get(place, kind), kind) for place, kind in kinds) for row in items_of(node.data())
        )
        return plan.Constant(tuple(self._new(each) for each in output), rows)

    def _range(self, node: Java) -> Relation:
        numbers = range(node.start(), node.end(), node.step())
        if len(numbers) > MOST_CONSTANTS:
            raise UnsupportedQueryError(
                "Range",
                f"a range of more than {MOST_CONSTANTS:,} numbers is not written into the query",
                node.simpleString(80),
                ("inputs={…}", "pass it as an input"),
            )
        return plan.Constant((self._new(node.output().apply(0)),), tuple((each,) for each in numbers))

    def _project(self, node: Java) -> Relation:
        below = self._below(node)
        given = tuple(self._named(each) for each in items_of(node.projectList()))
        return plan.Project(tuple(each.column for each in given), below, given)

    def _filter(self, node: Java) -> Relation:
        below = self._below(node)
        return plan.Filter(below.columns, below, self.expression(node.condition()))

    def _join(self, node: Java) -> Relation:
        left = self._below(node)
        known = {each.column for each in left.columns}
        own = {number: each for number, each in self.names.items() if each.column in known}
        right = self.relation(node.children().apply(1))
        self.names |= own  # a subquery that was decorrelated reads the left side again, with the same numbers
        condition = self.expression(node.condition().get()) if node.condition().isDefined() else None
        kind = node.joinType().toString()
        if kind.startswith("ExistenceJoin"):
            return plan.Join((*left.columns, self._new(node.joinType().exists())), left, right, "existence", condition)
        how = JOINS.get(node.joinType().sql())
        if how is None:
            raise UnsupportedQueryError("Join", f"Flo does not maintain a join of type {kind}", node.simpleString(80))
        columns = (
            left.columns
            if how in ("semi", "anti")
            else (
                *_nullable(left.columns, how in ("right", "full")),
                *_nullable(right.columns, how in ("left", "full", "single")),
            )
        )
        return plan.Join(columns, left, right, how, condition)

    def _aggregate(self, node: Java) -> Relation:
        keys = items_of(node.groupingExpressions())
        if any(_is_session(each) for each in keys):
            raise reject("session_window")
        below = self._below(node)
        groups = tuple(self.expression(each) for each in keys)
        given = tuple(self._named(each) for each in items_of(node.aggregateExpressions()))
        return plan.Aggregate(tuple(each.column for each in given), below, groups, given)

    def _window(self, node: Java) -> Relation:
        below = self._below(node)
        given = tuple(self._named(each) for each in items_of(node.windowExpressions()))
        partition = tuple(self.expression(each) for each in items_of(node.partitionSpec()))
        order = tuple(self._order(each) for each in items_of(node.orderSpec()))
        columns = (*below.columns, *(each.column for each in given))
        if order or not _is_sorted(below):
            return plan.WindowFunctions(columns, below, given, partition, order)
        # the first rows for each row of an outer query: their order is that of the rows below
        rows, order = _with_order(below)
        wide = plan.WindowFunctions((*rows.columns, *columns[len(below.columns) :]), rows, given, partition, order)
        return plan.Project(columns, wide, tuple(ResultColumn(each, each) for each in columns))

    def _union(self, node: Java) -> Relation:
        parts = tuple(self.relation(each) for each in items_of(node.children()))
        return plan.Union(tuple(self._new(each) for each in items_of(node.output())), parts)

    def _expand(self, node: Java) -> Relation:
        below = self._below(node)
        projections = tuple(tuple(map(self.expression, items_of(each))) for each in items_of(node.projections()))
        return plan.Expand(tuple(self._known_or_new(each) for each in items_of(node.output())), below, projections)

    def _generate(self, node: Java) -> Relation:
        below = self._below(node)
        generator = self.expression(node.generator())
        items = tuple(self._new(each) for each in items_of(node.generatorOutput()))
        columns = tuple(self._known_or_new(each) for each in items_of(node.output()))
        return plan.Generate(columns, below, generator, node.outer(), items)

    def _batchevalpython(self, node: Java) -> Relation:
        """Functions in Python, which Spark runs."""
        below = self._below(node)
        results = zip(items_of(node.resultAttrs()), items_of(node.udfs()), strict=True)
        given = [ResultColumn(self._new(result), self.expression(function)) for result, function in results]
        own = [ResultColumn(each, each) for each in below.columns]
        return plan.Project((*below.columns, *(each.column for each in given)), below, (*own, *given))

    _arrowevalpython = _batchevalpython

    def _sort(self, node: Java) -> Relation:
        below = self._below(node)
        if not getattr(node, "global")():
            return below  # SORT BY: an order within partitions
        return plan.Limit(below.columns, below, tuple(self._order(each) for each in items_of(node.order())), None)

    def _globallimit(self, node: Java) -> Relation:
        count = int(node.limitExpr().eval(None))

        def limit(rows: plan.Limit) -> plan.Limit:
            return replace(rows, count=count if rows.count is None else min(count, rows.count))

        return _with_count(_in_order(self._below(node), limit))

    _locallimit = _globallimit

    def _offset(self, node: Java) -> Relation:
        count = int(node.offsetExpr().eval(None))

        def skip(rows: plan.Limit) -> plan.Limit:
            left = None if rows.count is None else max(0, rows.count - count)
            return replace(rows, count=left, offset=rows.offset + count)

        return _in_order(self._below(node), skip)

    def _unionloop(self, node: Java) -> Relation:
        anchor, number = self._below(node), int(node.id())
        self.loops[number] = loop = len(self.loops)
        step = self.relation(node.children().apply(1))
        del self.loops[number]
        levels = int(node.maxDepth().get()) if node.maxDepth().isDefined() else self._recursion_limit("Level")
        columns = tuple(self._new(each) for each in items_of(node.output()))
        most, rows = (None if each == -1 else each for each in (levels, self._recursion_limit("Row")))
        return plan.Recursion(columns, anchor, step, loop, most, rows, is_set=levels >= SETS)

    def _recursion_limit(self, of: str) -> int:
        """Return the limit of the session for levels or rows."""
        assert self.spark is not None
        return int(str(self.spark.conf.get(f"spark.sql.cteRecursion{of}Limit")))

    def _unionloopref(self, node: Java) -> Relation:
        columns = tuple(self._new(each) for each in items_of(node.output()))
        return plan.Reference(columns, self.loops[int(node.loopId())])


def _with_count(relation: Relation) -> Relation:
    """Return the first rows of a relation. A recursion ends when it has as many, if their order is left open."""
    if isinstance(relation, plan.Limit) and not relation.order and relation.count is not None:
        return replace(relation, below=_counted(relation.below, relation.count + relation.offset))
    return relation


def _counted(relation: Relation, count: int) -> Relation:
    match relation:
        case plan.Recursion(is_set=False):
            return replace(relation, count=count if relation.count is None else min(count, relation.count))
        case plan.Project():
            return replace(relation, below=_counted(relation.below, count))
    return relation


def _no_input(node: Java) -> UnsupportedQueryError:
    reason, instead = "it reads something that is none of the inputs", ("inputs={…}", "pass all that the query reads")
    return UnsupportedQueryError(node.nodeName(), reason, node.simpleString(80), instead)


def _in_order(relation: Relation, change: Callable[[plan.Limit], plan.Limit]) -> Relation:
    """Return the first rows of a relation. A projection or a filter of sorted rows leaves them sorted."""
    match relation:
        case plan.Limit():
            return change(relation)
        case plan.Project() if _is_sorted(relation.below):
            return replace(relation, below=_in_order(relation.below, change))
        case plan.Filter(below=plan.Limit() as rows):
            return change(plan.Limit(relation.columns, relation, rows.order, None))
    return change(plan.Limit(relation.columns, relation, (), None))


def _is_sorted(relation: Relation) -> bool:
    return isinstance(relation, plan.Limit) or (
        isinstance(relation, (plan.Project, plan.Filter)) and _is_sorted(relation.below)
    )


def _with_order(relation: Relation) -> tuple[Relation, tuple[plan.OrderKey, ...]]:
    """Return sorted rows with all columns that their order reads, and the order."""
    if isinstance(relation, plan.Limit):
        whole = relation.count is None and not relation.offset
        return (relation.below if whole else relation), relation.order
    assert isinstance(relation, (plan.Project, plan.Filter))
    below, order = _with_order(relation.below)
    if isinstance(relation, plan.Filter):
        return plan.Filter(below.columns, below, relation.condition), order
    known = {each.column.column for each in relation.given}
    read = dict.fromkeys(name for each in order for name in sorted(each.by.reads) if name not in known)
    more = tuple(ResultColumn(below.by_name[name], below.by_name[name]) for name in read)
    given = (*relation.given, *more)
    return plan.Project(tuple(each.column for each in given), below, given), order


def _is_session(key: Java) -> bool:
    return bool(key.getClass().getSimpleName() == "AttributeReference" and key.metadata().contains(SESSIONS))


def _nullable(columns: tuple[Expr, ...], nullable: bool) -> tuple[Expr, ...]:
    return tuple(column(each.column, each.type, True) for each in columns) if nullable else columns
