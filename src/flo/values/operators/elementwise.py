"""map, filter and flat_map, on every collection of elements (figure "operational semantics for Flink operators")."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from flo.core.elements import returned_type
from flo.core.facts import PrimaryKey, Reads, Timing, first_key
from flo.core.operator import Bound, Deltas, Operator, expect_collection
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.untyped import Element, ElementFunction, TypeForm, Unit
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed
from flo.values.operators.shapes import ElementKind, Unary, expect_all_of_type, expect_declared
from flo.values.partitioned import Partitioned
from flo.values.row_functions import passed_by
from flo.values.weighted import ZSetValue


def with_element(given: StreamType, element: object) -> StreamType:
    """Return the same collection and boundedness with another element type."""
    assert isinstance(given.collection, ElementCollection)
    return StreamType(type(given.collection)(element), given.bounded)


def expect_elements(operator: Operator, given: StreamType) -> None:
    """Raise unless the input is a collection of elements. Keyed streams have them under each key."""
    inside = f"{{input}}.per_key(lambda rows: rows.{operator.name}(…))"
    instead = ((inside, "does it under each key"),) if isinstance(given.collection, Keyed) else ()
    if isinstance(given.collection, Partitioned):
        instead = ((inside, "does it in each partition"),)
    expect_collection(operator, given, ElementCollection, instead=instead)  # type: ignore[type-abstract]


@dataclass(frozen=True)
class Map(Unary):
    """map(f): (S<T>, X) ↪ (S<U>, X).

    On a z-set it is a projection: elements change, weights do not. The paper's `map-zset`, which changes weights, is
    the rule of `map_weights`.
    """

    f: ElementFunction

    name = "map"
    keeps = Bound.NOTHING
    row_by_row = True
    retracts = False
    timing = Timing.MAKES
    reads = Reads(functions={"f": (0,)}, makes="f")

    def output_key(self, keys: tuple[PrimaryKey, ...], inputs: StreamTypes, columns: tuple[str, ...]) -> PrimaryKey:
        return passed_by(self.f, keys[0])

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_elements(self, inputs[0])
        return (with_element(inputs[0], returned_type(self.f)),)

    def rule_on(self, rule: str, source: ElementKind) -> str:
        return "project-zset" if source is ZSetValue else super().rule_on(rule, source)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        results = source.mapped(self.f, units)
        expect_declared(self.f, results.elements_list())
        return self, (results,)


@dataclass(frozen=True)
class Filter(Unary):
    """filter(keep): (S<T>, X) ↪ (S<T>, X)."""

    keep: ElementFunction

    name = "filter"
    keeps = Bound.NOTHING
    row_by_row = True
    retracts = False
    timing = Timing.PASSES
    output_key = first_key
    reads = Reads(passes=(0,), functions={"keep": (0,)})

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_elements(self, inputs[0])
        return inputs

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (source.filtered(self.keep, units),)


@dataclass(frozen=True)
class FlatMap(Unary):
    """flat_map(f): turns each element into any number of elements."""

    f: Callable[[Element], Iterable[Element]]

    name = "flat_map"
    keeps = Bound.NOTHING
    row_by_row = True
    retracts = False
    timing = Timing.MAKES

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_elements(self, inputs[0])
        return (with_element(inputs[0], item_type(returned_type(self.f))),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        results = source.flat_mapped(self.f, units)
        expect_all_of_type(self.f, results.elements_list(), item_type(returned_type(self.f)))
        return self, (results,)


def item_type(kind: TypeForm) -> TypeForm:
    """Return the element type of `list[int]`, `Iterator[int]` and the like; Any if it is not known."""
    origin, parts = get_origin(kind), get_args(kind)
    if not (isinstance(origin, type) and issubclass(origin, Iterable)) or issubclass(origin, Mapping):
        return Any
    one = len(parts) == 1 or issubclass(origin, Generator) or (origin is tuple and parts[1:] == (...,))
    return parts[0] if one else Any
