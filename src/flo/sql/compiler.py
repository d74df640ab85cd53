"""Turns the plan of a query into operators: each relation becomes a stream of rows with its columns.

The verbs of relations do the work: `join`, `group_by`, `over`, `limit`. Expressions that are keys or arguments are
computed first, as columns whose names begin with `==`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flo.api.aggregates import AggregateSpec
from flo.api.scope import Scope
from flo.columns.expression import WEIGHTS, Expression
from flo.columns.row_types import row_type_of
from flo.core.operator import Operator
from flo.core.structural import Source
from flo.sql import plan
from flo.sql.aggregates import Aggregates
from flo.sql.catalyst import UnsupportedQueryError, expect_columns
from flo.sql.joins import join_relations
from flo.sql.native import BRANCHES, FilterStep, Generated, Projected, Segment, SegmentStep, can_run_natively
from flo.sql.nodes import ZERO, Expr, column, literal, one_row, replace_nodes
from flo.sql.plan import Relation
from flo.sql.recursion import recursive_rows
from flo.sql.registry import is_computed, not_computed, types_text
from flo.sql.row_streams import RowStream, joined, layout_of, own_columns, united
from flo.sql.windows import add_windows, order_keys
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.zsets import MapWeights
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HIDDEN = "=="


class Compiler:
    """Makes streams of relations, over these streams. `spark` is the session that runs what Flo does not compute."""

    def __init__(self, inputs: Mapping[str, RowStream], spark: SparkSession, scope: Scope) -> None:
        self.inputs = inputs
        self.spark = spark
        self.scope = scope
        self.around: Compiler | None = None
        """Of the step of a recursion: what makes the streams that do not depend on it."""
        self.levels: dict[int, RowStream] = {}
        """The rows that a reference reads, by the number of the recursion."""
        self._streams: dict[Relation, tuple[RowStream, tuple[Expr, ...]]] = {}
        """By relations in their canonical form: their streams, and the columns of these."""
        self._segments: dict[RowStream, tuple[RowStream, Segment]] = {}
        """Streams that a segment makes, with the streams that it reads."""
        self._subqueries = count(1)
        self._natives = count()

    def query(self, relation: Relation, names: tuple[str, ...]) -> RowStream:
        """Return the stream of a query's rows. `names` are those that the user gave the columns."""
        return self.project(self.stream(relation), dict(zip(names, relation.columns, strict=True)))

    def inside(self, loop: int, rows: RowStream) -> Compiler:
        """Return a compiler for the step of a recursion, which reads these rows."""
        inner = Compiler(self.inputs, self.spark, rows.scope)
        inner.around, inner.levels = self, {**self.levels, loop: rows}
        inner._subqueries, inner._natives = self._subqueries, self._natives
        return inner

    def stream(self, relation: Relation) -> RowStream:
        if self.around is not None and not plan.references(relation):
            return self.around.stream(relation)
        return self.shared(relation, partial(MAKERS[type(relation)], self))

    def shared(self, relation: Relation, make: Callable[[Any], RowStream]) -> RowStream:
        """Return the stream that is made of a relation. Relations that are equal but for the names of their columns
        share one."""
        known = plan.canonical(relation)
        if known not in self._streams:
            self._streams[known] = make(relation), relation.columns
        stream, columns = self._streams[known]
        return self.project(stream, {new.column: old for new, old in zip(relation.columns, columns, strict=True)})

    # Rows

    def project(self, stream: RowStream, given: Mapping[str, Expr]) -> RowStream:
        """Return the rows with these columns; rows without columns have one that nobody reads."""
        given = given or {f"{HIDDEN}row": ZERO}
        stream, given = self._with_subqueries(stream, dict(given))
        if tuple(given) == layout_of(stream).names and all(
            node.is_column and node.column == name for name, node in given.items()
        ):
            return stream
        stream, given = self._with_native(stream, given)
        if self._runs_natively(stream, given.values()):
            return self._native(stream, Projected(tuple(given.items())))
        for node in given.values():
            expect_computable(node)
        expect_columns(tuple(given.values()))
        columns = {name: node.column if node.is_column else node for name, node in given.items()}
        return _apply(stream, Map(Expression(columns, (layout_of(stream),))))

    def extended(self, stream: RowStream, more: Mapping[str, Expr]) -> RowStream:
        return self.project(stream, {**own_columns(stream), **more}) if more else stream

    def filtered(self, stream: RowStream, condition: Expr) -> RowStream:
        """Return the rows that a condition holds for. What precedes a subquery is asked first: it needs no state."""
        own, before, rest = own_columns(stream), *_split_at_subquery(condition)
        for each in (before, rest):
            if each is not None:
                stream = self._where(stream, each)
        return self.project(stream, own)

    def _where(self, stream: RowStream, condition: Expr) -> RowStream:
        name = f"{HIDDEN}where"
        stream, given = self._with_subqueries(stream, {**own_columns(stream), name: condition})
        stream, given = self._with_native(stream, given)
        if self._runs_natively(stream, [given[name]]):
            return self._native(stream, FilterStep(given[name]))
        expect_computable(given[name])
        return _apply(stream, Filter(Expression(given[name], (layout_of(stream),))))

    def condition(self, stream: RowStream, condition: Expr) -> tuple[RowStream, Expr]:
        """Return the rows with the values of subqueries as columns, and the condition that reads them."""
        stream, given = self._with_subqueries(stream, {"condition": condition})
        return stream, given["condition"]

    # What Spark runs

    def _runs_natively(self, stream: RowStream, given: Iterable[Expr]) -> bool:
        """Return whether Spark runs these expressions: Flo cannot, or Spark has the rows already."""
        nodes = list(given)
        asked = stream in self._segments or not all(map(is_computed, nodes))
        return asked and all(map(can_run_natively, nodes))

    def _native(self, stream: RowStream, step: SegmentStep) -> RowStream:
        """Return the rows after a step in Spark. What follows a segment directly belongs to it."""
        below, segment = self._segments.get(stream, (stream, None))
        if segment is None:
            segment = Segment(self.spark, layout_of(stream), (step,))
        else:
            segment = segment.then(step)
        rows = _apply(below, FlatMap(segment))
        self._segments[rows] = below, segment
        return rows

    def _with_native(self, stream: RowStream, given: dict[str, Expr]) -> tuple[RowStream, dict[str, Expr]]:
        """Return the rows with more columns, and the expressions that read them, all for one engine.

        An expression of Catalyst may have operands that only Flo has, such as an exact sum, and the other way round.
        What Flo computes comes first if it can, so that what follows is one segment."""
        if not all(map(is_computed, given.values())):
            stream, given = self._with_parts(stream, given, _parts_of_flo)
            if not all(map(can_run_natively, given.values())):
                stream, given = self._with_parts(stream, given, _parts_of_spark)
        return stream, given

    def _with_parts(
        self, stream: RowStream, given: dict[str, Expr], parts_of: Callable[[Expr], Iterable[Expr]]
    ) -> tuple[RowStream, dict[str, Expr]]:
        """Return the rows with parts of expressions as columns, and the expressions that read them."""
        parts = list(dict.fromkeys(part for node in given.values() for part in parts_of(node)))
        if not parts:
            return stream, given
        more = {f"{HIDDEN}native{next(self._natives)}": node for node in parts}
        columns = {node: column(name, node.type, node.nullable) for name, node in more.items()}
        given = {name: replace_nodes(node, columns) for name, node in given.items()}
        read = frozenset[str]().union(*(node.reads for node in given.values()))
        own = {name: node for name, node in own_columns(stream).items() if name in read}
        stream = self.project(stream, {**own, **more})
        return stream, given

    def _with_subqueries(self, stream: RowStream, given: dict[str, Expr]) -> tuple[RowStream, dict[str, Expr]]:
        """Return the rows with the value of each scalar subquery as a column, and the expressions that read it."""
        asked = dict.fromkeys(each for node in given.values() for each in plan.subqueries(node))
        columns: dict[Expr, Expr] = {}
        for node in asked:
            name, relation = f"{HIDDEN}subquery{next(self._subqueries)}", node.option("relation")
            own, key = {f"{HIDDEN}key": ZERO}, {f"{name}_key": ZERO}
            columns[node] = column(name, node.type, True)
            row = self.project(self._only_row(relation, name), {name: columns[node], **key})
            stream = joined(self.extended(stream, own), row, own, key, "inner")
        return stream, {name: replace_nodes(node, columns) for name, node in given.items()}

    def _only_row(self, relation: Relation, name: str) -> RowStream:
        """Return one row with the value of a scalar subquery: null for no row. Several rows are an error."""
        (given,) = relation.columns
        rows = self.project(self.stream(relation), {name: given})
        if plan.has_one_row(relation):
            return rows
        count = f"{name}_rows"
        row = rows.agg(**{name: AggregateSpec("max", (name,)), count: AggregateSpec("count", ())})
        return self.project(row, {name: one_row(name, count, given.type)})

    # Relations

    def _scan(self, relation: plan.TableScan) -> RowStream:
        stream = self.inputs[relation.name]
        return self.project(stream, {new.column: column(old, new.type, new.nullable) for new, old in relation.pairs})

    def _constant(self, relation: plan.Constant) -> RowStream:
        """Rows of the query itself, which are there from the start."""
        fields = [pa.field(each.column, each.type, each.nullable) for each in relation.columns]
        rows, values = row_type_of(pa.schema(fields or [pa.field(f"{HIDDEN}row", pa.int32(), False)])), relation.rows
        kind: ZSet[Any] = ZSet(rows)
        given = kind.value([rows(*each) if fields else rows(0) for each in values]).fix()
        return self.scope.apply(Source(kind, given), verb="sql")[0]

    def _project(self, relation: plan.Project) -> RowStream:
        return self.project(self.stream(relation.below), {each.column.column: each.given for each in relation.given})

    def _filter(self, relation: plan.Filter) -> RowStream:
        return self.filtered(self.stream(relation.below), relation.condition)

    def _union(self, relation: plan.Union) -> RowStream:
        names = [each.column for each in relation.columns]
        parts = [
            self.project(self.stream(part), dict(zip(names, part.columns, strict=True))) for part in relation.parts
        ]
        return united(parts)

    def _expand(self, relation: plan.Expand) -> RowStream:
        below, names = self.stream(relation.below), [each.column for each in relation.columns]
        return united([self.project(below, dict(zip(names, each, strict=True))) for each in relation.projections])

    def _limit(self, relation: plan.Limit) -> RowStream:
        below = self.stream(relation.below)
        if relation.count is None and not relation.offset:
            return below
        keys, order = order_keys(relation.order)
        rows = self.extended(below, keys)
        if relation.count is None:
            rows = rows.minus(rows.limit(relation.offset, order_by=order))
        else:
            rows = rows.limit(relation.count, offset=relation.offset, order_by=order)
        return self.project(rows, relation.by_name)

    def _aggregate(self, relation: plan.Aggregate) -> RowStream:
        groups = {
            each.column if each.is_column else f"{HIDDEN}group{place}": each
            for place, each in enumerate(dict.fromkeys(relation.groups))
        }
        aggregates = Aggregates()
        results = {each.column.column: aggregates.result(each.given) for each in relation.given}
        rows = self.project(self.stream(relation.below), {**groups, **aggregates.arguments})
        if not aggregates.specs and groups:
            rows = rows.distinct()
        elif not aggregates.specs:  # one row, whatever the rows are; but they are read, and that may fail
            rows = rows.agg(**{f"{HIDDEN}rows": AggregateSpec("count")})
        elif groups:
            rows = rows.group_by(*groups).agg(**aggregates.specs)
        else:
            rows = rows.agg(**aggregates.specs)
        known = {node: column(name, node.type, node.nullable) for name, node in groups.items()}
        return self.project(rows, {name: replace_nodes(node, known) for name, node in results.items()})

    def _generate(self, relation: plan.Generate) -> RowStream:
        """explode, posexplode and the like: a row for each item; replicaterows: a row several times.

        Flo has some generators, and Spark runs the others."""
        below, generator = self.stream(relation.below), relation.generator
        if generator.name == "ReplicateRows":
            copies, *columns = generator.children
            names = [each.column for each in relation.items]
            rows = self.project(below, {"==count": copies, **dict(zip(names, columns, strict=True))})
            product = Expr("Times", pa.int64(), False, (column("==count", pa.int64(), True), WEIGHT))
            times = Expression(product, (layout_of(rows), WEIGHTS))
            return self.project(_apply(rows, MapWeights(times)), relation.by_name)
        written = _written_rows(generator)
        if written is not None:
            names = [each.column for each in relation.items]
            own = {each.column: each for each in relation.columns if each.column not in names}
            parts = [self.project(below, own | dict(zip(names, row, strict=True))) for row in written]
            return self.project(united(parts), relation.by_name)
        if generator.name == "Explode" and pa.types.is_list(generator.children[0].type):
            (item,) = relation.items
            rows = self.extended(below, {item.column: generator.children[0]})
            return self.project(rows.explode(item.column, keep_empty=relation.outer), relation.by_name)
        if generator.name == "Inline" and pa.types.is_list(generator.children[0].type):
            items = generator.children[0]
            rows = self.extended(below, {f"{HIDDEN}item": items})
            item = column(f"{HIDDEN}item", items.type.value_type, True)
            fields = {
                each.column: Expr("GetStructField", each.type, True, (item,), (("ordinal", place),))
                for place, each in enumerate(relation.items)
            }
            rows = rows.explode(item.column, keep_empty=relation.outer)
            return self.project(rows, {name: fields.get(name, node) for name, node in relation.by_name.items()})
        name = f"{HIDDEN}generator"
        below, given = self._with_native(below, {**own_columns(below), name: generator})
        rows = self._native(below, Generated(given[name], relation.outer, relation.items))
        return self.project(rows, relation.by_name)

    def _window(self, relation: plan.WindowFunctions) -> RowStream:
        return add_windows(self, self.stream(relation.below), relation)

    def _join(self, relation: plan.Join) -> RowStream:
        return join_relations(self, relation)

    def _recursion(self, relation: plan.Recursion) -> RowStream:
        return recursive_rows(self, relation)

    def _reference(self, relation: plan.Reference) -> RowStream:
        rows = self.levels[relation.loop]
        pairs = zip(relation.columns, own_columns(rows).values(), strict=True)
        return self.project(rows, {new.column: old for new, old in pairs})


