"""Everything that authors of operators and collections need: base classes, values, states and checks.

    from flo.authoring import SequenceValue, Unary, expect_collection

An operator is a frozen dataclass derived from `Operator`, or from `Unary` or `Sides` if it consumes its inputs unit by
unit. A collection is a `Value` and a `Collection`, or an `ElementValue` and an `ElementCollection`. `Elements` and
`PersistentMap` hold states. `initial`, `program` and the constructors of graphs build programs by hand.
`flo.verify.check` tests the laws.
"""

from flo.core.collection import Collection, End, Value
from flo.core.elements import returned_type
from flo.core.facts import Demand, PrimaryKey, Reads, Timing
from flo.core.graph import Graph, Node, Parallel, Sequential, node, parallel, sequence
from flo.core.nested import Nested, NestedValue
from flo.core.operator import (
    Bound,
    Delta,
    Deltas,
    Measure,
    Operator,
    Step,
    Values,
    concat_all,
    expect_bounded,
    expect_collection,
)
from flo.core.persistent import Elements, PersistentMap
from flo.core.semantics import measure, small_steps, stuck
from flo.core.stream_type import Derivation, StreamType, StreamTypes
from flo.core.structural import Source, Wire
from flo.core.term import Call, Lowering, Term
from flo.core.typing import initial, program
from flo.values.element_value import ElementCollection, ElementValue
from flo.values.keyed import KeyedValue
from flo.values.lvar import LVarValue
from flo.values.operators.elementwise import Filter, FlatMap, Map
from flo.values.operators.sequences import Fold, Scan
from flo.values.operators.shapes import ElementKind, Sides, Unary
from flo.values.sequence import SequenceValue
from flo.values.weighted import BagValue, SetValue, ZSetValue

__all__ = [
    "BagValue",
    "Bound",
    "Call",
    "Collection",
    "Delta",
    "Deltas",
    "Demand",
    "Derivation",
    "ElementCollection",
    "ElementKind",
    "ElementValue",
    "Elements",
    "End",
    "Filter",
    "FlatMap",
    "Fold",
    "Graph",
    "KeyedValue",
    "LVarValue",
    "Lowering",
    "Map",
    "Measure",
    "Nested",
    "NestedValue",
    "Node",
    "Operator",
    "Parallel",
    "PersistentMap",
    "PrimaryKey",
    "Reads",
    "Scan",
    "Sequential",
    "SequenceValue",
    "SetValue",
    "Sides",
    "Source",
    "Step",
    "StreamType",
    "StreamTypes",
    "Term",
    "Timing",
    "Unary",
    "Value",
    "Values",
    "Wire",
    "ZSetValue",
    "concat_all",
    "expect_bounded",
    "expect_collection",
    "initial",
    "measure",
    "node",
    "parallel",
    "program",
    "returned_type",
    "sequence",
    "small_steps",
    "stuck",
]
