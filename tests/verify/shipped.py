"""All that Flo ships and that laws bind: operators with inputs that make their rules fire, collections, lattices."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

import flo.core
import flo.values
from flo.core.collection import Collection
from flo.core.errors import FloError
from flo.core.graph import Graph, Node, nodes, text
from flo.core.nested import Nested
from flo.core.operator import Operator
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.term import Lowering
from flo.core.typing import derive
from flo.values.keyed import Keyed
from flo.values.lattice import Lattice
from flo.values.lattice_orders import And, Flat, Max, Min, NaturalSum, Or
from flo.values.lattice_structures import GCounter, MapUnion, PNCounter, Product, SetUnion, Versioned
from flo.values.lvar import LVar
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify import check
from flo.verify.report import Report

INTS, BAG, SET, ZSET = Sequence(int), Bag(int), Set(int), ZSet(int)
MAX, SETS = LVar(Max(int)), LVar(SetUnion(int))
PAIRS = Sequence(tuple[int, int])
"""Elements with a time, or a key, as their second part."""
ELEMENTS: tuple[Collection, ...] = (INTS, BAG, SET, ZSET)
PLAIN: tuple[Collection, ...] = (*ELEMENTS, MAX)
NESTED: tuple[Collection, ...] = tuple(map(Nested, PLAIN))
KEYED: tuple[Collection, ...] = tuple(Keyed(int, inner) for inner in PLAIN)
EVERY: tuple[Collection, ...] = (*PLAIN, *NESTED, *KEYED)
"""Of every shape: of each collection, and of each inside a nested and a keyed one."""

COLLECTIONS: tuple[Collection, ...] = (
    *EVERY,
    Sequence(str),
    Sequence(float),
    Bag(tuple[int, str]),
    Set(str),
    ZSet(tuple[str, int]),
    Nested(StreamType(INTS, bounded=False)),
    Nested(INTS, BAG),
    Nested(Nested(INTS)),
    Keyed(str, Keyed(int, BAG)),
    Keyed(str, Nested(INTS)),
    Partitioned(int, 2),
)

LATTICES: tuple[Lattice[Any], ...] = (
    Max(int),
    Max(str),
    Max(tuple[int, int]),
    Min(int),
    Min(float),
    Or(),
    And(),
    NaturalSum(int),
    NaturalSum(float),
    Flat(int),
    Flat(str),
    SetUnion(int),
    SetUnion(tuple[int, str]),
    MapUnion(str, Max(int)),
    MapUnion(int, MapUnion(int, SetUnion(int))),
    Product(Max(int), SetUnion(int)),
    Product(Or(), And(), Flat(int)),
    Versioned(int, SetUnion(int)),
    Versioned(int, Flat(int)),
    GCounter(str),
    PNCounter(str),
    Lattice.of(0, max),
    Lattice.of(frozenset(), frozenset.union),
)


NO_LIMIT = 100_000_000
"""Units of work: no check does so much, so that all small inputs are tried."""


def report_of(subject: Collection | Lattice[Any]) -> Report:
    """What the checks find of a collection or a lattice."""
    most = 3 if isinstance(subject, (Sequence, Bag, Set)) else 2  # of the others there are many more
    return check(subject, most=most, tries=50, work=NO_LIMIT)


@dataclass(frozen=True)
class Case:
    """An operator, and the collections that it is tried on: one for each input."""

    operator: Operator
    over: tuple[Collection, ...] = ()
    examples: Mapping[Any, list[Any]] = field(default_factory=dict)
    """The elements to use, where others than the usual ones make the rules fire."""

    def signatures(self) -> list[StreamTypes]:
        """The input types: every boundedness that the operator takes; of more than two inputs, one for all."""
        count = len(self.over)
        flags = product((False, True), repeat=count) if count <= 2 else [(False,) * count, (True,) * count]
        return [types for bounded in flags if accepted(self.operator, types := streams(self.over, bounded))]

    def most(self) -> int:
        """How many elements small inputs have: graphs, and inputs side by side, have many more states."""
        if not self.over:
            return 0
        return 3 if len(self.over) == 1 and len(list(operators_in(self.operator))) == 1 else 2

    def check(self, tries: int) -> list[Report]:
        """On all small inputs, and so many at random, if there are inputs, for each boundedness.

        In one check where that tries all of them: what ends in one of them need not end in the others again.
        """
        tries, given, signatures = tries if self.over else 0, self.examples or None, self.signatures()
        together = len(self.over) in (1, 2) and not self.operator.shares_flag
        return [
            check(self.operator, *types, most=self.most(), tries=tries, examples=given, work=NO_LIMIT)
            for types in ([self.over] if together else signatures)
        ]

    def __str__(self) -> str:
        return text(Lowering()(self.operator))


def streams(collections: tuple[Collection, ...], bounded: tuple[bool, ...]) -> StreamTypes:
    return tuple(StreamType(kind, flag) for kind, flag in zip(collections, bounded, strict=True))


def accepted(operator: Operator, types: StreamTypes) -> bool:
    try:
        derive(Node(None, operator), types)
    except FloError:
        return False
    return True


def each(operator: Operator, *collections: Collection, **more: Any) -> list[Case]:
    """An operator of one input on each of these."""
    return [Case(operator, (collection,), **more) for collection in collections]


def both(operator: Operator, *collections: Collection, **more: Any) -> list[Case]:
    """An operator of two inputs, on two of the same, for each of these."""
    return [Case(operator, (collection, collection), **more) for collection in collections]


def operators_in(operator: Operator) -> Iterator[Operator]:
    """The operator, and those of the graphs that it holds."""
    yield operator
    for part in fields(operator):  # type: ignore[arg-type]
        graph = getattr(operator, part.name)
        for node in nodes(graph) if isinstance(graph, Graph) else ():
            yield from operators_in(node.operator)


OF_THE_CALCULUS = ("flo.core.", "flo.values.")


def shipped_classes(base: type[Any]) -> list[type[Any]]:
    """The classes with a name of their own that derive from this one, in any module of the calculus."""
    for package in (flo.core, flo.values):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found: dict[type[Any], None] = {}
    waiting = [base]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if (
                "name" in kind.__dict__
                and kind.name[0] != "_"
                and kind.__module__.startswith(("flo.core", "flo.values"))
            ):
                found[kind] = None
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))
