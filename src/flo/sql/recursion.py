"""WITH RECURSIVE: a fixpoint of rows with their level.

    anchor  ─> level 1 ─┐                 n  level        SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3
                        ├─> rows          1  1
    step of level i ─> level i + 1 ─┘     2  2
                                          3  3

Spark computes one level after the other, and keeps duplicates (UNION ALL). The step reads the level before, and nothing
else. Here all levels are one relation, with the level as a column, which is not made distinct. The step works level by
level, so joins compare the level too, and groups have it as a key. What does not depend on the recursion is in every
level that there is. So a level is a function of the one before, and the relation is the same as Spark's, whatever
changes led to it.

With UNION, a row is there once: the relation has no level, and is the set that the step adds nothing to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flo.api.aggregates import AggregateSpec
from flo.api.fixpoint_verbs import build_fixpoint
from flo.columns.expression import Expression
from flo.columns.row_types import row_type_of
from flo.sql import plan
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import Expr, column, combine, literal
from flo.sql.plan import Relation, ResultColumn
from flo.sql.row_streams import RowStream, joined, layout_of, own_columns, united
from flo.values.operators.elementwise import Filter
from flo.values.operators.fixpoint import MOST_ROUNDS, RowLimit
from flo.values.weighted import ZSet

if TYPE_CHECKING:
    from flo.sql.compiler import Compiler

LEVEL = "==level"
NUMBER = pa.int32()
LEVEL_OF_ROW = column(LEVEL, NUMBER, False)
ONE = literal(1, NUMBER)
WITHOUT_LIMIT = 10**9
"""The rounds of a recursion for which Spark has no limit."""


def recursive_rows(compiler: Compiler, relation: plan.Recursion) -> RowStream:
    """Return the rows of a recursion."""
    if plan.references(relation):
        raise _nested()
    rows = _set(compiler, relation) if relation.is_set else _levels(compiler, relation)
    return compiler.project(rows, relation.by_name)


def _nested() -> UnsupportedQueryError:
    return UnsupportedQueryError(
        "UnionLoop",
        "a recursion that depends on the recursion around it has levels within levels",
        instead=("WITH RECURSIVE a …, b …", "one after the other, or both in one, with a column that says which"),
    )


def _kind(relation: plan.Recursion, *more: Expr) -> ZSet[Any]:
    """Return the type of the rows. Nulls may come from the step."""
    fields = [pa.field(each.column, each.type, True) for each in relation.columns]
    return ZSet(row_type_of(pa.schema([*fields, *(pa.field(each.column, each.type, False) for each in more)])))


def _named(relation: plan.Recursion, part: Relation) -> dict[str, Expr]:
    """Return the columns of the anchor or the step under the names of the recursion."""
    return {new.column: old for new, old in zip(relation.columns, part.columns, strict=False)}


def _set(compiler: Compiler, relation: plan.Recursion) -> RowStream:
    """Return the rows of a recursion with UNION."""
    anchor = compiler.project(compiler.stream(relation.anchor), _named(relation, relation.anchor))

    def added(inner: Compiler) -> RowStream:
        return anchor.union(inner.project(inner.stream(relation.step), _named(relation, relation.step)))

    if relation.loop not in plan.references(relation.step):
        return added(compiler).distinct()

    def body(rows: RowStream) -> RowStream:
        return added(compiler.inside(relation.loop, rows))

    (rows,) = build_fixpoint(compiler.scope, {"rows": _kind(relation)}, body, MOST_ROUNDS)
    return rows


def _levels(compiler: Compiler, relation: plan.Recursion) -> RowStream:
    """Return the rows of a recursion with UNION ALL, once for each way in which they come about."""
    first = {**_named(relation, relation.anchor), LEVEL: ONE}
    anchor = compiler.project(compiler.stream(relation.anchor), first)
    step, level = _ByLevel(relation).of(relation.step)
    next_level = Expr("Add", NUMBER, False, (level, ONE), (("mode", "ANSI"),))

    def body(rows: RowStream) -> RowStream:
        open_rows = rows if relation.level_limit is None else _where(rows, _at_most(relation.level_limit))
        if relation.count is not None:
            open_rows = _below(compiler, open_rows, relation.count)
        inner = compiler.inside(relation.loop, open_rows)
        return anchor.union(inner.project(inner.stream(step), {**_named(relation, step), LEVEL: next_level}))

    rounds = WITHOUT_LIMIT if relation.level_limit is None else relation.level_limit + 1
    most = None if relation.count is not None or relation.row_limit is None else RowLimit(relation.row_limit)
    kind = _kind(relation, LEVEL_OF_ROW)
    (rows,) = build_fixpoint(compiler.scope, {"rows": kind}, body, rounds, as_sets=False, row_limit=most)
    if relation.count is not None:
        rows = rows.limit(relation.count, order_by=LEVEL)
    return _within_limits(compiler, relation, rows)


def _where(rows: RowStream, condition: Expr) -> RowStream:
    return rows.scope.apply(Filter(Expression(condition, (layout_of(rows),))), rows, verb="sql")[0]


def _at_most(limit: int) -> Expr:
    return Expr("LessThanOrEqual", pa.bool_(), False, (LEVEL_OF_ROW, literal(limit, NUMBER)))


def _below(compiler: Compiler, rows: RowStream, most: int) -> RowStream:
    """Return the rows of levels up to which there are fewer than `most` rows: Spark stops when there are as many."""
    counted = rows.group_by(LEVEL).agg(**{"==rows": AggregateSpec("count")})
    running = counted.over(order_by=LEVEL).with_columns(**{"==sum": AggregateSpec("sum", ("==rows",))})
    total = column("==sum", layout_of(running).schema.field("==sum").type, True)
    fewer = Expr("LessThan", pa.bool_(), True, (total, literal(most, total.type)))
    key = {f"{LEVEL}_open": LEVEL_OF_ROW}
    return compiler.project(
        joined(rows, compiler.project(_where(running, fewer), key), {LEVEL: LEVEL_OF_ROW}, key, "inner"),
        own_columns(rows),
    )


def _within_limits(compiler: Compiler, relation: plan.Recursion, rows: RowStream) -> RowStream:
    """Return the rows, which are an error if they are beyond the limits of levels and rows.

    The numbers of rows are counted, and a filter that keeps nothing looks at them."""
    row_limit = None if relation.count is not None else relation.row_limit
    if relation.level_limit is None and row_limit is None:
        return rows
    within = literal(True, pa.bool_()) if relation.level_limit is None else _at_most(relation.level_limit)
    beyond = Expr("Not", pa.bool_(), False, (within,))
    names = "==within", "==beyond"
    marks = {
        name: Expr("If", NUMBER, True, (each, ONE, literal(None, NUMBER)))
        for name, each in zip(names, (within, beyond), strict=True)
    }
    counts = compiler.project(rows, marks).agg(**{name: AggregateSpec("count", (name,)) for name in names})
    limits = (("levels", relation.level_limit), ("rows", row_limit))
    outside = Expr("RecursionLimits", pa.bool_(), True, tuple(column(e, pa.int64(), True) for e in names), limits)
    nothing = {
        name: replace(literal(None, each.type), nullable=each.nullable) for name, each in own_columns(rows).items()
    }
    return united([rows, compiler.project(_where(counts, outside), nothing)])


@dataclass
class _ByLevel:
    """Rewrites the step of a recursion so that it works level by level: each relation has the level as last column."""

    recursion: plan.Recursion
    count: int = 0

    def _new_level(self) -> Expr:
        self.count += 1
        return column(f"{LEVEL}{self.count}", NUMBER, False)

    def _depends(self, relation: Relation) -> bool:
        return self.recursion.loop in plan.references(relation)

    def of(self, relation: Relation) -> tuple[Relation, Expr]:
        """Return a relation with the level, and the column that has it."""
        if isinstance(relation, plan.Reference) and relation.loop == self.recursion.loop:
            level = self._new_level()
            return replace(relation, columns=(*relation.columns, level)), level
        if not self._depends(relation):
            return self._in_every_level(relation)
        self._expect_no_subquery(relation)
        match relation:
            case plan.Join():
                return self._join(relation)
            case plan.Union():
                parts, level = tuple(self.of(part)[0] for part in relation.parts), self._new_level()
                return replace(relation, columns=(*relation.columns, level), parts=parts), level
            case (
                plan.Project()
                | plan.Filter()
                | plan.Generate()
                | plan.Expand()
                | plan.Aggregate()
                | plan.WindowFunctions()
            ):
                below, level = self.of(relation.below)
                changed: dict[str, Any] = {"columns": (*relation.columns, level), "below": below}
                match relation:
                    case plan.Project() | plan.Aggregate():
                        changed["given"] = (*relation.given, ResultColumn(level, level))
                    case plan.Expand():
                        changed["projections"] = tuple((*each, level) for each in relation.projections)
                    case plan.WindowFunctions():
                        changed["partition"] = (*relation.partition, level)
                if isinstance(relation, plan.Aggregate) and relation.groups:
                    return replace(relation, **changed, groups=(*relation.groups, level)), level
                if not isinstance(relation, plan.Aggregate):
                    return replace(relation, **changed), level
            case plan.Recursion():
                raise _nested()
            case plan.Limit(count=None, offset=0):
                return self.of(relation.below)
        name = type(relation).__name__
        reason = (
            f"the step of a recursion has a {name.lower()} of the recursive relation, and Flo has none for each level"
        )
        raise UnsupportedQueryError(name, reason, instead=("after the recursion", "what does not have to be in it"))

    def _expect_no_subquery(self, relation: Relation) -> None:
        for node in plan.nodes_of(relation):
            if any(self._depends(each.option("relation")) for each in plan.subqueries(node)):
                raise UnsupportedQueryError(
                    "ScalarSubquery",
                    "a subquery in the step of a recursion reads the recursive relation, and is no join",
                    node.described,
                    ("JOIN", "of the recursive relation"),
                )

    def _in_every_level(self, relation: Relation) -> tuple[Relation, Expr]:
        """Return the rows of a relation that is the same in every level, for each level that there is."""
        names = [f"{LEVEL}{self.count}_{place}" for place, _ in enumerate(self.recursion.columns)]
        own = tuple(column(name, of.type, True) for name, of in zip(names, self.recursion.columns, strict=True))
        reference, level = self.of(plan.Reference(own, self.recursion.loop))
        levels = plan.Aggregate((level,), reference, (level,), (ResultColumn(level, level),))
        return plan.Join((*relation.columns, level), relation, levels, "inner", None), level

    def _join(self, relation: plan.Join) -> tuple[Relation, Expr]:
        left, right, condition = relation.left, relation.right, relation.condition
        needs_left = relation.how not in ("inner", "right") or self._depends(left)
        needs_right = relation.how in ("right", "full") or self._depends(right)
        levels: list[Expr] = []
        if needs_left:
            left, level = self.of(left)
            levels.append(level)
        if needs_right:
            right, level = self.of(right)
            levels.append(level)
        if len(levels) > 1:
            if relation.how == "full" or (relation.how == "anti" and condition is not None and condition.name == "Or"):
                raise UnsupportedQueryError(
                    "Join",
                    "the step of a recursion has a full join of the recursive relation, or NOT IN",
                    instead=("NOT EXISTS (…)", "instead of NOT IN"),
                )
            same = Expr("EqualTo", pa.bool_(), False, tuple(levels))
            condition = same if condition is None else combine("And", (condition, same))
        level = levels[-1] if relation.how == "right" else levels[0]
        columns = (*relation.columns, level)
        return plan.Join(columns, left, right, relation.how, condition), level
