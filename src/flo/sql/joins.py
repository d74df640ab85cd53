"""Joins of Spark SQL: equal keys, which may be null-safe, and what is left of the condition.

`NOT IN` is a join of its own: a row is left out if its key is null and there are rows on the other side, or if a key of
the other side is null.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from flo.api.aggregates import AggregateSpec
from flo.sql import plan
from flo.sql.catalyst import UnsupportedQueryError
from flo.sql.nodes import ZERO, Expr, column, combine, is_null, is_there, literal, one_row
from flo.sql.registry import is_computed
from flo.sql.row_streams import RowStream, joined, united

if TYPE_CHECKING:
    from flo.sql.compiler import Compiler


KeyPair: TypeAlias = tuple[Expr, Expr, str]
"""The keys of both sides that must be equal, and the class of the comparison."""


def join_relations(compiler: Compiler, relation: plan.Join) -> RowStream:
    if relation.how == "existence":
        return _existence(compiler, relation)
    key = _null_aware_key(relation)
    if key is not None:
        return _not_in(compiler, relation, *key)
    left, right = compiler.stream(relation.left), compiler.stream(relation.right)
    if relation.how == "single":
        return _single(compiler, relation, left, right)
    return compiler.project(_joined(compiler, relation, left, right, relation.how), relation.by_name)


def _joined(compiler: Compiler, relation: plan.Join, left: RowStream, right: RowStream, how: str) -> RowStream:
    pairs, rest = _split(relation)
    if rest is not None:
        left, rest = compiler.condition(left, rest)
    if rest is not None and not is_computed(rest):
        return _filtered(compiler, relation, left, right, how, rest)
    return _joined_on(compiler, left, right, how, pairs, rest)


def _filtered(
    compiler: Compiler, relation: plan.Join, left: RowStream, right: RowStream, how: str, condition: Expr
) -> RowStream:
    """Return the rows of a join whose condition Spark computes: on the pairs with equal keys, as a filter.

    Rows without a partner are those that are equal to no row of a pair."""
    pairs, _ = _split(relation)
    matched = compiler.filtered(_joined_on(compiler, left, right, "inner", pairs, None), condition)
    mine, theirs = relation.left.by_name, relation.right.by_name
    if how in ("semi", "anti"):
        return _by_rows(compiler, left, matched, mine, how)
    parts = [compiler.project(matched, {**mine, **theirs})]
    for sides, rows, own, other in ((("left", "full"), left, mine, theirs), (("right", "full"), right, theirs, mine)):
        if how in sides:
            alone = _by_rows(compiler, rows, matched, own, "anti")
            nulls = {name: literal(None, node.type) for name, node in other.items()}
            parts.append(compiler.project(alone, {name: {**own, **nulls}[name] for name in {**mine, **theirs}}))
    return united(parts)


def _by_rows(compiler: Compiler, rows: RowStream, matched: RowStream, own: dict[str, Expr], how: str) -> RowStream:
    """Return the rows that are part of a pair, or those that are not."""
    keys = {f"==row{place}": node for place, node in enumerate(own.values())} or {"==row": ZERO}
    mine = {f"{name}_left": node for name, node in keys.items()}
    return joined(compiler.extended(rows, mine), compiler.project(matched, keys), mine, keys, how, nulls_equal=True)


def _joined_on(
    compiler: Compiler,
    left: RowStream,
    right: RowStream,
    how: str,
    pairs: list[KeyPair],
    rest: Expr | None,
) -> RowStream:
    one, other, nulls_equal = _key_columns(pairs)
    left, right = compiler.extended(left, one), compiler.extended(right, other)
    return joined(left, right, one, other, how, where=rest, nulls_equal=nulls_equal)


def _key_columns(pairs: list[KeyPair]) -> tuple[dict[str, Expr], dict[str, Expr], bool]:
    """Return the keys of both sides as columns, and whether nulls are equal."""
    names = [f"==key{place}" for place in range(len(pairs))]
    safe = [kind == "EqualNullSafe" for _, _, kind in pairs]
    one = {f"{name}_left": each[0] for name, each in zip(names, pairs, strict=True)}
    other = {f"{name}_right": each[1] for name, each in zip(names, pairs, strict=True)}
    if any(safe) and not all(safe):
        plain = [pair for pair, null_safe in zip(pairs, safe, strict=True) if not null_safe]
        one["==side_left"] = _side([each[0] for each in plain], 1)
        other["==side_right"] = _side([each[1] for each in plain], 2)
    if not one:
        one, other = {"==key_left": ZERO}, {"==key_right": ZERO}
    return one, other, any(safe)


def _single(compiler: Compiler, relation: plan.Join, left: RowStream, right: RowStream) -> RowStream:
    """Return the rows of the left with their only partner, or nulls. It is an error to have several."""
    pairs, rest = _split(relation)
    if rest is not None:
        raise UnsupportedQueryError(
            "Join",
            "a subquery that is used as a value may have several rows",
            rest.described,
            ("(SELECT max(x) FROM … WHERE …)", "an aggregate has one row"),
        )
    one, other, nulls_equal = _key_columns(pairs)
    values = {f"==value{place}": each for place, each in enumerate(relation.right.columns)}
    specs = {name: AggregateSpec("min", (each.column,)) for name, each in values.items()}
    grouped = compiler.extended(right, other).group_by(*other).agg(**{"==count": AggregateSpec("count")}, **specs)
    return compiler.project(
        joined(compiler.extended(left, one), grouped, one, other, "left", nulls_equal=nulls_equal),
        relation.left.by_name | {each.column: one_row(name, "==count", each.type) for name, each in values.items()},
    )


def _side(keys: list[Expr], side: int) -> Expr:
    """Return 0, or the number of the side if a key is null: such rows match nothing."""
    null = combine("Or", map(is_null, keys))
    return Expr("If", pa.int32(), False, (null, literal(side, pa.int32()), ZERO))


def conjuncts(condition: Expr | None) -> Iterator[Expr]:
    """Yield the parts of a condition that must all hold."""
    if condition is None:
        return
    if condition.name == "And":
        for child in condition.children:
            yield from conjuncts(child)
    else:
        yield condition


def _split(relation: plan.Join) -> tuple[list[KeyPair], Expr | None]:
    """Return the pairs of keys that must be equal, and the rest of the condition."""
    left, right = frozenset(relation.left.by_name), frozenset(relation.right.by_name)
    pairs: list[KeyPair] = []
    rest: Expr | None = None
    for part in conjuncts(relation.condition):
        keys = _keys(part, left, right)
        if keys is not None:
            pairs.append((*keys, part.name))
        else:
            rest = part if rest is None else Expr("And", pa.bool_(), rest.nullable or part.nullable, (rest, part))
    return pairs, rest


def _keys(part: Expr, left: frozenset[str], right: frozenset[str]) -> tuple[Expr, Expr] | None:
    if part.name not in ("EqualTo", "EqualNullSafe"):
        return None
    one, other = part.children
    if not one.reads or not other.reads or plan.subqueries(part):
        return None
    if one.reads <= left and other.reads <= right:
        return one, other
    return (other, one) if one.reads <= right and other.reads <= left else None


def _null_aware_key(relation: plan.Join) -> tuple[Expr, Expr] | None:
    """Return the keys of NOT IN: an anti join on `a = b OR (a = b) IS NULL`."""
    condition = relation.condition
    if relation.how != "anti" or condition is None or condition.name != "Or":
        return None
    equal, null = condition.children
    if null.name != "IsNull" or null.children[0] != equal:
        return None
    left, right = frozenset(relation.left.by_name), frozenset(relation.right.by_name)
    return _keys(equal, left, right)


def _not_in(compiler: Compiler, relation: plan.Join, key: Expr, other: Expr) -> RowStream:
    own, all_ = {"==key": key}, {"==all": ZERO}
    others, every = {"==other": other}, {"==every": ZERO}
    left = compiler.extended(compiler.stream(relation.left), {**own, **all_})
    right = compiler.project(compiler.stream(relation.right), {**others, **every})
    mine, theirs = column("==key", key.type, True), column("==other", other.type, True)
    nulls = compiler.filtered(right, is_null(theirs))
    known = compiler.filtered(left, is_there(mine))
    different = joined(joined(known, right, own, others, "anti"), nulls, all_, every, "anti")
    unknown = compiler.filtered(left, is_null(mine))
    alone = joined(unknown, right, all_, every, "anti")
    return compiler.project(united([different, alone]), relation.by_name)


def _existence(compiler: Compiler, relation: plan.Join) -> RowStream:
    """Return the rows of the left with a column that says whether there is a partner."""
    left, right = compiler.stream(relation.left), compiler.stream(relation.right)
    own, exists = relation.left.by_name, relation.columns[-1].column
    parts = []
    for how, value in (("semi", True), ("anti", False)):
        rows = _joined(compiler, relation, left, right, how)
        parts.append(compiler.project(rows, {**own, exists: literal(value, pa.bool_())}))
    return united(parts)
