"""Reads Catalyst's optimised plan of a query through py4j.

A query is planned over stand-ins of its inputs: relations without rows that the optimiser neither folds nor refuses in
subqueries. What cannot be read raises `UnsupportedQueryError`, with the node, the expression and the reason.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from flo.columns.row_types import _type_of_spark
from flo.core.errors import FloError
from flo.sql import plan
from flo.sql.nodes import Node, column, literal
from flo.sql.plan import Named, Order, Relation
from flo.sql.registry import MONTHS

EXCLUDED = (
    "DecimalAggregates",
    "InferWindowGroupLimit",
)
"""Rules of the optimiser that only help a batch."""
RULES = "org.apache.spark.sql.catalyst.optimizer."
JOINS = {
    "INNER": "inner",
    "CROSS": "inner",
    "LEFT OUTER": "left",
    "RIGHT OUTER": "right",
    "FULL OUTER": "full",
    "LEFT SEMI": "semi",
    "LEFT ANTI": "anti",
}
MODES = ("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod", "Cast")
"""Classes that have an evaluation mode: ANSI, LEGACY or TRY."""
CHECKED = ("UnaryMinus", "Abs", "Ceil", "Floor", "GetArrayItem", "ElementAt", "MakeDate")
"""Classes that raise an error or do not."""
ICU = "spark.sql.icu.caseMappings.enabled"
"""Whether upper and lower case follow ICU. Otherwise they depend on the version of Java."""
ZONED = (
    "Hour",
    "Minute",
    "Second",
    "SecondWithFraction",
    "TruncTimestamp",
    "TimestampAddInterval",
    "TimestampAddYMInterval",
    "SubtractTimestamps",
    "UnixTimestamp",
    "ToUnixTimestamp",
)
"""Classes that depend on the time zone of the session, as some casts do."""


class UnsupportedQueryError(FloError):
    """A query that cannot be maintained: the node of its plan, the expression, the reason, and how to rewrite it."""

    def __init__(self, node: str, reason: str, expression: str = "", instead: tuple[str, str] | None = None) -> None:
        super().__init__(
            f"the query cannot be maintained: {reason}",
            facts=(("node", node), *((("expression", expression),) if expression else ())),
            instead=() if instead is None else (instead,),
        )
        self.node = node


def stand_in(spark: Any, name: str, schema: Any) -> int:
    """Register a relation without rows under a name, and return its number."""
    frame = spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)
    frame.createOrReplaceTempView(name)
    (leaf,) = leaves_of(frame._jdf.queryExecution().analyzed())
    return int(leaf.rdd().id())


@dataclass(frozen=True)
class Query:
    """A query that was planned: its relation, and the nodes of Catalyst that inputs are projected and filtered by."""

    relation: Relation
    native: dict[Relation, Any]


def read_frame(frame: Any, inputs: Mapping[int, str]) -> Query:
    """Return the optimised plan of a DataFrame. `inputs` has the names of stand-ins by their numbers."""
    reader = _Reader(dict(inputs), uses_icu=frame.sparkSession.conf.get(ICU, "true") == "true")
    relation = reader.relation(frame._jdf.queryExecution().optimizedPlan())
    return Query(relation, reader.native)


def items_of(scala: Any) -> list[Any]:
    return [scala.apply(place) for place in range(scala.size())]


def leaves_of(node: Any) -> list[Any]:
    below = items_of(node.children())
    return [leaf for each in below for leaf in leaves_of(each)] if below else [node]


@lru_cache(maxsize=4096)
def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type of a type of Spark, given as JSON."""
    from pyspark.sql.types import YearMonthIntervalType, _parse_datatype_json_string

    found = _parse_datatype_json_string(text)
    return MONTHS if isinstance(found, YearMonthIntervalType) else _type_of_spark(found)


def _type(jvm_type: Any) -> pa.DataType:
    text = jvm_type.json()
    if "string" in text and "collate" in (full := jvm_type.catalogString()):  # JSON does not say so
        raise UnsupportedQueryError("type", f"the collation of {full} is not maintained")
    try:
        return arrow_type(text)
    except TypeError:
        raise UnsupportedQueryError("type", f"the type {json.loads(text)!r} has no column") from None