def _apply(stream: RowStream, operator: Operator) -> RowStream:
    return stream.scope.apply(operator, stream, verb="sql")[0]


def _written_rows(generator: Expr) -> list[tuple[Expr, ...]] | None:
    """Return the rows of a generator whose items are written in the query; None if they are not."""
    if generator.name == "Stack":
        rows_asked, *values = generator.children
        size, names = int(rows_asked.option("value")), generator.type.value_type
        width = names.num_fields
        nulls = [literal(None, field.type) for field in names]
        rows = [values[place * width : (place + 1) * width] for place in range(size)]
        return [(*row, *nulls[len(row) :]) for row in rows]
    items = generator.children[0] if generator.children else None
    if items is None or items.name != "CreateArray" or not items.children:
        return None
    match generator.name:
        case "Explode":
            return [(each,) for each in items.children]
        case "PosExplode":
            return [(literal(place, pa.int32()), each) for place, each in enumerate(items.children)]
        case "Inline" if all(each.name == "CreateNamedStruct" for each in items.children):
            return [each.children[1::2] for each in items.children]
    return None


WEIGHT = column("weight", pa.int64(), False)


def _split_at_subquery(condition: Expr) -> tuple[Expr | None, Expr | None]:
    """Return a condition as two, both of which must hold: the first has no subqueries."""
    if not plan.subqueries(condition):
        return condition, None
    if condition.name != "And":
        return None, condition
    left, right = condition.children
    before, rest = _split_at_subquery(left)
    if rest is not None:
        return before, replace_nodes(condition, {left: rest})
    first, second = _split_at_subquery(right)
    return (before if first is None else replace_nodes(condition, {right: first})), second


