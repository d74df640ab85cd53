"""Reads expressions of Catalyst through py4j: their classes, types, options and constants.

A query is planned over stand-ins of its inputs: relations without rows that the optimiser neither folds nor refuses in
subqueries. What cannot be read raises `UnsupportedQueryError`, with the node, the expression and the reason. A node
keeps its expression of Catalyst: Spark runs those that Flo does not compute.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flo.columns.row_types import _type_of_spark
from flo.core.errors import FloError
from flo.sql.java import EXPRESSIONS, Java, is_instance, items_of, java_package
from flo.sql.nodes import MONTHS, UNICODE, Expr, Months, column, is_opaque, literal
from flo.sql.plan import OrderKey, Relation, ResultColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

EXCLUDED = (
    "DecimalAggregates",
    "InferWindowGroupLimit",
    "LimitPushDown",
    "LimitPushDownThroughWindow",
)
"""Rules of the optimiser that only help a batch."""
RULES = "org.apache.spark.sql.catalyst.optimizer."
EXPRESSION = "org.apache.spark.sql.catalyst.expressions.Expression"
COLLATED = " collate "
WITHOUT_PARAMETERS = ("CaseWhen", "In", "Coalesce", "Concat", "Count", "WindowSpecDefinition")
"""Classes that have nothing besides operands, though in lists."""
_NUMBERS, _ADDRESSES = re.compile(r"#\d+L?"), re.compile(r"@[0-9a-f]+\b")
"""The numbers of columns, and the addresses of objects: both differ from one run to the next."""
INSTEAD_OF_TYPES = {
    "variant": ("variant_get(v, '$.a', 'string')", "extract what is needed"),
    "time": ("CAST(t AS STRING)", "the time as a text"),
    "interval": ("INTERVAL '1' DAY", "columns have intervals of days to seconds"),
    "": ("array(struct(key, value))", "columns have numbers, strings, times, arrays and structs"),
}
"""What to write instead of a column of a type, by how its name begins."""
MODES = ("Add", "Subtract", "Multiply", "Divide", "Remainder", "Cast")
"""Classes that Flo computes in an evaluation mode: ANSI, LEGACY or TRY."""
CHECKED = ("UnaryMinus", "Abs", "GetArrayItem", "ElementAt")
"""Classes that Flo computes, and that raise an error or do not."""
VISIBLE, EOF = 0, -1
"""Of ANTLR: the channel of tokens that are not comments or blanks, and the type of the token at the end."""


class UnsupportedQueryError(FloError):
    """A query that cannot be maintained: the node of its plan, the expression, the reason, and how to rewrite it.

    Fix: rewrite the query as the message says; the page "Spark SQL as views" has them all.
    """

    def __init__(self, node: str, reason: str, expression: str = "", instead: tuple[str, str] | None = None) -> None:
        super().__init__(
            f"the query cannot be maintained: {reason}",
            facts=(("node", node), *((("expression", expression),) if expression else ())),
            instead=() if instead is None else (instead,),
        )
        self.node = node


def stand_in(spark: SparkSession, name: str, schema: StructType) -> int:
    """Register a relation without rows under a name, and return its number."""
    frame = spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)
    frame.createOrReplaceTempView(quoted(name))
    return number_of(frame)


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return f"`{name.replace('`', '``')}`"


def number_of(frame: DataFrame) -> int:
    """Return the number of a relation without rows, by which its leaves are recognized."""
    (leaf,) = leaves_of(frame._jdf.queryExecution().analyzed())
    return int(leaf.rdd().id())


def leaves_of(node: Java) -> list[Java]:
    below = items_of(node.children())
    return [leaf for each in below for leaf in leaves_of(each)] if below else [node]


def tokens_of(text: str) -> Iterator[Java]:
    """Yield the tokens of a text in SQL, without blanks and comments."""
    antlr, parser = java_package("org.antlr.v4.runtime"), java_package("org.apache.spark.sql.catalyst.parser")
    lexer = parser.SqlBaseLexer(parser.UpperCaseCharStream(antlr.CharStreams.fromString(text)))
    lexer.removeErrorListeners()
    while (token := lexer.nextToken()).getType() != EOF:
        if token.getChannel() == VISIBLE:
            yield token


@lru_cache(maxsize=4096)
def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type of a type of Spark, given as JSON."""
    from pyspark.sql.types import YearMonthIntervalType, _parse_datatype_json_string

    kind = _parse_datatype_json_string(text)
    return MONTHS if isinstance(kind, YearMonthIntervalType) else _type_of_spark(kind)