@dataclass
class _Reader:
    inputs: dict[int, str]
    names: dict[int, Node] = field(default_factory=dict)
    """Columns by their number in Catalyst."""
    taken: dict[str, int] = field(default_factory=dict)
    native: dict[Relation, Any] = field(default_factory=dict)
    uses_icu: bool = True

    def relation(self, node: Any) -> Relation:
        name = node.nodeName()
        read = getattr(self, f"_{name.lower()}", None)
        if read is None:
            raise UnsupportedQueryError(name, "Flo does not maintain this node", node.simpleString(80))
        found: Relation = read(node)
        if plan.is_stateless(found):
            self.native[found] = node
        return found

    def _below(self, node: Any) -> Relation:
        return self.relation(node.children().apply(0))

    # Relations

    def _logicalrdd(self, node: Any) -> Relation:
        name = self.inputs.get(node.rdd().id())
        if name is None:
            raise UnsupportedQueryError("LogicalRDD", "it is none of the inputs")
        output = items_of(node.output())
        columns = tuple(self._new(each) for each in output)
        return plan.Scan(columns, name, tuple(each.name() for each in output))

    def _onerowrelation(self, node: Any) -> Relation:
        return plan.Constant((), ((),))

    def _localrelation(self, node: Any) -> Relation:
        columns = tuple(self._new(each) for each in items_of(node.output()))
        if node.data().size():
            raise UnsupportedQueryError("LocalRelation", "rows written in the query are not maintained yet")
        return plan.Constant(columns, ())

    def _project(self, node: Any) -> Relation:
        below = self._below(node)
        given = tuple(self._named(each) for each in items_of(node.projectList()))
        return plan.Project(tuple(each.column for each in given), below, given)

    def _filter(self, node: Any) -> Relation:
        below = self._below(node)
        return plan.Filter(below.columns, below, self.expression(node.condition()))

    def _join(self, node: Any) -> Relation:
        left, right = (self.relation(each) for each in items_of(node.children()))
        kind = node.joinType().toString()
        if kind.startswith("ExistenceJoin"):
            condition = self.expression(node.condition().get()) if node.condition().isDefined() else None
            return plan.Join((*left.columns, self._new(node.joinType().exists())), left, right, "existence", condition)
        how = JOINS.get(node.joinType().sql())
        if how is None:
            raise UnsupportedQueryError("Join", f"a join of type {kind} is not maintained")
        condition = self.expression(node.condition().get()) if node.condition().isDefined() else None
        columns = (
            left.columns
            if how in ("semi", "anti")
            else (
                *_nullable(left.columns, how in ("right", "full")),
                *_nullable(right.columns, how in ("left", "full")),
            )
        )
        return plan.Join(columns, left, right, how, condition)

    def _aggregate(self, node: Any) -> Relation:
        below = self._below(node)
        groups = tuple(self.expression(each) for each in items_of(node.groupingExpressions()))
        given = tuple(self._named(each) for each in items_of(node.aggregateExpressions()))
        return plan.Aggregate(tuple(each.column for each in given), below, groups, given)

    def _window(self, node: Any) -> Relation:
        below = self._below(node)
        given = tuple(self._named(each) for each in items_of(node.windowExpressions()))
        partition = tuple(self.expression(each) for each in items_of(node.partitionSpec()))
        order = tuple(self._order(each) for each in items_of(node.orderSpec()))
        return plan.Window((*below.columns, *(each.column for each in given)), below, given, partition, order)

    def _windowgrouplimit(self, node: Any) -> Relation:
        return self._below(node)  # a filter above has the same effect

    def _union(self, node: Any) -> Relation:
        parts = tuple(self.relation(each) for each in items_of(node.children()))
        return plan.Union(tuple(self._new(each) for each in items_of(node.output())), parts)

    def _expand(self, node: Any) -> Relation:
        below = self._below(node)
        projections = tuple(tuple(map(self.expression, items_of(each))) for each in items_of(node.projections()))
        return plan.Expand(tuple(self._known_or_new(each) for each in items_of(node.output())), below, projections)

    def _generate(self, node: Any) -> Relation:
        below = self._below(node)
        generator = self.expression(node.generator())
        made = tuple(self._new(each) for each in items_of(node.generatorOutput()))
        columns = tuple(self._known_or_new(each) for each in items_of(node.output()))
        return plan.Generate(columns, below, generator, node.outer(), made)

    def _sort(self, node: Any) -> Relation:
        below = self._below(node)
        return plan.Limit(below.columns, below, tuple(self._order(each) for each in items_of(node.order())), None)

    def _globallimit(self, node: Any) -> Relation:
        return self._limited(node)

    def _locallimit(self, node: Any) -> Relation:
        return self._limited(node)

    def _limited(self, node: Any) -> Relation:
        below, count = self._below(node), int(node.limitExpr().value())
        if isinstance(below, plan.Limit):
            smaller = count if below.count is None else min(count, below.count)
            return plan.Limit(below.columns, below.below, below.order, smaller, below.offset)
        return plan.Limit(below.columns, below, (), count)

    def _offset(self, node: Any) -> Relation:
        below, count = self._below(node), int(node.offsetExpr().value())
        if isinstance(below, plan.Limit):
            left = None if below.count is None else max(0, below.count - count)
            return plan.Limit(below.columns, below.below, below.order, left, below.offset + count)
        return plan.Limit(below.columns, below, (), None, count)

    # Columns

    def _new(self, attribute: Any) -> Node:
        """Return a new column."""
        name = attribute.name()
        number = self.taken[name] = self.taken.get(name, 0) + 1
        called = name if number == 1 else f"{name}#{number}"
        found = column(called, _type(attribute.dataType()), attribute.nullable())
        self.names[attribute.exprId().id()] = found
        return found

    def _known_or_new(self, attribute: Any) -> Node:
        return self.names.get(attribute.exprId().id()) or self._new(attribute)

    def _named(self, given: Any) -> Named:
        if given.getClass().getSimpleName() == "Alias":
            expression = self.expression(given.child())
            return Named(self._new(given), expression)
        expression = self.expression(given)
        return Named(expression, expression)

    def _order(self, given: Any) -> Order:
        return Order(
            self.expression(given.child()),
            given.direction().sql() == "DESC",
            given.nullOrdering().sql() == "NULLS LAST",
        )

    # Expressions

    def expression(self, given: Any) -> Node:
        """Return an expression as a node."""
        name = given.getClass().getSimpleName().removesuffix("$")
        if name == "AttributeReference":
            known = self.names.get(given.exprId().id())
            if known is None:
                raise UnsupportedQueryError("AttributeReference", f"the column {given.name()} is unknown")
            return column(known.column, known.type, given.nullable())
        if not given.deterministic():
            raise UnsupportedQueryError(name, "its result is different each time it is computed", given.sql())
        if name == "Literal":
            return literal(_value(given), _type(given.dataType()))
        if name == "Alias":
            return self.expression(given.child())
        if name == "ScalarSubquery":
            below = self.relation(given.plan())
            return Node(name, _type(given.dataType()), True, (), (("relation", below),))
        children = tuple(self.expression(each) for each in items_of(given.children()) if not _is_frame(each))
        options = tuple(self._options(name, given))
        kind = pa.null() if name in ("SortOrder", "WindowSpecDefinition") else _type(given.dataType())
        return Node(
            name, kind, bool(given.nullable()) if name not in ("WindowSpecDefinition",) else False, children, options
        )

    def _options(self, name: str, given: Any) -> list[tuple[str, Any]]:
        match name:
            case "Round" | "BRound":
                return [("mode", "ANSI" if given.ansiEnabled() else "LEGACY")]
            case "Sum":
                return [("mode", given.evalContext().evalMode().toString())]
            case "Average":
                return [("mode", given.evalMode().toString())]
            case _ if name in MODES:
                zone = _zone(given) if name == "Cast" and given.needsTimeZone() else []
                return [("mode", given.evalMode().toString()), *zone]
            case _ if name in CHECKED:
                default = given.defaultValueOutOfBound() if name == "ElementAt" else None
                outside = [] if default is None or default.isEmpty() else [("default", _value(default.get()))]
                return [("mode", "ANSI" if given.failOnError() else "LEGACY"), *outside]
            case _ if name in ZONED:
                return _zone(given)
            case "Upper" | "Lower" | "InitCap" if not self.uses_icu:
                return [("variant", "the letters of Java")]
            case "Size":
                return [("size_of_null", given.legacySizeOfNull())]
            case "InSet":
                return [
                    (
                        "values",
                        tuple(
                            sorted((_plain(each, given.child().dataType()) for each in _items(given.hset())), key=repr)
                        ),
                    )
                ]
            case "GetStructField":
                return [("ordinal", given.ordinal())]
            case "Like":
                return [("escape", given.escapeChar())]
            case "AggregateExpression":
                return [("distinct", given.isDistinct()), ("filter", given.filter().isDefined())]
            case "First" | "Last":
                return [("ignore_nulls", given.ignoreNulls())]
            case "SortOrder":
                return [
                    ("descending", given.direction().sql() == "DESC"),
                    ("nulls_last", given.nullOrdering().sql() == "NULLS LAST"),
                ]
            case "WindowExpression":
                return [("frame", _frame(given.windowSpec().frameSpecification()))]
            case "Lag" | "Lead":
                return [("ignore_nulls", given.ignoreNulls())]
        return []


