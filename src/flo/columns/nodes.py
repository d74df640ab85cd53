"""The nodes of an expression of columns: what one computes with, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from narwhals._expression_parsing import ExprNode

Data: TypeAlias = pa.Array | pa.Scalar
Options: TypeAlias = dict[str, Any]
"""The options of a node by name, such as the format of a time."""


class NodeValue(NamedTuple):
    """A column or a literal, and what is known about it."""

    data: Data
    nullable: bool
    name: str

    @property
    def kind(self) -> str:
        return f"literal {self.data.type}" if isinstance(self.data, pa.Scalar) else str(self.data.type)


ColumnNode: TypeAlias = "ExprNode"
"""A node: its kind, its name, its arguments and its options."""
ComputeNode: TypeAlias = "Callable[[ExprNode, list[NodeValue]], Data]"
"""Computes a node from its operands."""


def unary(function: Callable[..., Data]) -> ComputeNode:
    """Return a node that applies a function to its operand."""
    return lambda node, operands: function(operands[0].data)
