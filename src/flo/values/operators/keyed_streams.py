"""Operators on keyed collections: key_by, map_values, filter_keys, entries and join; `per_key` is in per_key.py."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flo.core.collection import Collection, Value
from flo.core.elements import returned_type
from flo.core.errors import CollectionError, ElementError, TypeMismatch, brief
from flo.core.facts import Timing
from flo.core.operator import Bound, Delta, Deltas, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.type_names import type_name
from flo.core.type_relations import accepts
from flo.core.untyped import Element, ElementFunction, Unit
from flo.values.canonical import canonical_element
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lattice import BOTTOM
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.joins import Index, Into, KeptJoin, expect_equal_keys
from flo.values.operators.shapes import (
    ByPortions,
    ElementKind,
    Portions,
    Unary,
    consume_each,
    evaluate_ahead,
    union_type,
)
from flo.values.partitioned import Partitioned, partitioned_as
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, Set, ZSet, ZSetValue, bag_of

TO_KEYED = (("{input}.key_by(f)", "one stream per key"),)


def expect_keyed(operator: Operator, given: StreamType, index: int = 0) -> Keyed[Element, Element]:
    return expect_collection(operator, given, Keyed, index=index, instead=TO_KEYED)


def expect_inner(operator: Operator, given: StreamType, *kinds: type[Collection], index: int = 0) -> Collection:
    """Raise unless the collection under each key is one of these; return it."""
    inner = expect_keyed(operator, given, index).inner
    if not isinstance(inner, kinds):
        names = " or ".join(kind.name for kind in kinds)
        raise CollectionError(
            f"`{operator.name}` requires {names} under each key; {{input}} has a {inner.name}",
            facts=(("{input}", given.described()),),
            instead=(("{input}.per_key(lambda s: …)", "runs a graph for every key"),),
            index=index,
        )
    return inner


def inner_types(operator: Operator, inputs: StreamTypes) -> StreamTypes:
    """Return the input types of a key's graph. Z-sets share one X, because the graph sees all ends at once.

    LVars behind the first input are shared by all keys."""
    if any(isinstance(given.collection, LVar) for given in inputs[1:]):
        own = tuple(given for given in inputs if not isinstance(given.collection, LVar))
        own_types = iter(inner_types(operator, own))
        return tuple(given if isinstance(given.collection, LVar) else next(own_types) for given in inputs)
    keyed = [expect_keyed(operator, given, index) for index, given in enumerate(inputs)]
    if not keyed:
        raise TypeMismatch(f"the body of `{operator.name}` has no input, so there are no keys")
    for index, each in enumerate(keyed):
        same = accepts(keyed[0].key, each.key)
        if not same or keyed[0].cancels != each.cancels:
            reason = "only keys of z-sets can disappear" if same else "they have different key types"
            raise CollectionError(
                f"`{operator.name}` cannot run one graph per key on these inputs: {reason}",
                facts=tuple((f"input {n + 1}", other.described()) for n, other in enumerate(inputs)),
                index=index,
            )
    every = all(given.bounded for given in inputs)
    flags = (every if keyed[0].cancels else given.bounded for given in inputs)
    return tuple(StreamType(each.inner, bounded) for each, bounded in zip(keyed, flags, strict=True))


@dataclass(frozen=True)
class KeyBy(Unary):
    """key_by(f): (C<T>, X) ↪ (Keyed<K, C<T>>, X). The order under each key is kept."""

    f: ElementFunction

    name = "key_by"
    keeps = Bound.NOTHING
    retracts = False
    timing = Timing.PASSES

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, Bag, Set, ZSet)
        return (StreamType(Keyed(returned_type(self.f), inputs[0].collection), inputs[0].bounded),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        groups: dict[Element, list[Element]] = {}
        for unit in units:
            element = unit if source is SequenceValue else unit[0]
            groups.setdefault(canonical_element(self.f(element)), []).append(unit)
        return self, (KeyedValue.of({key: source.of(group) for key, group in groups.items()}),)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (KeyedValue.terminator(),)


def two_homes(key: object, one: int, other: int) -> ElementError:
    """Return the error about a key that is in two partitions."""
    return ElementError(
        f"the key {brief(key)} is in the partitions {min(one, other)} and {max(one, other)}, so its rows have no order",
        instead=(
            ("a producer that keys its rows", "sends all rows of a key to one partition"),
            ("stream.entries().map(…).key_by(…)", "a bag for each key"),
        ),
    )


@dataclass(frozen=True)
class KeyPartitions(ByPortions):
    """key_partitions(f): (Partitioned<T>, X) ↪ (Keyed<K, S<T>>, X), where each key is in one partition.

    The order under a key is that of its partition. `homes` has the partition of each key: one that comes in another
    partition too is an error, because its rows would have no order.
    """

    f: ElementFunction
    homes: PersistentMap[Element, int] = PersistentMap()  # noqa: RUF009

    name = "key_partitions"
    keeps = Bound.GROUPS
    retracts = False
    timing = Timing.PASSES
    across_keys = True
    signature = "(Partitioned[T], X) -> (Keyed[K, Sequence[T]], X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Partitioned)
        return (StreamType(Keyed(returned_type(self.f), expect_keyed(self, inputs[0]).inner), inputs[0].bounded),)

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, KeyedValue)
        portions = key_portions(value, every=every)
        for (_, rest), (after, output) in consume_each(
            portions, lambda it: self._keyed(it[0]), lambda it: key_note(it[0])
        ):
            yield Step("key-partitions", (rest,), after, (output,))
        if value.ending():
            end = (KeyedValue.terminator(),)
            yield Step("key-partitions-terminated", (value.passed(),), KeyPartitions(self.f), end)

    def _keyed(self, entries: dict[int, Any]) -> tuple[Operator, Delta]:
        """Return the operator and its output after these rows of some partitions."""
        groups: dict[Element, list[Element]] = {}
        homes: dict[Element, int] = {}
        for partition, value in entries.items():
            units = value.all_units()
            evaluate_ahead(self.f, units)
            for unit in units:
                key = canonical_element(self.f(unit))
                home = homes.setdefault(key, self.homes.get(key, partition))
                if home != partition:
                    raise two_homes(key, home, partition)
                groups.setdefault(key, []).append(unit)
        after = KeyPartitions(self.f, self.homes.updated(homes))
        return after, KeyedValue.of({key: SequenceValue.of(group) for key, group in groups.items()}) if groups else None


class KeyedUnary(ByPortions):
    """An operator with one keyed input, defined by what happens to some keys: a step consumes one, `advance` all."""

    keeps = Bound.NOTHING
    retracts = False

    @abstractmethod
    def consume(self, entries: dict[Element, Any]) -> Delta:
        """Return the output for what has arrived under some keys."""

    def finish(self) -> Value:
        """Return the output when the end of the input is passed on."""
        return KeyedValue.terminator()

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, KeyedValue)
        portions = key_portions(value, every=every)
        for (_, rest), output in consume_each(portions, lambda it: self.consume(it[0]), lambda it: key_note(it[0])):
            yield Step(self.rule, (rest,), self, (output,))
        if value.ending():
            yield Step(f"{self.rule}-terminated", (value.passed(),), self, (self.finish(),))


def key_portions(value: KeyedValue, *, every: bool) -> Iterator[tuple[dict[Element, Any], KeyedValue]]:
    """Yield what a step may consume, the content of one key or of all keys, with the rest of the value."""
    keys = list(value.entries)
    for portion in ([keys] if keys else []) if every else ([key] for key in keys):
        rest, taken = value.take_keys(portion)
        yield taken, rest


def key_note(entries: dict[Element, Any]) -> str:
    return f"under the key {next(iter(entries))!r}"


@dataclass(frozen=True)
class MapValues(KeyedUnary):
    """map_values(f): `map` under each key."""

    f: ElementFunction

    name = "map_values"
    signature = "(Keyed[K, C[T]], X) -> (Keyed[K, C[U]], X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner: Any = expect_inner(self, inputs[0], Sequence, Bag, Set, ZSet)
        mapped = type(inner)(returned_type(self.f))
        return (StreamType(partitioned_as(expect_keyed(self, inputs[0]), mapped), inputs[0].bounded),)

    def consume(self, entries: dict[Element, Any]) -> Delta:
        evaluate_ahead(self.f, [element for value in entries.values() for element in value.elements_list()])
        return KeyedValue.of(
            {key: value.mapped(self.f, value.all_units()).ended(value.end) for key, value in entries.items()}
        )


@dataclass(frozen=True)
class FilterKeys(KeyedUnary):
    """filter_keys(keep): the streams of the keys for which `keep` is true."""

    keep: ElementFunction

    name = "filter_keys"
    timing = Timing.PASSES
    signature = "(Keyed[K, C], X) -> (Keyed[K, C], X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_keyed(self, inputs[0])
        return inputs

    def consume(self, entries: dict[Element, Any]) -> Delta:
        evaluate_ahead(self.keep, list(entries))
        return KeyedValue.of({key: value for key, value in entries.items() if self.keep(key)})


@dataclass(frozen=True)
class Entries(KeyedUnary):
    """entries(): the elements of all keys as (key, element). Sequences become a bag, as keys have no order.

    An LVar is read when it can no longer grow: (Keyed<K, LVar<L>>, B) ↪ (Set<(K, L)>, B). BOTTOM is not a value: a key
    whose final value it is has no entry.
    """

    collection: ElementCollection[Element] | None = None
    at_end: bool = False

    name = "entries"
    waits = "reads each LVar when it can no longer grow"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner: Any = expect_inner(self, inputs[0], Sequence, Bag, Set, ZSet, LVar)
        if isinstance(inner, LVar):
            expect_bounded(self, inputs[0], instead=(("{input}.per_key(lambda v: v.threshold(…))", "one per key"),))
        element = inner.lattice.element if isinstance(inner, LVar) else inner.element
        kind = Bag if isinstance(inner, Sequence) else Set if isinstance(inner, LVar) else type(inner)
        key = expect_keyed(self, inputs[0]).key
        return (StreamType(kind(tuple[key, element]), inputs[0].bounded),)  # type: ignore[valid-type]

    def typed(self, inputs: StreamTypes) -> Entries:
        (output,) = self.type(inputs)
        assert isinstance(output.collection, ElementCollection)
        return Entries(output.collection, at_end=isinstance(expect_keyed(self, inputs[0]).inner, LVar))

    def portion_steps(self, inputs: Values, *, every: bool) -> Iterator[Step]:
        return iter(()) if self.at_end and not inputs[0].fixed() else super().portion_steps(inputs, every=every)

    def consume(self, entries: dict[Element, Any]) -> Delta:
        units: list[Unit] = []
        for key, value in entries.items():
            if isinstance(value, LVarValue):
                units += [((key, value.lattice.plain(value.value)), 1)] if value.value is not BOTTOM else []
            elif isinstance(value, SequenceValue):
                units += [((key, element), 1) for element in value.all_units()]
            else:
                units += [((key, element), weight) for element, weight in value.all_units()]
        return self._kind().of(units)

    def finish(self) -> Value:
        return self._kind().terminator()

    def _kind(self) -> ElementKind:
        if self.collection is None:
            raise CollectionError("`entries` is not typed; call `initial` on the graph before running it")
        return self.collection.value_class


@dataclass(frozen=True)
class KeyedJoin(KeptJoin):
    """join_keyed(into): `into(left, right)` for all pairs under each key that both sides have; weights are multiplied.

    (Keyed<K, C>, X), (Keyed<K, D>, X) ↪ (Keyed<K, Bag>, X), for sequences and bags; z-sets give z-sets.
    """

    into: Into = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "join_keyed"
    keeps = Bound.ROWS
    retracts = False
    signature = "(Keyed[K, C], X), (Keyed[K, D], X) -> (Keyed[K, Bag], X)"
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = (expect_keyed(self, given, index) for index, given in enumerate(inputs))
        under_another = (("{input}.entries().key_by(…)", f"keys of type {type_name(left.key)}"),)
        expect_equal_keys(self, inputs, left.key, right.key, under_another)
        kinds = (ZSet,) if left.cancels else (Sequence, Bag)
        a, b = (expect_inner(self, given, *kinds, index=index) for index, given in enumerate(inputs))
        assert isinstance(a, ElementCollection)
        assert isinstance(b, ElementCollection)
        element = self.combined_type(a.element, b.element)
        inner: Collection = ZSet(element) if left.cancels else Bag(element)
        key = union_type(left.key, right.key)
        return (StreamType(Keyed(key, inner), all(given.bounded for given in inputs)),)

    def rules_on(self, source: object) -> tuple[str, str]:
        return self.rule, f"{self.rule}-terminated"

    def portions(self, value: Any, *, every: bool) -> Portions:
        return key_portions(value, every=every)

    def note(self, units: Unit) -> str:
        return key_note(units)

    def consume(self, side: int, units: dict[Unit, Unit], source: Any) -> tuple[Operator, Delta]:
        arrived: dict[Element, dict[Element, int]] = {}
        kind: type[BagValue | ZSetValue] = BagValue
        for key, value in units.items():
            if isinstance(value, SequenceValue):
                value = bag_of(value.all_units())
            elif isinstance(value, ZSetValue):
                kind = ZSetValue
            arrived[key] = value.weights.to_dict()
        operator, results = self.join_arrived(side, arrived)
        return operator, KeyedValue.of({key: kind.of(entries) for key, entries in results.items() if entries})
