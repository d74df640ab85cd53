"""Reports which expressions between stateful operators are computed on Arrow, and which are left to Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from flo.sql import plan
from flo.sql.nodes import Node
from flo.sql.plan import Relation
from flo.sql.registry import LEAVES, not_computed, types_text

AGGREGATED = ("AggregateExpression", "WindowExpression")
"""Classes that operators maintain. Their arguments are expressions."""
STRUCTURE = ("WindowSpecDefinition", "SortOrder")


@dataclass
class Coverage:
    """How often each class of expressions occurs between stateful operators, by whether it is computed on Arrow."""

    computed: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    """Classes with the types of their operands and result."""
    incomplete: dict[str, list[str]] = field(default_factory=dict)
    """The queries with expressions that are left to Spark, and those expressions."""

    def __str__(self) -> str:
        lines = [
            f"computed on Arrow: {sum(self.computed.values())} of {len(self.computed)} classes",
            *(f"  {count:5} {name}" for name, count in self.computed.most_common()),
            f"left to Spark: {sum(self.left.values())}",
            *(f"  {count:5} {name}" for name, count in self.left.most_common()),
            *(f"  {name}: {', '.join(texts)}" for name, texts in self.incomplete.items()),
        ]
        return "\n".join(lines)


def measure_coverage(queries: Mapping[str, Relation]) -> Coverage:
    """Return the coverage of queries by their names."""
    found = Coverage()
    for name, relation in queries.items():
        for node in stateful_expressions(relation):
            missing = list(not_computed(node))
            found.left.update(f"{each.name} {types_text(each)}" for each in missing)
            found.computed.update(each.name for each in node.walk() if each.name not in LEAVES and each not in missing)
            if missing:
                found.incomplete.setdefault(name, []).extend(each.text for each in missing)
    return found


def stateful_expressions(relation: Relation) -> Iterator[Node]:
    """Yield the expressions of a plan that do not belong to an input: those that Catalyst does not run by itself."""
    if plan.is_stateless(relation):
        return
    for node in plan.expressions_in(relation):
        yield from _without_aggregates(node)
    for below in plan.relations_in(relation):
        yield from stateful_expressions(below)


def _without_aggregates(node: Node) -> Iterable[Node]:
    """Yield an expression with its aggregates as columns, and the arguments of these."""
    inner: list[Node] = []

    def replaced(each: Node) -> Node:
        if each.name in AGGREGATED:
            inner.extend(_arguments(each))
            return Node("AttributeReference", each.type, each.nullable, (), (("column", each.text),))
        children = tuple(map(replaced, each.children))
        return each if children == each.children else Node(each.name, each.type, each.nullable, children, each.options)

    yield replaced(node)
    yield from inner


def _arguments(node: Node) -> Iterator[Node]:
    """Yield the arguments of an aggregate or a window function."""
    function, *rest = node.children
    if function.name == "AggregateExpression":
        yield from _arguments(function)
    else:
        yield from function.children
    for each in rest:
        if each.name not in STRUCTURE:
            yield each
