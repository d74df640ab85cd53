"""Views that read each other, or themselves: together one fixpoint of several relations.

    even    SELECT 0 AS n UNION SELECT n + 1 FROM odd            round   even      odd
    odd     SELECT DISTINCT n + 1 AS n FROM even WHERE n < 3     1       0
                                                                 2       0         1
                                                                 3       0 2       1
                                                                 4       0 2       1 3

Each view of a cycle is a set, and must say so: by UNION, DISTINCT or GROUP BY. Spark plans a query when it knows the
columns of what the query reads, so those of a cycle are found first, in steps:

1. A query without the branches of UNION that read views with unknown columns has the columns of the view.
2. The whole query is planned over stand-ins with these columns. It may have wider types, so this is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flo.api.fixpoint_verbs import build_fixpoint
from flo.columns.row_types import row_type_of
from flo.core.errors import FloError, TypeMismatch
from flo.sql import plan
from flo.sql.catalyst import UnsupportedQueryError, stand_in
from flo.sql.java import Java, items_of
from flo.sql.native import Catalyst
from flo.sql.nodes import Expr
from flo.sql.plan import OrderKey, Relation, ResultColumn
from flo.sql.plan_reader import read_frame
from flo.sql.query import expect_result_names, planned
from flo.sql.row_streams import RowStream
from flo.values.operators.fixpoint import MOST_ROUNDS
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from flo.sql.compiler import Compiler

MOST_PLANS = 5
"""How often a cycle is planned until the types of its columns stay the same."""
SETS = ("Distinct", "Aggregate")
"""Nodes whose rows are a set."""
RENAMES = ("Project", "SubqueryAlias", "View")
"""Nodes that a statement with names of columns has above its query."""


def read_names(spark: SparkSession, text: str) -> set[str]:
    """Return the names of the relations that a query reads, in small letters; none if Spark does not parse it."""
    from pyspark.errors import ParseException

    try:
        parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text).toString()
    except ParseException:
        return set()  # an error when the view is planned
    own = {name.strip().lower() for some in re.findall(r"\bCTE \[([^\]]*)\]", parsed) for name in some.split(",")}
    return {name.lower() for name in re.findall(r"UnresolvedRelation \[([^\],]*)\]", parsed)} - own


def order_views(reads: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the names of views after those that they read. Views on a cycle are together, in their order.

    `reads` has the names of views that each reads."""
    reach = {name: set(some) for name, some in reads.items()}
    for middle in reads:
        for name in reads:
            if middle in reach[name]:
                reach[name] |= reach[middle]
    done: set[str] = set()

    def visit(name: str) -> Iterator[tuple[str, ...]]:
        cycle = tuple(each for each in reads if each == name or (each in reach[name] and name in reach[each]))
        if name not in done:
            done.update(cycle)
            for before in reads:
                if before not in cycle and before in reach[name]:
                    yield from visit(before)
            yield cycle

    for name in reads:
        yield from visit(name)