def _nullable(columns: tuple[Node, ...], nullable: bool) -> tuple[Node, ...]:
    return tuple(column(each.column, each.type, True) for each in columns) if nullable else columns


def _zone(given: Any) -> list[tuple[str, Any]]:
    zone = given.timeZoneId()
    return [("zone", zone.get())] if zone.isDefined() else []


def _is_frame(given: Any) -> bool:
    return given.getClass().getSimpleName() in ("SpecifiedWindowFrame", "UnspecifiedFrame$")


def _frame(given: Any) -> tuple[str, Any, Any]:
    """Return the frame of a window: rows or range, and its bounds; None is unbounded, 0 the current row."""
    mode = given.frameType().sql().lower()
    return (mode, _bound(given.lower()), _bound(given.upper()))


def _bound(given: Any) -> Any:
    name = given.getClass().getSimpleName().removesuffix("$")
    if name in ("UnboundedPreceding", "UnboundedFollowing"):
        return None
    if name == "CurrentRow":
        return 0
    if name == "Literal":
        return _value(given)
    if name == "UnaryMinus" and given.child().getClass().getSimpleName() == "Literal":
        return -_value(given.child())
    raise UnsupportedQueryError("WindowFrame", "a bound must be a constant", given.sql())


def _items(scala_set: Any) -> list[Any]:
    found, items = [], scala_set.iterator()
    while items.hasNext():
        found.append(items.next())
    return found


def _value(given: Any) -> Any:
    return _plain(given.value(), given.dataType())


def _plain(value: Any, jvm_type: Any) -> Any:
    """Return a constant of Catalyst as a Python value."""
    if value is None:
        return None
    name = jvm_type.typeName()
    if name == "string":
        return str(value.toString())
    if name.startswith("decimal"):
        return Decimal(value.toString())
    if name == "date":
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=int(value))
    if name in ("timestamp", "timestamp_ntz"):
        zone = datetime.UTC if name == "timestamp" else None
        return datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(microseconds=int(value))
    if name.startswith("interval"):
        months = "month" in name or "year" in name
        return pa.MonthDayNano([int(value), 0, 0]) if months else datetime.timedelta(microseconds=int(value))
    if isinstance(value, (bool, int, float, str, bytes, bytearray)):
        return value
    raise UnsupportedQueryError("Literal", f"a constant of type {name} cannot be read", value.toString())
