"""A query as Catalyst planned it, in Python: relations, and the columns that each of them has.

Columns have names that are unique in the plan: that of the user, with a number where it occurs again. Names and order
only depend on the query, so a query planned twice has the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from flo.sql.nodes import Expr, column

ColumnNodes: TypeAlias = tuple[Expr, ...]
"""Columns of a relation: nodes of the class `AttributeReference`."""


@dataclass(frozen=True)
class ResultColumn:
    """An expression, and the column that has its result."""

    column: Expr
    given: Expr


@dataclass(frozen=True)
class OrderKey:
    """A key of an order."""

    by: Expr
    descending: bool
    nulls_last: bool


@dataclass(frozen=True)
class Relation:
    """A part of a plan that has rows."""

    columns: ColumnNodes

    @property
    def by_name(self) -> dict[str, Expr]:
        return {each.column: each for each in self.columns}


@dataclass(frozen=True)
class TableScan(Relation):
    """The rows of an input. `source` has the input's own names of the columns."""

    name: str
    source: tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[Expr, str]]:
        """The columns with the input's own names of them."""
        return list(zip(self.columns, self.source, strict=True))


@dataclass(frozen=True)
class Constant(Relation):
    """Rows that are written in the query."""

    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Project(Relation):
    below: Relation
    given: tuple[ResultColumn, ...]


@dataclass(frozen=True)
class Filter(Relation):
    below: Relation
    condition: Expr


@dataclass(frozen=True)
class Join(Relation):
    """A join. `how` is inner, left, right, full, semi, anti or existence."""

    left: Relation
    right: Relation
    how: str
    condition: Expr | None


@dataclass(frozen=True)
class Aggregate(Relation):
    below: Relation
    groups: tuple[Expr, ...]
    given: tuple[ResultColumn, ...]


@dataclass(frozen=True)
class WindowFunctions(Relation):
    below: Relation
    given: tuple[ResultColumn, ...]
    partition: tuple[Expr, ...]
    order: tuple[OrderKey, ...]


@dataclass(frozen=True)
class Union(Relation):
    parts: tuple[Relation, ...]


@dataclass(frozen=True)
class Expand(Relation):
    """Each row several times, with other values."""

    below: Relation
    projections: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True)
class Generate(Relation):
    """Several rows for each row."""

    below: Relation
    generator: Expr
    outer: bool
    items: ColumnNodes
    """The columns that it adds."""


@dataclass(frozen=True)
class Limit(Relation):
    """The first rows in an order, after some that are skipped. `count` is None without a limit."""

    below: Relation
    order: tuple[OrderKey, ...]
    count: int | None
    offset: int = 0


@dataclass(frozen=True)
class Recursion(Relation):
    """The rows of all levels. The first is the anchor; each further one is what the step makes of the level before,
    until a level is empty."""

    anchor: Relation
    step: Relation
    loop: int
    """Its number, by which references in the step are recognized."""
    level_limit: int | None
    """The most levels, beyond which Spark fails; None without a limit."""
    row_limit: int | None
    """As many rows are an error of Spark; None without a limit."""
    is_set: bool = False
    """Whether a row is there once (UNION): then the rows are those that the step adds nothing to."""
    count: int | None = None
    """How many rows are wanted: no further level is computed when there are as many."""


@dataclass(frozen=True)
class Reference(Relation):
    """In the step of a recursion, the rows of the level before."""

    loop: int


def references(relation: Relation) -> set[int]:
    """Return the numbers of the recursions around a relation that it reads."""
    if isinstance(relation, Reference):
        return {relation.loop}
    below = set[int]().union(*map(references, relations_in(relation)))
    return below - {relation.loop} if isinstance(relation, Recursion) else below


def subqueries(node: Expr) -> list[Expr]:
    return [each for each in node.walk() if each.name == "ScalarSubquery"]


def scans(relation: Relation) -> set[str]:
    """Return the names of the inputs that a relation reads."""
    own = {relation.name} if isinstance(relation, TableScan) else set()
    return own.union(*map(scans, relations_in(relation)))


def _nodes_in(part: object) -> list[Expr]:
    match part:
        case Expr():
            return [part]
        case ResultColumn():
            return [part.given]
        case OrderKey():
            return [part.by]
        case tuple():
            return [node for each in part for node in _nodes_in(each)]
    return []


def is_stateless(relation: Relation) -> bool:
    """Return whether it is an input, or made of one row by row: by projections, filters and generators."""
    match relation:
        case TableScan():
            return True
        case Project():
            nodes = [each.given for each in relation.given]
        case Filter():
            nodes = [relation.condition]
        case Generate():
            nodes = [relation.generator]
        case _:
            return False
    return not any(map(subqueries, nodes)) and is_stateless(relation.below)


def has_one_row(relation: Relation) -> bool:
    """Return whether a relation always has one row, whatever its inputs hold."""
    match relation:
        case Aggregate():
            return not relation.groups
        case Constant():
            return len(relation.rows) == 1
        case Project():
            return has_one_row(relation.below)
    return False


def nodes_of(relation: Relation) -> list[Expr]:
    """Return the expressions of a relation itself."""
    own = (getattr(relation, each.name) for each in fields(relation) if each.name not in ("columns", "items"))
    return [node for part in own for node in _nodes_in(part)]


def relations_in(relation: Relation) -> list[Relation]:
    """Return the relations that one is made of, those of its subqueries included."""
    below: list[Relation] = []
    for part in vars(relation).values():
        for each in part if isinstance(part, tuple) else (part,):
            if isinstance(each, Relation):
                below.append(each)
            below += [query.option("relation") for node in _nodes_in(each) for query in subqueries(node)]
    return below


def canonical(relation: Relation) -> Relation:
    """Return the relation with columns named by where they occur first, so that it equals those that only differ in
    their names."""
    renamed: Relation = _renamed(relation, {})
    return renamed


def _renamed(part: Any, names: dict[str, str]) -> Any:
    match part:
        case Expr() if part.is_column:
            return column(names.setdefault(part.column, str(len(names))), part.type, part.nullable)
        case Expr():
            options = tuple((name, _renamed(each, names)) for name, each in part.options)
            return replace(part, children=_renamed(part.children, names), options=options)
        case Relation() | ResultColumn() | OrderKey():
            return replace(part, **{each.name: _renamed(getattr(part, each.name), names) for each in fields(part)})
        case tuple():
            return tuple(_renamed(each, names) for each in part)
    return part