class Cycle:
    """The plans of views that read each other, over stand-ins which `numbers` names."""

    def __init__(self, spark: SparkSession, queries: Mapping[str, str], numbers: dict[int, str]) -> None:
        self._spark, self._queries, self._numbers = spark, queries, numbers
        schemas = self._first_schemas()
        for _ in range(MOST_PLANS):
            for name, schema in schemas.items():
                numbers[stand_in(spark, name, schema)] = name
            frames = {name: located(name, planned, spark, text) for name, text in queries.items()}
            before, schemas = schemas, {name: _nullable(frame.schema) for name, frame in frames.items()}
            if before == schemas:
                break
        else:
            raise TypeMismatch(
                f"the columns of the views {_listed(queries)}, which read each other, get other types with every round",
                facts=tuple((name, schema.simpleString()) for name, schema in schemas.items()),
                instead=(("CAST(… AS BIGINT)", "one type for a column"),),
            )
        self.names = {name: located(name, expect_result_names, frame) for name, frame in frames.items()}
        self.relations: dict[str, Relation] = {}
        for name, frame in frames.items():
            located(name, _expect_set, name, frame)
            self.relations[name] = _with_references(located(name, read_frame, frame, numbers), list(queries))

    def _first_schemas(self) -> dict[str, StructType]:
        """Return the columns of each view, of what is in it without the views whose columns are not known."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import DataFrame

        parse = self._spark._jsparkSession.sessionState().sqlParser().parsePlan
        unknown, catalyst = {name.lower(): name for name in self._queries}, Catalyst(self._spark)
        known: dict[str, StructType] = {}
        while unknown:
            before = len(unknown)
            for name in [*unknown.values()]:
                part = _without(catalyst, parse(self._queries[name]), set(unknown))
                if part is None:
                    continue
                try:
                    schema = DataFrame(catalyst.frame(self._spark, part), self._spark).schema
                except AnalysisException:
                    continue  # a subquery reads what is not known, or the whole query is wrong
                known[name] = _nullable(schema)
                self._numbers[stand_in(self._spark, name, known[name])] = name
                del unknown[name.lower()]
            if len(unknown) == before:
                raise FloError(
                    f"the views {_listed(unknown.values())} read each other, and no row is known to begin with",
                    facts=(("view", next(iter(unknown.values()))),),
                    instead=(("SELECT … FROM an input UNION SELECT …", "a view that begins with other rows"),),
                )
        return {name: known[name] for name in self._queries}

    def rows(self, compiler: Compiler) -> dict[str, RowStream]:
        """Return the rows of the views, with the names that the queries give their columns."""

        def body(*rows: RowStream) -> tuple[RowStream, ...]:
            inner = compiler
            for loop, each in zip(_loops(self.relations), rows, strict=True):
                inner = inner.inside(loop, each)
            return tuple(inner.query(relation, self.names[name]) for name, relation in self.relations.items())

        kinds = {name: _kind(self.names[name], relation) for name, relation in self.relations.items()}
        return dict(zip(kinds, build_fixpoint(compiler.scope, kinds, body, MOST_ROUNDS), strict=True))


def located(name: str, function: Any, *arguments: Any) -> Any:
    """Call a function; an error says which view it is about."""
    try:
        return function(*arguments)
    except FloError as error:
        error.facts = (("view", name), *error.facts)
        raise


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _nullable(schema: StructType) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(each.name, each.dataType, True) for each in schema])


def _kind(names: tuple[str, ...], relation: Relation) -> ZSet[Any]:
    columns = zip(names, relation.columns, strict=True)
    return ZSet(row_type_of(pa.schema([pa.field(name, each.type, True) for name, each in columns])))


def _without(catalyst: Catalyst, node: Java, unknown: set[str]) -> Java | None:
    """Return a parsed query without the branches of unions that read these names; None if all of it does."""
    if node.nodeName() == "UnresolvedRelation":
        names = items_of(node.multipartIdentifier())
        return None if len(names) == 1 and names[0].lower() in unknown else node
    below = [_without(catalyst, each, unknown) for each in items_of(node.children())]
    kept = [each for each in below if each is not None]
    if len(kept) == len(below):
        return node.withNewChildren(catalyst.list(kept).toIndexedSeq()) if below else node
    return kept[0] if node.nodeName() == "Union" and kept else None


def _expect_set(name: str, frame: DataFrame) -> None:
    """Raise unless the rows of a query are a set, as its text says."""
    node = frame._jdf.queryExecution().analyzed()
    while node.nodeName() in RENAMES:
        node = node.children().apply(0)
    if node.nodeName() in SETS or (node.nodeName() in ("Except", "Intersect") and not node.isAll()):
        return
    instead = (
        ("UNION", "instead of UNION ALL") if node.nodeName() == "Union" else ("SELECT DISTINCT …", "each row once")
    )
    raise UnsupportedQueryError(
        node.nodeName(),
        f"`{name}` reads itself, directly or through other views, so it must be a set, and a row may be there twice",
        instead=instead,
    )


def _loops(names: Iterable[str]) -> list[int]:
    """Return the number of the recursion for each view of a cycle; others have numbers from 0 on."""
    return [-1 - place for place, _ in enumerate(names)]


def _with_references(part: Any, names: list[str]) -> Any:
    """Return a relation that refers to these views where it scans their stand-ins."""
    match part:
        case plan.TableScan() if part.name in names:
            return plan.Reference(part.columns, _loops(names)[names.index(part.name)])
        case Expr():
            options = tuple((key, _with_references(each, names)) for key, each in part.options)
            return replace(part, children=_with_references(part.children, names), options=options)
        case Relation() | ResultColumn() | OrderKey():
            own = {each.name: _with_references(getattr(part, each.name), names) for each in fields(part)}
            return replace(part, **own)
        case tuple():
            return tuple(_with_references(each, names) for each in part)
    return part
