"""Turns the plan of a query into operators: each relation becomes a stream of rows with its columns.

The verbs of relations do the work: `join`, `group_by`, `over`, `limit`. Expressions that are keys or arguments are
computed first, as columns whose names begin with `==`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from flo.api.columns import kind_of
from flo.api.joins import RIGHT, join_rows
from flo.columns.expression import WEIGHTS, Expression
from flo.columns.layout import Layout
from flo.columns.row_types import row_type_of
from flo.core.structural import Source
from flo.sql import functions as _functions  # noqa: F401  # fills FUNCTIONS
from flo.sql import plan
from flo.sql.aggregates import Aggregates
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.native import Kept, Projected, Segment, Step, can_run_natively
from flo.sql.nodes import Node, column, is_computed, is_known, literal, replace_nodes
from flo.sql.plan import Named, Relation
from flo.sql.windows import add_windows
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.zsets import MapWeights
from flo.values.weighted import ZSet

HIDDEN = "=="


def compile_query(
    relation: Relation, inputs: Mapping[str, Any], names: tuple[str, ...] | None = None, spark: Any = None
) -> Any:
    """Return the stream of a query's rows over these streams; see `Compiler`."""
    return Compiler(inputs, spark).query(relation, names or tuple(each.column for each in relation.columns))