def _type(jvm_type: Java) -> pa.DataType:
    """Return the Arrow type of a type of Catalyst; an opaque one if only Spark has it."""
    name = jvm_type.catalogString()
    if COLLATED not in name:  # Arrow compares texts by their bytes
        try:
            return arrow_type(jvm_type.json())
        except (TypeError, ValueError):
            pass
    return pa.opaque(pa.null(), name, "Spark")


def expect_columns(columns: tuple[Expr, ...]) -> None:
    """Raise if a column has a type that Flo has no column for."""
    for each in columns:
        if is_opaque(each.type) or each.type == MONTHS:
            name = each.type.type_name if is_opaque(each.type) else "interval year to month"
            if COLLATED in f" {name} ":
                raise UnsupportedQueryError(
                    "type",
                    "strings are compared byte by byte; a collation compares them otherwise",
                    name,
                    ("lower(name)", "to compare without case"),
                )
            instead = next(rewrite for start, rewrite in INSTEAD_OF_TYPES.items() if name.startswith(start))
            raise UnsupportedQueryError("type", "columns do not have this type", name, instead)


@dataclass(frozen=True)
class Parameter:
    """What an expression has besides its operands. It is shown without what differs from one run to the next."""

    text: str
    exact: str

    def __repr__(self) -> str:
        return self.text


