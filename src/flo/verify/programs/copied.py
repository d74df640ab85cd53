"""Copies of operators, so that what a check does to one that changes itself is not done to the user's own."""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass
from typing import Any

from flo.core.graph import Graph, Node
from flo.core.operator import Operator


def copied(graph: Graph) -> Graph:
    """The same graph, with operators of its own."""
    if isinstance(graph, Node):
        return Node(graph.state, copied_operator(graph.operator), graph.origin)
    return type(graph)(copied(graph.left), copied(graph.right))


def copied_operator(operator: Operator) -> Operator:
    if not is_dataclass(operator):
        return operator
    own = copy.copy(operator)
    for field in fields(operator):
        object.__setattr__(own, field.name, _copied(getattr(operator, field.name)))
    return own


def _copied(part: Any) -> Any:
    """A copy, if there is one that is equal: a mark that is only equal to itself is none that a step changes."""
    if isinstance(part, Operator):
        return copied_operator(part)
    try:
        own = copy.deepcopy(part)
        return own if own == part else part
    except Exception:  # what cannot be copied is shared
        return part