class Compiler:
    """Makes streams of relations, over these streams. `spark` is the session that runs what Flo does not compute."""

    def __init__(self, inputs: Mapping[str, Any], spark: Any) -> None:
        self.inputs = inputs
        self.spark = spark
        self._made: dict[Relation, tuple[Any, tuple[Node, ...]]] = {}
        """By relations in their canonical form: their streams, and the columns of these."""
        self._segments: dict[Any, tuple[Any, Segment]] = {}
        """Streams that a segment makes, with the streams that it reads."""
        self._subqueries = 0
        self._natives = 0

    def query(self, relation: Relation, names: tuple[str, ...]) -> Any:
        """Return the stream of a query's rows. `names` are those that the user gave the columns."""
        return self.project(self.stream(relation), dict(zip(names, relation.columns, strict=True)))

    def stream(self, relation: Relation) -> Any:
        """Return the stream of a relation."""
        return self.shared(relation, getattr(self, f"_{type(relation).__name__.lower()}"))

    def shared(self, relation: Relation, make: Callable[[Any], Any]) -> Any:
        """Return the stream that is made of a relation. Relations that are equal but for the names of their columns
        share one."""
        known = plan.canonical(relation)
        if known not in self._made:
            self._made[known] = make(relation), relation.columns
        found, columns = self._made[known]
        return self.project(found, {new.column: old for new, old in zip(relation.columns, columns, strict=True)})

    # Rows

    def project(self, stream: Any, given: Mapping[str, Node]) -> Any:
        """Return the rows with these columns; rows without columns have one that nobody reads."""
        given = given or {f"{HIDDEN}row": _ZERO}
        stream, given = self._with_subqueries(stream, dict(given))
        layout = Layout.of(kind_of(stream))
        assert layout is not None
        if tuple(given) == layout.names and all(node.is_column and node.column == name for name, node in given.items()):
            return stream
        stream, given = self._with_native(stream, given)
        if self._runs_natively(stream, given.values()):
            return self._native(stream, Projected(tuple(given.items())))
        for node in given.values():
            expect_computable(node)
        layout = Layout.of(kind_of(stream))
        assert layout is not None
        columns = {name: node.column if node.is_column else node for name, node in given.items()}
        return stream._then_named("sql", Map(Expression(columns, (layout,))))

    def extended(self, stream: Any, more: Mapping[str, Node]) -> Any:
        """Return the rows with more columns."""
        return self.project(stream, {**own_columns(stream), **more}) if more else stream

    def filtered(self, stream: Any, condition: Node) -> Any:
        own = own_columns(stream)
        stream, given = self._with_subqueries(stream, {**own, f"{HIDDEN}where": condition})
        stream, given = self._with_native(stream, given)
        condition = given[f"{HIDDEN}where"]
        if self._runs_natively(stream, [condition]):
            return self.project(self._native(stream, Kept(condition)), own)
        expect_computable(condition)
        layout = Layout.of(kind_of(stream))
        assert layout is not None
        found = stream._then_named("sql", Filter(Expression(condition, (layout,))))
        return self.project(found, own)

    # What Spark runs

    def _runs_natively(self, stream: Any, given: Iterable[Node]) -> bool:
        """Return whether Spark runs these expressions: Flo cannot, or Spark has the rows already."""
        nodes = list(given)
        asked = stream in self._segments or not all(map(is_computed, nodes))
        return asked and all(map(can_run_natively, nodes))

    def _native(self, stream: Any, step: Step) -> Any:
        """Return the rows after a step in Spark. What follows a segment directly belongs to it."""
        below, segment = self._segments.get(stream, (stream, None))
        if segment is None:
            layout = Layout.of(kind_of(stream))
            assert layout is not None
            segment = Segment(self.spark, layout, (step,))
        else:
            segment = segment.then(step)
        found = below._then_named("sql", FlatMap(segment))
        self._segments[found] = below, segment
        return found

    def _with_native(self, stream: Any, given: dict[str, Node]) -> tuple[Any, dict[str, Node]]:
        """Return the rows with more columns, and the expressions that read them, all for one engine.

        An expression of Catalyst may have operands that only Flo has, such as an exact sum, and the other way round.
        What Flo computes comes first if it can, so that what follows is one segment."""
        if not all(map(is_computed, given.values())):
            stream, given = self._with_parts(stream, given, _parts_of_flo)
            if not all(map(can_run_natively, given.values())):
                stream, given = self._with_parts(stream, given, _parts_of_spark)
        return stream, given

    def _with_parts(
        self, stream: Any, given: dict[str, Node], parts_of: Callable[[Node], Iterable[Node]]
    ) -> tuple[Any, dict[str, Node]]:
        """Return the rows with parts of expressions as columns, and the expressions that read them."""
        parts = list(dict.fromkeys(part for node in given.values() for part in parts_of(node)))
        if not parts:
            return stream, given
        more = {f"{HIDDEN}native{self._natives + place}": node for place, node in enumerate(parts)}
        self._natives += len(more)
        found = {node: column(name, node.type, node.nullable) for name, node in more.items()}
        given = {name: replace_nodes(node, found) for name, node in given.items()}
        read = frozenset[str]().union(*(node.reads for node in given.values()))
        own = {name: node for name, node in own_columns(stream).items() if name in read}
        stream = self.project(stream, {**own, **more})
        return stream, given

    def _with_subqueries(self, stream: Any, given: dict[str, Node]) -> tuple[Any, dict[str, Node]]:
        """Return the rows with the value of each scalar subquery as a column, and the expressions that read it."""
        asked = dict.fromkeys(each for node in given.values() for each in plan.subqueries(node))
        found: dict[Node, Node] = {}
        for node in asked:
            self._subqueries += 1
            name, relation = f"{HIDDEN}subquery{self._subqueries}", node.option("relation")
            rows = self.project(self.stream(relation), {name: relation.columns[0], f"{name}_key": _ZERO})
            stream = self.extended(stream, {f"{HIDDEN}key": _ZERO})
            stream = join_rows(stream, rows, f"{HIDDEN}key", f"{name}_key", "left", None, RIGHT, False)
            found[node] = column(name, node.type, True)
        return stream, {name: replace_nodes(node, found) for name, node in given.items()}

    # Relations

    def _scan(self, relation: plan.Scan) -> Any:
        stream = self.inputs[relation.name]
        return self.project(stream, {new.column: column(old, new.type, new.nullable) for new, old in relation.pairs})

    def _constant(self, relation: plan.Constant) -> Any:
        """Rows of the query itself, which are there from the start."""
        fields = [pa.field(each.column, each.type, each.nullable) for each in relation.columns]
        rows, values = row_type_of(pa.schema(fields or [pa.field(f"{HIDDEN}row", pa.int32(), False)])), relation.rows
        kind: ZSet[Any] = ZSet(rows)
        scope = next(iter(self.inputs.values())).scope
        given = kind.value([rows(*each) if fields else rows(0) for each in values]).fix()
        (stream,) = scope.apply(Source(kind, given), verb="sql")
        return stream

    def _project(self, relation: plan.Project) -> Any:
        return self.project(self.stream(relation.below), {each.column.column: each.given for each in relation.given})

    def _filter(self, relation: plan.Filter) -> Any:
        return self.filtered(self.stream(relation.below), relation.condition)

    def _union(self, relation: plan.Union) -> Any:
        names = [each.column for each in relation.columns]
        parts = [
            self.project(self.stream(part), dict(zip(names, part.columns, strict=True))) for part in relation.parts
        ]
        return _united(parts)

    def _expand(self, relation: plan.Expand) -> Any:
        below, names = self.stream(relation.below), [each.column for each in relation.columns]
        return _united([self.project(below, dict(zip(names, each, strict=True))) for each in relation.projections])

    def _limit(self, relation: plan.Limit) -> Any:
        from flo.api.ordering import asc, desc

        below = self.stream(relation.below)
        if relation.count is None and not relation.offset:
            return below
        keys = {f"{HIDDEN}order{place}": each.by for place, each in enumerate(relation.order)}
        rows = self.extended(below, keys)
        order = [
            (desc if each.descending else asc)(name, nulls_last=each.nulls_last)
            for name, each in zip(keys, relation.order, strict=True)
        ]
        if relation.count is None:
            skipped = rows.limit(relation.offset, order_by=order or None)
            return self.project(rows.minus(skipped), _by_name(relation.columns))
        found = rows.limit(relation.count, offset=relation.offset, order_by=order or None)
        return self.project(found, _by_name(relation.columns))

    def _aggregate(self, relation: plan.Aggregate) -> Any:
        groups = {
            each.column if each.is_column else f"{HIDDEN}group{place}": each
            for place, each in enumerate(dict.fromkeys(relation.groups))
        }
        aggregates = Aggregates(len(groups))
        results = {each.column.column: aggregates.result(each.given) for each in relation.given}
        rows = self.project(self.stream(relation.below), {**groups, **aggregates.arguments})
        if not aggregates.specs and groups:
            found = rows.distinct()
        elif groups:
            found = rows.group_by(*groups).agg(**aggregates.specs)
        else:
            found = rows.agg(**aggregates.specs)
        known = {node: column(name, node.type, node.nullable) for name, node in groups.items()}
        return self.project(found, {name: replace_nodes(node, known) for name, node in results.items()})

    def _generate(self, relation: plan.Generate) -> Any:
        """explode, posexplode and the like: a row for each item; replicaterows: a row several times."""
        below, generator = self.stream(relation.below), relation.generator
        if generator.name == "ReplicateRows":
            count, *columns = generator.children
            names = [each.column for each in relation.made]
            rows = self.project(below, {"==count": count, **dict(zip(names, columns, strict=True))})
            layout = Layout.of(kind_of(rows))
            assert layout is not None
            times = Expression(
                Node("Times", pa.int64(), False, (column("==count", pa.int64(), True), WEIGHT)), (layout, WEIGHTS)
            )
            return self.project(rows._then_named("sql", MapWeights(times)), _by_name(relation.columns))
        if generator.name == "Explode" and pa.types.is_list(generator.children[0].type):
            (made,) = relation.made
            rows = self.extended(below, {made.column: generator.children[0]})
            return self.project(rows.explode(made.column, keep_empty=relation.outer), _by_name(relation.columns))
        raise UnsupportedQueryError("Generate", f"Flo does not maintain {generator.name}", generator.text)

    def _window(self, relation: plan.Window) -> Any:
        return add_windows(self, self.stream(relation.below), relation)

    def _join(self, relation: plan.Join) -> Any:
        from flo.sql.joins import join_relations

        return join_relations(self, relation)