def expect_computable(node: Expr) -> None:
    """Raise if a part of an expression cannot be computed on columns."""
    missing = next(not_computed(node), None)
    if missing is not None:
        reason = f"{missing.name} {types_text(missing)} is not computed between stateful operators"
        raise UnsupportedQueryError(missing.name, reason, missing.described)


def _parts_of_flo(node: Expr) -> Iterator[Expr]:
    """Yield the parts of an expression that Spark needs as columns: only Flo has them."""
    if can_run_natively(node):
        return
    if is_computed(node):
        yield node
    elif node.catalyst is not None or node.name in BRANCHES:
        for child in node.children:
            if child.catalyst is None and child.name not in BRANCHES and not can_run_natively(child):
                yield child
            else:
                yield from _parts_of_flo(child)


def _parts_of_spark(node: Expr) -> Iterator[Expr]:
    """Yield the largest parts of an expression that only Spark computes."""
    if is_computed(node):
        return
    if can_run_natively(node):
        yield node
    else:
        for child in node.children:
            yield from _parts_of_spark(child)


MAKERS: dict[type[Relation], Callable[[Compiler, Any], RowStream]] = {
    plan.TableScan: Compiler._scan,
    plan.Constant: Compiler._constant,
    plan.Project: Compiler._project,
    plan.Filter: Compiler._filter,
    plan.Union: Compiler._union,
    plan.Expand: Compiler._expand,
    plan.Limit: Compiler._limit,
    plan.Aggregate: Compiler._aggregate,
    plan.Generate: Compiler._generate,
    plan.WindowFunctions: Compiler._window,
    plan.Join: Compiler._join,
    plan.Recursion: Compiler._recursion,
    plan.Reference: Compiler._reference,
}
"""What makes the stream of each class of relations."""