@dataclass
class ExpressionReader(ABC):
    """Reads expressions, and gives columns their names."""

    inputs: dict[int, str]
    names: dict[int, Expr] = field(default_factory=dict)
    """Columns by their number in Catalyst."""
    taken: dict[str, int] = field(default_factory=dict)
    unicode: int | None = None
    """The version of Unicode that upper and lower case follow. None if it is that of Java."""
    zone: str = "UTC"
    """The time zone of the session."""

    @abstractmethod
    def relation(self, node: Java) -> Relation:
        """Return a node of a plan as a relation."""

    # Columns

    def _new(self, attribute: Java) -> Expr:
        name = called = attribute.name()
        while called in self.taken:
            self.taken[name] += 1
            called = f"{name}#{self.taken[name]}"
        self.taken[called] = 1
        new = self.names[attribute.exprId().id()] = column(called, _type(attribute.dataType()), attribute.nullable())
        return new

    def _known_or_new(self, attribute: Java) -> Expr:
        known = self.names.get(attribute.exprId().id())
        if known is None:
            return self._new(attribute)
        return column(known.column, known.type, attribute.nullable())  # an outer generator makes nulls

    def _named(self, given: Java) -> ResultColumn:
        if given.getClass().getSimpleName() == "Alias":
            expression = self.expression(given.child())
            return ResultColumn(self._new(given), expression)
        expression = self.expression(given)
        return ResultColumn(expression, expression)

    def _order(self, given: Java) -> OrderKey:
        return OrderKey(
            self.expression(given.child()),
            given.direction().sql() == "DESC",
            given.nullOrdering().sql() == "NULLS LAST",
        )

    # Expressions

    def expression(self, given: Java) -> Expr:
        name = given.getClass().getSimpleName().removesuffix("$")
        if name == "AttributeReference":
            known = self.names.get(given.exprId().id())
            if known is None:
                raise UnsupportedQueryError("AttributeReference", f"the column {given.name()} is unknown")
            return column(known.column, known.type, given.nullable())
        if not given.deterministic():
            raise UnsupportedQueryError(
                name,
                "its result is different each time it is computed",
                given.sql(),
                ("a column of an input", "compute it before the rows reach the query"),
            )
        if name == "Literal":
            return self._literal(given)
        if name == "Alias":
            return self.expression(given.child())
        if name == "ScalarSubquery":
            outside = dict(self.names)
            below = self.relation(given.plan())
            self.names = outside  # subqueries that were merged have columns with numbers of other columns
            return Expr(name, _type(given.dataType()), True, (), (("relation", below),))
        children = tuple(self.expression(each) for each in items_of(given.children()) if not _is_frame(each))
        options = tuple(self._options(name, given))
        kind = pa.null() if name in ("SortOrder", "WindowSpecDefinition") else _type(given.dataType())
        nullable = name != "WindowSpecDefinition" and bool(given.nullable())
        if name == "AggregateExpression" and len(children) > 1:
            function, condition = children
            arguments = tuple(_only_where(condition, each, given) for each in function.children)
            children = replace(function, children=arguments), condition
        return _with_constants(Expr(name, kind, nullable, children, options, given))

    def _literal(self, given: Java) -> Expr:
        kind = _type(given.dataType())
        try:
            return replace(literal(plain_value(given.value(), given.dataType()), kind), catalyst=given)
        except UnsupportedQueryError:
            value = Parameter(*_texts(given.value()))
            return Expr("NativeLiteral", kind, bool(given.nullable()), (), (("value", value),), given)

    def _options(self, name: str, given: Java) -> list[tuple[str, Any]]:
        match name:
            case "Round":
                return [("mode", "ANSI" if given.ansiEnabled() else "LEGACY")]
            case "Sum":
                return [("mode", given.evalContext().evalMode().toString())]
            case "Average":
                return [("mode", given.evalMode().toString())]
            case _ if name in MODES:
                zone = [("zone", given.timeZoneId().get())] if name == "Cast" and given.needsTimeZone() else []
                return [("mode", given.evalMode().toString()), *zone]
            case _ if name in CHECKED:
                has_default = name == "ElementAt" and not given.defaultValueOutOfBound().isEmpty()
                variant = [("variant", "a default for what is out of bounds")] if has_default else []
                return [("mode", "ANSI" if given.failOnError() else "LEGACY"), *variant]
            case "Upper" | "Lower":
                return [("variant", "the letters of Java") if self.unicode is None else (UNICODE, self.unicode)]
            case "InSet":
                values = (plain_value(each, given.child().dataType()) for each in _items(given.hset().iterator()))
                return [("values", tuple(sorted(values, key=repr)))]
            case "GetStructField":
                return [("ordinal", given.ordinal())]
            case "Like":
                return [("escape", given.escapeChar())]
            case "AggregateExpression":
                return [("distinct", given.isDistinct()), ("filter", given.filter().isDefined())]
            case "SortOrder":
                return [
                    ("descending", given.direction().sql() == "DESC"),
                    ("nulls_last", given.nullOrdering().sql() == "NULLS LAST"),
                ]
            case "WindowExpression":
                return [("frame", _frame(given.windowSpec().frameSpecification())), ("zone", self.zone)]
            case "First" | "Last" | "Lag" | "Lead" | "NthValue":
                return [("ignore_nulls", given.ignoreNulls())]
            case "PivotFirst":
                kind = given.pivotColumn().dataType()
                return [("values", tuple(_key_value(each, kind) for each in items_of(given.pivotColumnValues())))]
            case "Percentile":
                return [("reverse", given.reverse()), ("weighs_ends", _spark_version() < (4, 3))]
            case "Corr":  # null for no pair or one; else a quotient
                return [("mode", given.evaluateExpression().falseValue().falseValue().evalMode().toString())]
            case "PercentileDisc":
                return [("reverse", given.reverse()), ("legacy", given.legacyCalculation())]
            case "Mode":
                return [("greatest", given.reverseOpt().toString() == "Some(false)")]
            case "PythonUDF":
                code = hashlib.sha256(given.func().command().mkString(",").encode()).hexdigest()
                return [("function", Parameter(given.name(), f"{given.name()} {given.evalType()} {code}"))]
            case "NamedLambdaVariable":
                return [("variable", given.name())]
            case _ if name in WITHOUT_PARAMETERS or given.productArity() == given.children().size():
                return []
        return [(f"parameter{place}", each) for place, each in enumerate(_parameters(given))]