_ZERO = literal(0, pa.int32())
WEIGHT = column("weight", pa.int64(), False)


def own_columns(stream: Any) -> dict[str, Node]:
    """Return the columns of a stream's rows."""
    layout = Layout.of(kind_of(stream))
    assert layout is not None
    return {
        name: column(name, cell.arrow, cell.nullable) for name, cell in zip(layout.names, layout.cells, strict=True)
    }


def _by_name(columns: tuple[Node, ...]) -> dict[str, Node]:
    return {each.column: each for each in columns}


def _united(parts: list[Any]) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found.union(part)
    return found


def expect_computable(node: Node) -> None:
    """Raise if a part of an expression cannot be computed on columns."""
    for each in node.walk():
        if not is_known(each):
            raise UnsupportedQueryError(each.name, "Flo does not compute this function", each.text)


def _parts_of_flo(node: Node) -> Iterator[Node]:
    """Yield the parts of an expression that Spark needs as columns: only Flo has them."""
    if can_run_natively(node):
        return
    if is_computed(node):
        yield node
    elif node.catalyst is not None:
        for child in node.children:
            if child.catalyst is None and not child.is_column:
                yield child
            else:
                yield from _parts_of_flo(child)


def _parts_of_spark(node: Node) -> Iterator[Node]:
    """Yield the largest parts of an expression that only Spark computes."""
    if is_computed(node):
        return
    if can_run_natively(node):
        yield node
    else:
        for child in node.children:
            yield from _parts_of_spark(child)


__all__ = ["Compiler", "Named", "compile_query", "own_columns"]