def _with_constants(node: Expr) -> Expr:
    """Return the value of an expression of constants as a constant; the expression itself if it fails.

    Spark has made constants of all that do not fail, unless one fails: then it has made none."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    given, constant = node.catalyst, bool(node.children) and all(child.name == "Literal" for child in node.children)
    if not constant or pa.types.is_nested(node.type) or not given.foldable():
        return node
    try:
        return replace(literal(plain_value(given.eval(None), given.dataType()), node.type), catalyst=given)
    except (PySparkException, Py4JJavaError, UnsupportedQueryError):
        return node


def _only_where(condition: Expr, argument: Expr, aggregate: Java) -> Expr:
    """Return an argument of an aggregate with a filter: it is not computed for the rows that the filter leaves out."""
    if not argument.children:
        return argument
    if argument.name == "SortOrder":
        return replace(argument, children=tuple(_only_where(condition, each, aggregate) for each in argument.children))
    expressions, given = java_package(EXPRESSIONS), argument.catalyst
    chosen = expressions.If(aggregate.filter().get(), given, expressions.Literal(None, given.dataType()))
    return Expr("If", argument.type, True, (condition, argument, literal(None, argument.type)), (), chosen)


def _parameters(given: Java) -> Iterator[Parameter]:
    """Yield what an expression has besides its operands."""
    for item in _items(given.productIterator()):
        if not _has_expressions(item):
            yield Parameter(*_texts(item))


def _has_expressions(item: Java) -> bool:
    """Return whether it is an operand, or several."""
    from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]

    if not isinstance(item, JavaObject):
        return False
    name = item.getClass().getName()
    if name.startswith(("scala.Some", "scala.collection.immutable.")):
        return bool(item.nonEmpty()) and _has_expressions(item.iterator().next())
    return is_instance(item, EXPRESSION)


def _texts(item: Java) -> tuple[str, str]:
    """Return a parameter as text, without and with the addresses of objects."""
    text = _NUMBERS.sub("", item.toString() if hasattr(item, "getClass") else repr(item))
    return without_addresses(text), text


def without_addresses(text: str) -> str:
    """Return a text without the addresses of objects, which differ from one run to the next."""
    return _ADDRESSES.sub("", text)


def _is_frame(given: Java) -> bool:
    return given.getClass().getSimpleName() in ("SpecifiedWindowFrame", "UnspecifiedFrame$")


def _frame(given: Java) -> tuple[str, Any, Any]:
    """Return the frame of a window: rows or range, and its bounds; None is unbounded, 0 the current row."""
    mode = given.frameType().sql().lower()
    return (mode, _bound(given.lower()), _bound(given.upper()))


def _bound(given: Java) -> Any:
    name = given.getClass().getSimpleName().removesuffix("$")
    if name in ("UnboundedPreceding", "UnboundedFollowing"):
        return None
    if name == "CurrentRow":
        return 0
    if given.foldable():
        return plain_value(given.eval(None), given.dataType())
    raise UnsupportedQueryError("WindowFrame", "a bound must be a constant", given.sql())


def _items(iterator: Java) -> Iterator[Java]:
    while iterator.hasNext():
        yield iterator.next()


def unicode_of(spark: SparkSession) -> int | None:
    """Return the version of Unicode that upper and lower case follow: that of ICU. None if they follow Java."""
    if spark.conf.get("spark.sql.icu.caseMappings.enabled", "true") != "true":
        return None
    return int(java_package("com.ibm.icu.lang").UCharacter.getUnicodeVersion().getMajor())


def plain_value(value: Java, jvm_type: Java) -> Any:
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
    if name.startswith("interval "):  # not those of months, days and microseconds
        months = "month" in name or "year" in name
        return Months(int(value)) if months else datetime.timedelta(microseconds=int(value))
    if name == "array":
        kind = jvm_type.elementType()
        return tuple(plain_value(each, kind) for each in value.toObjectArray(kind))
    if isinstance(value, float) and math.isnan(value):
        return math.nan  # one object, so that equal constants are equal
    if isinstance(value, (bool, int, float, str, bytes, bytearray)):
        return bytes(value) if isinstance(value, bytearray) else value
    raise UnsupportedQueryError(
        "Literal",
        f"Flo has no constants of type {name}",
        value.toString(),
        ("SELECT struct(c.a, c.b) … VALUES (1, 2) AS c(a, b)", "columns of simple types"),
    )


def _key_value(value: Java, jvm_type: Java) -> Any:
    """Return a key of PIVOT as a Python value; one of several columns as a tuple."""
    if value is None or jvm_type.typeName() != "struct":
        return plain_value(value, jvm_type)
    kinds = enumerate(each.dataType() for each in jvm_type.fields())
    return tuple(_key_value(value.get(place, kind), kind) for place, kind in kinds)


def _spark_version() -> tuple[int, int]:
    import pyspark

    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)
